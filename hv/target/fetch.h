/* SPDX-License-Identifier: MIT */
/*
 * What CPUs do that run through text while another one stores there, as their vendors document it.
 * Any thread.
 */
#ifndef RS_HV_FETCH_H
#define RS_HV_FETCH_H

#include <stdbool.h>

/*
 * Whether a CPU of this vendor (12 characters of CPUID leaf 0) that runs through an instruction in
 * an aligned 8-byte word, which is replaced by one store, runs the old one or the new one.
 */
bool rs_fetch_vendor_is_whole(const char *vendor);
/* The same of the CPUs of this machine. */
bool rs_fetch_is_whole(void);

#endif
