/* SPDX-License-Identifier: MIT */
/*
 * AMD documents that another CPU may run through an instruction whose aligned quadword is replaced
 * by one store (AMD64 Architecture Programmer's Manual, volume 2, cross-modifying code). Intel's
 * manual asks for a serializing instruction on the CPU that runs it (Software Developer's Manual,
 * volume 3, handling self- and cross-modifying code). Of others we know nothing.
 */
#include "target/fetch.h"

#include <cpuid.h>
#include <stddef.h>
#include <string.h>

#define VENDOR_LENGTH 12u

bool rs_fetch_vendor_is_whole(const char *vendor)
{
	return !strncmp(vendor, "AuthenticAMD", VENDOR_LENGTH) ||
	       !strncmp(vendor, "HygonGenuine", VENDOR_LENGTH);
}

bool rs_fetch_is_whole(void)
{
	unsigned int most, name[3];

	return __get_cpuid(0, &most, &name[0], &name[2], &name[1]) &&
	       rs_fetch_vendor_is_whole((const char *)name);
}
