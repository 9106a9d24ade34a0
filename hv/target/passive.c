/* SPDX-License-Identifier: MIT */
#include "target/passive.h"

#include "base/ticks.h"

#include <errno.h>
#include <glib.h>

struct passive {
	struct rs_target target; /* first */
	struct rs_target_ops ops;
	struct rs_target *machine; /* NULL: none */
	struct rs_moment begun;
	const char *what;
	bool ended;
};

static struct passive *passive_of(struct rs_target *target)
{
	return (struct passive *)target;
}

static int p_start(struct rs_target *target, struct rs_error *err)
{
	return 0;
}

static int p_pause(struct rs_target *target, struct rs_error *err)
{
	return rs_error_set(err, EOPNOTSUPP, "it is %s", passive_of(target)->what);
}

static int p_read(struct rs_target *target, rs_gva_t at, void *out, size_t size,
		  struct rs_error *err)
{
	return rs_error_set(err, EFAULT, "the memory of %s cannot be read",
			    passive_of(target)->what);
}

static uint64_t p_clock_hz(struct rs_target *target)
{
	struct passive *passive = passive_of(target);
	struct rs_target *machine = passive->machine;

	return machine ? machine->ops->clock_hz(machine) : rs_ticks_hz(&passive->begun);
}

static uint64_t p_clock_now(struct rs_target *target)
{
	struct rs_target *machine = passive_of(target)->machine;

	return machine->ops->clock_now(machine);
}

/* A process that joined ends with its machine. */
static void p_stop(struct rs_target *target, const char *why)
{
	struct passive *passive = passive_of(target);
	struct rs_target_end end = {.reason = RS_END_KILLED};

	if (passive->machine || passive->ended)
		return;
	passive->ended = true;
	g_strlcpy(end.text, why ? why : "stopped", sizeof(end.text));
	if (target->events.ended)
		target->events.ended(target->events.data, &end);
}

static void p_destroy(struct rs_target *target)
{
	g_free(target);
}

struct rs_target *rs_passive_create(const char *kind, const char *what, uint32_t vcpus,
				    struct rs_target *machine)
{
	struct passive *passive = g_new0(struct passive, 1);
	bool own = !machine;

	passive->ops = (struct rs_target_ops){
		.kind = kind,
		.borrowed = own,
		.clock_stops = machine && machine->ops->clock_stops,
		.start = p_start,
		.pause = p_pause,
		.resume = p_pause,
		.read_virt = p_read,
		.clock_hz = own || machine->ops->clock_hz ? p_clock_hz : NULL,
		.clock_now = machine && machine->ops->clock_now ? p_clock_now : NULL,
		.stop = p_stop,
		.destroy = p_destroy,
	};
	passive->what = what;
	passive->machine = machine;
	passive->begun = rs_moment_now();
	passive->target.ops = &passive->ops;
	passive->target.vcpus = vcpus;
	return &passive->target;
}
