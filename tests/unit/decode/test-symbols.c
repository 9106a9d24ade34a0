/* SPDX-License-Identifier: MIT */
/* Names of addresses, as a block of a trace file has them, and stacks that are shown with them. */
#include "rs-trace-symbols.h"

#include "rs-trace-escape.h"
#include "rs-trace-json.h"
#include "rs-trace-stack.h"
#include "rs-trace-text.h"

#include <string.h>
#include <zstd.h>

#define ROOM (1u << 20)

/* Two functions with a hole between them, a label without a size, and its end. */
static const struct rs_file_symbol some[] = {{0x1000, 0x40, 0}, {0x1080, 0x10, 6}, {0x2000, 0, 12}};
static const char names[] = "first\0secnd\0lab\nel";

static guint8 *pack(const struct rs_file_symbol *symbols, guint count, const char *text,
		    gsize text_size, struct rs_file_symbols *head, gsize *size)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	guint8 *out;

	g_byte_array_append(bytes, (const guint8 *)symbols, count * sizeof(*symbols));
	g_byte_array_append(bytes, (const guint8 *)text, (guint)text_size);
	head->count = count;
	head->unpacked = bytes->len;
	*size = ZSTD_compressBound(bytes->len);
	out = g_malloc(*size);
	*size = ZSTD_compress(out, *size, bytes->data, bytes->len, 1);
	return out;
}

static const RsTraceMoment always, first_boot = {1, 0, 100}, second_boot = {2, 0, 50};

static gboolean take_within(RsTraceSymbols *symbols, RsTraceMoment since, guint64 from, guint64 to,
			    const struct rs_file_symbol *list, guint count, gsize room)
{
	struct rs_file_symbols head = {
		.from = from, .to = to, .boot = since.boot, .chain = since.chain, .ts = since.ts};
	g_autoptr(GError) error = NULL;
	gsize size;
	g_autofree guint8 *data = pack(list, count, names, sizeof(names), &head, &size);
	gboolean done = rs_trace_symbols_take(symbols, &head, data, size, room, &error);

	g_assert_true(done == !error);
	return done;
}

static gboolean take(RsTraceSymbols *symbols, guint64 from, guint64 to,
		     const struct rs_file_symbol *list, guint count)
{
	return take_within(symbols, always, from, to, list, count, ROOM);
}

static void check_at(const RsTraceSymbols *symbols, RsTraceMoment when, guint64 address,
		     const char *name, guint64 offset)
{
	const char *found = NULL;
	guint64 at = 0;

	g_assert_true(rs_trace_symbols_find(symbols, when, address, &found, &at) == (name != NULL));
	g_assert_cmpstr(found, ==, name);
	g_assert_cmpuint(at, ==, offset);
}

static void check(const RsTraceSymbols *symbols, guint64 address, const char *name, guint64 offset)
{
	check_at(symbols, first_boot, address, name, offset);
}

static void append_as_is(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

static void test_find(void)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();

	check(NULL, 0x1000, NULL, 0);
	check(symbols, 0x1000, NULL, 0);
	g_assert_true(rs_trace_symbols_is_empty(symbols));
	g_assert_true(take(symbols, 0x800, 0x3000, some, 3));
	check(symbols, 0x7ff, NULL, 0);
	check(symbols, 0x800, NULL, 0);
	check(symbols, 0xfff, NULL, 0);
	check(symbols, 0x1000, "first", 0);
	check(symbols, 0x103f, "first", 0x3f);
	check(symbols, 0x1040, NULL, 0);
	check(symbols, 0x1080, "secnd", 0);
	check(symbols, 0x1090, NULL, 0);
	check(symbols, 0x2fff, "lab\nel", 0xfff);
	check(symbols, 0x3000, NULL, 0);
	check(symbols, G_MAXUINT64, NULL, 0);
}

/* "first+0x12 [mod]" of a module's; and what is data names no frame. */
static void check_code(const RsTraceSymbols *symbols, RsTraceMoment when, const char *name,
		       guint want, guint64 want_from, guint64 want_to)
{
	guint64 from = 0, to = 0;

	g_assert_cmpuint(rs_trace_symbols_find_code(symbols, when, name, &from, &to), ==, want);
	g_assert_cmphex(from, ==, want_from);
	g_assert_cmphex(to, ==, want_to);
}

/* Where code of a name lies: up to its end, or to where something else begins. */
static void test_code(void)
{
	static const struct rs_file_symbol more[] = {
		{0x8000, 0, 0}, {0x8040, 0x10, 6}, {0x8050, 0x10, 6}};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();

	check_code(NULL, first_boot, "first", 0, 0, 0);
	check_code(symbols, first_boot, "first", 0, 0, 0);
	g_assert_true(take(symbols, 0x1000, 0x3000, some, G_N_ELEMENTS(some)));
	check_code(symbols, first_boot, "first", 1, 0x1000, 0x1040);
	check_code(symbols, first_boot, "secnd", 1, 0x1080, 0x1090);
	check_code(symbols, first_boot, "lab\nel", 1, 0x2000, 0x3000);
	check_code(symbols, first_boot, "firs", 0, 0, 0);
	check_code(symbols, first_boot, "", 0, 0, 0);
	/* in the second boot it lies elsewhere, and is there twice */
	g_assert_true(
		take_within(symbols, second_boot, 0x8000, 0x9000, more, G_N_ELEMENTS(more), ROOM));
	check_code(symbols, first_boot, "first", 1, 0x1000, 0x1040);
	check_code(symbols, second_boot, "first", 1, 0x8000, 0x8040);
	check_code(symbols, second_boot, "secnd", 2, 0x8040, 0x8050);
	check_code(symbols, second_boot, "lab\nel", 1, 0x2000, 0x3000);
}

static void test_frames(void)
{
	static const char text[] = "\0code [mod]\0[odd]\0data [mod]";
	static const struct rs_file_symbol list[] = {
		{0x1000, 0x40, 1}, {0x1040, 0x40, 18}, {0x1080, 0x40, 12}};
	struct rs_file_symbols head = {.from = 0x1000, .to = 0x2000, .data_names = 18};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	g_autoptr(GString) out = g_string_new(NULL);
	gsize size;
	g_autofree guint8 *data = pack(list, 3, text, sizeof(text), &head, &size);

	g_assert_true(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	g_assert_true(rs_trace_symbols_append(symbols, first_boot, 0x1000, append_as_is, out));
	g_string_append_c(out, ' ');
	g_assert_true(rs_trace_symbols_append(symbols, first_boot, 0x1050, append_as_is, out));
	g_string_append_c(out, ' ');
	g_assert_true(
		rs_trace_symbols_append_frame(symbols, first_boot, 0x1040, append_as_is, out));
	g_string_append_c(out, ' ');
	g_assert_true(
		rs_trace_symbols_append_frame(symbols, first_boot, 0x1081, append_as_is, out));
	g_assert_cmpstr(out->str, ==, "code [mod] data+0x10 [mod] code+0x40 [mod] [odd]+0x1");
	g_assert_false(
		rs_trace_symbols_append_frame(symbols, first_boot, 0x1041, append_as_is, out));
	g_assert_false(rs_trace_symbols_append_frame(symbols, first_boot, 0, append_as_is, out));
}

static const struct rs_file_symbol low[] = {{0x100, 0, 0}}, high[] = {{0x8000, 0, 6}};
static const struct rs_file_symbol middle[] = {{0x1800, 0x80, 6}};

/* A module lies within the kernel's addresses: what it has no name for, the kernel has. */
static void test_images(void)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	gsize size;

	g_assert_true(take(symbols, 0x8000, 0x9000, high, 1));
	g_assert_true(take(symbols, 0x100, 0x200, low, 1));
	g_assert_true(take(symbols, 0x800, 0x3000, (struct rs_file_symbol[]){{0x1000, 0, 0}}, 1));
	check(symbols, 0x1ff, "first", 0xff);
	check(symbols, 0x1801, "first", 0x801);
	check(symbols, 0x8001, "secnd", 1);
	g_assert_true(take(symbols, 0x1800, 0x1900, middle, 1));
	check(symbols, 0x1001, "first", 1);
	check(symbols, 0x1801, "secnd", 1);
	check(symbols, 0x187f, "secnd", 0x7f);
	check(symbols, 0x1880, "first", 0x880);
	check(symbols, 0x101, "first", 1);
	/* The same again, with other names. */
	size = rs_trace_symbols_size(symbols);
	g_assert_true(take(symbols, 0x1800, 0x1900, (struct rs_file_symbol[]){{0x1800, 0, 12}}, 1));
	check(symbols, 0x18ff, "lab\nel", 0xff);
	g_assert_cmpuint(rs_trace_symbols_size(symbols), ==, size);
	/* The kernel is told again, whole: it is what was told last. */
	g_assert_true(take(symbols, 0x800, 0x3000, (struct rs_file_symbol[]){{0x1000, 0, 6}}, 1));
	check(symbols, 0x1801, "secnd", 0x801);
	g_assert_cmpuint(rs_trace_symbols_size(symbols), ==, size);
}

/* The guest boots again, and lies elsewhere; records of both boots are still to be shown. */
static void test_boots(void)
{
	static const struct rs_file_symbol other[] = {{0x2000, 0, 6}};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const RsTraceMoment one = {1, 0, 0}, two = {2, 0, 0}, three = {3, 0, 0};

	g_assert_true(take_within(symbols, one, 0x800, 0x3000, some, 3, ROOM));
	g_assert_true(take_within(symbols, two, 0x1f00, 0x4000, other, 1, ROOM));
	check_at(symbols, first_boot, 0x2001, "lab\nel", 1);
	check_at(symbols, second_boot, 0x2001, "secnd", 1);
	/* What the kernel of another boot had there is no name. */
	check_at(symbols, second_boot, 0x1001, NULL, 0);
	check_at(symbols, first_boot, 0x3800, NULL, 0);
	check_at(symbols, three, 0x2001, NULL, 0);
	g_assert_true(take(symbols, 0x1000, 0x2000, (struct rs_file_symbol[]){{0x1000, 0, 0}}, 1));
	check_at(symbols, three, 0x1fff, "first", 0xfff);
}

/* A library takes the place of one that was closed, in the same boot. */
static void test_moments(void)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const RsTraceMoment one = {1, 0, 0}, later = {1, 1, 7};

	g_assert_true(take_within(symbols, one, 0x800, 0x3000, some, 3, ROOM));
	g_assert_true(take_within(symbols, later, 0x1800, 0x1900, middle, 1, ROOM));
	g_assert_true(take_within(symbols, later, 0x1000, 0x1100, low, 0, ROOM));
	check_at(symbols, (RsTraceMoment){1, 0, 1000}, 0x2001, "lab\nel", 1);
	check_at(symbols, (RsTraceMoment){1, 0, 1000}, 0x1801, NULL, 0);
	check_at(symbols, (RsTraceMoment){1, 1, 6}, 0x1801, NULL, 0);
	check_at(symbols, later, 0x1801, "secnd", 1);
	check_at(symbols, later, 0x1001, "first", 1);
	check_at(symbols, (RsTraceMoment){2, 2, 7}, 0x1801, NULL, 0);
}

/* What lies under the new one goes first, then images of early boots. */
static void test_room(void)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const RsTraceMoment one = {1, 0, 0}, two = {2, 0, 0}, three = {3, 0, 0};
	gsize room;

	g_assert_true(take_within(symbols, two, 0x100, 0x200, low, 1, ROOM));
	room = 3 * rs_trace_symbols_size(symbols);
	g_assert_false(take_within(symbols, two, 0x100, 0x200, low, 1, room / 3 - 1));
	g_assert_true(take_within(symbols, one, 0x8000, 0x9000, high, 1, room));
	g_assert_true(take_within(symbols, always, 0x1800, 0x1900, middle, 1, room));
	g_assert_cmpuint(rs_trace_symbols_size(symbols), ==, room);
	g_assert_true(take_within(symbols, three, 0x100, 0x200, low, 1, room));
	check_at(symbols, two, 0x101, NULL, 0);
	check_at(symbols, three, 0x101, "first", 1);
	check_at(symbols, one, 0x8001, "secnd", 1);
	g_assert_true(take_within(symbols, three, 0x200, 0x300, low, 0, room));
	check_at(symbols, one, 0x8001, NULL, 0);
	check_at(symbols, three, 0x101, "first", 1);
	check_at(symbols, three, 0x1801, "secnd", 1);
	g_assert_cmpuint(rs_trace_symbols_size(symbols), <=, room);
	/* However small they are. */
	for (guint i = 0; i < 5000; i++)
		g_assert_true(take_within(symbols, three, 0x10000 + i, 0x20000, low, 0, ROOM));
	g_assert_cmpuint(rs_trace_symbols_size(symbols), <, ROOM);
}

static void test_refused(void)
{
	static const struct rs_file_symbol back[] = {{0x1010, 0, 0}, {0x1000, 0, 0}};
	static const struct rs_file_symbol outside[] = {{0x3000, 0, 0}};
	static const struct rs_file_symbol before[] = {{0xfff, 0, 0}};
	static const struct rs_file_symbol nameless[] = {{0x1000, 0, sizeof(names)}};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	struct rs_file_symbols head = {.from = 0x1000, .to = 0x3000};
	g_autofree guint8 *data = NULL;
	gsize size;

	g_assert_false(take(symbols, 0x1000, 0x3000, back, 2));
	g_assert_false(take(symbols, 0x1000, 0x3000, outside, 1));
	g_assert_false(take(symbols, 0x1000, 0x3000, before, 1));
	g_assert_false(take(symbols, 0x1000, 0x3000, nameless, 1));
	g_assert_false(take(symbols, 0x3000, 0x3000, some, 0));
	data = pack(some, 3, names, sizeof(names) - 1, &head, &size); /* no NUL at the end */
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	g_free(data);
	data = pack(some, 3, names, sizeof(names), &head, &size);
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, size - 1, ROOM, NULL));
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, 0, ROOM, NULL));
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, size, head.unpacked, NULL));
	head.unpacked++;
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	head.unpacked = RS_FILE_SYMBOLS_MAX + 1;
	g_assert_false(
		rs_trace_symbols_take(symbols, &head, data, size, RS_FILE_SYMBOLS_MAX * 2, NULL));
	head.unpacked = 3 * sizeof(*some) + sizeof(names);
	head.count = 1000;
	g_assert_false(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	g_assert_true(rs_trace_symbols_is_empty(symbols));
	g_assert_cmpuint(rs_trace_symbols_size(symbols), ==, 0);
	head.count = 3;
	g_assert_true(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
}

/* ---- shown ---- */

/* A call may be a function's last instruction: it returns to behind the function. */
static const guint64 frames[] = {0x1040, 0x1001, 0x1060, 0, 0x2004};

static void test_stack(void)
{
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const RsTraceTask task = {.comm = "t"};
	const RsTraceEvent event = {.system = "s", .name = "e"};
	RsTraceRecord record = {.event = &event, .stack = (const guint8 *)frames, .n_stack = 5};
	g_autoptr(GString) out = g_string_new(NULL);

	rs_trace_text_line(out, &record, &task, RS_TRACE_TEXT_NONE);
	g_assert_true(g_str_has_suffix(
		out->str, ": s:e: \n => 0x1040\n => 0x1001\n => 0x1060\n => 0x0\n => 0x2004\n"));
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, &task);
	g_assert_true(g_str_has_suffix(out->str, "\"fields\":{},\"stack\":[\"0x1040\",\"0x1001\","
						 "\"0x1060\",\"0x0\",\"0x2004\"]}\n"));
	record.symbols = symbols; /* empty so far */
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, &task);
	g_assert_true(g_str_has_suffix(out->str, "\"0x2004\"]}\n"));

	g_assert_true(take(symbols, 0x800, 0x3000, some, 3));
	g_string_truncate(out, 0);
	rs_trace_text_line(out, &record, &task, RS_TRACE_TEXT_NONE);
	g_assert_true(g_str_has_suffix(out->str, ": s:e: \n => first+0x40\n => first+0x1\n"
						 " => 0x1060\n => 0x0\n => lab\\x0ael+0x4\n"));
	g_string_truncate(out, 0);
	rs_trace_json_line(out, &record, &task);
	g_assert_true(g_str_has_suffix(out->str,
				       "\"0x2004\"],\"symbols\":[\"first+0x40\",\"first+0x1\",null,"
				       "null,\"lab\\nel+0x4\"]}\n"));
}

/* An address is shown as a symbol where the event's author or the field says that it is one. */
static void test_pointers(void)
{
	static const struct {
		guint kind, size;
		char conversion;
		guint8 flags;
		gint16 width;
		guint64 value;
		const char *want;
	} cases[] = {
		{RS_KIND_POINTER, 8, 'p', 0, 0, 0x1004, "first+0x4"},
		{RS_KIND_POINTER, 8, 'x', RS_TRACE_PRINT_ALT, 0, 0x1000, "first"},
		{RS_KIND_HEX, 8, 'p', 0, 12, 0x1004, "   first+0x4"},
		{RS_KIND_UINT, 8, 'p', RS_TRACE_PRINT_LEFT, 12, 0x1004, "first+0x4   "},
		{RS_KIND_HEX, 8, 'x', 0, 0, 0x1004, "1004"},
		{RS_KIND_UINT, 4, 'p', 0, 0, 0x1004, "0x1004"},
		{RS_KIND_POINTER, 8, 'p', 0, 0, 0x1040, "0x1040"},
	};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();

	g_assert_true(take(symbols, 0x800, 0x3000, some, 3));
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const RsTraceField field = {.kind = cases[i].kind, .size = cases[i].size};
		const RsTracePrintStep steps[] = {{.literal = "",
						   .field = &field,
						   .conversion = cases[i].conversion,
						   .flags = cases[i].flags,
						   .width = cases[i].width,
						   .precision = -1},
						  {.literal = ""}};
		const RsTraceEvent event = {.steps = steps, .n_steps = 2};
		const RsTraceRecord record = {.event = &event,
					      .payload = (const guint8 *)&cases[i].value,
					      .size = 8,
					      .symbols = symbols};
		g_autoptr(GString) out = g_string_new(NULL);

		rs_trace_text_message(out, &record);
		g_assert_cmpstr(out->str, ==, cases[i].want);
	}
}

static void test_long_name(void)
{
	g_autofree char *text = g_strnfill(1000, 'x');
	struct rs_file_symbols head = {.from = 0x1000, .to = 0x2000};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	g_autoptr(GString) out = g_string_new(NULL);
	gsize size;
	g_autofree guint8 *data = pack(some, 1, text, strlen(text) + 1, &head, &size);

	g_assert_true(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	g_assert_true(rs_trace_symbols_append(symbols, always, 0x1001, rs_trace_append_json_escaped,
					      out));
	g_assert_cmpuint(out->len, ==, RS_TRACE_SYMBOL_SHOWN + strlen("...+0x1"));
}

/* However long a name is, and wherever in it another one begins. */
static void test_cut_names(void)
{
	const guint long_size = 5000;
	g_autofree char *text = g_strnfill(long_size + 1 + RS_FILE_SYMBOL_NAME_MAX, 'x');
	const struct rs_file_symbol list[] = {
		{0x1000, 0, 0}, {0x1100, 0, 1500}, {0x1200, 0, long_size + 1}};
	struct rs_file_symbols head = {.from = 0x1000, .to = 0x2000};
	g_autoptr(RsTraceSymbols) symbols = rs_trace_symbols_new();
	const char *name;
	guint64 offset;
	gsize size;
	g_autofree guint8 *data = NULL;

	text[long_size] = 0;
	data = pack(list, 3, text, long_size + 2 + RS_FILE_SYMBOL_NAME_MAX, &head, &size);
	g_assert_true(rs_trace_symbols_take(symbols, &head, data, size, ROOM, NULL));
	g_assert_true(rs_trace_symbols_find(symbols, always, 0x1000, &name, &offset));
	g_assert_cmpuint(strlen(name), ==, RS_FILE_SYMBOL_NAME_MAX);
	g_assert_true(rs_trace_symbols_find(symbols, always, 0x1100, &name, &offset));
	g_assert_cmpuint(strlen(name), <=, RS_FILE_SYMBOL_NAME_MAX);
	g_assert_true(rs_trace_symbols_find(symbols, always, 0x1200, &name, &offset));
	g_assert_cmpuint(strlen(name), ==, RS_FILE_SYMBOL_NAME_MAX);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/symbols/find", test_find);
	g_test_add_func("/symbols/code", test_code);
	g_test_add_func("/symbols/frames", test_frames);
	g_test_add_func("/symbols/images", test_images);
	g_test_add_func("/symbols/boots", test_boots);
	g_test_add_func("/symbols/moments", test_moments);
	g_test_add_func("/symbols/room", test_room);
	g_test_add_func("/symbols/refused", test_refused);
	g_test_add_func("/symbols/stack", test_stack);
	g_test_add_func("/symbols/pointers", test_pointers);
	g_test_add_func("/symbols/long-name", test_long_name);
	g_test_add_func("/symbols/cut-names", test_cut_names);
	return g_test_run();
}
