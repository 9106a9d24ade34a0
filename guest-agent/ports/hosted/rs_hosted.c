/* SPDX-License-Identifier: MIT */
/* The agent in an ordinary process, see rs_hosted.h. */
#define _GNU_SOURCE
#include "rs_hosted.h"

#include "image.h"
#include "rs_port.h"
#include "self_patch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <ringside/control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LATE_LOOK_NS 10000000 /* between two looks for an answer that comes late */

RS_PROVIDER(provider, NULL);

static struct {
	bool active;
	bool child; /* we are a fork of the process that attached */
	bool greeted;
	int doorbell;
	uint8_t *region;
	uint64_t size;
} hosted = {.doorbell = -1};

static char provider_name[RS_NAME_MAX];

/* The number in an environment variable. -1: there is none. */
static int number_of(const char *variable)
{
	const char *text = getenv(variable);
	char *end;
	long value;

	if (!text || !*text)
		return -1;
	value = strtol(text, &end, 10);
	return *end || value < 0 || value > 0x7fffffff ? -1 : (int)value;
}

/* An event may fire anywhere, so this is async-signal-safe and keeps errno. */
static void ring_doorbell(void)
{
	uint64_t one = 1;
	int saved = errno;

	if (write(hosted.doorbell, &one, sizeof(one)) < 0)
		errno = 0; /* it is full: the reader has enough to wake up for */
	errno = saved;
}

/* A host on this machine wakes the futex up; from elsewhere nothing does. */
static void wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	struct timespec most = {.tv_nsec = LATE_LOOK_NS};
	int saved = errno;

	syscall(SYS_futex, nudge, FUTEX_WAIT, seen, &most, NULL, 0);
	errno = saved;
}

static int map_region(int fd)
{
	struct stat st;
	void *at;

	/* A PCI BAR's file in sysfs says its size too. */
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(struct rs_region_header))
		return RS_AGENT_NO_REGION;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return RS_AGENT_NO_REGION;
	hosted.region = at;
	hosted.size = (uint64_t)st.st_size;
	return 0;
}

/* 0: mapped. 1: there is none. Else an error. `machine`: the region is a whole guest's. */
static int find_region(bool *machine)
{
	const char *path = getenv("RINGSIDE_REGION");
	int fd = number_of("RINGSIDE_REGION_FD"), pid = number_of("RINGSIDE_PID"), ret;

	if (pid >= 0 && pid != (int)getpid())
		return 1;
	if (fd >= 0) {
		*machine = false;
		return map_region(fd);
	}
	if (!path || !*path)
		return 1;
	*machine = true;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return RS_AGENT_NO_REGION;
	ret = map_region(fd);
	close(fd);
	return ret;
}

/* rs_control.flags. The agent checks the region only later, so this bounds what it reads. */
static uint32_t control_flags(void)
{
	const struct rs_region_header *header = (const struct rs_region_header *)hosted.region;
	uint64_t at = header->section[RS_SEC_CONTROL].offset;

	if (rs_load_acquire(&header->magic) != RS_REGION_MAGIC || at % 8 ||
	    hosted.size < sizeof(struct rs_control) || at > hosted.size - sizeof(struct rs_control))
		return 0;
	return rs_load(&((const struct rs_control *)(hosted.region + at))->flags);
}

/* So a wild store of the program cannot change what the host says. */
static void protect_host_part(void)
{
	uint64_t size = ((const struct rs_region_header *)hosted.region)->guest_offset;

	if (size % (uint64_t)sysconf(_SC_PAGESIZE) == 0 && size < hosted.size)
		mprotect(hosted.region, size, PROT_READ);
}

static void become_child(void)
{
	hosted.child = true;
}

static void at_exit(void)
{
	rs_hosted_fini();
}

static int attach(const char *name, bool self, bool machine)
{
	struct rs_trace_ops ops = {0};
	static struct rs_trace_ops kept;
	struct rs_agent_config config = {
		.region = hosted.region,
		.region_size = hosted.size,
		.ops = &kept,
		.agent = "hosted " RS_HOSTED_VERSION,
		.name = name,
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.flags = self ? RS_GUEST_SELF_PATCH : 0,
		.owner_pid = (uint32_t)getpid(),
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
	snprintf(provider_name, sizeof(provider_name), "%s", name);
	provider.name = provider_name;
	rs_hosted_image(&provider);
	ret = rs_agent_register(&provider);
	if (ret) {
		rs_agent_fini();
		return ret;
	}
	return 0;
}

static void forget_region(void)
{
	munmap(hosted.region, hosted.size);
	hosted.region = NULL;
}

int rs_hosted_init(const char *name)
{
	bool machine = false, self;
	char pid[16];
	int ret;

	if (hosted.active)
		return 0;
	ret = find_region(&machine);
	if (ret)
		return ret == 1 ? 0 : ret;
	hosted.doorbell = machine ? -1 : number_of("RINGSIDE_DOORBELL_FD");
	self = machine || number_of("RINGSIDE_SELF_PATCH") > 0 ||
	       (control_flags() & RS_CONTROL_SELF_PATCH);
	ret = attach(name ? name : program_invocation_short_name, self, machine);
	if (ret) {
		forget_region();
		return ret;
	}
	hosted.active = true;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("RINGSIDE_PID", pid, 1);
	pthread_atfork(NULL, NULL, become_child);
	atexit(at_exit);
	ret = rs_agent_hello();
	hosted.greeted = ret == 0;
	if (self)
		rs_self_patch_start();
	/* No answer is no error: the region is there, and a host may come later. */
	return ret == RS_ERR_UNREACHABLE ? 0 : ret;
}

bool rs_hosted_active(void)
{
	return hosted.active;
}

void rs_hosted_fini(void)
{
	if (!hosted.active || hosted.child)
		return;
	hosted.active = false;
	rs_self_patch_stop();
	/* `ringside run --hosted` waits for its process, so it sees it end. In a guest nobody does,
	 * so the host is told. Other threads may still be inside an event, so the region stays
	 * mapped. */
	if (hosted.greeted && hosted.doorbell < 0)
		rs_agent_unregister(&provider);
}

void rs_hosted_speak_for(uint32_t pid, uint32_t tgid, const char *comm)
{
	if (!pid) {
		rs_port_thread_fill();
		return;
	}
	rs_port_thread.pid = pid;
	rs_port_thread.tgid = tgid;
	rs_port_thread.named = 0; /* its next event notes the name */
	memset(rs_port_thread.comm, 0, RS_COMM_LEN);
	memcpy(rs_port_thread.comm, comm, strnlen(comm, RS_COMM_LEN));
}
