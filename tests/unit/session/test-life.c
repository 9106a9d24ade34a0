/* SPDX-License-Identifier: MIT */
/*
 * What is asked of a session of several targets: names, start, pause, end, counters. Some targets
 * fail.
 */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

#define N 3
#define FIRST RS_FIRST_EVENT_ID

static const char *const sched[] = {"switch", "wakeup", NULL};

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham[N];
	struct rs_source *source[N];
	struct rs_target_ops ops[N]; /* of the shams, for a test to change */
	int failed, ends, changes;
	GPtrArray *said;
};

static int starts, resumes, stops;

static int count_start(struct rs_target *target, struct rs_error *err)
{
	starts++;
	((struct sham *)target)->running = true;
	return 0;
}

static int no_start(struct rs_target *target, struct rs_error *err)
{
	return rs_error_set(err, ENOEXEC, "it cannot start");
}

static int no_resume(struct rs_target *target, struct rs_error *err)
{
	resumes++;
	return rs_error_set(err, EIO, "it stands still");
}

static void counters(struct rs_target *target, struct rs_target_stats *out)
{
	*out = (struct rs_target_stats){.exits = 11,
					.kvm_exits = 13,
					.doorbells = 17,
					.console_waiting = 19,
					.console_lost = 23};
}

static void on_failed(void *data, const struct rs_error *err)
{
	((struct fixture *)data)->failed++;
}

static void on_changed(void *data, uint32_t generation)
{
	((struct fixture *)data)->changes++;
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	((struct fixture *)data)->ends++;
}

static void on_message(void *data, const char *text)
{
	g_ptr_array_add(((struct fixture *)data)->said, g_strdup(text));
}

/* `capacity`: of events; 0: the usual one. */
static void set_up_with(struct fixture *f, uint32_t capacity)
{
	f->said = g_ptr_array_new_with_free_func(g_free);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener = (struct rs_session_listener){
		.data = f,
		.failed = on_failed,
		.changed = on_changed,
		.ended = on_ended,
		.message = on_message,
	};
	rs_session_add_listener(f->session, &f->listener);
	for (int i = 0; i < N; i++) {
		struct rs_source_config config = {.kernel = "k"};

		f->sham[i] = sham_new(2, RS_CHANNEL_MAILBOX);
		if (capacity)
			f->sham[i]->region->header.event_capacity = capacity;
		f->ops[i] = *f->sham[i]->target.ops;
		f->sham[i]->target.ops = &f->ops[i];
		g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham[i]->region,
						      &f->sham[i]->target, &f->source[i], NULL),
				==, 0);
	}
	starts = resumes = stops = 0;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	set_up_with(f, 0);
}

/* Room for what come_up() describes. */
static void set_up_small(struct fixture *f, gconstpointer data)
{
	set_up_with(f, FIRST + 2);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (int i = 0; i < N; i++)
		sham_free(f->sham[i]);
	g_ptr_array_unref(f->said);
}

static void come_up(struct fixture *f)
{
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	for (int i = 0; i < N; i++) {
		sham_hello(f->sham[i], RS_GUEST_SELF_PATCH);
		sham_provider(f->sham[i], "sched", sched);
	}
	rs_session_refresh(f->session);
}

static void end(struct fixture *f, int i, enum rs_end_reason reason, int code)
{
	const struct rs_target_end end = {.reason = reason, .code = code};

	f->sham[i]->target.events.ended(f->sham[i]->target.events.data, &end);
}

static void check_name(const char *path, const char *want)
{
	g_autofree char *name = rs_session_name_for(path);

	g_assert_cmpstr(name, ==, want);
	g_assert_cmpint(rs_session_check_name(name, NULL), ==, 0);
}

static void test_names(void)
{
	g_autofree char *most = g_strnfill(RS_SESSION_NAME_MAX, 'a');
	g_autofree char *more = g_strnfill(RS_SESSION_NAME_MAX + 1, 'a');
	g_autofree char *room = g_strnfill(RS_SESSION_NAME_MAX - 24, 'a');
	char one[] = "x";

	check_name("/boot/kern.elf", "kern");
	check_name("kern.elf.gz", "kern.elf.gz");
	check_name("a b\xc3\xa4", "a-b--");
	check_name(".-.-x.-", "x.-");
	check_name("-a", "a");
	check_name(".a", "a");
	check_name(".elf", "guest");
	check_name("-.-", "guest");
	check_name("", "guest");
	check_name(room, room);
	check_name(most, room);
	g_assert_cmpint(rs_session_check_name(most, NULL), ==, 0);
	g_assert_cmpint(rs_session_check_name(more, NULL), ==, -EINVAL);
	g_assert_cmpint(rs_session_check_name(".x", NULL), ==, -EINVAL);
	for (int c = 1; c < 256; c++) {
		one[0] = (char)c;
		g_assert_cmpint(rs_session_check_name(one, NULL), ==,
				g_ascii_isalnum(one[0]) || c == '_' ? 0 : -EINVAL);
	}
}

/* Those before the one that fails have started, and start once only. */
static void test_start(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	f->ops[0].start = f->ops[2].start = count_start;
	f->ops[1].start = no_start;
	g_assert_cmpint(rs_session_start(f->session, &err), ==, -ENOEXEC);
	g_assert_cmpint(starts, ==, 1);
	g_assert_cmpint(rs_session_start(f->session, &err), ==, -ENOEXEC);
	g_assert_cmpint(starts, ==, 1);
	f->ops[1].start = count_start;
	g_assert_cmpint(rs_session_start(f->session, &err), ==, 0);
	g_assert_cmpint(starts, ==, 3);
	g_assert_cmpint(rs_session_start(f->session, &err), ==, 0);
	g_assert_cmpint(starts, ==, 3);
}

static void count_stop(struct rs_target *target, const char *why)
{
	stops++;
	g_assert_cmpstr(why, ==, "enough");
}

/* Only those are stopped that run, and none that is paused, since it could not see that. */
static void test_stop(struct fixture *f, gconstpointer data)
{
	for (int i = 0; i < N; i++)
		f->ops[i].stop = count_stop;
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(stops, ==, 0);
	come_up(f);
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, 0);
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(stops, ==, N);
	end(f, 1, RS_END_EXIT, 0);
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(stops, ==, N + N - 1);
}

/* All are paused, or none. */
static void test_pause(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	come_up(f);
	for (int round = 0; round < 3; round++) {
		g_assert_cmpint(rs_session_resume(f->session, &err), ==, -EBUSY);
		g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
		g_assert_cmpint(rs_session_pause(f->session, &err), ==, 0);
		g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_PAUSED);
		g_assert_cmpint(rs_session_pause(f->session, &err), ==, -EBUSY);
		g_assert_cmpint(rs_session_resume(f->session, &err), ==, 0);
	}
	for (int i = 0; i < N; i++) {
		g_assert_cmpint(f->sham[i]->pauses, ==, 3);
		g_assert_cmpint(f->sham[i]->resumes, ==, 3);
	}
	f->sham[1]->unstoppable = true;
	g_assert_cmpint(rs_session_pause(f->session, &err), ==, -EIO);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(f->sham[0]->resumes, ==, 4);
	g_assert_cmpint(f->sham[1]->resumes, ==, 3);
	g_assert_cmpint(f->sham[2]->pauses, ==, 3);
	f->sham[1]->unstoppable = false;
	/* One does not go on. The others do, and it can be tried again. */
	g_assert_cmpint(rs_session_pause(f->session, &err), ==, 0);
	f->ops[1].resume = no_resume;
	g_assert_cmpint(rs_session_resume(f->session, &err), ==, -EIO);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_PAUSED);
	g_assert_cmpint(rs_source_state(f->source[0]), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(rs_source_state(f->source[1]), ==, RS_SESSION_PAUSED);
	g_assert_cmpint(rs_source_state(f->source[2]), ==, RS_SESSION_RUNNING);
	f->ops[1].resume = f->ops[0].resume;
	g_assert_cmpint(rs_session_resume(f->session, &err), ==, 0);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
	g_assert_cmpint(f->sham[0]->resumes, ==, 5);
	g_assert_cmpint(resumes, ==, 1);
}

static const struct ends {
	enum rs_end_reason reason[N];
	int code[N];
	int of; /* whose end is the session's */
} all_ends[] = {
	{{RS_END_EXIT, RS_END_EXIT, RS_END_EXIT}, {0, 0, 0}, 2},
	{{RS_END_EXIT, RS_END_EXIT, RS_END_EXIT}, {0, 1, 2}, 1},
	{{RS_END_EXIT, RS_END_EXIT, RS_END_EXIT}, {3, 0, 0}, 0},
	{{RS_END_EXIT, RS_END_KILLED, RS_END_EXIT}, {0, 0, 9}, 1},
};

/* The end of the session is that of the last source, or of the first that failed. */
static void test_end(struct fixture *f, gconstpointer data)
{
	const struct ends *ends = data;

	come_up(f);
	for (int i = 0; i < N; i++) {
		const struct rs_control *control =
			rs_trace_region_section(f->sham[i]->region, RS_SEC_CONTROL, NULL);

		g_assert_cmphex(control->flags, ==, RS_CONTROL_SELF_PATCH);
		g_assert_false(rs_session_end(f->session));
		g_assert_null(rs_session_end_source(f->session));
		g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_RUNNING);
		end(f, i, ends->reason[i], ends->code[i]);
		g_assert_cmpint(f->ends, ==, i + 1);
		g_assert_cmphex(control->flags, ==, RS_CONTROL_SELF_PATCH | RS_CONTROL_STOP);
	}
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
	g_assert_true(rs_session_end_source(f->session) == f->source[ends->of]);
	g_assert_cmpint(rs_session_end(f->session)->code, ==, ends->code[ends->of]);
	g_assert_cmpint(rs_session_pause(f->session, NULL), ==, -ESHUTDOWN);
	g_assert_cmpint(rs_session_resume(f->session, NULL), ==, -ESHUTDOWN);
}

/* A session that has nothing to do sleeps. */
static void test_quiet(struct fixture *f, gconstpointer data)
{
	guint rounds = 0;

	come_up(f);
	while (g_main_context_iteration(NULL, FALSE))
		g_assert_cmpuint(rounds++, <, 100000);
}

/* What an owner wants of a source that has ended is forgotten, and nothing changes there. */
static void test_forgotten(struct fixture *f, gconstpointer data)
{
	uint32_t generation[N];

	come_up(f);
	g_assert_cmpint(rs_session_enable(f->session, "view", "switch", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_set_filter(f->session, "view", "wakeup", "a == 1", NULL, NULL),
			==, 0);
	end(f, 1, RS_END_EXIT, 0);
	for (int i = 0; i < N; i++)
		generation[i] = sham_generation(f->sham[i]);
	g_assert_true(rs_session_knows_owner(f->session, "view"));
	f->changes = 0;
	rs_session_forget_owner(f->session, "nobody");
	g_assert_cmpint(f->changes, ==, 0);
	rs_session_forget_owner(f->session, "view");
	g_assert_cmpint(f->changes, ==, 1);
	g_assert_false(rs_session_knows_owner(f->session, "view"));
	for (int i = 0; i < N; i++) {
		g_assert_cmpuint(sham_generation(f->sham[i]), ==, generation[i] + (i != 1));
		g_assert_cmpint(sham_word(f->sham[i], FIRST) & RS_EVENT_ENABLED, ==, i == 1);
	}
}

/* A boot takes with it what was wanted of it. An owner that wants nothing more is forgotten. */
static void test_boots(struct fixture *f, gconstpointer data)
{
	come_up(f);
	g_assert_cmpint(rs_session_enable(f->session, "view", "switch", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_set_filter(f->session, "view", "*", "a == 1", NULL, NULL), ==,
			0);
	come_up(f);
	g_assert_cmphex(sham_word(f->sham[0], FIRST) & RS_EVENT_ENABLED, ==, RS_EVENT_ENABLED);
	g_assert_true(rs_session_knows_owner(f->session, "view"));
	g_assert_cmpint(rs_session_disable(f->session, "view", "*", NULL, NULL), ==, 0);
	g_assert_true(rs_session_knows_owner(f->session, "view"));
	g_assert_cmpint(rs_session_set_filter(f->session, "view", "*", NULL, NULL, NULL), ==, 0);
	g_assert_false(rs_session_knows_owner(f->session, "view"));
	g_assert_cmphex(sham_word(f->sham[0], FIRST), ==, 0);
}

/* A filter that does not fit one of the events is in force for none. */
static void test_unfit(struct fixture *f, gconstpointer data)
{
	static const char *const odd[] = {"odd", "other", NULL};
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	come_up(f);
	f->sham[1]->odd = true;
	sham_provider(f->sham[1], "net", odd);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "a == 1", NULL, &err),
			==, -EBADMSG);
	for (int i = 0; i < N; i++)
		g_assert_cmphex(sham_word(f->sham[i], FIRST), ==, RS_EVENT_ENABLED);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "sched:*", "a == 1",
					      &result, NULL),
			==, 0);
	g_assert_cmpuint(result.touched, ==, 2 * N);
	g_assert_cmpuint(result.unfiltered, ==, 0);
	g_assert_false(result.pending);
	rs_session_result_clear(&result);
	for (int i = 0; i < N; i++)
		g_assert_cmphex(sham_word(f->sham[i], FIRST), !=, RS_EVENT_ENABLED);
	/* Of a field that some do not have: those are recorded without it, and are counted. */
	f->sham[2]->bare = true;
	sham_provider(f->sham[2], "bare", odd);
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "b == 1", &result, NULL), ==,
		0);
	g_assert_cmpuint(result.touched, ==, 2 * N + 4);
	g_assert_cmpuint(result.unfiltered, ==, 2);
	rs_session_result_clear(&result);
	g_assert_cmphex(sham_word(f->sham[1], FIRST + 2), !=, RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham[2], FIRST + 2), ==, RS_EVENT_ENABLED);
	/* Those of a source that has ended cannot be had any more, and the error says of which. */
	end(f, 0, RS_END_EXIT, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "k/sched:*", NULL, &err), ==,
			-ENOENT);
	g_assert_nonnull(strstr(err.message, "'k' has ended"));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "k/nix:*", NULL, &err), ==,
			-ENOENT);
	g_assert_null(strstr(err.message, "has ended"));
}

/* Whoever listens is told once of all that was changed by one request, and of no failure. */
static void test_told(struct fixture *f, gconstpointer data)
{
	struct rs_target_events *events = &f->sham[1]->target.events;
	struct rs_target_end unused;

	come_up(f);
	f->changes = 0;
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "nix", NULL, NULL), ==,
			-ENOENT);
	g_assert_cmpint(f->changes, ==, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "sched:*", NULL, NULL), ==, 0);
	g_assert_cmpint(f->changes, ==, 1);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "zzz", NULL, NULL), <,
			0);
	g_assert_cmpint(f->changes, ==, 1);
	g_assert_cmpint(rs_session_set_filter(f->session, RS_OWNER_HOST, "*", "a == 1", NULL, NULL),
			==, 0);
	g_assert_cmpint(f->changes, ==, 2);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(f->changes, ==, 3);
	sham_request(f->sham[1], 0, RS_HCALL_ENABLE, 0, "switch");
	events->hypercall(events->data, 0, &unused);
	g_assert_cmphex(sham_word(f->sham[1], FIRST), ==, RS_EVENT_ENABLED);
	g_assert_cmpint(f->changes, ==, 4);
}

static void test_stat(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat, sum;
	struct rs_target_end unused;

	come_up(f);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	for (uint32_t i = 0; i < N; i++) {
		RsTraceRegion *region = f->sham[i]->region;
		struct rs_guest_info *info =
			rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);

		f->ops[i].stats = counters;
		sham_request(f->sham[i], 1, UINT32_MAX, 0, NULL);
		f->sham[i]->target.events.hypercall(f->source[i], 1, &unused);
		info->patch_errors = 2 + i;
		info->sites_on = 20 + i;
		info->lost_nested = 200 + i;
		info->lost_no_ring = 2000 + i;
		info->applied_generation = 30 + i;
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			struct rs_ring_state *ring =
				rs_trace_region_element(region, RS_SEC_RING_STATE, cpu);

			ring->dropped = 5 + cpu;
			ring->too_large = 50 + cpu;
		}
	}
	for (uint32_t i = 0; i < N; i++) {
		rs_source_stat(f->source[i], &stat);
		g_assert_true(stat.self_patch);
		g_assert_cmpuint(stat.sites_refused, ==, 2 + i);
		g_assert_cmpuint(stat.sites_on, ==, 20 + i);
		g_assert_cmpuint(stat.lost_nested, ==, 200 + i);
		g_assert_cmpuint(stat.lost_no_ring, ==, 2000 + i);
		g_assert_cmpuint(stat.applied_generation, ==, 30 + i);
		g_assert_cmpuint(stat.generation, ==, sham_generation(f->sham[i]));
		g_assert_cmpuint(stat.events, ==, 2);
		g_assert_cmpuint(stat.events_on, ==, 1);
		g_assert_cmpuint(stat.cpus, ==, 2);
		g_assert_cmpuint(stat.dropped, ==, 11);
		g_assert_cmpuint(stat.target.exits, ==, 11);
		for (uint32_t cpu = 0; cpu < 2; cpu++) {
			struct rs_cpu_stat one;

			rs_source_stat_cpu(f->source[i], &stat, cpu, &one);
			g_assert_cmpuint(one.dropped, ==, 5 + cpu);
			g_assert_cmpuint(one.too_large, ==, 50 + cpu);
		}
	}
	rs_session_stat(f->session, &sum);
	g_assert_cmpuint(sum.sites_refused, ==, 2 + 3 + 4);
	g_assert_cmpuint(sum.sites_on, ==, 20 + 21 + 22);
	g_assert_cmpuint(sum.lost_nested, ==, 200 + 201 + 202);
	g_assert_cmpuint(sum.lost_no_ring, ==, 2000 + 2001 + 2002);
	g_assert_cmpuint(sum.events, ==, 6);
	g_assert_cmpuint(sum.events_on, ==, 3);
	g_assert_cmpuint(sum.dropped, ==, 33);
	g_assert_cmpuint(sum.hypercalls, ==, N);
	g_assert_cmpuint(sum.bad_hypercalls, ==, N);
	g_assert_cmpuint(sum.late_answers, ==, 0);
	g_assert_cmpuint(sum.target.exits, ==, 33);
	g_assert_cmpuint(sum.target.kvm_exits, ==, 39);
	g_assert_cmpuint(sum.target.doorbells, ==, 51);
	g_assert_cmpuint(sum.target.console_waiting, ==, 57);
	g_assert_cmpuint(sum.target.console_lost, ==, 69);
	g_assert_true(sum.self_patch);
	g_assert_cmpint(sum.state, ==, RS_SESSION_RUNNING);
	/* One that does not patch itself: its own figures count nothing. */
	sham_hello(f->sham[1], 0);
	rs_source_stat(f->source[1], &stat);
	g_assert_false(stat.self_patch);
	g_assert_cmpuint(stat.sites_on, ==, 0);
	rs_session_stat(f->session, &sum);
	g_assert_false(sum.self_patch);
	g_assert_cmpuint(sum.sites_on, ==, 20 + 22);
}

/* Descriptors that make no sense count, one by one and in the sum. */
static void test_bad_descriptors(struct fixture *f, gconstpointer data)
{
	struct rs_source_stat stat;

	come_up(f);
	for (uint32_t i = 0; i < N; i++) {
		uint8_t *events = rs_trace_region_section(f->sham[i]->region, RS_SEC_EVENTS, NULL);

		for (uint32_t k = 0; k <= i; k++) {
			uint64_t from = f->sham[i]->event_bytes;

			sham_provider(f->sham[i], "bad", sched);
			memset(events + from, 0xff, f->sham[i]->event_bytes - from);
		}
	}
	for (uint32_t i = 0; i < N; i++) {
		rs_source_stat(f->source[i], &stat);
		g_assert_cmpuint(stat.bad_descriptors, ==, 1 + i);
		g_assert_cmpuint(stat.events, ==, 2);
	}
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.bad_descriptors, ==, 1 + 2 + 3);
	g_assert_cmpuint(stat.events, ==, 2 * N);
}

/* A guest that describes more events than it has words for. */
static void test_capacity(struct fixture *f, gconstpointer data)
{
	static const char *const more[] = {"more", NULL};
	g_autoptr(GArray) list = NULL;

	come_up(f);
	g_assert_cmpuint(f->said->len, ==, 0);
	/* The first has described as many as it can, the second one more. */
	sham_provider(f->sham[1], "last", more);
	rs_session_refresh(f->session);
	g_assert_cmpuint(f->said->len, ==, 1);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "wakeup", NULL, NULL), ==, 0);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "more", NULL, NULL), ==,
			-ENOENT);
	list = rs_session_list(f->session, NULL);
	g_assert_cmpuint(list->len, ==, 2 * N);
	for (int i = 0; i < N; i++)
		g_assert_cmphex(sham_word(f->sham[i], FIRST + 1), ==, RS_EVENT_ENABLED);
	g_assert_cmphex(sham_word(f->sham[1], FIRST + 2), ==, 0);
}

/* An agent of another version is a failure, but of one that was right before only a message. */
static void test_incompatible(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info;

	come_up(f);
	info = rs_trace_region_section(f->sham[1]->region, RS_SEC_GUEST_INFO, NULL);
	info->abi_major++;
	for (int i = 0; i < 3; i++)
		rs_session_refresh(f->session);
	g_assert_cmpint(f->failed, ==, 0);
	g_assert_cmpuint(f->said->len, ==, 1);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	g_assert_cmphex(sham_word(f->sham[1], FIRST), ==, RS_EVENT_ENABLED);
}

static void test_incompatible_at_first(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info;

	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham[1], 0);
	info = rs_trace_region_section(f->sham[1]->region, RS_SEC_GUEST_INFO, NULL);
	info->abi_major++;
	for (int i = 0; i < 3; i++)
		rs_session_refresh(f->session);
	g_assert_cmpint(f->failed, ==, 1);
	g_assert_cmpuint(f->said->len, ==, 0);
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_WAITING);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/life/names", test_names);
#define TEST(name, function)                                                                       \
	g_test_add("/life/" name, struct fixture, NULL, set_up, function, tear_down)
	TEST("start", test_start);
	TEST("stop", test_stop);
	TEST("pause", test_pause);
	TEST("quiet", test_quiet);
	TEST("forgotten", test_forgotten);
	TEST("boots", test_boots);
	TEST("told", test_told);
	TEST("stat", test_stat);
	TEST("bad-descriptors", test_bad_descriptors);
	TEST("unfit", test_unfit);
	TEST("incompatible", test_incompatible);
	TEST("incompatible-at-first", test_incompatible_at_first);
	g_test_add("/life/capacity", struct fixture, NULL, set_up_small, test_capacity, tear_down);
	for (size_t i = 0; i < G_N_ELEMENTS(all_ends); i++) {
		g_autofree char *path = g_strdup_printf("/life/end/%zu", i);

		g_test_add(path, struct fixture, &all_ends[i], set_up, test_end, tear_down);
	}
	return g_test_run();
}
