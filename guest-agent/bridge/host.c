/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "host.h"

#include "reader.h"

#include <core/core.h>
#include <linux/futex.h>
#include <ringside/atomic.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ASK_TICKS 100u      /* between two questions whether the host is there */
#define PATIENCE_TICKS 500u /* without an answer: it is not */
#define LATE_LOOK_NS 10000000

/* ---- the agent ---- */

static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	struct timespec most = {.tv_nsec = LATE_LOOK_NS};

	syscall(SYS_futex, nudge, FUTEX_WAIT, seen, &most, NULL, 0);
}

static void protect_host_part(const struct rs_hosted_place *place)
{
	uint64_t size = rs_core.header.guest_offset;

	if (size % (uint64_t)sysconf(_SC_PAGESIZE) == 0 && size < place->region_size)
		mprotect(place->region, size, PROT_READ);
}

int bridge_host_attach(struct bridge_host *host)
{
	static const struct rs_trace_ops ops = {.cpu_id = bridge_reader_cpu,
						.wait_nudge = wait_nudge};
	struct rs_agent_config config = {.ops = &ops,
					 .agent = "tracefs bridge " RS_HOSTED_VERSION,
					 .name = "linux",
					 .flags = RS_GUEST_SELF_PATCH | RS_GUEST_BRIDGE |
						  RS_GUEST_FOLLOWS,
					 .owner_pid = (uint32_t)getpid()};
	int err;

	*host = (struct bridge_host){.place.fd = -1};
	err = rs_hosted_find_kernel_place(&host->place);
	if (err)
		return err == 1 ? -RS_ENODEV : err;
	config.region = host->place.region;
	config.region_size = host->place.region_size;
	config.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	err = rs_agent_init(&config);
	if (err) {
		rs_hosted_drop_place(&host->place);
		return err;
	}
	protect_host_part(&host->place);
	host->attached = host->alive = true;
	host->held = rs_load(&rs_core.control->flags) & RS_CONTROL_HELD;
	if (!host->held)
		rs_hosted_forget_host(&host->place);
	return 0;
}

void bridge_host_greet(struct bridge_host *host)
{
	host->alive = rs_agent_hello() != -RS_EHOSTUNREACH;
}

uint32_t bridge_host_generation(void)
{
	/* Acquire: the words were written before it grew. */
	return rs_load_acquire(&rs_core.control->generation);
}

void bridge_host_applied(uint32_t generation)
{
	rs_agent_follow(generation);
}

/* ---- whether it is there ---- */

/* Any answer is an answer. */
static void ask(struct bridge_host *host)
{
	uint64_t args[6] = {RS_FIRST_EVENT_ID};

	host->asked = !rs_hypercall_begin(&host->question, RS_HCALL_QUERY, args, NULL, 0);
	host->silent = 0;
}

static void look_for_answer(struct bridge_host *host)
{
	int32_t result;

	if (host->asked && rs_hypercall_poll(&host->question, &result, NULL)) {
		host->asked = false;
		host->alive = true;
		host->quiet = 0;
	} else if (host->asked && ++host->silent > PATIENCE_TICKS) {
		/* The question stays: a host that comes answers it. */
		host->silent = PATIENCE_TICKS;
		host->alive = false;
	} else if (!host->asked && (!host->alive || ++host->quiet >= ASK_TICKS)) {
		host->quiet = 0;
		ask(host);
	}
}

enum bridge_wish bridge_host_look(struct bridge_host *host)
{
	uint32_t flags;

	/* The module has come, which is another agent of this kernel. */
	if (!rs_hosted_has_place(&host->place))
		return BRIDGE_TAKEN;
	rs_agent_look();
	if (host->held && !rs_hosted_host_lives(&host->place))
		return BRIDGE_END;
	flags = rs_load(&rs_core.control->flags);
	if (flags & RS_CONTROL_LEAVE)
		return BRIDGE_LEAVE;
	if (flags & RS_CONTROL_STOP && host->held)
		return BRIDGE_END;
	look_for_answer(host);
	/* The session has ended, and another one may come. */
	host->over = flags & RS_CONTROL_STOP;
	if (host->over)
		host->alive = false;
	return BRIDGE_GO_ON;
}

void bridge_host_leave(struct bridge_host *host)
{
	if (!host->attached)
		return;
	if (!rs_hosted_has_place(&host->place)) {
		/* What is in the region is another's. It stays mapped: the agent goes with us. */
		*host = (struct bridge_host){.place.fd = -1};
		return;
	}
	/* Nobody needs to answer any more. */
	if (host->asked)
		rs_hypercall_drop(&host->question);
	rs_agent_fini();
	rs_hosted_drop_place(&host->place);
	*host = (struct bridge_host){.place.fd = -1};
}
