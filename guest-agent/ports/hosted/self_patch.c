/* SPDX-License-Identifier: MIT */
/* See self_patch.h. */
#define _GNU_SOURCE
#include "self_patch.h"

#include "arch.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <ringside/atomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS 1000000 /* between two looks for a while after a change … */
#define IDLE_NS 5000000 /* … and else */
#define BUSY_LOOKS 1000u
#define ASK_NS 100000000 /* between two questions whether the host lives */

static struct {
	bool open;      /* text is writable in place */
	int mem_fd;     /* /proc/self/mem, where it may not be made so; -1 */
	bool sync_core; /* membarrier can make other CPUs see new text */
} self = {.mem_fd = -1};

static long barrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

static void text_range(void *from, void *to, uintptr_t *start, size_t *size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	*start = (uintptr_t)from & ~(page - 1);
	*size = (((uintptr_t)to + page - 1) & ~(page - 1)) - *start;
}

static void text_open(void *from, void *to)
{
	uintptr_t start;
	size_t size;

	text_range(from, to, &start, &size);
	self.open = !mprotect((void *)start, size, PROT_READ | PROT_WRITE | PROT_EXEC);
	if (!self.open) /* a policy against writable text: the kernel writes it for us */
		self.mem_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

/*
 * Threads may run through the site meanwhile. So its bytes must be stored at once, with the aligned
 * word that they lie in. If the kernel writes for us, it gets the whole word for the same reason:
 * it stores an aligned word at once, but may store five bytes in parts. The bytes beside the site
 * do not change between our read and the kernel's write: this thread holds the agent's lock, and
 * nobody else writes text in this process.
 */
static void write_text(void *at, const void *bytes, uint32_t size)
{
	uintptr_t code = (uintptr_t)at, word = code & ~(uintptr_t)7;
	uint64_t now;

	if (size != RS_SITE_BYTES || code - word + size > sizeof(now))
		return; /* not done: the core looks, and counts it */
	if (self.open) {
		rs_arch_site_store(code, bytes);
		return;
	}
	now = rs_load((const uint64_t *)word);
	memcpy((uint8_t *)&now + (code - word), bytes, size);
	if (self.mem_fd < 0 ||
	    pwrite(self.mem_fd, &now, sizeof(now), (off_t)word) != (ssize_t)sizeof(now))
		return; /* likewise */
}

static void text_close(void *from, void *to)
{
	uintptr_t start;
	size_t size;

	if (self.open) {
		text_range(from, to, &start, &size);
		mprotect((void *)start, size, PROT_READ | PROT_EXEC);
	}
	if (self.mem_fd >= 0)
		close(self.mem_fd);
	self.mem_fd = -1;
	self.open = false;
	/* Threads that do not pass through the kernel for long see the new text now. */
	if (self.sync_core)
		barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

void rs_self_patch_ops(struct rs_trace_ops *ops)
{
	self.sync_core = !barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
	ops->text_open = text_open;
	ops->text_close = text_close;
	ops->write_kernel_text = write_text;
}

bool rs_self_patch_follow(bool (*host_lives)(void), const uint32_t *stop)
{
	uint32_t quiet = 0;
	long unasked = ASK_NS;

	while (!rs_load_acquire(stop)) {
		struct timespec wait = {.tv_nsec = quiet < BUSY_LOOKS ? BUSY_NS : IDLE_NS};

		if (rs_agent_control_due()) {
			rs_agent_apply_control();
			quiet = 0;
		} else if (quiet < BUSY_LOOKS) {
			quiet++;
		}
		rs_agent_look();
		if (rs_agent_asked_to_leave() || (unasked >= ASK_NS && !host_lives())) {
			rs_agent_host_gone();
			rs_agent_fini();
			return true;
		}
		unasked = unasked >= ASK_NS ? 0 : unasked + wait.tv_nsec;
		nanosleep(&wait, NULL);
	}
	return false;
}
