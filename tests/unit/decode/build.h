/* SPDX-License-Identifier: MIT */
/*
 * Makes descriptors, ring pages and cmdline sections byte by byte, for tests and fuzz seeds. It
 * follows the rules of the ABI unless a test asks otherwise. Tests then change single bytes.
 */
#ifndef RS_TEST_BUILD_H
#define RS_TEST_BUILD_H

#include <glib.h>
#include <ringside/cmdline.h>
#include <ringside/descriptor.h>
#include <ringside/record.h>
#include <ringside/ring.h>
#include <rs-trace-schema.h>

/* Ids of the two events below. */
#define TEST_SWITCH RS_FIRST_EVENT_ID
#define TEST_ALL (RS_FIRST_EVENT_ID + 1)

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
/* Gives the field added last another kind, known or not, without another place or size. */
void test_desc_kind(TestDesc *desc, guint kind, guint flags);
/*
 * As a later version may write it: `more` bytes (multiple of 8) behind each header, field and
 * symbol.
 */
void test_desc_grow(TestDesc *desc, guint more);

/*
 * The entry of a live provider of boot 1 with these descriptors, which must be good: their ids, and
 * their bytes from the slot's own MiB on. Puts its slot into them.
 */
void test_provider(struct rs_provider *entry, guint slot, GByteArray *descs);
/* Makes the entry and gives both to a schema, which must accept them. */
void test_take(RsTraceSchema *schema, guint slot, GByteArray *descs);

typedef struct _TestPage TestPage;

/* Of boot 1 and clock epoch 0. */
TestPage *test_page_new(guint ring, guint64 seq, guint64 ts, guint pid, guint context);
/* The header, to change before test_page_end(). */
struct rs_ring_page *test_page_header(TestPage *page);
guint test_page_size(const TestPage *page); /* bytes so far */
void test_page_record(TestPage *page, guint id, guint32 ts, gconstpointer payload, gsize size);
void test_page_raw(TestPage *page, gconstpointer bytes, gsize size); /* padded to 8 */
void test_page_context(TestPage *page, guint pid, guint context);
void test_page_time(TestPage *page, guint epoch, guint64 ts);
/* A mark of any other kind. Its bytes after the size would be a bad record. */
void test_page_mark(TestPage *page, guint id, guint size);
/* Sets `committed`; the bytes are for the caller to unref. Frees the page. */
GByteArray *test_page_end(TestPage *page);

/* For payloads: appends a little-endian integer, which may be a locator; appends a text. */
void test_put(GByteArray *payload, guint64 value, gsize size);
void test_put_text(GByteArray *payload, const char *text); /* with its NUL */

/* An entry of boot 1 without a thread group. `comm` is cut at RS_COMM_LEN bytes. */
struct rs_cmdline_entry test_task(guint pid, guint64 since, const char *comm);
/* Puts an entry into an empty way of its bucket in `section`, `buckets` of them. */
void test_cmdline_put(guint8 *section, guint buckets, struct rs_cmdline_entry entry);

/* sched:switch, TEST_SWITCH: prev u32, next u32; "prev=%u next=%u". */
void test_desc_switch(GByteArray *out);
/* demo:all, TEST_ALL: one field of each kind; its payload. */
void test_desc_all(GByteArray *out);
GByteArray *test_payload_all(void);
/* Its dynamic fields become fronts: one element, "don". */
void test_cut_payload_all(GByteArray *payload);
/*
 * demo:later, TEST_ALL + 1: fields of a kind that nobody knows yet, in the entry (`odd`, 6 bytes,
 * and `real`, 8, which the print format shows by %f) and dynamic (`blob`), between a string and an
 * integer; its payload.
 */
void test_desc_later(GByteArray *out);
GByteArray *test_payload_later(void);

#endif
