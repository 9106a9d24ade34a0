/* SPDX-License-Identifier: MIT */
/* The agent in an ordinary process, see rs_hosted.h. */
#define _GNU_SOURCE
#include "../text_pool.h"
#include "rs_hosted.h"

#include "copy.h"
#include "door.h"
#include "image.h"
#include "place.h"
#include "rs_port.h"
#include "self_patch.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <ringside/control.h>
#include <ringside/name.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LATE_LOOK_NS 10000000 /* ns between two looks for an answer that comes late … */
#define BLIND_LOOK_NS 1000000 /* … where no futex can be */

static RS_PROVIDER(provider, NULL);

static struct {
	bool started; /* it has a region, or waits for one */
	bool child;   /* we are a fork of the process that has started */
	bool greeted;
	const char *no_door; /* why no session can attach it; NULL: no reason */
	uint32_t active;     /* it has a region */
	int doorbell;
	struct rs_hosted_place place;
} hosted = {.doorbell = -1, .place.fd = -1};

static char provider_name[RS_NAME_MAX +
			  1]; /* one byte more, so that a name that is too long is noticed */

/* An event may fire anywhere, so this is async-signal-safe and keeps errno. */
static void ring_doorbell(void)
{
	uint64_t one = 1;
	int saved = errno;

	if (write(hosted.doorbell, &one, sizeof(one)) < 0)
		errno = 0; /* the counter is full, so the reader wakes up anyway */
	errno = saved;
}

/* A host on this machine wakes the futex. Inside a guest nobody does, so the wait has a limit. */
static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	struct timespec most = {.tv_nsec = LATE_LOOK_NS}, blind = {.tv_nsec = BLIND_LOOK_NS};
	int saved = errno;

	/* The memory of a device has no pages that a futex could be in. */
	if (syscall(SYS_futex, nudge, FUTEX_WAIT, seen, &most, NULL, 0) && errno == EFAULT)
		nanosleep(&blind, NULL);
	errno = saved;
}

/*
 * The doorbell, if this region has one. A program that started us may have closed the descriptor,
 * and its number may mean another file now.
 */
static int find_doorbell(void)
{
	const struct rs_region_header *header = (const void *)hosted.place.region;
	int fd = rs_hosted_number("RINGSIDE_DOORBELL_FD");
	char path[32], what[32];
	ssize_t length;

	if (fd < 0 || header->doorbell_channel != RS_CHANNEL_EVENTFD)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, what, sizeof(what) - 1);
	what[length < 0 ? 0 : length] = 0;
	return strcmp(what, "anon_inode:[eventfd]") == 0 ? fd : -1;
}

/* So that a wild store of the program cannot change what the host has written. */
static void protect_host_part(void)
{
	uint64_t size = ((const struct rs_region_header *)hosted.place.region)->guest_offset;

	if (size % (uint64_t)sysconf(_SC_PAGESIZE) == 0 && size < hosted.place.region_size)
		mprotect(hosted.place.region, size, PROT_READ);
}

static void become_child(void)
{
	hosted.child = true;
	rs_hosted_may_tell(false);
	rs_door_forget();
}

static bool is_active(void)
{
	return rs_load_acquire(&hosted.active);
}

/* The caller's name, or a valid name that is made from the program's. */
static const char *choose_name(const char *name)
{
	snprintf(provider_name, sizeof(provider_name), "%s",
		 name ? name : program_invocation_short_name);
	for (char *c = provider_name; !name && *c; c++) {
		if (!rs_is_alnum(*c) && *c != '.' && (*c != '-' || c == provider_name))
			*c = '_';
	}
	return provider_name;
}

static int attach(const char *name, bool self)
{
	struct rs_trace_ops ops = {0};
	static struct rs_trace_ops kept;
	struct rs_agent_config config = {
		.region = hosted.place.region,
		.region_size = hosted.place.region_size,
		.ops = &kept,
		.agent = "hosted " RS_HOSTED_VERSION,
		.name = name,
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.flags = self ? RS_GUEST_SELF_PATCH : 0,
		.owner_pid = (uint32_t)getpid(),
		.patience_ms = rs_hosted_patience(&hosted.place),
		.text_pool = rs_text_pool,
		.text_pool_size = RS_TEXT_POOL_SIZE,
	};
	int ret;

	if (self)
		rs_self_patch_ops(&ops);
	ops.wait_nudge = wait_nudge;
	if (hosted.doorbell >= 0)
		ops.doorbell = ring_doorbell;
	kept = ops;
	ret = rs_agent_init(&config);
	if (ret)
		return ret;
	protect_host_part();
	provider.name = name;
	rs_hosted_image(&provider);
	ret = rs_agent_register(&provider);
	if (ret) {
		rs_agent_fini();
		return ret;
	}
	return 0;
}

/*
 * Another thread may still be inside an event. So the region stays mapped, and nobody gets it yet.
 */
static void at_exit(void)
{
	if (hosted.child)
		return;
	/* The thread takes places, and gives them up. */
	rs_door_stop();
	if (is_active())
		rs_hosted_leave_place(&hosted.place);
}

/* A host that lays the memory out anew is another one for us. */
static bool host_lives(void)
{
	return rs_hosted_host_lives(&hosted.place) && !rs_agent_asked_to_leave();
}

/* Our text is as in its file again. */
static void host_gone(void)
{
	rs_store_release(&hosted.active, 0);
	rs_hosted_retire_place(&hosted.place);
}

/* Whether the environment names a memory. */
static bool region_named(void)
{
	const char *path = secure_getenv("RINGSIDE_REGION");

	return rs_hosted_number("RINGSIDE_REGION_FD") >= 0 || (path && *path);
}

/* Attaches in the place that was found. *self: the program patches its own text. */
static int take_part(const char *name, bool *self)
{
	uint32_t flags = 0;
	int ret;

	hosted.doorbell = find_doorbell();
	/* An error is rs_agent_init()'s to tell. */
	rs_agent_region_flags(hosted.place.region, hosted.place.region_size, &flags);
	*self = (hosted.place.given && rs_hosted_number("RINGSIDE_SELF_PATCH") > 0) ||
		(flags & RS_CONTROL_SELF_PATCH);
	/* Where the host patches us, a later session puts our text back. */
	if (!hosted.place.by_module && (!*self || !(flags & RS_CONTROL_HELD)))
		rs_hosted_forget_host(&hosted.place);
	ret = attach(name, *self);
	if (ret) {
		rs_hosted_drop_place(&hosted.place);
		return ret;
	}
	rs_store_release(&hosted.active, 1);
	ret = rs_agent_hello();
	hosted.greeted = ret == 0;
	if (hosted.greeted)
		rs_hosted_may_tell(true);
	if (*self)
		rs_agent_apply_control();
	/* It is no error if nobody answers: the region is there, and a host may come later. */
	return ret == -RS_EHOSTUNREACH ? 0 : ret;
}

/* Other threads may still be inside an event, so the region stays mapped. */
static void detach(void)
{
	rs_store_release(&hosted.active, 0);
	if (hosted.greeted && !hosted.place.given)
		rs_agent_unregister(&provider);
	rs_agent_host_gone(); /* puts back what it has patched by itself */
}

static void leave(void)
{
	rs_hosted_leave_place(&hosted.place);
	rs_hosted_forget_host(&hosted.place);
}

/* From the door's thread. */
static int join(int fd)
{
	struct rs_hosted_place place = {.fd = -1};
	int ret = rs_hosted_take_door(fd, &place);
	bool self;

	if (ret)
		return ret;
	hosted.place = place;
	take_part(provider_name, &self);
	return is_active() ? 0 : -RS_ENODEV;
}

/* Also if the environment forbids that it is traced, by an empty path. */
static bool may_wait(void)
{
	const char *path = secure_getenv("RINGSIDE_REGION");

	return !path || *path;
}

static int start(const char *name, const struct rs_event *events)
{
	static const struct rs_door_calls calls = {
		.join = join, .host_lives = host_lives, .host_gone = host_gone};
	bool self;
	int ret;

	if (hosted.started && (!events || events == provider.events))
		return 0;
	/*
	 * The caller's image has its own copy of this library, but its calls reach this one. Or
	 * this copy is the caller's, but its events read the words of another.
	 */
	if ((events && events != provider.events) || !rs_hosted_is_whole()) {
		if (!is_active() && !region_named())
			return 0;
		rs_hosted_refuse(events ? (const void *)events : &provider);
		return -RS_EXDEV;
	}
	choose_name(name);
	ret = rs_hosted_find_place(&hosted.place);
	if (!ret)
		ret = take_part(provider_name, &self);
	if (is_active()) {
		const char *why = self ? rs_door_start(&calls, true) : NULL;

		/* It would never patch itself, and nobody would know why it records nothing. */
		if (why) {
			detach();
			rs_agent_fini();
			leave();
			hosted.place.why = why;
			return -RS_EAGAIN;
		}
	} else if (ret != 1 || !may_wait()) {
		return ret;
	} else {
		hosted.no_door = rs_door_start(&calls, false);
		if (hosted.no_door)
			return ret;
	}
	hosted.started = true;
	rs_hosted_keep_image(&provider);
	pthread_atfork(NULL, NULL, become_child);
	atexit(at_exit);
	return ret;
}

/* Programs that are not asked say nothing. */
static void explain(int ret)
{
	const char *waits = hosted.started   ? "; a session may attach it"
			    : hosted.no_door ? "; no session can attach it: "
					     : "";
	const char *no_door = hosted.started || !hosted.no_door ? "" : hosted.no_door;

	if (rs_hosted_number("RINGSIDE_DEBUG") <= 0)
		return;
	if (ret && hosted.place.why)
		fprintf(stderr, "ringside: not traced: %s%s%s\n", hosted.place.why, waits, no_door);
	else if (ret)
		fprintf(stderr, "ringside: not traced: %s%s%s\n",
			ret == 1 ? "there is no memory for traces" : rs_agent_strerror(ret), waits,
			no_door);
	else
		fprintf(stderr, "ringside: region %u%s%s\n", hosted.place.index,
			hosted.place.by_module ? " by /dev/ringside" : "",
			hosted.greeted ? "" : ", no host answers yet");
}

int rs_hosted_init_image(const char *name, const struct rs_event *events)
{
	bool before = hosted.started;
	int ret = start(name, events);

	if (!before)
		explain(ret);
	return ret == 1 ? 0 : ret;
}

static void attach_program(void)
{
	int saved = errno;

	rs_hosted_init_image(NULL, NULL);
	errno = saved;
}

void rs_hosted_attach(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, attach_program);
}

bool rs_hosted_active(void)
{
	return is_active();
}

void rs_hosted_fini(void)
{
	if (!hosted.started || hosted.child)
		return;
	rs_door_stop();
	hosted.started = false;
	if (!is_active())
		return;
	detach();
	leave();
}

void rs_hosted_speak_for(uint32_t pid, uint32_t tgid, const char *comm)
{
	rs_port_thread.speaks_for = pid != 0;
	if (!pid) {
		rs_port_thread_renamed();
		return;
	}
	rs_port_thread.pid = pid;
	rs_port_thread.tgid = tgid;
	memset(rs_port_thread.comm, 0, RS_COMM_LEN);
	memcpy(rs_port_thread.comm, comm, strnlen(comm, RS_COMM_LEN));
	rs_port_unbind(); /* its next event notes the name */
}

void rs_hosted_thread_renamed(void)
{
	if (!rs_port_thread.speaks_for)
		rs_port_thread_renamed();
}
