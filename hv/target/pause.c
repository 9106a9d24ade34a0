/* SPDX-License-Identifier: MIT */
#include "base/ticks.h"
#include "target/target.h"

static void tell(struct rs_target *target, enum rs_pause_step step)
{
	if (target->events.pause)
		target->events.pause(target->events.data, step);
}

bool rs_target_ready(struct rs_target *target)
{
	return target->pauses || !target->ops->ready || target->ops->ready(target);
}

int rs_target_pause(struct rs_target *target, struct rs_error *err)
{
	int ret;

	if (target->pauses) {
		target->pauses++;
		return 0;
	}
	tell(target, RS_PAUSE_ASKED);
	target->paused_at = rs_monotonic_ns();
	ret = target->ops->pause(target, err);
	if (ret) {
		rs_error_prefix(err, "the guest cannot be paused");
		return ret;
	}
	target->pauses = 1;
	tell(target, RS_PAUSE_STOPPED);
	return 0;
}

int rs_target_resume(struct rs_target *target, uint64_t *paused_ns, struct rs_error *err)
{
	int ret = 0;

	if (target->pauses > 1) {
		target->pauses--;
	} else {
		target->pauses = 0;
		if (!target->held)
			tell(target, RS_PAUSE_RESUMING);
		ret = target->ops->resume(target, err);
	}
	if (paused_ns)
		*paused_ns = rs_monotonic_ns() - target->paused_at;
	if (!target->pauses && !target->held)
		tell(target, ret ? RS_PAUSE_STOPPED : RS_PAUSE_RESUMED);
	return ret;
}
