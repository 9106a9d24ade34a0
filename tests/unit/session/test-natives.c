/* SPDX-License-Identifier: MIT */
/* Filters become machine code where the guest has a place for it, and stay programs elsewhere. */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/native.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const names[] = {"one", "two", NULL};

#define CODE_SIZE (SHAM_POOL_SIZE - RS_NATIVE_ENTRY_BYTES(SHAM_POOL_SIZE))

struct fixture {
	struct rs_session *session;
	struct sham *sham;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 65536);
	memset(sham_pool(f->sham), RS_NATIVE_UNUSED, SHAM_POOL_SIZE);
	f->sham->pool = SHAM_POOL;
	f->sham->pool_size = SHAM_POOL_SIZE;
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

static void report(struct fixture *f, uint32_t flags)
{
	sham_hello(f->sham, flags);
	sham_provider(f->sham, "first", names);
	rs_session_refresh(f->session);
}

static void filter(struct fixture *f, const char *event, const char *expression)
{
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, event, expression, NULL, NULL), ==,
		0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, event, NULL, NULL), ==, 0);
}

static struct rs_session_event look(struct fixture *f, const char *event)
{
	GArray *list = rs_session_list(f->session, event);
	struct rs_session_event found;

	g_assert_cmpuint(list->len, ==, 1);
	found = g_array_index(list, struct rs_session_event, 0);
	g_array_unref(list);
	return found;
}

/* Runs the session until it is decided. */
static struct rs_session_event decided(struct fixture *f, const char *event)
{
	gint64 until = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

	for (;;) {
		struct rs_session_event found = look(f, event);

		if (found.native || found.no_native)
			return found;
		g_assert_cmpint(g_get_monotonic_time(), <, until);
		g_main_context_iteration(NULL, TRUE);
	}
}

static void is_program(struct fixture *f, const char *event, const char *why)
{
	struct rs_session_event found = decided(f, event);

	g_assert_false(found.native);
	if (!strstr(found.no_native, why))
		g_error("'%s' is not why: '%s'", why, found.no_native);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 0);
	/* Which is in force. */
	g_assert_cmpuint(sham_word(f->sham, FIRST) >> RS_EVENT_FILTER_SHIFT, !=, 0);
}

static void test_made(struct fixture *f, gconstpointer data)
{
	const struct rs_native_entry *entries = (const void *)sham_pool(f->sham);
	struct rs_source_stat stat;

	report(f, 0);
	filter(f, "first:one", "a == 7");
	g_assert_true(decided(f, "first:one").native);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 1);
	g_assert_cmpuint(entries[0].event, ==, FIRST);
	g_assert_cmpuint(entries[0].code, <, SHAM_POOL_SIZE);
	g_assert_cmpuint(entries[0].code % RS_NATIVE_ALIGN, ==, 0);
	g_assert_cmphex(sham_pool(f->sham)[entries[0].code], ==, 0xf3);
	/* The same for another event: an entry of its own, and the same code. */
	filter(f, "first:two", "a == 7");
	g_assert_true(decided(f, "first:two").native);
	g_assert_cmpuint(sham_native(f->sham, FIRST + 1), ==, 2);
	g_assert_cmpuint(entries[1].event, ==, FIRST + 1);
	g_assert_cmpuint(entries[1].code, ==, entries[0].code);
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.native.in_force, ==, 2);
	g_assert_cmpuint(stat.native.made, ==, 2);
	g_assert_cmpuint(stat.native.left, ==, CODE_SIZE - 32);
	/* Without a filter there is no word. */
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "*", NULL, NULL, NULL), ==,
			0);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 0);
	g_assert_false(look(f, "first:one").native);
	g_assert_null(look(f, "first:one").no_native);
}

/* Another boot has other text. */
static void test_boot(struct fixture *f, gconstpointer data)
{
	report(f, 0);
	filter(f, "first:one", "a == 7");
	g_assert_true(decided(f, "first:one").native);
	memset(sham_pool(f->sham), RS_NATIVE_UNUSED, SHAM_POOL_SIZE);
	report(f, 0);
	g_assert_true(decided(f, "first:one").native);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 1);
	g_assert_cmpuint(sham_pool(f->sham)[4], ==, FIRST);
}

/* What earlier sessions have written is used again: it takes no more room. */
static void test_again(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;
	uint64_t left;

	report(f, 0);
	filter(f, "first:one", "c ~ \"*wor*ker*\"");
	g_assert_true(decided(f, "first:one").native);
	rs_session_stat(f->session, &stat);
	left = stat.native.left;
	for (unsigned int i = 0; i < 3; i++) {
		report(f, 0);
		g_assert_true(decided(f, "first:one").native);
		rs_session_stat(f->session, &stat);
		g_assert_cmpuint(stat.native.left, ==, left);
		g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 1);
	}
	/* Not one byte of it may be another. */
	sham_pool(f->sham)[((const struct rs_native_entry *)sham_pool(f->sham))->code + 9] ^= 1;
	report(f, 0);
	g_assert_true(decided(f, "first:one").native);
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.native.left, <, left);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 2);
}

/* A full pool still has what it has. */
static void test_full(struct fixture *f, gconstpointer data)
{
	const struct rs_native_entry *entry = (const void *)sham_pool(f->sham);

	report(f, 0);
	filter(f, "first:one", "a == 7");
	g_assert_true(decided(f, "first:one").native);
	memset(sham_pool(f->sham) + 16, 0x90, entry->code - 16);
	report(f, 0);
	g_assert_true(decided(f, "first:one").native);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 1);
	filter(f, "first:one", "a == 8");
	is_program(f, "first:one", "full");
}

static void test_self(struct fixture *f, gconstpointer data)
{
	report(f, RS_GUEST_SELF_PATCH);
	filter(f, "first:one", "a == 7");
	is_program(f, "first:one", "does not write");
}

static void test_older(struct fixture *f, gconstpointer data)
{
	f->sham->older = true;
	report(f, 0);
	filter(f, "first:one", "a == 7");
	is_program(f, "first:one", "older");
}

/* What a hostile guest may say. Nothing of its memory changes. */
static const struct {
	uint64_t at, size;
	const char *why;
} places[] = {
	{0, 4096, "no place for code"},
	{SHAM_POOL, 0, "cannot be one"},
	{SHAM_POOL + 4, 4096, "cannot be one"},
	{SHAM_POOL, 4 * SHAM_POOL_SIZE, "no memory"},
	{0x80000, 4096, "no memory"},
	{UINT64_MAX - 15, 4096, "cannot be one"},
	{SHAM_POOL - 3 * SHAM_POOL_SIZE, 4096, "full"}, /* its sites */
};

static void test_hostile(struct fixture *f, gconstpointer data)
{
	g_autofree uint8_t *before = NULL;

	for (unsigned int i = 0; i < G_N_ELEMENTS(places); i++) {
		f->sham->pool = places[i].at;
		f->sham->pool_size = places[i].size;
		report(f, 0);
		g_free(before);
		before = g_memdup2(sham_pool(f->sham), SHAM_POOL_SIZE);
		filter(f, "first:one", "a == 7");
		is_program(f, "first:one", places[i].why);
		g_assert_cmpmem(sham_pool(f->sham), SHAM_POOL_SIZE, before, SHAM_POOL_SIZE);
	}
}

static void test_unwritable(struct fixture *f, gconstpointer data)
{
	report(f, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "first:one", NULL, NULL), ==,
			0);
	f->sham->read_only = true;
	filter(f, "first:one", "a == 7");
	is_program(f, "first:one", "engraved");
	f->sham->read_only = false;
	f->sham->unstoppable = true;
	filter(f, "first:one", "a == 8");
	is_program(f, "first:one", "runs away");
	f->sham->unstoppable = false;
	filter(f, "first:one", "a == 9");
	g_assert_true(decided(f, "first:one").native);
}

/* While the target is not ready the program decides, and nobody waits. */
static void test_busy(struct fixture *f, gconstpointer data)
{
	report(f, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "first:one", NULL, NULL), ==,
			0);
	f->sham->not_ready = true;
	filter(f, "first:one", "a == 7");
	for (unsigned int i = 0; i < 3; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpuint(sham_native(f->sham, FIRST), ==, 0);
	g_assert_cmpuint(sham_word(f->sham, FIRST) >> RS_EVENT_FILTER_SHIFT, !=, 0);
	sham_get_ready(f->sham);
	g_assert_true(decided(f, "first:one").native);
}

/*
 * At whatever moment the target is busy, the program decides, the next refresh tries again, and no
 * turn comes earlier. Nothing is used up by it.
 */
static void test_refused(struct fixture *f, gconstpointer data)
{
	const int errors[] = {-EAGAIN, -ETIMEDOUT, -EBUSY};
	struct rs_source_stat stat;

	for (uint32_t i = 0; i < 20; i++) {
		g_autofree char *text = g_strdup_printf("a == %u", 1000 + i);
		gint64 began, now;

		if (i % 2 == 0) /* and opens the pool anew */
			report(f, 0);
		/* Its sites are patched first. */
		g_assert_cmpint(
			rs_session_enable(f->session, RS_OWNER_HOST, "first:one", NULL, NULL), ==,
			0);
		filter(f, "first:one", text);
		f->sham->refusal = errors[i % 3];
		f->sham->patience = i / 2;
		f->sham->refusals = 0;
		began = now = g_get_monotonic_time();
		while (!look(f, "first:one").native && now < began + 120000) {
			g_main_context_iteration(NULL, TRUE);
			now = g_get_monotonic_time();
		}
		g_assert_null(look(f, "first:one").no_native);
		/* A try in 100 ms, in which each word, and each way, may be refused. */
		g_assert_cmpuint(f->sham->refusals, <=, 16 * ((now - began) / 100000 + 2));
		f->sham->refusal = 0;
		g_assert_true(decided(f, "first:one").native);
		rs_session_stat(f->session, &stat);
		g_assert_cmpuint(stat.native.left, ==, CODE_SIZE - (i + 1) * 32);
		g_assert_cmpuint(stat.native.full, ==, 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/session/natives/" #name, struct fixture, NULL, set_up, test_##name, tear_down)
	ADD(made);
	ADD(boot);
	ADD(again);
	ADD(full);
	ADD(self);
	ADD(older);
	ADD(hostile);
	ADD(unwritable);
	ADD(busy);
	ADD(refused);
	return g_test_run();
}
