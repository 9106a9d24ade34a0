/* SPDX-License-Identifier: MIT */
/*
 * What domain.c asks of libvirt, in terms that need no header of libvirt. Each function waits for
 * the daemon as long as that takes, so only the domain's own thread calls them. The callbacks of
 * struct rs_virt_events come on the thread of the event loop (loop.h), and must not wait.
 */
#ifndef RS_HV_LIBVIRT_PRIVATE_H
#define RS_HV_LIBVIRT_PRIVATE_H

#include "libvirt/domain.h"

struct rs_virt; /* a connection and a domain */

struct rs_virt_events {
	void *data;
	void (*changed)(void *data, enum rs_domain_change change, const char *detail);
	void (*monitor)(void *data, const char *event, const char *details);
	void (*lost)(void *data);
	/* Called once after the last of the others, when nothing uses `data` any more. */
	void (*release)(void *data);
};

struct rs_virt_id {
	char *name, *uuid, *uri; /* to be freed */
	bool is_qemu;
};

/*
 * QEMU's own events, told as struct rs_domain's changes are, and in one order with them and with
 * answers. `details`: its data as JSON; NULL: none. The monitor (monitor.c) alone.
 */
typedef void (*rs_domain_monitor_fn)(void *data, const char *event, const char *details);
void rs_domain_set_monitor(struct rs_domain *domain, rs_domain_monitor_fn call, void *data);

int rs_virt_open(const char *uri, const char *name, struct rs_virt **out, struct rs_virt_id *id,
		 struct rs_error *err);
void rs_virt_close(struct rs_virt *virt);
int rs_virt_look(struct rs_virt *virt, struct rs_domain_status *out, struct rs_error *err);
int rs_virt_read_xml(struct rs_virt *virt, bool inactive, char **out, struct rs_error *err);
int rs_virt_change_device(struct rs_virt *virt, const char *xml, bool attach, bool inactive,
			  struct rs_error *err);
int rs_virt_command(struct rs_virt *virt, const char *json, char **reply, struct rs_error *err);
/* Each callback holds `events` and its data until it is released. */
int rs_virt_listen(struct rs_virt *virt, const struct rs_virt_events *events, struct rs_error *err);

#endif
