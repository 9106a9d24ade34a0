/* SPDX-License-Identifier: MIT */
/*
 * Sites as compilers and linkers place them: this program checks its own. sites.py builds it with
 * each compiler, position-independent and not, static and not, with and without optimisation.
 */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include <ringside/agent.h>
#include <stdio.h>

extern const char __executable_start[], __etext[];

/* Code of each length from 0 to 15 bytes before a site, in functions that may begin anywhere. */
#define SKIP(n) __asm__ volatile(".skip (" #n ") & 15, 0x90")
#define SITE(n)                                                                                    \
	SKIP(n * 7 + 3);                                                                           \
	trace_test_pair(a, n);                                                                     \
	SKIP(n * 5);                                                                               \
	trace_test_bare();
#define SITES_4(n) SITE(n) SITE(n + 1) SITE(n + 2) SITE(n + 3)
#define SITES_16(n) SITES_4(n) SITES_4(n + 4) SITES_4(n + 8) SITES_4(n + 12)
#define FUNCTION(name, n)                                                                          \
	static __attribute__((noinline)) void name(uint32_t a)                                     \
	{                                                                                          \
		SITES_16(n)                                                                        \
	}
FUNCTION(straight, 0)
FUNCTION(again, 16)
FUNCTION(more, 33)

static inline __attribute__((always_inline)) uint32_t inlined(uint32_t a)
{
	SKIP(5);
	trace_test_pair(a, a);
	return a * 3;
}

static __attribute__((noinline)) uint32_t branches(uint32_t a)
{
	for (uint32_t i = 0; i < a; i++) {
		if (i & 1)
			a ^= inlined(i);
		else
			trace_test_pair(i, a);
		switch (a & 3) {
		case 0:
			trace_test_bare();
			break;
		case 1:
			a -= inlined(a);
			break;
		default:
			SKIP(1);
			trace_test_pair(1, a);
		}
		if (i > 100)
			break;
	}
	return a;
}
#define MIN_SITES (3u * 32u + 5u)

static uintptr_t at(const int32_t *field)
{
	return (uintptr_t)field + (uintptr_t)(intptr_t)*field;
}

/* The site's fault, NULL: none. */
static const char *wrong(const struct rs_site *site)
{
	static const uint8_t nop[RS_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	uintptr_t code = at(&site->code), target = at(&site->target), event = at(&site->event);
	uintptr_t from = (uintptr_t)__executable_start, to = (uintptr_t)__etext;

	if (code < from || code + RS_SITE_BYTES > to)
		return "its code is outside the text";
	if (__builtin_memcmp((const void *)code, nop, sizeof(nop)) != 0)
		return "it is no NOP";
	if ((code & 7) > 8 - RS_SITE_BYTES)
		return "it crosses an 8-byte boundary";
	if (target < from || target >= to || target == code)
		return "its target is outside the text";
	if (event < (uintptr_t)__start_rs_events || event >= (uintptr_t)__stop_rs_events ||
	    (event - (uintptr_t)__start_rs_events) % sizeof(struct rs_event))
		return "its event is none";
	if (site->size != RS_SITE_BYTES)
		return "it has another size";
	return NULL;
}

int main(void)
{
	uint32_t count = (uint32_t)(__stop_rs_sites - __start_rs_sites), bad = 0, residues[8] = {0};

	/* While they are off, no site records anything. */
	straight(1);
	again(2);
	more(3);
	branches(4);
	for (const struct rs_site *site = __start_rs_sites; site < __stop_rs_sites; site++) {
		const char *what = wrong(site);

		residues[at(&site->code) & 7]++;
		if (!what)
			continue;
		bad++;
		printf("# site %u at %#lx: %s\n", (uint32_t)(site - __start_rs_sites),
		       (unsigned long)at(&site->code), what);
	}
	printf("# %u sites, by address & 7: %u %u %u %u %u %u %u %u\n", count, residues[0],
	       residues[1], residues[2], residues[3], residues[4], residues[5], residues[6],
	       residues[7]);
	if (count < MIN_SITES) {
		printf("# at least %u sites were expected\n", MIN_SITES);
		return 1;
	}
	/* If all sites have the same place in their word, nothing was tested. */
	for (uint32_t i = 0; i <= 8 - RS_SITE_BYTES; i++) {
		if (!residues[i]) {
			printf("# no site at address & 7 == %u\n", i);
			return 1;
		}
	}
	return bad != 0;
}
