/* SPDX-License-Identifier: MIT */
/*
 * How an OS uses its tracepoints itself: it lists them, switches them on, hangs callbacks on them
 * and filters them, all from inside. In the end it takes a snapshot of what was recorded, and
 * prints it. The same file is a bare-metal guest and an ordinary program. Started without a host,
 * both do the same on a region in their own memory, where no filter can be had.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include <ringside/tracepoint.h>
#include <ringside/tracepoint_alone.h>
#include <ringside/tracepoint_snapshot.h>

#ifdef USAGE_HOSTED
#include <rs_hosted.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#define say(...) printf(__VA_ARGS__)
#define show(text) fputs(text, stdout)
#else
#include "rs_baremetal.h"
#define say(...) rs_printf(__VA_ARGS__)
#define show(text) rs_puts(text)
#endif

static const char filter[] = "(a > 8 && a<=10) || b >5";

static void on_raw(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	say("raw callback of %s: %u arguments, the first is %u\n", event->info->name, count,
	    (unsigned int)args[0]);
}

static void on_record(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	struct rs_tracepoint_record parsed;
	char text[100];

	if (!rs_tracepoint_parse(&parsed, record, size))
		return;
	rs_tracepoint_text(&parsed, text, sizeof(text));
	say("event callback of %s: %u bytes, %s: %s\n", event->info->name, size,
	    parsed.id == event->id ? "its own" : "another's", text);
}

static struct rs_callback callbacks[2];
static uint32_t ids[2], found;

static bool note(struct rs_event *event, void *data)
{
	if (found < 2)
		ids[found++] = event->id;
	return true;
}

static bool show_system(const char *system, void *data)
{
	say("system %s\n", system);
	return true;
}

/* A host that is asked may take a while, so this is not done while the list is looked at. */
static int take(uint32_t i)
{
	struct rs_event *event = rs_event_by_id(ids[i]);
	char text[16];
	int err;

	callbacks[i] = (struct rs_callback){.raw = on_raw, .record = on_record};
	err = rs_tracepoint_write(ids[i], RS_TRACEPOINT_ENABLE, "1", 1, NULL);
	if (!err && !rs_alone())
		err = rs_tracepoint_write(ids[i], RS_TRACEPOINT_FILTER, filter, sizeof(filter) - 1,
					  NULL);
	if (!err)
		err = rs_callback_register(event, &callbacks[i]);
	if (err) {
		say("%s: %s\n", event->info->name, rs_agent_strerror(err));
		return err;
	}
	rs_event_enable_callbacks(event, true);
	rs_tracepoint_read(ids[i], RS_TRACEPOINT_ENABLE, text, sizeof(text));
	say("enabled %s:%s, which reads %s", event->info->system, event->info->name, text);
	return 0;
}

static void show_format(uint32_t id)
{
	static char text[2000];
	int size = rs_tracepoint_read(id, RS_TRACEPOINT_FORMAT, text, sizeof(text));

	show(size < 0 ? rs_agent_strerror(size) : text);
}

/* What was recorded, as text. The newest 256 KiB of it would do for much more. */
static int show_snapshot(void)
{
	static uint8_t memory[256 * 1024] __attribute__((aligned(8)));
	struct rs_tracepoint_record record;
	struct rs_snapshot snapshot;
	static char text[2000];
	int err = rs_snapshot_take(&snapshot, memory, sizeof(memory));

	if (err)
		return err;
	rs_tracepoint_header(&snapshot, text, sizeof(text));
	show(text);
	while (rs_snapshot_next(&snapshot, &record)) {
		rs_tracepoint_line(&record, text, sizeof(text));
		show(text);
	}
	return 0;
}

static void fire(uint32_t a, uint32_t b)
{
	trace_usage_test(a, &b);
	trace_usage_test2(a, b);
	say("fired with a=%u, b=%u\n", a, b);
}

static int use(void)
{
	int err;

	say("--- before ---\n");
	fire(1, 2);
	fire(3, 4);
	rs_tracepoint_each_system(show_system, NULL);
	rs_tracepoint_each(note, NULL);
	say("%u tracepoints\n", rs_tracepoint_count());
	for (uint32_t i = 0; i < found; i++) {
		err = take(i);
		if (err)
			return err;
	}
	show_format(rs_tracepoint_find("usage", "test"));
	say("--- after ---\n");
	fire(1, 2);
	fire(9, 2); /* passes */
	fire(3, 4);
	fire(10, 4); /* passes */
	fire(11, 6); /* passes */
	say("--- without callbacks ---\n");
	for (uint32_t i = 0; i < found; i++) {
		err = rs_callback_unregister(&callbacks[i]);
		if (err)
			return err;
	}
	fire(9, 9); /* passes */
	say("--- snapshot ---\n");
	return show_snapshot();
}

/* ---- without a host ---- */

static RS_PROVIDER(provider, "usage");

static int start_alone(const struct rs_trace_ops *ops, uint32_t cpus, uint64_t hz)
{
	static uint8_t memory[2 << 20] __attribute__((aligned(4096)));
	const struct rs_agent_config config = {
		.region = memory,
		.region_size = sizeof(memory),
		.ops = ops,
		.agent = "usage",
		.cpu_count = cpus,
		.tsc_hz = hz,
		.flags = RS_GUEST_SELF_PATCH,
	};
	int err = rs_alone_lay_out(memory, sizeof(memory), cpus);

	say("there is no host\n");
	if (!err)
		err = rs_agent_init(&config);
	return err ? err : rs_agent_register(&provider);
}

#ifdef USAGE_HOSTED
/* The text of a process can be written once it says so. */
static void protect(void *from, void *to, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)from & ~(page - 1);

	mprotect((void *)start, (uintptr_t)to - start, protection);
}

static void open_text(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void close_text(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_EXEC);
}

int main(void)
{
	static const struct rs_trace_ops ops = {.text_open = open_text, .text_close = close_text};
	int err = rs_hosted_init("usage");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!err && !rs_agent_active())
		err = start_alone(&ops, (uint32_t)sysconf(_SC_NPROCESSORS_CONF), 0);
	if (!err)
		err = use();
	rs_hosted_fini();
	return err != 0;
}
#else
const char rs_guest_name[] = "usage";

/* Whether callbacks are called after another session has come: the guest has told the first one. */
static void on_stay(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	trace_usage_test2((uint32_t)args[0], 0);
}

static void stay(void)
{
	static struct rs_callback callback = {.raw = on_stay};
	int err = register_trace_usage_test(&callback);

	say("it stays: %s\n", rs_agent_strerror(err));
	for (uint32_t n = 0;; n++) {
		uint64_t until = rs_tsc() + rs_tsc_hz() / 100;

		trace_usage_test(n, &n);
		while (rs_tsc() < until)
			rs_pause();
	}
}

void rs_main(uint32_t cpu)
{
	int err = 0;

	if (cpu != 0)
		return;
	if (rs_option_u64("stay", 0))
		stay();
	if (!rs_agent_active())
		err = start_alone(NULL, rs_cpu_count(), rs_tsc_hz());
	rs_exit((err ? err : use()) != 0);
}
#endif
