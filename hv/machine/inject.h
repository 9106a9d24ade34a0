/* SPDX-License-Identifier: MIT */
/*
 * Puts ringside-guest into a domain of libvirt by the guest's own agent of QEMU, and starts it
 * there: for a guest that has no agent of ours (docs/linux-bridge.md). It goes when the session
 * ends, or when nobody on the host has answered for a minute. Its file goes at once.
 *
 * Thread: main, which waits for the guest, RS_INJECT_S at most. Trust: what the guest says is
 * hostile. It can keep us waiting for so long, and its texts reach people, escaped.
 */
#ifndef RS_HV_MACHINE_INJECT_H
#define RS_HV_MACHINE_INJECT_H

#include "base/error.h"
#include <glib.h>

#define RS_INJECT_S 90 /* all of it, at most */

/*
 * `via`: "libvirt:…", as in machine/reach.h; the session on it has started. `program`: the path of
 * ringside-guest here. `lines` (of char *) gets what people are to know; also that an agent was
 * there already, which is no error. Errors: -ENOTSUP `via` is no domain; -ENOENT the program is not
 * there; -EIO the guest does not let it run, in its own words; others as libvirt/qga.h has them.
 */
int rs_machine_inject(const char *via, const char *program, GPtrArray *lines, struct rs_error *err);

#endif
