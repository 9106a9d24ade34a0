/* SPDX-License-Identifier: MIT */
/*
 * Where a thread's stack ends. pthread_getattr_np() takes locks and allocates, which an event in a
 * signal handler must not do. So /proc/self/maps is read, once a thread and when the main thread's
 * stack has grown. A stack counts if it is sure to stay as long as the thread: what the kernel made
 * for the process, or what lies below the thread's own struct, which the C library puts above each
 * stack.
 */
#define _GNU_SOURCE
#include "rs_port.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PIECE 512  /* bytes: a signal handler's stack may be small */
#define FIND_MAX 8 /* times that a thread looks in vain: it was on another stack */
/* How far below the known part the main stack may have grown. Other memory is farther away. */
#define GROWTH_MAX (64u << 20)

/* A line of the file, up to the character that was read last. */
struct line {
	uintptr_t from, to;
	uint32_t field; /* 0 and 1: the addresses; more: the rest */
	uint32_t name;  /* characters of stack_name that its end matches */
};

static const char stack_name[] = "[stack]";

static void take(struct line *line, char c)
{
	uintptr_t *number = line->field ? &line->to : &line->from;

	line->name = c == stack_name[line->name] ? line->name + 1 : c == stack_name[0];
	if (line->field > 1)
		return;
	if (c >= '0' && c <= '9')
		*number = *number << 4 | (uintptr_t)(c - '0');
	else if (c >= 'a' && c <= 'f')
		*number = *number << 4 | (uintptr_t)(c - 'a' + 10);
	else
		line->field++;
}

/* The mapping that `frame` lies in. False: the file cannot be read, or has none. */
static bool find_mapping(uintptr_t frame, struct line *found)
{
	char piece[PIECE];
	struct line line = {0};
	bool done = false;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && !done && (n = read(fd, piece, sizeof(piece))) > 0) {
		for (ssize_t i = 0; i < n && !done; i++) {
			if (piece[i] != '\n') {
				take(&line, piece[i]);
				continue;
			}
			done = frame >= line.from && frame < line.to;
			*found = line;
			memset(&line, 0, sizeof(line));
		}
	}
	if (fd >= 0)
		close(fd);
	return done;
}

/* Sets what is known of the thread's stack. */
static void find(struct rs_port_thread *thread, uintptr_t frame)
{
	uintptr_t self = (uintptr_t)__builtin_thread_pointer();
	struct line mapping;

	thread->stack_finds++; /* before: a signal handler may come in between */
	if (!find_mapping(frame, &mapping))
		return;
	thread->stack_grows = mapping.name == sizeof(stack_name) - 1;
	if (!thread->stack_grows) {
		if (self <= frame || self >= mapping.to)
			return;
		mapping.to = self;
	}
	thread->stack_finds = 0;
	thread->stack = UINTPTR_MAX; /* so that no handler sees a half */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->stack_end = mapping.to;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->stack = mapping.from;
}

bool rs_port_stack_find(uintptr_t frame, uintptr_t *end)
{
	struct rs_port_thread *thread = &rs_port_thread;
	int before = errno;

	if (thread->stack_end &&
	    (!thread->stack_grows || frame >= thread->stack || thread->stack - frame > GROWTH_MAX))
		return false;
	if (thread->stack_finds >= FIND_MAX)
		return false;
	find(thread, frame);
	errno = before;
	*end = thread->stack_end;
	return frame >= thread->stack && frame < *end;
}
