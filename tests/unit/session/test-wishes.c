/* SPDX-License-Identifier: MIT */
/* Wishes of several owners for one guest, and the result that the guest sees. */
#include "session/session.h"

#include "filter.h" /* the agent's */
#include "sham.h"
#include <errno.h>
#include <ringside/control.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};
static const char *const irq[] = {"entry", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham;
	GString *said;
	int failed;
};

static void on_message(void *data, const char *text)
{
	g_string_append_printf(((struct fixture *)data)->said, "%s\n", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	((struct fixture *)data)->failed++;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "k"};

	f->said = g_string_new(NULL);
	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	f->listener =
		(struct rs_session_listener){.data = f, .message = on_message, .failed = on_failed};
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "sched", sched);
	sham_provider(f->sham, "irq", irq);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_string_free(f->said, TRUE);
}

/* ---- what the guest sees ---- */

static const struct rs_filter_program *program_of(struct fixture *f, uint32_t id)
{
	uint8_t *filters = rs_trace_region_section(f->sham->region, RS_SEC_FILTERS, NULL);
	uint32_t at = sham_word(f->sham, id) >> RS_EVENT_FILTER_SHIFT;

	return at ? (const void *)(filters + (size_t)at * RS_FILTER_GRAIN) : NULL;
}

static bool is_on(struct fixture *f, uint32_t id)
{
	return sham_word(f->sham, id) & RS_EVENT_ENABLED;
}

/* Whether an occurrence with this `a` is recorded. */
static bool records(struct fixture *f, uint32_t id, uint32_t a)
{
	struct {
		uint32_t a;
		uint64_t b;
		char c[16];
	} entry = {.a = a};
	struct rs_filter_input in = {.entry = &entry, .entry_size = sizeof(entry)};
	const struct rs_filter_program *program = program_of(f, id);

	return is_on(f, id) && (!program || rs_filter_run(program, program->size, &in));
}

/* "0110": whether it is recorded with `a` from 0 to 3. */
static void check_records(struct fixture *f, uint32_t id, const char *want)
{
	char have[5] = "";

	for (uint32_t a = 0; a < 4; a++)
		have[a] = records(f, id, a) ? '1' : '0';
	g_assert_cmpstr(have, ==, want);
}

/* ---- who asks ---- */

static void enable(struct fixture *f, const char *owner, const char *glob)
{
	g_assert_cmpint(rs_session_enable(f->session, owner, glob, NULL, NULL), ==, 0);
}

static void disable(struct fixture *f, const char *owner, const char *glob)
{
	g_assert_cmpint(rs_session_disable(f->session, owner, glob, NULL, NULL), ==, 0);
}

static void filter(struct fixture *f, const char *owner, const char *glob, const char *text)
{
	g_assert_cmpint(rs_session_set_filter(f->session, owner, glob, text, NULL, NULL), ==, 0);
}

/* The guest itself, through its mailbox. */
static int32_t guest(struct fixture *f, uint32_t number, const char *text)
{
	sham_request(f->sham, 0, number, 0, text);
	sham_wait_answer(f->sham, 0);
	return sham_response(f->sham, 0)->result;
}

static struct rs_session_event listed(struct fixture *f, const char *name)
{
	g_autoptr(GArray) list = rs_session_list(f->session, name);

	g_assert_cmpuint(list->len, ==, 1);
	return g_array_index(list, struct rs_session_event, 0);
}

/* "host+ guest+:a > 1": who wants it (+) and has which filter. */
static void check_listed(struct fixture *f, const char *name, const char *want)
{
	g_autoptr(GString) have = g_string_new(NULL);

	for (const struct rs_wish *w = listed(f, name).wishes; w; w = w->next)
		g_string_append_printf(have, "%s%s%s%s%s", have->len ? " " : "", w->owner->name,
				       w->wanted ? "+" : "", w->filter ? ":" : "",
				       w->filter ? w->filter : "");
	g_assert_cmpstr(have->str, ==, want);
}

/* ---- tests ---- */

/* On while somebody wants it. */
static void test_enable(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};

	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "irq:entry"), ==, 0);
	enable(f, RS_OWNER_HOST, "irq:entry");
	enable(f, "view", "irq:entry");
	check_listed(f, "entry", "host+ view+ guest+");
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", &result, NULL), ==, 0);
	g_assert_cmpuint(result.touched, ==, 3);
	g_assert_cmpuint(result.kept, ==, 1);
	g_assert_cmpuint(result.kept_for->len, ==, 2);
	g_assert_cmpstr(result.kept_for->pdata[0], ==, "view");
	g_assert_cmpstr(result.kept_for->pdata[1], ==, "guest");
	rs_session_result_clear(&result);
	g_assert_true(is_on(f, FIRST + 2));
	disable(f, "view", "*");
	g_assert_true(is_on(f, FIRST + 2));
	g_assert_cmpint(guest(f, RS_HCALL_DISABLE, "irq:*"), ==, 0);
	g_assert_false(is_on(f, FIRST + 2));
	check_listed(f, "entry", "");
}

/* A guest's own filter does not replace the host's, nor the host's the guest's. */
static void test_filter(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};

	enable(f, RS_OWNER_HOST, "switch");
	filter(f, RS_OWNER_HOST, "switch", "a == 1");
	check_records(f, FIRST, "0100");
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "sched:switch: a == 3"), ==, 0);
	check_records(f, FIRST, "0100"); /* it has not asked for the event */
	check_listed(f, "switch", "host+:a == 1 guest:a == 3");
	g_assert_cmpstr(listed(f, "switch").filter, ==, "a == 1");
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "sched:switch"), ==, 0);
	check_records(f, FIRST, "0101");
	g_assert_cmpstr(listed(f, "switch").filter, ==, "(a == 1) || (a == 3)");
	filter(f, RS_OWNER_HOST, "switch", "a == 2");
	check_records(f, FIRST, "0011");
	/* somebody wants all of it */
	enable(f, "view", "switch");
	check_records(f, FIRST, "1111");
	g_assert_null(listed(f, "switch").filter);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "a == 1", &result, NULL), ==,
		0);
	g_assert_cmpuint(result.kept, ==, 1);
	g_assert_cmpuint(result.kept_for->len, ==, 1);
	g_assert_cmpstr(result.kept_for->pdata[0], ==, "view");
	rs_session_result_clear(&result);
	filter(f, "view", "switch", "a == 0");
	check_records(f, FIRST, "1101");
	disable(f, RS_OWNER_HOST, "switch");
	check_records(f, FIRST, "1001");
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "sched:switch:"), ==, 0);
	check_records(f, FIRST, "1111");
	g_assert_cmpint(guest(f, RS_HCALL_DISABLE, "sched:switch"), ==, 0);
	check_records(f, FIRST, "1000");
	check_listed(f, "switch", "host:a == 1 view+:a == 0");
	/* an event that is off has no program, and takes no room */
	disable(f, "view", "switch");
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, 0);
	check_listed(f, "switch", "host:a == 1 view:a == 0");
	enable(f, RS_OWNER_HOST, "switch");
	check_records(f, FIRST, "0100");
}

/* QUERY returns the state in force, whoever asked for it. */
static void test_query(struct fixture *f, gconstpointer data)
{
	const struct rs_hcall_response *r = sham_response(f->sham, 0);

	enable(f, RS_OWNER_HOST, "switch");
	filter(f, RS_OWNER_HOST, "switch", "a == 1");
	sham_request(f->sham, 0, RS_HCALL_QUERY, FIRST, NULL);
	sham_wait_answer(f->sham, 0);
	g_assert_true(r->values[0] == 1 && r->values[2] == 1);
	g_assert_cmpstr((const char *)r->data, ==, "a == 1");
	g_assert_cmpuint(r->data_size, ==, strlen("a == 1"));
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "sched:switch"), ==, 0);
	sham_request(f->sham, 0, RS_HCALL_QUERY, FIRST, NULL);
	sham_wait_answer(f->sham, 0);
	g_assert_true(r->values[0] == 1 && r->values[2] == 0);
	g_assert_cmpuint(r->data_size, ==, 0);
}

/* Each owner also has its own rules. */
static void test_rules(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"packet", NULL};
	uint32_t slot;

	enable(f, RS_OWNER_HOST, "*");
	filter(f, RS_OWNER_HOST, "*", "a == 1");
	enable(f, "view", "*");
	filter(f, "view", "*", "a == 2");
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "*"), ==, 0);
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "*: a == 3"), ==, 0);
	disable(f, "view", "*");
	slot = sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	check_listed(f, "packet", "host+:a == 1 view:a == 2 guest+:a == 3");
	check_records(f, FIRST + 3, "0101");
	sham_provider_dies(f->sham, slot);
	rs_session_refresh(f->session);
	g_assert_cmphex(sham_word(f->sham, FIRST + 3), ==, 0);
	sham_provider_returns(f->sham, slot);
	rs_session_refresh(f->session);
	check_records(f, FIRST + 3, "0101");
	/* another boot is another guest, and has asked for nothing yet */
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "sched", sched);
	rs_session_refresh(f->session);
	check_listed(f, "switch", "host+:a == 1 view:a == 2");
	check_records(f, FIRST, "0100");
	g_assert_cmpint(f->failed, ==, 0);
}

static void test_forget(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"packet", NULL};

	enable(f, RS_OWNER_HOST, "switch");
	filter(f, RS_OWNER_HOST, "switch", "a == 1");
	enable(f, "view", "*");
	filter(f, "view", "wakeup", "a == 2");
	rs_session_forget_owner(f->session, "view");
	rs_session_forget_owner(f->session, "nobody");
	check_records(f, FIRST, "0100");
	check_records(f, FIRST + 1, "0000");
	check_listed(f, "wakeup", "");
	sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	check_records(f, FIRST + 3, "0000");
}

static void test_names(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_session_enable(f->session, "a b", "*", NULL, &err), ==, -EINVAL);
	g_assert_cmpint(rs_session_enable(f->session, "", "*", NULL, &err), ==, -EINVAL);
	/* a request that fails leaves nobody behind */
	for (unsigned int i = 0; i < 2 * RS_OWNERS_MAX; i++) {
		g_autofree char *name = g_strdup_printf("o%u", i);

		g_assert_cmpint(rs_session_enable(f->session, name, "nix", NULL, &err), ==,
				-ENOENT);
	}
	for (unsigned int i = 0; i < RS_OWNERS_MAX; i++) {
		g_autofree char *name = g_strdup_printf("p%u", i);

		enable(f, name, "switch");
	}
	g_assert_cmpint(rs_session_enable(f->session, "more", "switch", NULL, &err), ==, -EUSERS);
	enable(f, RS_OWNER_HOST, "switch");
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "sched:switch"), ==, 0);
	disable(f, "p7", "*");
	enable(f, "more", "switch");
	/* the host may speak for the guest, which has no name of its own to give */
	disable(f, RS_OWNER_GUEST, "*");
	g_assert_null(strstr(f->said->str, "guest"));
	for (const struct rs_wish *w = listed(f, "switch").wishes; w; w = w->next)
		g_assert_cmpstr(w->owner->name, !=, RS_OWNER_GUEST);
}

/* `terms` comparisons; `from` makes them differ. */
static char *expression(unsigned int from, unsigned int terms)
{
	GString *s = g_string_new(NULL);

	for (unsigned int i = 0; i < terms; i++)
		g_string_append_printf(s, "%sb == %u", i ? " || " : "", from + i);
	return g_string_free(s, FALSE);
}

/* A guest that fills its rules locks nobody out, and can take its own back. */
static void test_guest_rules(struct fixture *f, gconstpointer data)
{
	for (unsigned int i = 0; i < RS_OWNER_MAX_RULES; i++) {
		g_autofree char *text = g_strdup_printf("sched:*[!%u]: a > 1", i);

		g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, text), ==, 0);
	}
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "sched:[a-z]*: a > 2"), ==, -RS_E2BIG);
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "sched:*"), ==, -RS_E2BIG);
	g_assert_false(is_on(f, FIRST));
	enable(f, RS_OWNER_HOST, "sched:*");
	filter(f, RS_OWNER_HOST, "switch", "a == 1");
	disable(f, RS_OWNER_HOST, "wakeup");
	check_records(f, FIRST, "0100");
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "*:"), ==, 0);
	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "sched:*"), ==, 0);
	check_records(f, FIRST, "1111");
}

/* A guest's program leaves room for one of its size. */
static void test_guest_program(struct fixture *f, gconstpointer data)
{
	g_autofree char *half = expression(1000, RS_FILTER_MAX_INSNS / 2);
	g_autofree char *more = expression(1000, RS_FILTER_MAX_INSNS / 2 + 1);
	g_autofree char *ask = g_strdup_printf("switch: %s", half);
	g_autofree char *too_much = g_strdup_printf("switch: %s", more);
	g_autofree char *mine = expression(5000, RS_FILTER_MAX_INSNS / 2);

	g_assert_cmpint(guest(f, RS_HCALL_ENABLE, "switch"), ==, 0);
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, too_much), ==, -RS_E2BIG);
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, ask), ==, 0);
	enable(f, RS_OWNER_HOST, "switch");
	filter(f, RS_OWNER_HOST, "switch", mine);
	g_assert_nonnull(program_of(f, FIRST));
}

/* More than there is room for: the request that asks for it changes nothing. */
static void test_too_large(struct fixture *f, gconstpointer data)
{
	g_autofree char *big = expression(500, 100), *other = expression(1000, 100);
	struct rs_error err = {0};
	uint32_t words[2];

	enable(f, RS_OWNER_HOST, "*");
	filter(f, RS_OWNER_HOST, "wakeup", big);
	enable(f, "view", "wakeup");
	words[0] = sham_word(f->sham, FIRST);
	words[1] = sham_word(f->sham, FIRST + 1);
	/* for one of the two events only, and neither changes */
	g_assert_cmpint(rs_session_set_filter(f->session, "view", "sched:*", other, NULL, &err), ==,
			-E2BIG);
	g_assert_nonnull(strstr(err.message, "sched:wakeup: the filters of all owners together"));
	check_listed(f, "switch", "host+");
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, words[0]);
	g_assert_cmphex(sham_word(f->sham, FIRST + 1), ==, words[1]);
	disable(f, "view", "*");
	filter(f, "view", "*", other);
	g_assert_cmpint(rs_session_enable(f->session, "view", "sched:*", NULL, &err), ==, -E2BIG);
	g_assert_cmphex(sham_word(f->sham, FIRST), ==, words[0]);
	/* an owner can always let go of an event */
	enable(f, "all", "wakeup");
	enable(f, "view", "wakeup");
	check_records(f, FIRST + 1, "1111");
	g_assert_cmpstr(f->said->str, ==, "");
	disable(f, "all", "*");
	check_records(f, FIRST + 1, "1111");
	g_assert_nonnull(strstr(f->said->str, "sched:wakeup is recorded without a filter"));
	g_assert_nonnull(strstr(listed(f, "wakeup").note, "too large"));
	disable(f, "view", "*");
	check_records(f, FIRST + 1, "0000"); /* b is 0 */
	g_assert_null(listed(f, "wakeup").note);
}

/* The same with an event that comes later: it is recorded, and one message says so. */
static void test_too_large_late(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"packet", NULL};
	g_autofree char *big = expression(1000, 100), *other = expression(2000, 100);
	uint32_t slot;

	enable(f, RS_OWNER_HOST, "*");
	filter(f, RS_OWNER_HOST, "*", big);
	disable(f, RS_OWNER_HOST, "sched:*");
	disable(f, RS_OWNER_HOST, "irq:*");
	filter(f, "view", "*", other);
	enable(f, "view", "*");
	slot = sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	check_records(f, FIRST, "0000");
	check_records(f, FIRST + 3, "1111");
	g_assert_nonnull(strstr(f->said->str, "net:packet is recorded without a filter"));
	g_string_truncate(f->said, 0);
	filter(f, RS_OWNER_HOST, "irq:*", "a == 1");
	rs_session_refresh(f->session);
	g_assert_cmpstr(f->said->str, ==, "");
	g_assert_cmpint(f->failed, ==, 0);
	sham_provider_dies(f->sham, slot);
	rs_session_refresh(f->session);
	g_assert_cmphex(sham_word(f->sham, FIRST + 3), ==, 0);
}

/* A filter that does not fit a later event causes one message, and nothing else. */
static void test_unfit(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"packet", NULL}, *const more[] = {"frame", NULL};

	enable(f, RS_OWNER_HOST, "*");
	filter(f, RS_OWNER_HOST, "*", "a > 1");
	f->sham->odd = true;
	sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	g_assert_cmpint(f->failed, ==, 0);
	g_assert_nonnull(strstr(f->said->str, "'host' does not fit"));
	g_assert_nonnull(strstr(f->said->str, "net:packet"));
	check_records(f, FIRST + 3, "1111");
	check_listed(f, "packet", "host+");
	g_string_truncate(f->said, 0);
	sham_provider(f->sham, "net", more);
	f->sham->odd = false;
	sham_provider(f->sham, "late", more);
	rs_session_refresh(f->session);
	g_assert_cmpstr(f->said->str, ==, "");
	check_records(f, FIRST + 4, "1111");
	check_records(f, FIRST + 5, "0011");
	check_records(f, FIRST, "0011");
}

/* ---- room for programs ---- */

#define PROGRAM RS_FILTER_GRAIN /* bytes of one that compares with one number */

static void check_no_room(struct fixture *f, const char *owner, const char *glob, const char *text)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_session_set_filter(f->session, owner, glob, text, NULL, &err), ==,
			-ENOSPC);
	g_assert_nonnull(strstr(err.message, "the session's filters take more than"));
}

/* What would take more than there is changes nothing, and leaves nothing behind. */
static void test_room(struct fixture *f, gconstpointer data)
{
	rs_session_set_program_room(f->session, 4 * PROGRAM);
	filter(f, RS_OWNER_HOST, "*", "a == 1");
	for (guint i = 0; i < 10; i++)
		check_no_room(f, "view", "sched:*", "a == 2");
	check_listed(f, "sched:switch", "host:a == 1");
	check_listed(f, "sched:wakeup", "host:a == 1");
	filter(f, "view", "irq:*", "a == 2");
	check_listed(f, "irq:entry", "host:a == 1 view:a == 2");
	check_no_room(f, "view", "sched:switch", "a == 2");
	/* It can always be cleared. */
	filter(f, "view", "*", NULL);
	enable(f, RS_OWNER_HOST, "irq:entry");
	check_records(f, FIRST + 2, "0100");
	/* Another one takes room beside the old one, until it is in force. */
	check_no_room(f, RS_OWNER_HOST, "sched:switch", "a == 2");
	disable(f, RS_OWNER_HOST, "*");
	filter(f, RS_OWNER_HOST, "*", NULL);
	filter(f, RS_OWNER_HOST, "*", "a == 3");
}

/* Others are recorded as they were, whoever goes, although there is no room. */
static void test_full(struct fixture *f, gconstpointer data)
{
	filter(f, "view", "irq:*", "a == 2");
	enable(f, "view", "irq:*");
	filter(f, RS_OWNER_HOST, "irq:*", "a == 1");
	enable(f, RS_OWNER_HOST, "irq:*");
	check_records(f, FIRST + 2, "0110");
	rs_session_set_program_room(f->session, 0);
	disable(f, RS_OWNER_HOST, "irq:*");
	check_records(f, FIRST + 2, "0010");
	filter(f, RS_OWNER_HOST, "irq:*", NULL);
	check_records(f, FIRST + 2, "0010");
	rs_session_forget_owner(f->session, "view");
	check_records(f, FIRST + 2, "0000");
	g_assert_cmpstr(f->said->str, ==, "");
}

/* A guest's own take half of it, and the host has the rest. */
static void test_guests_room(struct fixture *f, gconstpointer data)
{
	rs_session_set_program_room(f->session, 4 * PROGRAM);
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "sched:*: a == 1"), ==, 0);
	for (guint i = 0; i < 10; i++)
		g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "irq:*: a == 1"), ==, -RS_E2BIG);
	check_listed(f, "irq:entry", "");
	filter(f, RS_OWNER_HOST, "sched:*", "a == 2");
	check_listed(f, "sched:wakeup", "host:a == 2 guest:a == 1");
	g_assert_cmpint(guest(f, RS_HCALL_SET_FILTER, "sched:*:"), ==, 0);
	filter(f, RS_OWNER_HOST, "irq:*", "a == 2");
}

/* A rule for which there is no room is told once, and kept for later events. */
static void test_rules_room(struct fixture *f, gconstpointer data)
{
	static const char *const two[] = {"one", "two", NULL};

	rs_session_set_program_room(f->session, 3 * PROGRAM);
	filter(f, RS_OWNER_HOST, "*", "a == 1");
	sham_provider(f->sham, "net", two);
	rs_session_refresh(f->session);
	check_listed(f, "net:two", "");
	g_assert_nonnull(strstr(f->said->str, "a filter of 'host' does not fit"));
	g_assert_nonnull(strstr(f->said->str, "the session's filters take more than"));
	g_string_truncate(f->said, 0);
	rs_session_set_program_room(f->session, 5 * PROGRAM);
	sham_provider(f->sham, "disk", two);
	rs_session_refresh(f->session);
	check_listed(f, "disk:one", "host:a == 1");
	check_listed(f, "disk:two", "host:a == 1");
	sham_provider(f->sham, "usb", two);
	rs_session_refresh(f->session);
	check_listed(f, "usb:one", "");
	g_assert_cmpstr(f->said->str, ==, "");
	g_assert_cmpint(f->failed, ==, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"enable", test_enable},
		{"filter", test_filter},
		{"query", test_query},
		{"rules", test_rules},
		{"forget", test_forget},
		{"names", test_names},
		{"guest-rules", test_guest_rules},
		{"guest-program", test_guest_program},
		{"too-large", test_too_large},
		{"too-large-late", test_too_large_late},
		{"unfit", test_unfit},
		{"room", test_room},
		{"full", test_full},
		{"guests-room", test_guests_room},
		{"rules-room", test_rules_room},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/wishes/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
