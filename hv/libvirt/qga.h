/* SPDX-License-Identifier: MIT */
/*
 * QEMU's guest agent in a domain: runs programs in the guest, and puts files there. libvirt hands
 * commands on. Each call waits for the guest, for a bounded time. Thread: the domain's. Trust: what
 * the guest says is bounded (qga_answer.h), and to be escaped before it is printed.
 *
 * Errors: -ENODEV the domain has no channel to an agent; -EHOSTUNREACH nothing in the guest listens
 * there, or does not answer; -ENOTSUP the agent may not, or cannot, do that; -ETIMEDOUT; -EPROTO it
 * answers nonsense; others as libvirt/domain.h has them.
 */
#ifndef RS_HV_LIBVIRT_QGA_H
#define RS_HV_LIBVIRT_QGA_H

#include "libvirt/domain.h"
#include "libvirt/qga_answer.h"

/* Whether there is an agent that runs programs and writes files. */
int rs_qga_check(struct rs_domain *domain, struct rs_error *err);

/*
 * Runs a program of the guest to its end. `argv`, which ends with NULL, begins with its path. `out`
 * is to be cleared. A program that has not ended in time runs on.
 */
int rs_qga_run(struct rs_domain *domain, const char *const *argv, int timeout_ms,
	       struct rs_qga_run *out, struct rs_error *err);

/* Writes a new file. The agent makes it one that anybody may write: its directory must be safe. */
int rs_qga_put(struct rs_domain *domain, const char *path, const void *bytes, size_t size,
	       int timeout_ms, struct rs_error *err);

#endif
