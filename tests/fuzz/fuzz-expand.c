/* SPDX-License-Identifier: MIT */
/*
 * What ringside-import makes of a hostile page of ftrace, around libtraceevent. Input: the page.
 * The descriptors are good: names and print formats that are not good are the library's alone,
 * which may fail over them in any way, as it may over a field that lies outside its record. So it
 * sees what is behind the page, and our own code must not.
 */
#include "rs-trace-expand.h"
#include "seed.h"
#include "../unit/decode/build.h"

#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <ringside/region.h>
#include <sanitizer/asan_interface.h>
#include <string.h>

#define BEHIND 0x40000u /* bytes that a field of a record can lie away */
#define PAGE_SIZE 4096u
#define FIRST 11u /* the kernel's number of the first event */

const char *__asan_default_suppressions(void);

const char *__asan_default_suppressions(void)
{
	return "interceptor_via_lib:libtraceevent\n";
}

static guint8 room[RS_FTRACE_PAGE_MAX + BEHIND];

/* ---- descriptors ---- */

static void begin_common(GByteArray *out, guint n, const char *name, TestDesc **desc)
{
	*desc = test_desc_new(RS_FIRST_EVENT_ID + n, "sched", name);
}

static void end_with(TestDesc *desc, guint n, const char *print, GByteArray *out)
{
	g_autofree char *text =
		g_strdup_printf(RS_BRIDGE_ID "%u" RS_BRIDGE_PRINT "%s", FIRST + n, print);

	test_desc_end(desc, text, NULL, out);
}

/* One whose print format is taken over, and three that the library prints. */
static void make_descriptors(GByteArray *out)
{
	TestDesc *desc;

	begin_common(out, 0, "plain", &desc);
	test_desc_int(desc, "a", RS_KIND_UINT, 4);
	test_desc_array(desc, "comm", RS_KIND_STRING, 1, 16, 0);
	test_desc_int(desc, "b", RS_KIND_SINT, 8);
	end_with(desc, 0, "\"a=%%u comm=%%s b=%%lld\", REC->a, REC->comm, REC->b", out);
	begin_common(out, 1, "names", &desc);
	test_desc_int(desc, "flags", RS_KIND_UINT, 4);
	test_desc_array(desc, "name", RS_KIND_DYN_STRING, 1, 0, 0);
	end_with(desc, 1,
		 "\"%%s %%s %%s\", __print_flags(REC->flags, \"|\", {1, \"A\"}, {2, \"B\"}), "
		 "__print_symbolic(REC->flags, {1, \"one\"}, {2, \"two\"}), __get_str(name)",
		 out);
	begin_common(out, 2, "list", &desc);
	test_desc_array(desc, "list", RS_KIND_DYN_ARRAY, 4, 0, 0);
	test_desc_array(desc, "mac", RS_KIND_ARRAY, 1, 6, 0);
	end_with(desc, 2,
		 "\"%%s {%%s}\", __print_hex(REC->mac, 6), "
		 "__print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 4, 4)",
		 out);
	begin_common(out, 3, "sum", &desc);
	test_desc_int(desc, "x", RS_KIND_UINT, 8);
	test_desc_int(desc, "y", RS_KIND_POINTER, 8);
	end_with(desc, 3, "\"%%d %%p\", REC->x > 3 ? (int)(REC->x & 7) : 0, (void *)REC->y", out);
}

static GByteArray *make_provider(void)
{
	GByteArray *descs = g_byte_array_new(), *out = g_byte_array_new();
	struct rs_provider entry;

	make_descriptors(descs);
	test_provider(&entry, 0, descs);
	g_strlcpy(entry.name, "sched", sizeof(entry.name));
	g_byte_array_append(out, (const guint8 *)&entry, sizeof(entry));
	g_byte_array_append(out, descs->data, descs->len);
	g_byte_array_unref(descs);
	return out;
}

/* ---- pages ---- */

static void add_record(GByteArray *page, guint id, gconstpointer payload, guint size)
{
	guint32 head = ((RS_FTRACE_COMMON + size) / 4) | 5 << 5, pid = 77;
	guint8 common[4] = {(guint8)id, (guint8)(id >> 8), 1, 0};

	g_byte_array_append(page, (guint8 *)&head, 4);
	g_byte_array_append(page, common, 4);
	g_byte_array_append(page, (guint8 *)&pid, 4);
	g_byte_array_append(page, payload, size);
}

static GByteArray *make_page(void)
{
	const guint32 names[] = {3, 16 | 4 << 16, 0x41424300};
	const guint32 list[] = {20 | 8 << 16, 1, 2, 3, 4};
	guint8 bytes[32] = "\1\0\0\0comm";
	guint64 head[2] = {1000, 0};
	GByteArray *page = g_byte_array_new();

	g_byte_array_append(page, (guint8 *)head, sizeof(head));
	for (guint i = 0; i < 2; i++) {
		add_record(page, FIRST, bytes, 32);
		add_record(page, FIRST + 1, names, sizeof(names));
		add_record(page, FIRST + 2, list, sizeof(list));
		add_record(page, FIRST + 3, bytes, 16);
	}
	head[1] = page->len - RS_FTRACE_HEADER;
	memcpy(page->data, head, sizeof(head));
	return page;
}

static void rs_fuzz_seeds(void)
{
	g_autoptr(GByteArray) page = make_page();

	rs_fuzz_seed("page", page->data, page->len);
}

/* ---- one input ---- */

static void check_pages(const GByteArray *out, guint32 records)
{
	gsize at = 0;

	while (at < out->len) {
		guint32 length;

		if (out->len - at < sizeof(length))
			abort();
		memcpy(&length, out->data + at, sizeof(length));
		at += sizeof(length);
		if (length % 8 || length < RS_RING_PAGE_HEADER || length > RS_RING_PAGE_MAX ||
		    length > out->len - at)
			abort();
		at += length;
	}
	if (records > RS_FTRACE_PAGE_MAX / 4 || (records && !out->len))
		abort();
}

/* The library takes long to be told of a provider. */
static RsTraceExpand *expand_good(void)
{
	static RsTraceExpand *kept;
	g_autoptr(GByteArray) good = NULL, told = NULL;

	if (!kept) {
		good = make_provider();
		told = g_byte_array_new();
		kept = rs_trace_expand_new();
		rs_trace_expand_provider(kept, 0, good->data, good->len, told);
	}
	return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const RsTraceExpandRequest request = {
		.kind = RS_TRACE_EXPAND_PAGE, .arg = 1, .page_size = PAGE_SIZE};
	g_autoptr(GByteArray) out = g_byte_array_new();
	guint32 records = 0;

	size = MIN(size, RS_FTRACE_PAGE_MAX);
	ASAN_UNPOISON_MEMORY_REGION(room, sizeof(room));
	memcpy(room, data, size);
	ASAN_POISON_MEMORY_REGION(room + size, sizeof(room) - size);
	rs_trace_expand_page(expand_good(), &request, room, size, out, &records);
	check_pages(out, records);
	return 0;
}
