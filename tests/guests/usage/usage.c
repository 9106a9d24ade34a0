/* SPDX-License-Identifier: MIT */
/*
 * How an OS uses its tracepoints itself: it lists them, switches them on, hangs callbacks on them
 * and filters them, all from inside. The same file is a bare-metal guest and an ordinary program.
 */
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include <ringside/tracepoint.h>

#ifdef USAGE_HOSTED
#include <rs_hosted.h>
#include <stdio.h>
#define say(...) printf(__VA_ARGS__)
#else
#include "rs_baremetal.h"
#define say(...) rs_printf(__VA_ARGS__)
#endif

static const char filter[] = "(a > 8 && a<=10) || b >5";

static void on_raw(const struct rs_event *event, const uint64_t *args, uint32_t count, void *data)
{
	say("raw callback of %s: %u arguments, the first is %u\n", event->info->name, count,
	    (unsigned int)args[0]);
}

static void on_record(const struct rs_event *event, const void *record, uint32_t size, void *data)
{
	const struct rs_rec_header *header = record;

	say("event callback of %s: %u bytes, %s\n", event->info->name, size,
	    header->id == event->id ? "its own" : "another's");
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
	if (!err)
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
	return 0;
}

#ifdef USAGE_HOSTED
int main(void)
{
	int err = rs_hosted_init("usage");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!err)
		err = use();
	rs_hosted_fini();
	return err != 0;
}
#else
const char rs_guest_name[] = "usage";

void rs_main(uint32_t cpu)
{
	if (cpu == 0)
		rs_exit(use() != 0);
}
#endif
