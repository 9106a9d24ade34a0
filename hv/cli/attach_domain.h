/* SPDX-License-Identifier: MIT */
/*
 * What `ringside attach DOMAIN` does before there is a session, and what is said of the domain
 * later. Thread: main.
 */
#ifndef RS_HV_CLI_ATTACH_DOMAIN_H
#define RS_HV_CLI_ATTACH_DOMAIN_H

#include "libvirt/prepare.h"
#include <json-glib/json-glib.h>
#include <rs-trace-rundir.h>

struct rs_cli_domain {
	const char *uri, *name; /* as the user gave them; `uri` may be NULL */
	bool prepare;           /* give it the device if it has none, and say so */
};

/*
 * Finds the domain: *via, to be freed, is how it is reached. What was prepared is told. Errors: as
 * rs_machine_find_domain() and rs_prepare().
 */
int rs_cli_find_domain(const struct rs_cli_domain *wish, char **via, struct rs_error *err);

/* For rs_prepare_wish: tells it on stderr. `domain`: a struct rs_domain. */
void rs_cli_tell_wait(enum rs_prepare_wait what, guint seconds, void *domain);

/*
 * Adds domain, uuid and uri, as docs/json.md has them, if the source of that number is a domain's.
 * `entry`: of its session; may be NULL.
 */
void rs_cli_add_domain(JsonBuilder *b, const RsTraceRundirEntry *entry, guint number);

#endif
