/* SPDX-License-Identifier: MIT */
/* Processes that join by taking a region, well-behaved or not. */
#include "members.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>
#include <unistd.h>

static void test_join(struct fixture *f, gconstpointer data)
{
	struct rs_source *source, *second;
	struct agent agent, other;
	uint32_t changes = rs_session_source_changes(f->session);

	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "pool:take", NULL, NULL), ==,
			0);
	source = come(f, &agent, 1234);
	g_assert_true(f->told_of_hello);
	g_assert_true(is_on(&agent, 0) && !is_on(&agent, 1));
	g_assert_cmpstr(rs_source_name(source), ==, "sham");
	g_assert_cmpstr(rs_source_kind(source), ==, "process");
	g_assert_cmpint(rs_source_state(source), ==, RS_SESSION_RUNNING);
	g_assert_cmpuint(rs_source_number(source), ==, 2);
	g_assert_cmpuint(rs_session_n_sources(f->session), ==, 2);
	/* It came, and reported. */
	g_assert_cmpuint(rs_session_source_changes(f->session), ==, changes + 2);
	second = come(f, &other, 1235);
	g_assert_cmpstr(rs_source_name(second), ==, "sham.3");
	g_assert_cmpint(
		rs_session_enable(f->session, RS_OWNER_HOST, "sham.3/pool:done", NULL, NULL), ==,
		0);
	g_assert_true(is_on(&other, 1) && !is_on(&agent, 1));
	forget(&agent);
	forget(&other);
}

/* A process of that name joins, has this name as a source, and leaves. */
static void check_name(struct fixture *f, const char *name, const char *want)
{
	uint32_t before = f->added;
	struct rs_guest_info *info;
	struct agent agent;

	AWAIT(take(f, &agent, 1000 + before) == 0);
	hello(&agent);
	info = rs_trace_region_section(agent.sham.region, RS_SEC_GUEST_INFO, NULL);
	g_strlcpy(info->name, name, sizeof(info->name));
	AWAIT(f->added > before);
	g_assert_cmpstr(rs_source_name(f->newest), ==, want);
	leave(&agent);
	AWAIT(rs_source_state(f->newest) == RS_SESSION_ENDED);
}

/* A name stands for one process of the session, whatever processes call themselves. */
static void test_names(struct fixture *f, gconstpointer data)
{
	check_name(f, "web", "web");
	check_name(f, "web", "web.3");
	check_name(f, "db", "db");
	/* It must not look like the name of another source. */
	check_name(f, "web.6", "web.6.5");
	check_name(f, "web", "web.6");
	check_name(f, "kern", "kern.7");
	check_name(f, "a.b", "a.b");
}

/* A machine may give its processes any number of names. Not all of them are remembered. */
static void test_many_names(struct fixture *f, gconstpointer data)
{
	uint32_t plain = 0;

	for (uint32_t i = 0; i < 270; i++) {
		g_autofree char *name = g_strdup_printf("p%u", i);
		g_autofree char *other = g_strdup_printf("p%u.%u", i, i + 2);

		/* The machine's name is one of 256. */
		check_name(f, name, i < 255 ? name : other);
		plain += strcmp(rs_source_name(f->newest), name) == 0;
	}
	g_assert_cmpuint(plain, ==, 255);
}

/* A region is claimed, but no agent ever reports. */
static void test_no_hello(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], one;

	for (uint32_t i = 0; i < USERS; i++)
		AWAIT(take(f, &agents[i], 10 + i) == 0);
	run_rounds(20);
	g_assert_cmpint(take(f, &one, 99), ==, -RS_EADDRINUSE);
	g_assert_cmpuint(f->added, ==, 0);
	leave(&agents[2]);
	/* The region is free again, although that process never reported. */
	AWAIT(take(f, &one, 99) == 0);
	g_assert_cmpuint(one.place.index, ==, agents[2].place.index);
	g_assert_cmpuint(generation(f, one.place.index), ==, 2);
	g_assert_cmpuint(f->added + f->gone, ==, 0);
	forget(&one);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&agents[i]);
}

/*
 * Regions that were left stay for readers while there is room. The one that was left first is
 * renewed first.
 */
static void test_leave(struct fixture *f, gconstpointer data)
{
	struct rs_source *first, *source;
	struct agent agents[USERS], next;

	first = come(f, &agents[0], 10);
	leave(&agents[0]);
	AWAIT(rs_source_state(first) == RS_SESSION_ENDED);
	g_assert_cmpint(f->end.reason, ==, RS_END_GONE);
	for (uint32_t i = 1; i < USERS - 1; i++) {
		source = come(f, &agents[i], 10 + i);
		g_assert_cmpstr(rs_source_name(source), !=, "sham");
	}
	g_assert_cmpuint(f->gone, ==, 0);
	/* That was the last free region. */
	AWAIT(take(f, &agents[3], 13) == 0);
	AWAIT(f->gone == 1);
	hello(&agents[3]);
	AWAIT(f->added == USERS);
	g_assert_cmpuint(rs_session_n_sources(f->session), ==, USERS);
	g_assert_cmpuint(generation(f, agents[0].place.index), ==, 2);
	g_assert_cmpuint(generation(f, agents[3].place.index), ==, 1);
	/* Neither name nor number is used again, although the first one's has gone. */
	g_assert_cmpstr(rs_source_name(f->newest), ==, "sham.5");
	source = come(f, &next, 20);
	g_assert_cmpuint(next.place.index, ==, agents[0].place.index);
	g_assert_cmpuint(rs_source_number(source), ==, 6);
	for (uint32_t i = 1; i < USERS; i++)
		forget(&agents[i]);
	forget(&next);
}

/* A region that somebody still reads is not renewed. */
static void test_hold(struct fixture *f, gconstpointer data)
{
	struct rs_source *sources[USERS];
	struct agent agents[USERS], one;

	for (uint32_t i = 0; i < USERS; i++) {
		sources[i] = come(f, &agents[i], 10 + i);
		rs_source_hold(sources[i]);
	}
	for (uint32_t i = 0; i < USERS; i++) {
		leave(&agents[i]);
		AWAIT(rs_source_state(sources[i]) == RS_SESSION_ENDED);
	}
	run_rounds(20);
	g_assert_cmpint(take(f, &one, 99), ==, -RS_EADDRINUSE);
	g_assert_cmpuint(f->gone, ==, 0);
	rs_source_release(sources[2]);
	AWAIT(take(f, &one, 99) == 0);
	g_assert_cmpuint(one.place.index, ==, agents[2].place.index);
	g_assert_cmpuint(f->gone, ==, 1);
	forget(&one);
}

/* Another boot: all processes of the boot before are gone, whether they reported or not. */
static void test_reboot(struct fixture *f, gconstpointer data)
{
	struct agent live, silent, next;
	struct rs_source *source;

	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	g_assert_cmpint(take(f, &silent, 9), ==, 0);
	source = come(f, &live, 10);
	run_rounds(5);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	g_assert_cmpint(rs_source_state(source), ==, RS_SESSION_ENDED);
	/*
	 * All four regions can be taken again, though those two processes never said that they
	 * leave.
	 */
	for (uint32_t i = 0; i < USERS; i++) {
		AWAIT(take(f, &next, 20 + i) == 0);
		forget(&next);
	}
	forget(&live);
	forget(&silent);
}

/* The session ends with the machine, whatever the claims say. */
static void test_machine_ends(struct fixture *f, gconstpointer data)
{
	struct agent agent;

	come(f, &agent, 10);
	rs_session_stop(f->session, "enough");
	AWAIT(rs_session_end(f->session));
	g_assert_cmpint(rs_session_end(f->session)->reason, ==, RS_END_KILLED);
	forget(&agent);
}

/* A claim that changes at each look, of a region that has an agent. */
static void test_flips(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS];
	g_autoptr(GRand) rand = g_rand_new_with_seed(1);

	for (uint32_t i = 0; i < USERS; i++)
		come(f, &agents[i], 10 + i);
	for (int round = 0; round < 400; round++) {
		for (uint32_t i = 0; i < USERS; i++) {
			uint64_t *word = rs_regions_claim_word(f->regions, agents[i].place.index);
			uint32_t of = generation(f, agents[i].place.index) +
				      (uint32_t)g_rand_int_range(rand, -1, 2);

			rs_store(word, rs_directory_claim_word(of, g_rand_int(rand) % 3));
			/* If the region was laid out anew, the agent reports again. */
			if (round % 3 == 0)
				hello(&agents[i]);
		}
		g_main_context_iteration(NULL, TRUE);
		g_assert_cmpuint(rs_session_n_sources(f->session), <=, 1 + USERS);
		g_assert_cmpuint(f->added - f->gone, <=, USERS);
	}
	g_assert_cmpuint(f->messages, <=, 400);
	for (uint32_t i = 0; i < USERS; i++)
		forget(&agents[i]);
}

/* A guest that claims all regions, writes nonsense and leaves all regions, again and again. */
static void test_churn(struct fixture *f, gconstpointer data)
{
	gint64 begun = g_get_monotonic_time();
	size_t before = 0;
	uint64_t seconds;

	for (int round = 0; round < 300; round++) {
		struct agent agents[USERS];
		uint32_t n = 0;

		AWAIT(take(f, &agents[0], 10) == 0);
		for (n = 1; n < USERS && take(f, &agents[n], 10 + n) == 0; n++)
			;
		for (uint32_t i = 0; i < n; i++) {
			uint8_t *events;

			hello(&agents[i]);
			events =
				rs_trace_region_section(agents[i].sham.region, RS_SEC_EVENTS, NULL);
			memset(events, 0xff, 512);
		}
		run_rounds(3);
		for (uint32_t i = 0; i < n; i++)
			leave(&agents[i]);
		if (round == 20)
			before = mallinfo2().uordblks;
		g_assert_cmpuint(rs_session_n_sources(f->session), <=, 1 + USERS);
	}
	g_test_message("%u came, %u went, %u messages, %zd bytes more", f->added, f->gone,
		       f->messages, mallinfo2().uordblks - before);
	g_assert_cmpuint(f->added, >=, 100);
	g_assert_cmpuint(f->messages, >, 0);
	/*
	 * At most 200 messages at once, then 50 a second, and as many lines that some were left
	 * out.
	 */
	seconds = (uint64_t)((g_get_monotonic_time() - begun) / G_USEC_PER_SEC + 1);
	g_assert_cmpuint(f->messages, <=, 200 + 2 * 50 * seconds);
	/* After a silence it takes a second until 50 have been earned. */
	g_assert_cmpuint(f->left_out, <=, seconds);
	g_assert_cmpuint(mallinfo2().uordblks, <, before + (1u << 20));
}

/* Counters of sources that have gone are kept. */
static void test_stat(struct fixture *f, gconstpointer data)
{
	struct rs_session_stat_sums {
		uint64_t written, hypercalls;
	} sums = {0};
	struct rs_source_stat stat;
	struct agent agents[USERS];

	for (uint32_t i = 0; i < USERS; i++) {
		struct rs_ring_state *state;
		struct rs_ring_page *page;
		uint32_t end = RS_RING_PAGE_HEADER + 16 * (i + 1);

		come(f, &agents[i], 10 + i);
		page = rs_trace_region_section(agents[i].sham.region, RS_SEC_RINGS, NULL);
		state = rs_trace_region_section(agents[i].sham.region, RS_SEC_RING_STATE, NULL);
		*page = (struct rs_ring_page){.header_size = RS_RING_PAGE_HEADER, .committed = end};
		state->pages = 1;
		rs_store_release(&state->word,
				 (uint64_t)(i + 1) << RS_WORD_RECORDS_SHIFT | end / RS_RING_UNIT);
		sums.written += i + 1;
	}
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.written, ==, sums.written);
	g_assert_cmpuint(stat.events, ==, 2 * USERS);
	for (uint32_t i = 0; i < USERS; i++)
		leave(&agents[i]);
	AWAIT(f->gone);
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.written, ==, sums.written);
	g_assert_cmpuint(stat.events, ==, 2 * (USERS - f->gone));
}

/* In another machine nothing but the claim says that the process has left. */
static void test_passing_by(struct fixture *f, gconstpointer data)
{
	struct agent agents[USERS], one;

	for (int round = 0; round < 3; round++) {
		/* Nobody looks in between. */
		for (uint32_t i = 0; take(f, &agents[0], 10 + i) == 0; i++)
			leave(&agents[0]);
		AWAIT(take(f, &one, 99) == 0);
		leave(&one);
	}
	g_assert_cmpuint(f->added, ==, 0);
	g_assert_cmpuint(f->messages, ==, 0);
}

/* What a process has asked for when it leaves is still done. */
static void test_last_words(struct fixture *f, gconstpointer data)
{
	struct agent agent;
	struct rs_source *source = come(f, &agent, 10);
	struct rs_source_stat stat;
	uint32_t messages = f->messages;

	sham_request(&agent.sham, 0, RS_HCALL_LOG, 0, "farewell");
	leave(&agent);
	AWAIT(rs_source_state(source) == RS_SESSION_ENDED);
	g_assert_cmpuint(f->messages, ==, messages + 1);
	rs_source_stat(source, &stat);
	g_assert_cmpuint(stat.hypercalls, ==, 1);
	g_assert_cmpuint(f->ends, ==, 1);
}

static struct agent *late;

/* Another one is served, after it was looked whether this one asks for something. */
static void on_other(void *data, const char *text)
{
	struct agent *agent = g_steal_pointer(&late);

	if (!agent)
		return;
	sham_request(&agent->sham, 0, RS_HCALL_LOG, 0, "farewell");
	leave(agent);
}

static void test_very_last_words(struct fixture *f, gconstpointer data)
{
	static const struct rs_session_listener other = {.message = on_other};
	struct agent first, second;
	struct rs_source *source = come(f, &first, 10);
	uint32_t messages;

	come(f, &second, 11);
	messages = f->messages;
	rs_session_add_listener(f->session, &other);
	late = &first;
	sham_request(&second.sham, 0, RS_HCALL_LOG, 0, "go");
	AWAIT(rs_source_state(source) == RS_SESSION_ENDED);
	g_assert_null(late);
	g_assert_cmpuint(f->messages, ==, messages + 2);
}

/* Processes for which there was no room are counted, and told of once. */
static void test_turned_away(struct fixture *f, gconstpointer data)
{
	uint64_t *word = rs_regions_claim_word(f->regions, 1 + USERS);
	struct rs_source_stat stat;

	run_rounds(3);
	g_assert_cmpuint(f->messages, ==, 0);
	for (uint32_t n = 1; n < 4; n++) {
		rs_store(word, n * n);
		AWAIT(f->messages == n);
		run_rounds(3);
		g_assert_cmpuint(f->messages, ==, n);
		rs_source_stat(f->machine, &stat);
		g_assert_cmpuint(stat.turned_away, ==, n * n);
	}
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.turned_away, ==, 9);
	/* A guest may write anything there. */
	rs_store(word, 0);
	run_rounds(3);
	g_assert_cmpuint(f->messages, ==, 3);
}

/* Where processes of this host find the memory. */
static void test_path(struct fixture *f, gconstpointer same_host)
{
	g_autofree char *path = rs_source_join_path(f->machine);
	int fd;

	if (!same_host) {
		g_assert_null(path);
		return;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(lseek(fd, 0, SEEK_END), ==, (off_t)f->size);
	close(fd);
}

/* Of a process there is nothing but its region. */
static void test_only_traced(struct fixture *f, gconstpointer data)
{
	struct agent agent;
	struct rs_source *source = come(f, &agent, 10);

	g_assert_cmpint(rs_source_nudge(source, NULL), ==, -ENOTSUP);
	g_assert_null(rs_source_join_path(source));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "pool:*", NULL, NULL), ==, 0);
	g_assert_true(is_on(&agent, 0) && is_on(&agent, 1));
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, 0);
	g_assert_false(is_on(&agent, 0) || is_on(&agent, 1));
	forget(&agent);
}

/* Somebody waits for sites of the machine, and processes that were asked for, too, go. */
static void test_go_late(struct fixture *f, gconstpointer data)
{
	const uint32_t sites = 100000;
	struct rs_session_result result = {0};
	struct agent agents[USERS];
	struct rs_source_stat stat;

	sham_hello(f->sham, 0);
	sham_bulk(f->sham, "bulk", "many", sites);
	do {
		g_main_context_iteration(NULL, TRUE);
		rs_source_stat(f->machine, &stat);
	} while (stat.sites < sites);
	for (guint i = 0; i < USERS; i++)
		come(f, &agents[i], 10 + i);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", &result, NULL), ==, 0);
	g_assert_cmpuint(result.later, >, 0);
	for (guint i = 0; i < USERS; i++)
		leave(&agents[i]);
	AWAIT(f->gone > 0);
	AWAIT(sham_bulk_patched(f->sham) == sites);
	run_rounds(3);
}

#define ADD(path, test, same_host)                                                                 \
	g_test_add("/session/members/" path, struct fixture, GINT_TO_POINTER(same_host), set_up,   \
		   test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("join", test_join, 0);
	ADD("names", test_names, 0);
	ADD("many-names", test_many_names, 0);
	ADD("no-hello", test_no_hello, 0);
	ADD("leave", test_leave, 0);
	ADD("hold", test_hold, 0);
	ADD("reboot", test_reboot, 0);
	ADD("machine-ends", test_machine_ends, 0);
	ADD("flips", test_flips, 0);
	ADD("churn", test_churn, 0);
	ADD("stat", test_stat, 0);
	ADD("passing-by", test_passing_by, 0);
	ADD("last-words", test_last_words, 0);
	ADD("very-last-words", test_very_last_words, 0);
	ADD("turned-away", test_turned_away, 0);
	ADD("path-guest", test_path, 0);
	ADD("path-host", test_path, 1);
	ADD("only-traced", test_only_traced, 0);
	ADD("go-late", test_go_late, WITH_TEXT);
	return g_test_run();
}
