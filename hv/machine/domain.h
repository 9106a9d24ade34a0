/* SPDX-License-Identifier: MIT */
/*
 * Domains of libvirt as machines that somebody else has started (machine/reach.h). How one is
 * reached is written "libvirt:URI#UUID#NAME". The name is for people: the UUID counts.
 *
 * Thread: main.
 */
#ifndef RS_HV_MACHINE_DOMAIN_H
#define RS_HV_MACHINE_DOMAIN_H

#include "base/error.h"
#include "libvirt/domain.h"
#include "target/monitor.h"
#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#define RS_VIA_DOMAIN "libvirt:"

/*
 * Finds the domain that `uri` (may be NULL) and `name` mean, as virsh does. *via and *called, its
 * name, are to be freed. Errors: as rs_domain_open() gives them; -ENOTSUP QEMU does not run it.
 */
int rs_machine_find_domain(const char *uri, const char *name, char **via, char **called,
			   struct rs_error *err);

/* How a session reaches an open domain, to be freed. */
char *rs_machine_domain_via(const struct rs_domain *domain);

/* The same of one that was listed, to be freed. */
char *rs_machine_listed_via(const char *uri, const char *uuid, const char *name);

/*
 * Whether both mean one domain, which may have been renamed, or be reached by another socket: the
 * UUID counts, and which of libvirt's daemons it is.
 */
bool rs_machine_same_domain(const char *via, const char *other);

/* How libvirt is asked for it, both to be freed. False: `via` is no domain's. */
bool rs_machine_split_domain(const char *via, char **uri, char **uuid);
/* The domain's name, to be freed. */
char *rs_machine_domain_name(const char *via);

/* A device for traces, as the domain's XML has it. Both are to be freed. */
struct rs_machine_device {
	char *alias;  /* its id in QEMU */
	char *memory; /* the path of its memory */
};

/* Of a domain that runs. Errors: -ENODEV, -EEXIST as below; others as rs_domain_read_xml(). */
int rs_machine_find_device(struct rs_domain *domain, struct rs_machine_device *device,
			   struct rs_error *err);

/*
 * Connects to the monitor of the domain's QEMU. Closing it closes the connection to libvirt. *pids
 * are the processes that may be QEMU, to be freed (rs_host_find_qemus()). *device is the one that
 * `ringside prepare` has given it. Until the monitor is closed, standard error is told what happens
 * to the domain and to libvirt's daemon. Errors: -ENOTCONN the domain does not run; -ENODEV it
 * has no such device; -EEXIST its device has another domain's memory; -EINVAL `via` is invalid;
 * others as rs_domain_open().
 */
int rs_machine_open_domain(const char *via, GMainContext *context, struct rs_monitor **monitor,
			   GArray **pids, struct rs_machine_device *device, struct rs_error *err);

#endif
