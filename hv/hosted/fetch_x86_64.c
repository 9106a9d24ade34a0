/* SPDX-License-Identifier: MIT */
/*
 * AMD documents that another CPU may run through an instruction whose aligned quadword is replaced
 * by one store (AMD64 Architecture Programmer's Manual, volume 2, cross-modifying code). Intel's
 * manual asks for a serializing instruction on the CPU that runs it. The kernel's copy is one store
 * of a quadword, unless the CPU has fast strings for short copies (ERMS before Linux 6.4, FSRM):
 * then it is a string instruction, of which nothing is documented.
 */
#include "hosted/private.h"

#include <cpuid.h>
#include <string.h>

#define FEATURES 7u
#define EBX_ERMS (1u << 9)
#define EDX_FSRM (1u << 4)

static bool is_amd(void)
{
	static const char *const vendors[] = {"AuthenticAMD", "HygonGenuine"};
	unsigned int most, name[3];

	if (!__get_cpuid(0, &most, &name[0], &name[2], &name[1]))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(vendors); i++) {
		if (!memcmp(name, vendors[i], sizeof(name)))
			return true;
	}
	return false;
}

bool rs_hosted_word_is_whole(void)
{
	unsigned int a, b = 0, c, d = 0;

	return is_amd() && (!__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) ||
			    (!(b & EBX_ERMS) && !(d & EDX_FSRM)));
}
