/* SPDX-License-Identifier: MIT */
/*
 * Makes descriptors, ring pages and cmdline sections byte by byte, for tests and fuzz seeds. It
 * keeps the rules of the ABI unless it is told not to; tests then spoil single bytes.
 */
#ifndef RS_TEST_BUILD_H
#define RS_TEST_BUILD_H

#include <glib.h>
#include <ringside/cmdline.h>
#include <ringside/descriptor.h>
#include <ringside/record.h>
#include <ringside/ring.h>

typedef struct _TestDesc TestDesc;

/* A descriptor under construction. Fields lie one after the other, aligned to their size. */
TestDesc *test_desc_new(guint id, const char *system, const char *name);
/* Integers, pointers, enums and flags: `kind` is RS_KIND_UINT .. FLAGS. */
void test_desc_int(TestDesc *desc, const char *name, guint kind, guint size);
/* A symbol of the field added last. */
void test_desc_symbol(TestDesc *desc, guint64 value, const char *name);
/* RS_KIND_ARRAY, _STRING (elem_size 1), _DYN_ARRAY, _DYN_STRING; `flags` RS_FIELD_*. */
void test_desc_array(TestDesc *desc, const char *name, guint kind, guint elem_size, guint count,
		     guint flags);
/* Appends the descriptor to `out` and frees it. `print` NULL: none. */
void test_desc_end(TestDesc *desc, const char *print, const char *args, GByteArray *out);

typedef struct _TestPage TestPage;

TestPage *test_page_new(guint ring, guint64 seq, guint64 ts, guint pid, guint context);
/* The header, to change before test_page_end(). */
struct rs_ring_page *test_page_header(TestPage *page);
void test_page_record(TestPage *page, guint id, guint32 ts, gconstpointer payload, gsize size);
void test_page_raw(TestPage *page, gconstpointer bytes, gsize size); /* padded to 8 */
void test_page_context(TestPage *page, guint pid, guint context);
void test_page_time(TestPage *page, guint64 ts);
/* Sets `committed`; the bytes are for the caller to unref. Frees the page. */
GByteArray *test_page_end(TestPage *page);

/* Payloads: appends a little-endian integer; a dynamic field's locator; its bytes. */
void test_put(GByteArray *payload, guint64 value, gsize size);
void test_put_text(GByteArray *payload, const char *text); /* with its NUL */

/* Puts an entry into an empty way of its bucket in `section`, `buckets` * 256 bytes. */
void test_cmdline_put(guint8 *section, guint buckets, guint pid, guint64 since, const char *comm);

/* sched:switch, id 16: prev u32, next u32; "prev=%u next=%u". */
void test_desc_switch(GByteArray *out);
/* demo:all, id 17: one field of each kind; its payload. */
void test_desc_all(GByteArray *out);
GByteArray *test_payload_all(void);

#endif
