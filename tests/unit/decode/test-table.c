/* SPDX-License-Identifier: MIT */
/* What a look at a guest's table hands out, in which order, and how much at most. */
#include "rs-trace-table.h"
#include "rs-trace-clock.h"
#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-merger.h"
#include "rs-trace-ring.h"
#include "build.h"

#include "region/regions.h"
#include <string.h>

typedef struct Fixture Fixture;
struct Fixture {
	RsTraceRegion *region;
	RsTraceTable *table;
	RsTraceSchema *schema;
	GString *out;
	gsize bytes; /* of descriptors that were handed out */
	guint refused;
	char *error; /* the last one */
	/* Plays the guest in the middle of a look. NULL: it does nothing. */
	void (*meanwhile)(Fixture *f, guint slot);
};

static struct rs_provider *shared(Fixture *f, guint slot)
{
	return rs_trace_region_element(f->region, RS_SEC_PROVIDERS, slot);
}

/* Gives the slot to a provider with `size` bytes of descriptors, the first one described well. */
static void put(Fixture *f, guint slot, const char *name, gsize at, gsize size)
{
	guint8 *section = rs_trace_region_section(f->region, RS_SEC_EVENTS, NULL);
	struct rs_provider *to = shared(f, slot), entry;
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	test_desc_end(test_desc_new(RS_FIRST_EVENT_ID + slot, name, "event"), NULL, NULL, bytes);
	test_provider(&entry, slot, bytes);
	memcpy(section + at, bytes->data, bytes->len);
	entry.desc_offset = at;
	entry.desc_size = MAX(size, bytes->len);
	entry.since = entry.sequence = to->sequence + 2;
	g_strlcpy(entry.name, name, sizeof(entry.name));
	*to = entry;
}

static void set_state(Fixture *f, guint slot, guint state)
{
	shared(f, slot)->state = state;
	shared(f, slot)->sequence += 2;
}

static gboolean take(guint slot, const struct rs_provider *entry, const guint8 *descs, gsize size,
		     gpointer data)
{
	Fixture *f = data;
	GError *error = NULL;

	f->bytes += size;
	rs_trace_schema_take(f->schema, slot, entry, descs, size, NULL, &error);
	if (error && strstr(error->message, "that provider")) {
		f->refused++;
		g_free(f->error);
		f->error = g_strdup(error->message);
	}
	g_clear_error(&error);
	rs_trace_schema_trim(f->schema, 0, 0);
	if (f->out->len < 1000)
		g_string_append_printf(f->out, "%s%u ", entry->state == RS_PROVIDER_FREE ? "-" : "",
				       slot);
	if (f->meanwhile)
		f->meanwhile(f, slot);
	return TRUE;
}

static gboolean take_none(guint slot, const struct rs_provider *entry, const guint8 *descs,
			  gsize size, gpointer data)
{
	((Fixture *)data)->bytes++;
	return FALSE;
}

static gboolean look(Fixture *f)
{
	g_string_truncate(f->out, 0);
	f->bytes = 0;
	return rs_trace_table_look(f->table, f->region->header.section[RS_SEC_PROVIDERS].count,
				   f->schema, take, f);
}

static gboolean has(Fixture *f, const char *name)
{
	return rs_trace_schema_by_name(f->schema, name, "event") != NULL;
}

static void set_up(Fixture *f, gconstpointer unused)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 4 * 4096};

	g_assert_cmpint(rs_region_create(&config, &f->region, NULL), ==, 0);
	f->table = rs_trace_table_new(f->region);
	f->schema = rs_trace_schema_new();
	f->out = g_string_new(NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	g_free(f->error);
	g_string_free(f->out, TRUE);
	rs_trace_schema_free(f->schema);
	rs_trace_table_free(f->table);
	rs_trace_region_free(f->region);
}

static void test_changes(Fixture *f, gconstpointer unused)
{
	const guint last = f->region->header.section[RS_SEC_PROVIDERS].count - 1;

	g_assert_false(look(f));
	put(f, 1, "a", 0, 0);
	put(f, 3, "b", 4096, 0);
	g_assert_true(look(f));
	g_assert_cmpstr(f->out->str, ==, "1 3 ");
	g_assert_false(look(f));
	/* The provider dies: its descriptors are not copied again. */
	set_state(f, 3, RS_PROVIDER_DEAD);
	g_assert_true(look(f));
	g_assert_cmpstr(f->out->str, ==, "3 ");
	g_assert_cmpuint(f->bytes, ==, 0);
	shared(f, 1)->sequence++;
	g_assert_false(look(f));
	g_assert_true(rs_trace_table_pending(f->table));
	shared(f, 1)->sequence++;
	rs_trace_table_forget(f->table);
	g_assert_true(look(f));
	g_assert_false(rs_trace_table_pending(f->table));
	g_assert_cmpstr(f->out->str, ==, "1 3 ");
	/* All are forgotten, to the last slot. */
	g_assert_cmpuint(last, ==, 255);
	put(f, last, "z", 8192, 0);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "255 ");
	g_assert_false(look(f));
	rs_trace_table_forget(f->table);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "1 3 255 ");
	/* Of slots that are said to be used, none is looked at that is not there. */
	rs_trace_table_forget(f->table);
	g_string_truncate(f->out, 0);
	g_assert_true(rs_trace_table_look(f->table, 3, f->schema, take, f));
	g_assert_cmpstr(f->out->str, ==, "1 ");
	g_assert_true(rs_trace_table_look(f->table, G_MAXUINT, f->schema, take, f));
	g_assert_cmpstr(f->out->str, ==, "1 3 255 ");
}

/* Bytes that went from one to the other since the last look, in a slot before or behind it. */
static void test_given_away(Fixture *f, gconstpointer unused)
{
	put(f, 1, "a", 0, 4096);
	look(f);
	set_state(f, 1, RS_PROVIDER_FREE);
	put(f, 0, "b", 0, 4096);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "-1 0 ");
	/* The slot has another provider, and so have the bytes. */
	put(f, 0, "c", 8192, 4096);
	put(f, 2, "d", 0, 4096);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "-0 0 2 ");
	g_assert_true(has(f, "c") && has(f, "d"));
	g_assert_cmpuint(f->refused, ==, 0);
}

static void give_away(Fixture *f, guint slot)
{
	if (slot != 0 || shared(f, 1)->state != RS_PROVIDER_FREE)
		return;
	set_state(f, 9, RS_PROVIDER_FREE);
	put(f, 1, "new", 0, 4096);
}

/* The same during a look, which found slot 9 still unchanged. */
static void test_given_away_meanwhile(Fixture *f, gconstpointer unused)
{
	put(f, 9, "old", 0, 4096);
	look(f);
	put(f, 0, "x", 8192, 0);
	f->meanwhile = give_away;
	look(f);
	g_assert_cmpstr(f->out->str, ==, "0 -9 1 ");
	g_assert_true(has(f, "new") && has(f, "x") && !has(f, "old"));
	g_assert_cmpuint(f->refused, ==, 0);
}

/* The other entry is being written: it is too early to say whose bytes they are. */
static void test_too_early(Fixture *f, gconstpointer unused)
{
	put(f, 9, "old", 0, 4096);
	look(f);
	shared(f, 9)->sequence++;
	put(f, 1, "new", 0, 4096);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "");
	g_assert_true(rs_trace_table_pending(f->table));
	shared(f, 9)->state = RS_PROVIDER_FREE;
	shared(f, 9)->sequence++;
	look(f);
	g_assert_cmpstr(f->out->str, ==, "-9 1 ");
	g_assert_cmpuint(f->refused, ==, 0);
}

static void begin_write(Fixture *f, guint slot)
{
	if (slot != 3)
		return;
	shared(f, 0)->sequence++;
	put(f, 5, "new", 0, 4096);
}

/* The same in a look that has passed the other entry already. */
static void test_too_early_behind(Fixture *f, gconstpointer unused)
{
	put(f, 0, "old", 0, 4096);
	look(f);
	put(f, 3, "x", 8192, 0);
	f->meanwhile = begin_write;
	look(f);
	g_assert_cmpstr(f->out->str, ==, "3 ");
	g_assert_true(rs_trace_table_pending(f->table));
	f->meanwhile = NULL;
	shared(f, 0)->state = RS_PROVIDER_FREE;
	shared(f, 0)->sequence++;
	look(f);
	g_assert_cmpstr(f->out->str, ==, "-0 5 ");
	g_assert_false(rs_trace_table_pending(f->table));
	g_assert_cmpuint(f->refused, ==, 0);
}

/* All slots name all bytes: those are copied once. */
static void test_shared_bytes(Fixture *f, gconstpointer unused)
{
	gsize size = f->region->header.section[RS_SEC_EVENTS].size;
	guint n = f->region->header.section[RS_SEC_PROVIDERS].count;

	for (guint slot = 0; slot < n; slot++)
		put(f, slot, slot == 7 ? "seven\n" : "p", slot % 2 ? 0 : size / 2, size);
	look(f);
	g_assert_cmpuint(f->bytes, ==, size / 2);
	g_assert_cmpuint(f->refused, ==, n - 1);
	g_assert_true(g_str_has_prefix(f->error, "provider 'p' in slot 255: "));
	g_assert_true(g_str_has_suffix(f->error, "that provider 'p' in slot 0 has"));
	/* Each is refused once. */
	g_assert_false(look(f));
	/* A dead one has its bytes still. */
	set_state(f, 0, RS_PROVIDER_DEAD);
	put(f, 7, "seven\n", size / 2, 100);
	look(f);
	g_assert_cmpuint(f->bytes, ==, 0);
	g_assert_true(g_str_has_prefix(f->error, "provider 'seven\\x0a' in slot 7: "));
	/* One of them may have them afterwards. */
	set_state(f, 0, RS_PROVIDER_FREE);
	put(f, 7, "seven", size / 2, 100);
	look(f);
	g_assert_true(has(f, "seven"));
}

static void race(Fixture *f, guint slot)
{
	guint n = f->region->header.section[RS_SEC_PROVIDERS].count;

	if (shared(f, slot)->state != RS_PROVIDER_LIVE || slot + 1 == n)
		return;
	set_state(f, slot, RS_PROVIDER_FREE);
	put(f, slot + 1, "p", 0, f->region->header.section[RS_SEC_EVENTS].size);
}

/* The guest gives all bytes to the next slot whenever one has been read. */
static void test_race(Fixture *f, gconstpointer unused)
{
	gsize size = f->region->header.section[RS_SEC_EVENTS].size;

	put(f, 0, "p", 0, size);
	f->meanwhile = race;
	look(f);
	g_assert_cmpuint(f->bytes, ==, 2 * size);
	g_assert_true(rs_trace_table_pending(f->table));
	f->meanwhile = NULL;
	look(f);
	g_assert_true(has(f, "p"));
	g_assert_cmpuint(f->refused, ==, 0);
	g_assert_false(rs_trace_table_pending(f->table));
}

/* If a slot was not taken, the next look hands it out again. */
static void test_not_taken(Fixture *f, gconstpointer unused)
{
	const guint n = f->region->header.section[RS_SEC_PROVIDERS].count;

	put(f, 1, "a", 0, 0);
	put(f, 2, "b", 4096, 0);
	g_assert_false(rs_trace_table_look(f->table, n, f->schema, take_none, f));
	g_assert_cmpuint(f->bytes, ==, 1);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "1 2 ");
	set_state(f, 1, RS_PROVIDER_FREE);
	put(f, 3, "c", 0, 0);
	f->bytes = 0;
	g_assert_false(rs_trace_table_look(f->table, n, f->schema, take_none, f));
	g_assert_cmpuint(f->bytes, ==, 1);
	look(f);
	g_assert_cmpstr(f->out->str, ==, "-1 3 ");
}

/* Whoever could not make one need not ask before freeing it. */
static void test_nothing_to_free(void)
{
	rs_trace_clock_free(NULL);
	rs_trace_cmdline_free(NULL);
	rs_trace_decoder_free(NULL);
	rs_trace_merger_free(NULL);
	rs_trace_region_free(NULL);
	rs_trace_ring_free(NULL);
	rs_trace_schema_free(NULL);
	rs_trace_table_free(NULL);
}

#define ADD(path, test) g_test_add("/decode/table/" path, Fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("changes", test_changes);
	ADD("given-away", test_given_away);
	ADD("given-away-meanwhile", test_given_away_meanwhile);
	ADD("too-early", test_too_early);
	ADD("too-early-behind", test_too_early_behind);
	ADD("shared-bytes", test_shared_bytes);
	ADD("race", test_race);
	ADD("not-taken", test_not_taken);
	g_test_add_func("/decode/nothing-to-free", test_nothing_to_free);
	return g_test_run();
}
