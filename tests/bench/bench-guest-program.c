/* SPDX-License-Identifier: MIT */
/*
 * The cost of an event of a program in a Linux guest, and of other ways that a program has there to
 * tell a tracer something: a write to trace_marker_raw, and a uprobe. Each has two numbers of 32
 * bits. For guest_program.py, as root, with tracefs mounted. Prints "NAME NANOSECONDS" of each.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <fcntl.h>
#include <link.h>
#include <rs_hosted.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BENCH_ROUNDS 20
#define BENCH_LOOPS 2000u
#include "bench.h"

#define TRACING "/sys/kernel/tracing/"

RS_TRACE_EVENT(inguest, pair, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b;), TP_printk("a=%u b=%u", a, b))
RS_TRACE_EVENT(inguest, off, TP_PROTO(uint32_t a, uint32_t b), TP_ARGS(a, b),
	       TP_STRUCT__entry(__field(u32, a), __field(u32, b)),
	       TP_fast_assign(__entry->a = a; __entry->b = b;), TP_printk("a=%u b=%u", a, b))

static int marker = -1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void nothing(uint32_t a, uint32_t b)
{
	__asm__ volatile("" : : "r"(a), "r"(b) : "memory");
}

static void mark(uint32_t a, uint32_t b)
{
	const uint32_t words[3] = {1, a, b};

	if (write(marker, words, sizeof(words)) != sizeof(words))
		die("trace_marker_raw");
}

static __attribute__((noinline)) void probed(uint32_t a, uint32_t b)
{
	nothing(a, b);
}

static void store(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

/* Where an address of ours is in our file. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t *address = data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || *address < from || *address - from >= part->p_filesz)
			continue;
		*address += part->p_offset - from;
		return 1;
	}
	return 0;
}

static void set_probe(void)
{
	uintptr_t at = (uintptr_t)probed;
	char self[200] = {0}, text[300];

	if (!dl_iterate_phdr(find_offset, &at) ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe");
	snprintf(text, sizeof(text), "p:inguest/probed %s:0x%lx a=%%di:u32 b=%%si:u32\n", self, at);
	store(TRACING "uprobe_events", text);
	store(TRACING "events/inguest/probed/enable", "1");
}

int main(int argc, char **argv)
{
	double ns;

	if (rs_hosted_init("inguest") || !rs_hosted_active())
		die("not traced");
	while (!(rs_event_control(&rs_event_inguest_pair) & RS_EVENT_ENABLED))
		usleep(1000);
	marker = open(TRACING "trace_marker_raw", O_WRONLY);
	if (marker < 0)
		die("trace_marker_raw");
	BENCH(ns, nothing(i, 7));
	printf("loop %.1f\n", ns);
	BENCH(ns, trace_inguest_off(i, 7));
	printf("off %.1f\n", ns);
	BENCH(ns, trace_inguest_pair(i, 7));
	printf("event %.1f\n", ns);
	BENCH(ns, mark(i, 7));
	printf("marker %.1f\n", ns);
	set_probe();
	BENCH(ns, probed(i, 7));
	printf("uprobe %.1f\n", ns);
	return 0;
}
