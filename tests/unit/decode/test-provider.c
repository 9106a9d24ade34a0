/* SPDX-License-Identifier: MIT */
/* Which descriptors a schema takes for a provider, what it says of it, and for how long. */
#include "rs-trace-schema.h"
#include "build.h"

#include <malloc.h>
#include <string.h>

#define FIRST TEST_SWITCH

/* Events of these ids and names; NULL ends the names. */
static GByteArray *describe(guint first_id, const char *const *names)
{
	GByteArray *bytes = g_byte_array_new();

	for (guint i = 0; names[i]; i++)
		test_desc_end(test_desc_new(first_id + i, "s", names[i]), NULL, NULL, bytes);
	return bytes;
}

/* How many are bad and how many are taken. */
static void check(const struct rs_provider *entry, const GByteArray *bytes, gsize size,
		  guint want_bad, guint want)
{
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GError) error = NULL;
	guint bad = 99;

	rs_trace_schema_take(schema, 0, entry, bytes->data, size, &bad, &error);
	g_assert_cmpuint(bad, ==, want_bad);
	g_assert_true((error != NULL) == (want_bad > 0));
	g_assert_cmpuint(rs_trace_schema_n_events(schema), ==, want);
}

/* Ids are those that the entry names, to the first and the last. */
static void test_ids(void)
{
	static const char *const names[] = {"a", "b", "c", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	struct rs_provider entry;

	test_provider(&entry, 0, bytes);
	g_assert_cmpuint(entry.event_count, ==, 3);
	check(&entry, bytes, bytes->len, 0, 3);
	entry.event_count--;
	check(&entry, bytes, bytes->len, 1, 2);
	entry.first_id++;
	check(&entry, bytes, bytes->len, 1, 2);
	entry.event_count++;
	check(&entry, bytes, bytes->len, 1, 2);
	entry.event_count = 0;
	check(&entry, bytes, bytes->len, 3, 0);
	entry.event_count = G_MAXUINT32;
	entry.first_id = FIRST;
	check(&entry, bytes, bytes->len, 0, 3);
	/* The slot is this one's, the name nobody else's. */
	((struct rs_event_desc *)bytes->data)->provider++;
	check(&entry, bytes, bytes->len, 1, 2);
}

static void test_names(void)
{
	static const char *const names[] = {"a", "b", "a", "a", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	struct rs_provider entry;

	test_provider(&entry, 0, bytes);
	check(&entry, bytes, bytes->len, 2, 2);
}

/* Descriptors lie one behind the other, whole. Less than the smallest one is no more of them. */
static void test_sizes(void)
{
	static const char *const names[] = {"a", "b", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	struct rs_provider entry;
	guint32 *second;
	guint first;

	test_provider(&entry, 0, bytes);
	first = *(guint32 *)(void *)bytes->data;
	second = (guint32 *)(void *)(bytes->data + first);
	check(&entry, bytes, 0, 0, 0);
	check(&entry, bytes, RS_EVENT_DESC_MIN_SIZE - 1, 0, 0);
	check(&entry, bytes, RS_EVENT_DESC_MIN_SIZE, 1, 0);
	check(&entry, bytes, first - 1, 1, 0);
	check(&entry, bytes, first, 0, 1);
	check(&entry, bytes, first + RS_EVENT_DESC_MIN_SIZE - 1, 0, 1);
	check(&entry, bytes, first + RS_EVENT_DESC_MIN_SIZE, 1, 1);
	check(&entry, bytes, bytes->len - 1, 1, 1);
	check(&entry, bytes, bytes->len, 0, 2);
	*second -= 4;
	check(&entry, bytes, bytes->len, 1, 1);
	*second = RS_EVENT_DESC_MIN_SIZE - 8;
	check(&entry, bytes, bytes->len, 1, 1);
}

/* As large as a descriptor may be: one that is larger ends the list, whatever lies behind it. */
static void test_largest(void)
{
	for (guint more = 0; more <= 8; more += 8) {
		static const char *const behind[] = {"behind", NULL};
		g_autoptr(GByteArray) bytes = g_byte_array_new(),
				      last = describe(FIRST + 1, behind);
		g_autofree guint8 *rest = g_malloc0(RS_MAX_DESC_SIZE);
		struct rs_provider entry;

		test_desc_end(test_desc_new(FIRST, "s", "large"), NULL, NULL, bytes);
		g_byte_array_append(bytes, rest, RS_MAX_DESC_SIZE + more - bytes->len);
		*(guint32 *)(void *)bytes->data = bytes->len;
		g_byte_array_append(bytes, last->data, last->len);
		test_provider(&entry, 0, last);
		entry.first_id = FIRST;
		entry.event_count = 2;
		check(&entry, bytes, bytes->len, more ? 1 : 0, more ? 0 : 2);
	}
}

/* The error says what is wrong with each, up to eight. */
static void test_all_errors(void)
{
	static const char *const names[] = {"a", "b", "a", "c", NULL};
	static const char *const many[] = {"a", "a", "a", "a", "a", "a",
					   "a", "a", "a", "a", "a", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(GError) error = NULL;
	struct rs_provider entry;
	guint bad;

	test_provider(&entry, 0, bytes);
	entry.event_count = 3;
	rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, &bad, &error);
	g_assert_cmpuint(bad, ==, 2);
	g_assert_cmpstr(error->message, ==,
			"s:a: the name is taken; s:c: its id is not its provider's");
	g_clear_error(&error);
	g_byte_array_unref(bytes);
	bytes = describe(FIRST, many);
	test_provider(&entry, 1, bytes);
	entry.event_count = 11;
	rs_trace_schema_take(schema, 1, &entry, bytes->data, bytes->len, &bad, &error);
	g_assert_cmpuint(bad, ==, 10);
	g_assert_true(g_str_has_suffix(error->message, "s:a: the name is taken; and 2 more"));
	g_assert_cmpuint(strlen(error->message), ==,
			 8 * strlen("s:a: the name is taken; ") + strlen("and 2 more"));
}

/* An error names the event, if that has a name. */
static void test_named_error(void)
{
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		g_autoptr(GError) error = NULL;
		struct rs_provider entry;

		test_desc_end(test_desc_new(FIRST, "s", "broken"), "%u", "", bytes);
		if (i)
			((struct rs_event_desc *)(void *)bytes->data)->name = 1;
		test_provider(&entry, 0, bytes);
		rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, NULL, &error);
		g_assert_true(g_str_has_prefix(error->message, i ? "descriptor: " : "s:broken: "));
	}
}

/* ---- what is said of a provider ---- */

static void test_told(void)
{
	static const char *const names[] = {"a", NULL};
	static const guint sizes[] = {0, 1, 31, 32, 33, G_MAXUINT32};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		const RsTraceProvider *provider;
		struct rs_provider entry;

		test_provider(&entry, 5, bytes);
		entry.first_boot = 2;
		entry.last_boot = 3;
		entry.since = 4;
		entry.since_chain = 5;
		entry.until = 6;
		entry.until_chain = 7;
		entry.generation = 8;
		entry.owner_pid = 9;
		entry.image_start = 10;
		entry.image_end = 11;
		entry.build_id_size = sizes[i];
		memset(entry.build_id, 0xb1, sizeof(entry.build_id));
		memset(entry.name, 'x', sizeof(entry.name)); /* without an end */
		rs_trace_schema_take(schema, 5, &entry, bytes->data, bytes->len, NULL, NULL);
		provider = rs_trace_schema_provider(schema, 5);
		g_assert_cmpuint(provider->slot, ==, 5);
		g_assert_cmpuint(provider->since.boot, ==, 2);
		g_assert_cmpuint(provider->until.boot, ==, 3);
		g_assert_cmpuint(provider->since.ts, ==, 4);
		g_assert_cmpuint(provider->since.chain, ==, 5);
		g_assert_cmpuint(provider->until.ts, ==, 6);
		g_assert_cmpuint(provider->until.chain, ==, 7);
		g_assert_cmpuint(provider->generation, ==, 8);
		g_assert_cmpuint(provider->owner_pid, ==, 9);
		g_assert_cmpuint(provider->image_start, ==, 10);
		g_assert_cmpuint(provider->image_end, ==, 11);
		g_assert_cmpuint(provider->first_id, ==, FIRST);
		g_assert_cmpuint(provider->n_events, ==, 1);
		g_assert_true(provider->is_live);
		g_assert_cmpuint(provider->build_id_size, ==, MIN(sizes[i], 32));
		g_assert_cmpmem(provider->build_id, 32, entry.build_id, 32);
		g_assert_cmpuint(strlen(provider->name), ==, sizeof(entry.name) - 1);
	}
}

/* Any other place, time or number makes it another provider. */
static void test_same(void)
{
	static const char *const names[] = {"a", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	struct rs_provider entry;
	guint32 *const words[] = {&entry.first_boot, &entry.since_chain, &entry.first_id,
				  &entry.event_count};
	guint64 *const longs[] = {&entry.since, &entry.desc_offset, &entry.desc_size};

	test_provider(&entry, 0, bytes);
	rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, NULL, NULL);
	g_assert_true(rs_trace_schema_knows(schema, 0, &entry));
	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		++*words[i];
		g_assert_false(rs_trace_schema_knows(schema, 0, &entry));
		--*words[i];
	}
	for (guint i = 0; i < G_N_ELEMENTS(longs); i++) {
		++*longs[i];
		g_assert_false(rs_trace_schema_knows(schema, 0, &entry));
		--*longs[i];
	}
	g_assert_true(rs_trace_schema_knows(schema, 0, &entry));
}

/* ---- how long its ids were its own ---- */

/* One that has lost its slot: its last boot, when it died there, and whether that was seen. */
static void test_lost(void)
{
	static const struct {
		guint state, last_boot;
		guint64 until;
		struct {
			guint boot;
			guint64 ts;
			gboolean its;
		} then[4];
	} cases[] = {
		/* Nobody saw it die. It is known to have lived when its last boot began. */
		{RS_PROVIDER_LIVE, 1, 0, {{1, 9, 0}, {1, 10, 1}, {1, 11, 0}, {2, 0, 0}}},
		{RS_PROVIDER_LIVE, 3, 0, {{1, 999, 1}, {2, 999, 1}, {3, 1, 1}, {3, 2, 0}}},
		/* It was seen to die, or to be dead after a boot. */
		{RS_PROVIDER_DEAD, 1, 20, {{1, 10, 1}, {1, 20, 1}, {1, 21, 0}, {2, 0, 0}}},
		{RS_PROVIDER_DEAD, 1, 0, {{1, 10, 1}, {1, 999, 1}, {1, G_MAXUINT64, 1}, {2, 0, 0}}},
		{RS_PROVIDER_LIVE, 1, 20, {{1, 10, 1}, {1, 20, 1}, {1, 21, 0}, {2, 0, 0}}},
	};
	static const char *const names[] = {"a", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		struct rs_provider entry;
		guint bad = 99;

		test_provider(&entry, 0, bytes);
		entry.state = cases[i].state;
		entry.first_boot = 1;
		entry.since = 10;
		entry.last_boot = cases[i].last_boot;
		entry.until = cases[i].until;
		rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, NULL, NULL);
		rs_trace_schema_take(schema, 0, &entry, NULL, 0, &bad, NULL); /* is known */
		g_assert_cmpuint(bad, ==, 0);
		bad = 99;
		entry.state = RS_PROVIDER_FREE;
		rs_trace_schema_take(schema, 0, &entry, NULL, 0, &bad, NULL);
		g_assert_cmpuint(bad, ==, 0);
		g_assert_null(rs_trace_schema_provider(schema, 0));
		for (guint k = 0; k < G_N_ELEMENTS(cases[i].then); k++) {
			RsTraceMoment when = {cases[i].then[k].boot, 0, cases[i].then[k].ts};

			g_test_message("%u: %u", i, k);
			g_assert_true((rs_trace_schema_lookup(schema, FIRST, when) != NULL) ==
				      cases[i].then[k].its);
		}
	}
}

static gsize allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* What those that are gone are said to take is about what they take, and no less. */
static void test_memory(void)
{
	enum { LIVES = 1000 };

	for (guint fields = 0; fields <= 8; fields += 4) {
		g_autoptr(GByteArray) bytes = g_byte_array_new();
		g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
		TestDesc *desc = test_desc_new(FIRST, "s", "event");
		struct rs_provider entry;
		gsize before, said, taken;
		guint n;

		for (guint i = 0; i < fields; i++) {
			const char name[] = {'f', (char)('0' + i), 0};

			test_desc_int(desc, name, RS_KIND_UINT, 8);
		}
		test_desc_end(desc, NULL, NULL, bytes);
		test_provider(&entry, 0, bytes);
		before = allocated();
		for (guint i = 0; i <= LIVES; i++) {
			entry.since = i;
			rs_trace_schema_take(schema, 0, &entry, bytes->data, bytes->len, NULL,
					     NULL);
		}
		taken = allocated() - before;
		said = rs_trace_schema_retired(schema, &n);
		g_assert_cmpuint(n, ==, LIVES);
		g_test_message("%u fields: %zu bytes each, said to be %zu", fields, taken / LIVES,
			       said / LIVES);
		g_assert_cmpuint(said / LIVES, <, 16384);
		if (!taken)
			continue; /* under a sanitizer */
		g_assert_cmpuint(said + said / 16, >=, taken);
		g_assert_cmpuint(said, <, 2 * taken);
	}
}

/* Slots that nobody has had, and ids that nobody has. */
static void test_nobody(void)
{
	static const char *const names[] = {"a", NULL};
	g_autoptr(GByteArray) bytes = describe(FIRST, names);
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	const RsTraceMoment when = {1, 0, G_MAXUINT64};
	struct rs_provider entry, none = {.state = RS_PROVIDER_FREE};
	guint retired;

	rs_trace_schema_take(schema, 7, &none, NULL, 0, NULL, NULL);
	g_assert_null(rs_trace_schema_provider(schema, 7));
	test_provider(&entry, 2, bytes);
	rs_trace_schema_take(schema, 2, &entry, bytes->data, bytes->len, NULL, NULL);
	rs_trace_schema_take(schema, 1, &none, NULL, 0, NULL, NULL);
	rs_trace_schema_take(schema, 3, &none, NULL, 0, NULL, NULL);
	g_assert_cmpuint(rs_trace_schema_retired(schema, &retired), ==, 0);
	g_assert_cmpuint(retired, ==, 0);
	g_assert_nonnull(rs_trace_schema_provider(schema, 2));
	g_assert_null(rs_trace_schema_provider(schema, 1));
	g_assert_null(rs_trace_schema_provider(schema, 3));
	g_assert_nonnull(rs_trace_schema_lookup(schema, FIRST, when));
	g_assert_null(rs_trace_schema_lookup(schema, FIRST - 1, when));
	g_assert_null(rs_trace_schema_lookup(schema, FIRST + 1, when));
	g_assert_null(rs_trace_schema_lookup(schema, G_MAXUINT32, when));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/provider/ids", test_ids);
	g_test_add_func("/decode/provider/names", test_names);
	g_test_add_func("/decode/provider/sizes", test_sizes);
	g_test_add_func("/decode/provider/largest", test_largest);
	g_test_add_func("/decode/provider/all-errors", test_all_errors);
	g_test_add_func("/decode/provider/named-error", test_named_error);
	g_test_add_func("/decode/provider/memory", test_memory);
	g_test_add_func("/decode/provider/told", test_told);
	g_test_add_func("/decode/provider/same", test_same);
	g_test_add_func("/decode/provider/lost", test_lost);
	g_test_add_func("/decode/provider/nobody", test_nobody);
	return g_test_run();
}
