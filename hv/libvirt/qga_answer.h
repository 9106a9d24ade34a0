/* SPDX-License-Identifier: MIT */
/*
 * Answers of QEMU's guest agent, which is a program in the guest. So nothing of them is trusted:
 * texts are bounded, and may hold any bytes until they are escaped. Any thread. Errors: -EPROTO the
 * answer is none to the question.
 */
#ifndef RS_HV_LIBVIRT_QGA_ANSWER_H
#define RS_HV_LIBVIRT_QGA_ANSWER_H

#include "base/error.h"
#include <stdbool.h>

#define RS_QGA_TEXT_MAX 4096u /* bytes of what a program in the guest has written, as we keep it */

/* {"return": N}, or {"return": {"MEMBER": N}} if `member` is not NULL. */
int rs_qga_take_number(const char *answer, const char *member, gint64 *out, struct rs_error *err);

/*
 * guest-info: whether all of `commands`, which ends with NULL, are there and allowed. -ENOTSUP: one
 * is not, and the message says which, and why.
 */
int rs_qga_check_commands(const char *answer, const char *const *commands, struct rs_error *err);

/* guest-exec-status. Texts are NUL-terminated, to be freed, and never NULL. */
struct rs_qga_run {
	bool exited;
	int code;        /* if it exited; -1: a signal ended it, or it is not known */
	char *out, *err; /* what it wrote so far, without space at its ends */
};

int rs_qga_take_run(const char *answer, struct rs_qga_run *out, struct rs_error *err);
void rs_qga_run_clear(struct rs_qga_run *run);

#endif
