/* SPDX-License-Identifier: MIT */
/* What engines do, as the host sees it: decoded and printed as any event. */
#include "region/regions.h"
#include "room.h"
#include "../agent/text.h"

#include <ringside/agent.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>
#include <string.h>
#include <unistd.h>

static RS_PROVIDER(provider, "utrace-test");

static RsTraceRegion *region;
static struct task task;
static struct tracer a, b;

static uint64_t os_time(void)
{
	static uint64_t now;

	return now += 1000;
}

static const struct rs_trace_ops ops = {
	.time_now = os_time, .text_open = os_text_open, .text_close = os_text_close};

static void switch_all(bool on)
{
	struct rs_control *control_page = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	uint32_t *words = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);

	g_assert_cmpint(__stop_rs_events - __start_rs_events, ==, 5);
	for (const struct rs_event *event = __start_rs_events; event < __stop_rs_events; event++)
		words[event->id] = on ? RS_EVENT_ENABLED : 0;
	control_page->flags = RS_CONTROL_SELF_PATCH;
	control_page->generation++;
	g_assert_cmpint(rs_agent_apply_control(), ==, 0);
}

static void set_up(void)
{
	const struct rs_region_config layout = {.vcpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
						.ring_bytes = 1 << 20};
	struct rs_agent_config config = {
		.ops = &ops, .cpu_count = layout.vcpus, .flags = RS_GUEST_SELF_PATCH};

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

static void on_record(const RsTraceRecord *record, const RsTraceTask *of, gpointer data)
{
	GString *text = data;

	g_assert_cmpint(record->kind, ==, RS_TRACE_RECORD_EVENT);
	g_assert_cmpstr(record->event->system, ==, "utrace");
	g_string_append_printf(text, "%s ", record->event->name);
	rs_trace_text_message(text, record);
	g_string_append_c(text, '\n');
}

/* All that was recorded, as text. */
static char *read_all(void)
{
	GString *text = g_string_new(NULL);
	const RsTraceFollowerConfig config = {.record = on_record, .data = text};
	RsTraceSink *follower = rs_trace_follower_new(&config);
	RsTraceFeed *feed = rs_trace_feed_new(
		rs_trace_live_new(region, RS_TRACE_FROM_START, 0, NULL), follower, 0, NULL);

	do
		follower->ops->begin_round(follower);
	while (rs_trace_feed_read(feed, 0) == RS_TRACE_RING_DATA);
	rs_trace_feed_finish(feed);
	follower->ops->end(follower);
	g_assert_cmpuint(rs_trace_follower_bad(follower), ==, 0);
	rs_trace_feed_free(feed);
	follower->ops->free(follower);
	return g_string_free(text, FALSE);
}

static void let_go(struct task *asleep)
{
	g_assert_cmpint(control(&a, RS_UTRACE_SINGLESTEP), ==, 0);
}

static void kill_it(struct task *asleep)
{
	rs_utrace_kill(&task.utrace);
}

static void run(void)
{
	task_init(&task);
	tracer_attach(&a, 'a', &task,
		      RS_UTRACE_EVENT(SYSCALL_ENTRY) | RS_UTRACE_EVENT(EXEC) |
			      RS_UTRACE_EVENT(QUIESCE));
	tracer_attach(&b, 'b', &task, RS_UTRACE_EVENT(REAP) | RS_UTRACE_EVENT(DEATH));
	a.returns[RS_UTRACE_EVENT_SYSCALL_ENTRY] = RS_UTRACE_STOP;
	task.asleep = let_go;
	rs_utrace_report_syscall_entry(&task.utrace, NULL);
	a.returns[RS_UTRACE_EVENT_EXEC] = RS_UTRACE_STOP;
	rs_utrace_report_exec(&task.utrace, "x", NULL);
	task.asleep = kill_it;
	rs_utrace_resume(&task.utrace);
	g_assert_cmpint(control(&a, RS_UTRACE_DETACH), ==, 0);
	task_end(&task);
	rs_utrace_engine_put(&a.engine);
	rs_utrace_engine_put(&b.engine);
}

static void test_the_host_sees_what_engines_do(void)
{
	g_autofree char *text = NULL;

	set_up();
	switch_all(true);
	run();
	switch_all(false);
	text = read_all();
	g_assert_cmpstr(text, ==,
			"attach thread=7 engine=1\n"
			"attach thread=7 engine=2\n"
			"report thread=7 engine=1 event=QUIESCE action=RESUME\n"
			"report thread=7 engine=1 event=SYSCALL_ENTRY action=STOP\n"
			"stop thread=7 event=SYSCALL_ENTRY\n"
			"resume thread=7 engine=1 action=SINGLESTEP\n"
			"report thread=7 engine=1 event=QUIESCE action=RESUME\n"
			"report thread=7 engine=1 event=EXEC action=STOP\n"
			"stop thread=7 event=QUIESCE\n"
			"resume thread=7 engine=0 action=RESUME\n"
			"detach thread=7 engine=1\n"
			"report thread=7 engine=2 event=DEATH action=RESUME\n"
			"report thread=7 engine=2 event=REAP action=DETACH\n"
			"detach thread=7 engine=2\n");
	tear_down();
}

static void test_nothing_is_recorded_while_the_events_are_off(void)
{
	g_autofree char *text = NULL;

	set_up();
	run();
	text = read_all();
	g_assert_cmpstr(text, ==, "");
	tear_down();
}

/* Every event and action has its name. */
static void test_each_event_and_action_by_name(void)
{
	static const char *const events[RS_UTRACE_EVENTS] = {
		"QUIESCE",     "REAP",          "CLONE",        "EXEC",   "EXIT",
		"DEATH",       "SYSCALL_ENTRY", "SYSCALL_EXIT", "SIGNAL", "SIGNAL_IGN",
		"SIGNAL_STOP", "SIGNAL_TERM",   "SIGNAL_CORE",  "JCTL"};
	static const char *const actions[RS_UTRACE_ACTIONS] = {
		"STOP", "INTERRUPT", "REPORT", "SINGLESTEP", "BLOCKSTEP", "RESUME", "DETACH"};
	const struct rs_event_info *info = NULL;

	for (const struct rs_event *event = __start_rs_events; event < __stop_rs_events; event++)
		if (!strcmp(event->info->name, "report"))
			info = event->info;
	g_assert_nonnull(info);
	g_assert_cmpuint(info->fields[2].symbol_count, ==, RS_UTRACE_EVENTS);
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++) {
		g_assert_cmpuint(info->fields[2].symbols[i].value, ==, i);
		g_assert_cmpstr(info->fields[2].symbols[i].name, ==, events[i]);
	}
	g_assert_cmpuint(info->fields[3].symbol_count, ==, RS_UTRACE_ACTIONS);
	for (guint i = 0; i < RS_UTRACE_ACTIONS; i++) {
		g_assert_cmpuint(info->fields[3].symbols[i].value, ==, i);
		g_assert_cmpstr(info->fields[3].symbols[i].name, ==, actions[i]);
	}
	/* A new one needs its name here. */
	g_assert_cmpint(RS_UTRACE_EVENT_JCTL, ==, RS_UTRACE_EVENTS - 1);
	g_assert_cmpint(RS_UTRACE_DETACH, ==, RS_UTRACE_ACTIONS - 1);
}

#define RULE(name) g_test_add_func("/utrace/trace/" #name, test_##name)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	RULE(the_host_sees_what_engines_do);
	RULE(nothing_is_recorded_while_the_events_are_off);
	RULE(each_event_and_action_by_name);
	return g_test_run();
}
