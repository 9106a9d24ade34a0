/* SPDX-License-Identifier: MIT */
/*
 * The monitor of a domain's QEMU, carried by libvirt (target/monitor.h). libvirt gives neither time
 * nor order to an answer, so nobody is told that QEMU is gone before its domain has stopped. While
 * the daemon is away, commands are refused; then they work again.
 *
 * Thread: that of the domain.
 */
#ifndef RS_HV_LIBVIRT_MONITOR_H
#define RS_HV_LIBVIRT_MONITOR_H

#include "libvirt/domain.h"
#include "target/monitor.h"

/*
 * The domain stays the caller's, and lives at least as long. One monitor a domain. Its listener may
 * still be told what came before it was made.
 */
struct rs_monitor *rs_domain_monitor_new(struct rs_domain *domain,
					 const struct rs_monitor_listener *listener);

/*
 * The domain is the monitor's from now on, and is closed with it. The monitor listens to what
 * happens to it, so that it notices the end of QEMU and what was missed while the daemon was away.
 * Then it calls `changed`. `release` is called with `data` at the end. On failure nothing has
 * changed, but that `release` was called. Errors: as rs_domain_listen().
 */
int rs_domain_monitor_keep(struct rs_monitor *monitor, rs_domain_changed_fn changed, void *data,
			   GDestroyNotify release, struct rs_error *err);

#endif
