/* SPDX-License-Identifier: MIT */
/* What a descriptor may say: each limit, and one more or less. Its bytes end where it does. */
#include "rs-trace-descriptor-private.h"

#include <ringside/descriptor.h>
#include <ringside/record.h>
#include <string.h>

/* Two fields, the first an enum; its symbols lie at the end. */
typedef struct {
	struct rs_event_desc head;
	struct rs_field_desc field[2];
	char text[32];
	struct rs_symbol symbol[2];
} Made;

#define TEXT(at) ((guint32)(offsetof(Made, text) + (at)))
enum { SYSTEM = 0, NAME = 2, A = 4, B = 6, TYPE = 8, SYMBOL = 11, EMPTY = 31 };

static Made good(void)
{
	Made m = {
		.head = {.size = sizeof(Made),
			 .id = RS_FIRST_EVENT_ID,
			 .field_count = 2,
			 .system = TEXT(SYSTEM),
			 .name = TEXT(NAME),
			 .entry_size = 16,
			 .header_size = sizeof(struct rs_event_desc),
			 .field_stride = sizeof(struct rs_field_desc),
			 .symbol_stride = sizeof(struct rs_symbol)},
		.field = {{.name = TEXT(A),
			   .type = TEXT(TYPE),
			   .size = 4,
			   .kind = RS_KIND_ENUM,
			   .symbol_count = 2,
			   .symbols = offsetof(Made, symbol)},
			  {.name = TEXT(B),
			   .type = TEXT(TYPE),
			   .offset = 8,
			   .size = 8,
			   .kind = RS_KIND_UINT}},
		.symbol = {{.value = 5, .name = TEXT(SYMBOL)}, {.value = 6, .name = TEXT(A)}},
	};

	memcpy(m.text, "s\0n\0a\0b\0u8\0R", 13);
	return m;
}

/* Of a copy that ends where it says, so that a sanitizer sees what reads more. */
static RsTraceDescriptor *parse(const void *bytes, gsize size)
{
	g_autofree guint8 *copy = g_memdup2(bytes, size);
	GError *error = NULL;
	RsTraceDescriptor *made = rs_trace_descriptor_parse(NULL, copy, size, &error);

	g_assert_true(!made == !!error);
	if (error)
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_DESCRIPTOR);
	g_clear_error(&error);
	return made;
}

static gboolean parses(const void *bytes, gsize size)
{
	RsTraceDescriptor *made = parse(bytes, size);
	gboolean good = made != NULL;

	rs_trace_descriptor_free(made);
	return good;
}

/* `change` may use m, h (its head), f (its first field) and size. */
#define EXPECT(want, change)                                                                       \
	do {                                                                                       \
		Made m = good();                                                                   \
		struct rs_event_desc *h = &m.head;                                                 \
		struct rs_field_desc *f = m.field;                                                 \
		gsize size = sizeof(m);                                                            \
                                                                                                   \
		g_test_message("%s", #change);                                                     \
		change;                                                                            \
		g_assert_cmpint(parses(&m, size), ==, want);                                       \
		(void)h;                                                                           \
		(void)f;                                                                           \
	} while (0)
#define TAKEN(change) EXPECT(TRUE, change)
#define REFUSED(change) EXPECT(FALSE, change)

static void test_content(void)
{
	Made m = good();
	RsTraceDescriptor *made;

	m.head.provider = 9;
	m.head.level = 3;
	m.head.keyword = 1ull << 63;
	made = parse(&m, sizeof(m));
	g_assert_nonnull(made);
	g_assert_cmpuint(made->event.id, ==, RS_FIRST_EVENT_ID);
	g_assert_cmpuint(made->event.slot, ==, 9);
	g_assert_cmpuint(made->event.level, ==, 3);
	g_assert_cmpuint(made->event.keyword, ==, 1ull << 63);
	g_assert_cmpuint(made->event.entry_size, ==, 16);
	g_assert_cmpstr(made->event.system, ==, "s");
	g_assert_cmpstr(made->event.name, ==, "n");
	g_assert_cmpuint(made->event.n_fields, ==, 2);
	g_assert_cmpuint(made->event.fields[0].n_symbols, ==, 2);
	g_assert_cmpuint(made->event.fields[0].symbols[0].value, ==, 5);
	g_assert_cmpstr(made->event.fields[0].symbols[0].name, ==, "R");
	g_assert_cmpuint(made->event.fields[0].symbols[1].value, ==, 6);
	g_assert_cmpstr(made->event.fields[1].name, ==, "b");
	g_assert_cmpuint(made->event.fields[1].offset, ==, 8);
	g_assert_cmpuint(made->event.fields[1].n_symbols, ==, 0);
	g_assert_cmpuint(rs_trace_descriptor_memory(made), >=,
			 sizeof(*made) + sizeof(m) + 2 * sizeof(RsTraceField) +
				 2 * sizeof(RsTraceSymbol));
	rs_trace_descriptor_free(made);
	rs_trace_descriptor_free(NULL);
}

static void test_head(void)
{
	REFUSED(h->id--);
	TAKEN(h->id = RS_MAX_EVENTS - 1);
	REFUSED(h->header_size--);
	REFUSED(h->header_size++);
	REFUSED(h->header_size -= 8);
	REFUSED(h->field_stride -= 8);
	REFUSED(h->field_stride += 4);
	REFUSED(h->symbol_stride -= 8);
	REFUSED(h->symbol_stride += 4);
	TAKEN((h->field_count = 1, h->field_stride += 8));
	TAKEN((h->field_count = 0, h->header_size = sizeof(Made)));
	REFUSED((h->field_count = 0, h->header_size = sizeof(Made) + 8));
	REFUSED((h->field_count = 1, h->header_size = sizeof(Made)));
	TAKEN(h->entry_size = RS_MAX_ENTRY_SIZE);
	REFUSED(h->entry_size = RS_MAX_ENTRY_SIZE + 1);
	/* The system and the event have names of their own. */
	REFUSED(h->system = 0);
	REFUSED(h->name = 0);
	REFUSED(h->system = TEXT(EMPTY));
	REFUSED(h->name = TEXT(EMPTY));
	REFUSED(m.text[SYSTEM] = ' ');
	REFUSED(m.text[NAME] = ' ');
}

/* Texts lie behind the fixed head and end before the descriptor does. */
static void test_texts(void)
{
	const guint32 last = sizeof(Made) - 1;

	TAKEN(h->print = last);
	REFUSED(h->print = last + 1);
	REFUSED(h->print = G_MAXUINT32);
	REFUSED(h->print = RS_EVENT_DESC_MIN_SIZE - 1);
	REFUSED((h->print = last, h->print_args = last + 1));
	REFUSED((h->print = last, h->print_args = RS_EVENT_DESC_MIN_SIZE - 1));
	TAKEN((h->print = last, h->print_args = last));
	REFUSED((h->print = last, ((char *)&m)[last] = 'x'));
	REFUSED(f->name = last + 1);
	REFUSED(f->type = last + 1);
	/* At the first byte behind the head. */
	TAKEN({
		h->field_count = 0;
		h->system = h->name = RS_EVENT_DESC_MIN_SIZE;
		memcpy(m.field, "n", 2);
	});
	TAKEN((h->field_count = 0, size = TEXT(NAME + 2)));
	REFUSED((h->field_count = 0, size = TEXT(NAME + 1)));
}

static void test_fields(void)
{
	TAKEN(m.field[1].offset = 8);
	REFUSED(m.field[1].offset = 9);
	REFUSED(m.field[1].offset = G_MAXUINT16);
	TAKEN(h->entry_size = 16);
	REFUSED(h->entry_size = 15);
	REFUSED(m.field[1].name = TEXT(A)); /* there twice */
	REFUSED(f->name = TEXT(EMPTY));
	REFUSED(f->name = 0);
	REFUSED(m.text[A] = '9');
	REFUSED(f->type = TEXT(EMPTY));
	REFUSED(f->type = 0);
	REFUSED(m.text[TYPE] = ';');
}

/* The last field may end with the descriptor, and there may be RS_MAX_FIELDS of them. */
static void test_many_fields(void)
{
	struct {
		struct rs_event_desc head;
		char text[4 * (RS_MAX_FIELDS + 2)];
		struct rs_field_desc field[RS_MAX_FIELDS + 1];
	} many;

	memset(&many, 0, sizeof(many));
	many.head = good().head;
	many.head.header_size = offsetof(__typeof__(many), field);
	for (guint i = 0; i < RS_MAX_FIELDS + 2; i++) {
		guint at = (guint)offsetof(__typeof__(many), text) + 4 * i;

		many.text[4 * i] = (char)('a' + i / 26);
		many.text[4 * i + 1] = (char)('a' + i % 26);
		many.head.system = many.head.name = at;
		if (i < RS_MAX_FIELDS + 1)
			many.field[i] = (struct rs_field_desc){
				.name = at, .type = at, .size = 1, .kind = RS_KIND_UINT};
	}
	g_assert_cmpuint(many.head.header_size % 8, ==, 0);
	many.head.field_count = RS_MAX_FIELDS;
	g_assert_true(parses(&many, sizeof(many)));
	g_assert_true(parses(&many, sizeof(many) - sizeof(many.field[0])));
	g_assert_false(parses(&many, sizeof(many) - sizeof(many.field[0]) - 1));
	many.head.field_count++;
	g_assert_false(parses(&many, sizeof(many)));
}

static void test_symbols(void)
{
	TAKEN(f->kind = RS_KIND_FLAGS);
	REFUSED(f->kind = RS_KIND_UINT);
	REFUSED(f->kind = RS_KIND_HEX);
	TAKEN(f->kind = RS_KIND_DYN_STRING + 1); /* whatever it is for */
	REFUSED(f->symbols += 8);
	REFUSED(f->symbols += 4);
	REFUSED(f->symbols -= 4);
	REFUSED(f->symbols = sizeof(Made));
	REFUSED(f->symbols = sizeof(Made) + 8);
	REFUSED(f->symbols = G_MAXUINT32 - 7);
	REFUSED(f->symbol_count++);
	TAKEN((f->symbol_count = 1, f->symbols += 16));
	TAKEN((f->symbol_count = 0, f->symbols = G_MAXUINT32));
	TAKEN((f->symbol_count = 1, h->symbol_stride = 32));
	REFUSED((f->symbol_count = 1, h->symbol_stride = 40));
	REFUSED(m.symbol[1].name = TEXT(EMPTY));
	REFUSED(m.symbol[0].name = 0);
	REFUSED(m.symbol[1].name = sizeof(Made));
	REFUSED(m.text[SYMBOL] = '\n');
}

/* Fields share symbols: no more in all than the descriptor has bytes. */
static void test_shared_symbols(void)
{
	struct {
		Made made;
		struct rs_symbol more[8];
	} large = {.made = good()};
	/* n symbols, twice, of 16 bytes */
	guint exact = sizeof(large) / (2 * sizeof(struct rs_symbol));

	g_assert_cmpuint(sizeof(large) % 32, ==, 16);
	for (guint i = 0; i < 8; i++)
		large.more[i].name = TEXT(SYMBOL);
	large.made.field[1].kind = RS_KIND_ENUM;
	for (guint n = exact - 1; n <= exact + 1; n++) {
		large.made.field[0].symbol_count = large.made.field[1].symbol_count = (guint16)n;
		large.made.field[0].symbols = large.made.field[1].symbols = offsetof(Made, symbol);
		g_assert_cmpint(parses(&large, sizeof(large)), ==, n <= exact);
	}
	/* To the byte: one field has one more. */
	large.made.field[0].symbol_count = (guint16)exact;
	g_assert_true(parses(&large, sizeof(large)));
}

static void test_shapes(void)
{
	static const struct {
		guint kind, size, elem_size, count;
		gboolean good;
	} cases[] = {
		{RS_KIND_POINTER, 8, 0, 0, TRUE},     {RS_KIND_POINTER, 4, 0, 0, FALSE},
		{RS_KIND_ARRAY, 6, 2, 3, TRUE},       {RS_KIND_ARRAY, 6, 2, 2, FALSE},
		{RS_KIND_ARRAY, 6, 3, 2, FALSE},      {RS_KIND_ARRAY, 0, 1, 0, FALSE},
		{RS_KIND_ARRAY, 7, 2, 3, FALSE},      {RS_KIND_ARRAY, 8, 8, 1, TRUE},
		{RS_KIND_ARRAY, 0, 0, 4, FALSE},      {RS_KIND_STRING, 1, 1, 1, TRUE},
		{RS_KIND_STRING, 0, 1, 0, FALSE},     {RS_KIND_DYN_ARRAY, 4, 1, 0, TRUE},
		{RS_KIND_DYN_ARRAY, 4, 8, 0, TRUE},   {RS_KIND_DYN_ARRAY, 4, 0, 0, FALSE},
		{RS_KIND_DYN_ARRAY, 4, 3, 0, FALSE},  {RS_KIND_DYN_ARRAY, 8, 1, 0, FALSE},
		{RS_KIND_DYN_STRING, 4, 0, 0, TRUE},  {RS_KIND_DYN_STRING, 8, 0, 0, FALSE},
		{RS_KIND_DYN_STRING, 3, 0, 0, FALSE},
	};

	for (guint kind = RS_KIND_UINT; kind <= RS_KIND_FLAGS; kind++)
		for (guint bytes = 0; kind != RS_KIND_POINTER && bytes <= 9; bytes++)
			EXPECT(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8, {
				f->symbol_count = 0;
				f->kind = (guint8)kind;
				f->size = (guint16)bytes;
			});
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		EXPECT(cases[i].good, {
			f->symbol_count = 0;
			f->kind = (guint8)cases[i].kind;
			f->size = (guint16)cases[i].size;
			f->elem_size = (guint16)cases[i].elem_size;
			f->elem_count = (guint16)cases[i].count;
		});
	/* Of a later kind, a locator has 4 bytes; others have any. */
	for (guint bytes = 0; bytes < 9; bytes++) {
		TAKEN((f->kind = RS_KIND_DYN_STRING + 1, f->size = (guint16)bytes));
		TAKEN((f->kind = 0, f->size = (guint16)bytes));
		EXPECT(bytes == 4, (f->kind = G_MAXUINT8, f->size = (guint16)bytes,
				    f->flags = RS_FIELD_DYNAMIC));
	}
}

/* How the values of each kind are to be shown. */
static void test_signs(void)
{
	for (guint kind = 0; kind <= RS_KIND_DYN_STRING + 1; kind++) {
		for (guint flags = 0; flags < 4; flags++) {
			Made m = good();
			struct rs_field_desc *f = &m.field[1];
			gboolean later = kind == 0 || kind > RS_KIND_DYN_STRING;
			gboolean array = !later && kind >= RS_KIND_ARRAY;
			RsTraceDescriptor *made;

			f->kind = (guint8)kind;
			f->flags = (guint8)flags;
			f->size = kind >= RS_KIND_DYN_ARRAY && !later ? 4 : 8;
			f->elem_size = 2;
			f->elem_count = 4;
			made = parse(&m, sizeof(m));
			g_assert_nonnull(made);
			g_assert_cmpint(made->event.fields[1].is_later, ==, later);
			g_assert_cmpint(made->event.fields[1].is_signed, ==,
					kind == RS_KIND_SINT ||
						(array && (flags & RS_FIELD_SIGNED)));
			g_assert_cmpint(made->event.fields[1].is_hex, ==,
					later || kind == RS_KIND_HEX || kind == RS_KIND_POINTER ||
						(flags & RS_FIELD_HEX) != 0);
			rs_trace_descriptor_free(made);
		}
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/descriptor/content", test_content);
	g_test_add_func("/decode/descriptor/head", test_head);
	g_test_add_func("/decode/descriptor/texts", test_texts);
	g_test_add_func("/decode/descriptor/fields", test_fields);
	g_test_add_func("/decode/descriptor/many-fields", test_many_fields);
	g_test_add_func("/decode/descriptor/symbols", test_symbols);
	g_test_add_func("/decode/descriptor/shared-symbols", test_shared_symbols);
	g_test_add_func("/decode/descriptor/shapes", test_shapes);
	g_test_add_func("/decode/descriptor/signs", test_signs);
	return g_test_run();
}
