/* SPDX-License-Identifier: MIT */
/*
 * The agent's life on a memory. One thread takes the kernel's region, follows what the host wants,
 * leaves the region when the host asks for that or has laid it out anew, and takes it again.
 */
#define pr_fmt(fmt) "ringside: " fmt
#include "module.h"

#include "commands.h"
#include "kernel_events.h"
#include "rs_port.h"
#include "self_patch.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/utsname.h>
#include <asm/tsc.h>
#include <ringside/control.h>
#include <ringside/directory.h>
#include <ringside/region.h>

#define BUSY_US 1000 /* between two looks for a while after a change … */
#define IDLE_US 5000 /* … and else */
#define BUSY_LOOKS 1000u
#define AWAY_US 50000 /* between two looks for a region, or for a session */
#define LEAVE_MS 7000 /* for the requests of an orderly end; then the host counts as gone */

static bool self_patch;
module_param(self_patch, bool, 0444);
MODULE_PARM_DESC(self_patch, "patch the kernel from within, whether or not the host asks for it");

static int count_on(char *out, const struct kernel_param *param)
{
	return sysfs_emit(out, "%u\n", rs_kernel_events_on());
}

static const struct kernel_param_ops on_ops = {.get = count_on};
module_param_cb(on, &on_ops, NULL, 0444);
MODULE_PARM_DESC(on, "how many of the kernel's events are recorded now (read-only)");

static struct {
	struct task_struct *thread;
	bool stop;
	struct completion ended;
	u8 *memory;
	u64 size;
	char device[32];

	/* The thread's. */
	bool attached;
	bool self;    /* we patch our text */
	bool greeted; /* a host has been told of us, or nobody answered */
	struct rs_place place;
	u32 owner; /* in our claim of the region */
	bool lost; /* another kernel has taken the region */
	u64 session;
	u32 quiet; /* looks since the last change */
	u32 generation, nudge;
	int told; /* the error that was shown last */
} agent;

void rs_port_panic(const char *why)
{
	WARN(1, "ringside: %s\n", why);
}

/* ---- what the core asks of the kernel ---- */

static void relax(void)
{
	if (preemptible())
		usleep_range_state(50, 100, TASK_IDLE);
	else
		cpu_relax();
}

/* Nothing wakes us up, so this is a short time. */
static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	if (READ_ONCE(*nudge) == seen)
		relax();
}

/* Events are made with preemption disabled, and so RCU waits for them. */
static void wait_events(void)
{
	synchronize_rcu();
}

static const struct rs_trace_ops ops = {
	.relax = relax,
	.wait_nudge = wait_nudge,
	.wait_events = wait_events,
	.write_kernel_text = rs_text_write,
	.text_open = rs_text_open,
	.text_flush = rs_text_flush,
	.text_close = rs_text_close,
	.call_stack = rs_call_stack,
};

/* ---- taking and leaving ---- */

static void *region(void)
{
	return agent.memory + agent.place.offset;
}

/* Says each error once, until another one comes. */
static int tell(int err)
{
	if (err && err != agent.told)
		pr_warn("%s: %s\n", agent.device, rs_agent_strerror(err));
	agent.told = err;
	return err;
}

static int init(void)
{
	static char name[RS_LABEL_LEN];
	struct rs_agent_config config = {
		.region = region(),
		.region_size = agent.place.size,
		.ops = &ops,
		.agent = "linux module " RS_MODULE_VERSION,
		.name = name,
		.cpu_count = nr_cpu_ids,
		.flags = RS_GUEST_FOLLOWS | (agent.self ? RS_GUEST_SELF_PATCH : 0),
		.tsc_hz = tsc_khz * 1000ull,
		.page_table_root = rs_page_table_root(),
		.paging = rs_page_table_kind(),
	};
	int err;

	strscpy(name, init_utsname()->nodename, sizeof(name));
	err = rs_agent_init(&config);
	if (err)
		return err;
	err = rs_kernel_events_register();
	if (err) {
		rs_agent_fini();
		return err;
	}
	rs_modules_begin();
	err = rs_commands_begin();
	if (err)
		pr_warn("no commands of the host are taken: %pe\n", ERR_PTR(err));
	return 0;
}

/* Another guest has taken the region, whose device has the same memory by mistake. */
static bool is_lost(const struct rs_place *now)
{
	return !now->free && now->owner != agent.owner && now->owner & RS_CLAIM_KERNEL;
}

/* The agent ends. The region stays ours. */
static void end(void)
{
	const struct rs_region_header *header = region();

	/*
	 * Who has laid the region out anew knows nothing of us, nor does the host of another guest.
	 * A session that has ended has put our text back. None of them is to be waited for.
	 */
	if (agent.lost || rs_load(&header->session_id) != agent.session ||
	    rs_load(&rs_agent_control()->flags) & RS_CONTROL_STOP)
		rs_agent_host_gone();
	agent.attached = false;
	rs_commands_end();
	rs_kernel_events_stop();
	rs_modules_end();
	rs_kernel_events_unregister();
	rs_agent_fini();
}

static void leave(void)
{
	end();
	rs_directory_leave(agent.memory, agent.size, agent.place.index, agent.owner);
}

static bool is_self_patch_wanted(u32 control_flags)
{
	return self_patch || control_flags & RS_CONTROL_SELF_PATCH;
}

/* The kernel's entry. While it is to be laid out anew, nobody takes it. */
static int find(void)
{
	u32 flags;
	int err;

	for (u32 i = 0;; i++) {
		err = rs_directory_look(agent.memory, agent.size, i, &agent.place);
		if (err)
			return err;
		if (agent.place.kind == RS_SOURCE_KERNEL)
			break;
	}
	if (agent.place.offset > agent.size || agent.place.size > agent.size - agent.place.offset)
		return -RS_EBADMSG;
	err = rs_agent_region_flags(region(), agent.place.size, &flags);
	if (err)
		return err;
	agent.self = is_self_patch_wanted(flags);
	return flags & RS_CONTROL_LEAVE ? -RS_ENODEV : 0;
}

/* Else two guests would take the region from each other in turns. */
static bool keeps_out(void)
{
	const struct rs_region_header *header = region();

	agent.lost &= is_lost(&agent.place) && rs_load(&header->session_id) == agent.session;
	return agent.lost;
}

static void take(void)
{
	const struct rs_region_header *header;
	int err = find();

	/* Nothing there (yet) is no error. */
	if (err == -RS_ENODEV || tell(err) || keeps_out())
		return;
	header = region();
	agent.session = rs_load(&header->session_id);
	err = rs_directory_claim(agent.memory, agent.size, agent.place.index, agent.owner);
	if (tell(err))
		return;
	if (tell(init())) {
		rs_directory_leave(agent.memory, agent.size, agent.place.index, agent.owner);
		return;
	}
	agent.attached = true;
	agent.greeted = false;
	agent.quiet = 0;
}

/* Not while the last session has ended and no other one has come. */
static void greet(const struct rs_control *control)
{
	int err;

	if (agent.greeted || rs_load(&control->flags) & RS_CONTROL_STOP)
		return;
	agent.greeted = true;
	err = rs_agent_hello();
	pr_info("%s: %s\n", agent.device, err ? rs_agent_strerror(err) : "the host answers");
}

/* ---- while it is ours ---- */

/* Whether the host wants us to leave, or has taken the region away or laid it out anew. */
static bool must_leave(void)
{
	const struct rs_region_header *header = region();
	const struct rs_control *control = rs_agent_control();
	struct rs_place now;

	if (rs_directory_look(agent.memory, agent.size, agent.place.index, &now))
		return true;
	agent.lost = is_lost(&now);
	if (agent.lost)
		pr_err("%s: another guest has taken the trace region: its device has the same "
		       "memory. This one keeps out of it. Give each its own\n",
		       agent.device);
	return now.kind != RS_SOURCE_KERNEL || now.free || now.owner != agent.owner ||
	       now.offset != agent.place.offset || now.size != agent.place.size ||
	       rs_load(&header->magic) != RS_REGION_MAGIC ||
	       rs_load(&header->session_id) != agent.session ||
	       rs_load(&control->flags) & RS_CONTROL_LEAVE;
}

static void follow_host(void)
{
	const struct rs_control *control = rs_agent_control();
	/* Acquire: what it asks for was written before it grew. */
	u32 generation = rs_load_acquire(&control->generation), nudge = rs_load(&control->nudge);

	if (generation != agent.generation || nudge != agent.nudge)
		agent.quiet = 0;
	else if (agent.quiet < BUSY_LOOKS)
		agent.quiet++;
	agent.generation = generation;
	agent.nudge = nudge;
	greet(control);
	rs_agent_look();
	/* Who patches is a fact of a boot, so this is the next one. take() begins it. */
	if (is_self_patch_wanted(rs_load(&control->flags)) && !agent.self) {
		end();
		return;
	}
	rs_kernel_events_follow();
	if (rs_agent_control_due())
		rs_agent_apply_control();
	rs_agent_follow(generation);
}

/* The region is kept for the next session. */
static bool is_alone(void)
{
	return !agent.attached || rs_load(&rs_agent_control()->flags) & RS_CONTROL_STOP;
}

static void rest(void)
{
	unsigned int us = is_alone() ? AWAY_US : agent.quiet < BUSY_LOOKS ? BUSY_US : IDLE_US;

	usleep_range_state(us, us + us / 4, TASK_IDLE);
}

static int live(void *data)
{
	while (!READ_ONCE(agent.stop)) {
		if (!agent.attached)
			take();
		else if (must_leave())
			leave();
		else
			follow_host();
		rs_chardev_follow();
		if (!READ_ONCE(agent.stop))
			rest();
	}
	if (agent.attached)
		leave();
	complete(&agent.ended);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

int rs_agent_set_memory(void *memory, u64 size, const char *device)
{
	agent.memory = memory;
	agent.size = size;
	agent.told = 0;
	agent.stop = false;
	agent.lost = false;
	agent.owner = get_random_u32() | RS_CLAIM_KERNEL;
	strscpy(agent.device, device, sizeof(agent.device));
	init_completion(&agent.ended);
	agent.thread = kthread_run(live, NULL, "ringside");
	return PTR_ERR_OR_ZERO(agent.thread);
}

void rs_agent_take_memory(bool gone)
{
	WRITE_ONCE(agent.stop, true);
	if (gone || !wait_for_completion_timeout(&agent.ended, msecs_to_jiffies(LEAVE_MS)))
		rs_agent_host_gone(); /* ends all waits for it */
	kthread_stop(agent.thread);
	pr_info("%s: let go\n", agent.device);
}
