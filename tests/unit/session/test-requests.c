/* SPDX-License-Identifier: MIT */
/* What each request of a guest may say: the last value accepted, and the first one past it. */
#include "session/session.h"
#include "session/owners.h"

#include "sham.h"
#include <errno.h>
#include <ringside/filter.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

struct fixture {
	struct sham *sham;
	struct rs_session *session;
	struct rs_source *source;
	struct rs_session_listener listener;
	int changes, ends;
	GPtrArray *said;
	struct rs_target_end end;
};

static void on_changed(void *data, uint32_t generation)
{
	((struct fixture *)data)->changes++;
}

static void on_message(void *data, const char *text)
{
	g_ptr_array_add(((struct fixture *)data)->said, g_strdup(text));
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "k"};

	f->said = g_ptr_array_new_with_free_func(g_free);
	f->sham = sham_new(2, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->source, NULL),
			==, 0);
	f->listener = (struct rs_session_listener){
		.data = f, .changed = on_changed, .message = on_message};
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_ptr_array_unref(f->said);
}

/* Two providers: slot 0 with FIRST and FIRST + 1, slot 1 with FIRST + 2. */
static void come_up(struct fixture *f)
{
	static const char *const sched[] = {"switch", "wakeup", NULL}, *const irq[] = {"entry",
										       NULL};

	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "sched", sched);
	sham_provider(f->sham, "irq", irq);
}

/* As a guest does that calls: the session serves it at once. Returns the result. */
static int32_t call_with(struct fixture *f, uint32_t number, uint64_t arg, const void *data,
			 size_t size)
{
	struct rs_hcall_request *r = rs_trace_region_section(f->sham->region, RS_SEC_REQUEST, NULL);
	struct rs_target_events *events = &f->sham->target.events;

	r->number = number;
	r->args[0] = arg;
	r->data_size = (uint32_t)size;
	memcpy(r->data, data, MIN(size, RS_HCALL_DATA));
	r->sequence++;
	f->ends += events->hypercall(events->data, 0, &f->end);
	g_assert_cmpuint(sham_response(f->sham, 0)->sequence, ==, r->sequence);
	return sham_response(f->sham, 0)->result;
}

static int32_t call(struct fixture *f, uint32_t number, uint64_t arg)
{
	return call_with(f, number, arg, "", 0);
}

static int32_t call_text(struct fixture *f, uint32_t number, const char *text)
{
	return call_with(f, number, 0, text, strlen(text));
}

static bool is_on(struct fixture *f, uint32_t event)
{
	return sham_word(f->sham, event) & RS_EVENT_ENABLED;
}

static void test_hello(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, -RS_EACCES);
	g_assert_cmpint(call(f, RS_HCALL_QUERY, FIRST), ==, -RS_ENOENT);
	g_assert_cmpint(call(f, RS_HCALL_UNREGISTER, 0), ==, -RS_ENOENT);
	g_assert_cmpint(rs_source_nudge(f->source, NULL), ==, -ENOTSUP);
	g_assert_cmpint(f->sham->nudges, ==, 0);
	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	g_assert_cmpint(call(f, RS_HCALL_QUERY, FIRST + 2), ==, 0);
}

/* Puts a request that is answered later. */
static void put(struct fixture *f, uint32_t slot, uint32_t number)
{
	struct rs_target_events *events = &f->sham->target.events;

	sham_request(f->sham, slot, number, 0, NULL);
	g_assert_false(events->hypercall(events->data, slot, &f->end));
}

/* The answer comes when all is seen, also if most of it is nothing. */
static void test_empty_providers(struct fixture *f, gconstpointer data)
{
	static const char *const none[] = {NULL}, *const last[] = {"last", NULL};

	rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	for (int i = 0; i < 250; i++)
		sham_provider(f->sham, "none", none);
	sham_provider(f->sham, "sched", last);
	put(f, 1, RS_HCALL_HELLO);
	g_assert_false(is_on(f, FIRST));
	sham_wait_answer(f->sham, 1);
	g_assert_true(is_on(f, FIRST));
}

static void test_providers(struct fixture *f, gconstpointer data)
{
	uint32_t slots = f->sham->region->header.section[RS_SEC_PROVIDERS].count;
	const uint32_t both[] = {RS_HCALL_REGISTER, RS_HCALL_UNREGISTER};
	int changes;

	come_up(f);
	for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
		g_assert_cmpint(call(f, both[i], 2), ==, -RS_ENOENT);
		g_assert_cmpint(call(f, both[i], slots - 1), ==, -RS_ENOENT);
		g_assert_cmpint(call(f, both[i], slots), ==, -RS_EINVAL);
		g_assert_cmpint(call(f, both[i], UINT64_MAX), ==, -RS_EINVAL);
		g_assert_cmpint(call(f, both[i], 1ull << 32), ==, -RS_EINVAL);
	}
	rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL);
	g_assert_cmpint(call(f, RS_HCALL_REGISTER, 0), ==, 0);
	g_assert_cmpint(call(f, RS_HCALL_REGISTER, 1), ==, 0);
	g_assert_true(is_on(f, FIRST) && is_on(f, FIRST + 1) && is_on(f, FIRST + 2));
	/* It leaves while its entry still says LIVE. */
	changes = f->changes;
	g_assert_cmpint(call(f, RS_HCALL_UNREGISTER, 1), ==, 0);
	g_assert_cmpint(f->changes, ==, changes + 1);
	g_assert_true(is_on(f, FIRST) && is_on(f, FIRST + 1) && !is_on(f, FIRST + 2));
	/* Once. */
	g_assert_cmpint(call(f, RS_HCALL_UNREGISTER, 1), ==, 0);
	g_assert_cmpint(f->changes, ==, changes + 1);
	g_assert_cmpint(call(f, RS_HCALL_REGISTER, 1), ==, -RS_ENOENT);
	sham_provider_dies(f->sham, 1);
	g_assert_cmpint(call(f, RS_HCALL_UNREGISTER, 1), ==, 0);
	sham_provider_returns(f->sham, 1);
	g_assert_cmpint(call(f, RS_HCALL_REGISTER, 1), ==, 0);
	g_assert_true(is_on(f, FIRST + 2));
	/* It asks after it has changed its entry. */
	sham_provider_dies(f->sham, 0);
	g_assert_cmpint(call(f, RS_HCALL_REGISTER, 0), ==, -RS_ENOENT);
	g_assert_cmpint(call(f, RS_HCALL_UNREGISTER, 0), ==, 0);
	g_assert_true(!is_on(f, FIRST) && !is_on(f, FIRST + 1) && is_on(f, FIRST + 2));
}

static void check_query(struct fixture *f, uint32_t event, bool on, bool filtered)
{
	g_assert_cmpint(call(f, RS_HCALL_QUERY, event), ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 0)->values[0], ==, on);
	g_assert_cmpuint(sham_response(f->sham, 0)->values[2], ==, filtered);
}

static void test_query(struct fixture *f, gconstpointer data)
{
	const uint64_t capacity = f->sham->region->header.event_capacity;
	const uint64_t none[] = {0,
				 FIRST - 1,
				 FIRST + 3,
				 capacity - 1,
				 capacity,
				 capacity + 1,
				 (1ull << 32) + FIRST,
				 UINT64_MAX};

	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
		g_assert_cmpint(call(f, RS_HCALL_QUERY, none[i]), ==, -RS_ENOENT);
	rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL);
	rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:wakeup", "a == 1", NULL, NULL);
	check_query(f, FIRST, true, false);
	check_query(f, FIRST + 1, true, true);
	check_query(f, FIRST + 2, false, false);
}

/* A glob of so many bytes: it matches no event. */
static int32_t call_glob(struct fixture *f, uint32_t number, size_t size)
{
	g_autofree char *glob = g_strnfill(size, 'x');

	return call_with(f, number, 0, glob, size);
}

static void test_switch(struct fixture *f, gconstpointer data)
{
	const uint32_t both[] = {RS_HCALL_ENABLE, RS_HCALL_DISABLE};

	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
		g_assert_cmpint(call_glob(f, both[i], 0), ==, -RS_EINVAL);
		g_assert_cmpint(call_glob(f, both[i], 1), ==, -RS_ENOENT);
		g_assert_cmpint(call_glob(f, both[i], RS_SESSION_MAX_GLOB), ==, -RS_ENOENT);
		g_assert_cmpint(call_glob(f, both[i], RS_SESSION_MAX_GLOB + 1), ==, -RS_EINVAL);
		g_assert_cmpint(call_glob(f, both[i], RS_HCALL_DATA), ==, -RS_EINVAL);
		g_assert_cmpint(call_with(f, both[i], 0, "*\0x", 3), ==, -RS_EINVAL);
		g_assert_cmpint(call_with(f, both[i], 0, "\xff", 1), ==, -RS_EINVAL);
		g_assert_cmpint(call_with(f, both[i], 0, "*", RS_HCALL_DATA + 1), ==, -RS_E2BIG);
	}
	g_assert_false(is_on(f, FIRST) || is_on(f, FIRST + 1) || is_on(f, FIRST + 2));
	g_assert_cmpint(call_text(f, RS_HCALL_ENABLE, "sched:*"), ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 0)->values[0], ==, 2);
	g_assert_cmpint(call_text(f, RS_HCALL_DISABLE, "switch"), ==, 0);
	g_assert_cmpuint(sham_response(f->sham, 0)->values[0], ==, 1);
	g_assert_true(!is_on(f, FIRST) && is_on(f, FIRST + 1) && !is_on(f, FIRST + 2));
}

/* As many globs as are kept for a guest. */
static void test_rules(struct fixture *f, gconstpointer data)
{
	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	for (uint32_t i = 0; i <= RS_OWNER_MAX_RULES; i++) {
		g_autofree char *glob = g_strdup_printf("sched:s*%.*s", (int)i / 2,
							"***************************************"
							"***************************************"
							"***************************************"
							"***************************************");
		uint32_t number = i % 2 ? RS_HCALL_SET_FILTER : RS_HCALL_ENABLE;
		g_autofree char *filter = g_strconcat(glob, ": a == 1", NULL);

		g_assert_cmpint(call_text(f, number, i % 2 ? filter : glob), ==,
				i < RS_OWNER_MAX_RULES ? 0 : -RS_E2BIG);
	}
	g_assert_cmpint(call_text(f, RS_HCALL_DISABLE, "*"), ==, 0);
	g_assert_cmpint(call_text(f, RS_HCALL_ENABLE, "sched:wakeup"), ==, 0);
	g_assert_true(is_on(f, FIRST + 1));
}

/* A filter of so many comparisons. */
static int32_t call_filter(struct fixture *f, unsigned int terms)
{
	g_autoptr(GString) text = g_string_new("sched:switch: a == 0");

	for (unsigned int i = 1; i < terms; i++)
		g_string_append_printf(text, " || a == %u", i);
	return call_text(f, RS_HCALL_SET_FILTER, text->str);
}

static void test_filter(struct fixture *f, gconstpointer data)
{
	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	g_assert_cmpint(call_text(f, RS_HCALL_ENABLE, "sched:switch"), ==, 0);
	g_assert_cmpint(call(f, RS_HCALL_SET_FILTER, 0), ==, -RS_EINVAL);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch"), ==, -RS_EINVAL);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: nix == 1"), ==,
			-RS_EINVAL);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "nix:*: a == 1"), ==, -RS_ENOENT);
	g_assert_cmpint(call_with(f, RS_HCALL_SET_FILTER, 0, "switch: a\0", 10), ==, -RS_EINVAL);
	check_query(f, FIRST, true, false);
	g_assert_cmpint(call_filter(f, RS_FILTER_MAX_INSNS / 2), ==, 0);
	check_query(f, FIRST, true, true);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: "), ==, 0);
	check_query(f, FIRST, true, false);
	g_assert_cmpint(call_filter(f, RS_FILTER_MAX_INSNS / 2 + 1), ==, -RS_E2BIG);
	check_query(f, FIRST, true, false);
	/* 0 clears, as in Linux */
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: a"), ==, 0);
	check_query(f, FIRST, true, true);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: 0"), ==, 0);
	check_query(f, FIRST, true, false);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_GUEST, "sched:*", "a < b", NULL, NULL),
		==, 0);
	check_query(f, FIRST, true, true);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_GUEST, "sched:*", " 0 ", NULL, NULL), ==,
		0);
	check_query(f, FIRST, true, false);
}

/* An agent that does not know an instruction is never given it. */
static void test_older_agent(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	f->sham->older = true;
	come_up(f);
	g_assert_cmpint(call(f, RS_HCALL_HELLO, 0), ==, 0);
	g_assert_cmpint(call_text(f, RS_HCALL_ENABLE, "sched:switch"), ==, 0);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:switch",
					      "a == 1 || a < b", NULL, &err),
			==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "sched:switch: this guest's agent is older"));
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: a < b"), <, 0);
	check_query(f, FIRST, true, false);
	g_assert_cmpint(call_text(f, RS_HCALL_SET_FILTER, "sched:switch: a && 2 > b"), ==, 0);
	check_query(f, FIRST, true, true);
}

static void test_exit(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(call(f, RS_HCALL_EXIT, 256), ==, -RS_EINVAL);
	g_assert_cmpint(call(f, RS_HCALL_EXIT, UINT64_MAX), ==, -RS_EINVAL);
	g_assert_cmpint(f->ends, ==, 0);
	g_assert_cmpint(call(f, RS_HCALL_EXIT, 255), ==, 0);
	g_assert_cmpint(f->ends, ==, 1);
	g_assert_cmpint(f->end.code, ==, 255);
	g_assert_cmpint(call_text(f, RS_HCALL_PANIC, "oh"), ==, 0);
	g_assert_cmpint(f->ends, ==, 2);
	g_assert_cmpstr(f->end.text, ==, "oh");
}

/* Those that no agent sends, and those that cannot be taken. */
static void test_counted(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham->target.events;
	struct rs_source_stat stat;

	g_assert_cmpint(call(f, 0, 0), ==, -RS_ENOSYS);
	g_assert_cmpint(call(f, UINT32_MAX, 0), ==, -RS_ENOSYS);
	g_assert_cmpint(call_with(f, RS_HCALL_LOG, 0, "x", RS_HCALL_DATA), ==, 0);
	g_assert_cmpint(call_with(f, RS_HCALL_LOG, 0, "x", RS_HCALL_DATA + 1), ==, -RS_E2BIG);
	g_assert_cmpint(call(f, RS_HCALL_EXIT, 256), ==, -RS_EINVAL);
	/* The same once more, and of a slot that is not there. */
	g_assert_false(events->hypercall(events->data, 0, &f->end));
	g_assert_false(events->hypercall(events->data, UINT32_MAX, &f->end));
	rs_source_stat(f->source, &stat);
	g_assert_cmpuint(stat.hypercalls, ==, 7);
	g_assert_cmpuint(stat.bad_hypercalls, ==, 6);
}

#define BURST 200u
#define PER_SECOND 50u

/* "N messages were left out" */
static guint left_out(const char *text)
{
	return g_str_has_prefix(text, "guest: ") ? 0 : (guint)g_ascii_strtoull(text, NULL, 10);
}

/* A guest can say much at once, but not for long; and what is left out is counted. */
static void test_noise(struct fixture *f, gconstpointer data)
{
	const guint sent = 20000;
	gint64 began = g_get_monotonic_time(), took;
	guint heard = 0, left = 0;

	for (guint i = 0; i < sent; i++) {
		g_assert_cmpint(call_text(f, RS_HCALL_LOG, "hear me"), ==, 0);
		if (i + 1 == BURST)
			g_assert_cmpuint(f->said->len, ==, BURST);
	}
	took = g_get_monotonic_time() - began;
	/* What is left out at the end is told then. */
	rs_session_stop(f->session, "enough");
	for (guint i = 0; i < f->said->len; i++) {
		left += left_out(f->said->pdata[i]);
		heard += g_str_has_prefix(f->said->pdata[i], "guest: ");
	}
	g_assert_cmpuint(heard + left, ==, sent);
	g_assert_cmpuint(heard, <=, BURST + PER_SECOND * (guint)(took / G_USEC_PER_SEC + 1));
}

/* What it may say grows while it is silent. */
static void test_silence(struct fixture *f, gconstpointer data)
{
	guint heard;

	for (guint i = 0; i < BURST; i++)
		call_text(f, RS_HCALL_LOG, "hear me");
	heard = f->said->len;
	g_usleep(5 * G_USEC_PER_SEC / PER_SECOND);
	for (guint i = 0; i < 5; i++)
		call_text(f, RS_HCALL_LOG, "and me");
	g_assert_cmpuint(f->said->len, ==, heard + 5);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
	g_test_add("/requests/" name, struct fixture, NULL, set_up, function, tear_down)
	TEST("hello", test_hello);
	TEST("empty-providers", test_empty_providers);
	TEST("providers", test_providers);
	TEST("query", test_query);
	TEST("switch", test_switch);
	TEST("rules", test_rules);
	TEST("filter", test_filter);
	TEST("older-agent", test_older_agent);
	TEST("exit", test_exit);
	TEST("counted", test_counted);
	TEST("noise", test_noise);
	TEST("silence", test_silence);
	return g_test_run();
}
