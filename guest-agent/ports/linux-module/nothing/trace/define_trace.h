/* SPDX-License-Identifier: MIT */
/*
 * Stands in for the kernel's header of this name, which makes a subsystem's tracepoints. This
 * module reads the headers of subsystems for purposes of its own: see kernel_stages.h.
 */
