/* SPDX-License-Identifier: MIT */
/*
 * The domains that a daemon of libvirt knows. Any thread; waits at most as long as is said. What
 * the daemon says is bounded, and not trusted: names are to be escaped.
 */
#ifndef RS_HV_LIBVIRT_LIST_H
#define RS_HV_LIBVIRT_LIST_H

#include "libvirt/domain.h"

#define RS_DOMAINS_MAX 4096u /* of one daemon; others are left out */

struct rs_listed_domain {
	char *name, *uuid; /* never NULL */
	enum rs_domain_state state;
	bool device; /* it has one for traces, as it runs or, if it is off, from its next start */
};

/*
 * `uri` as rs_domain_open() takes it. *real_uri is to be freed, and *out, of struct
 * rs_listed_domain in order of name, to be unreffed. Those that QEMU does not run are left out.
 * Errors: as rs_domain_open() gives them.
 */
int rs_domain_list(const char *uri, int timeout_ms, char **real_uri, GPtrArray **out,
		   struct rs_error *err);

#endif
