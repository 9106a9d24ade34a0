/* SPDX-License-Identifier: MIT */
/*
 * For tests whose agent patches the test's own text: rs_trace_ops.text_open and text_close. Defined
 * where it is included, once in a program.
 */
#ifndef RS_TEST_AGENT_TEXT_H
#define RS_TEST_AGENT_TEXT_H

#include <glib.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static void protect(void *from, void *to, int protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from & ~(page - 1);

	g_assert_cmpint(mprotect((void *)start, (uintptr_t)to - start, protection), ==, 0);
}

static void os_text_open(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void os_text_close(void *from, void *to)
{
	protect(from, to, PROT_READ | PROT_EXEC);
}

#endif
