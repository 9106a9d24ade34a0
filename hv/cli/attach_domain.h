/* SPDX-License-Identifier: MIT */
/* What `ringside attach DOMAIN` does before there is a session. Thread: main. */
#ifndef RS_HV_CLI_ATTACH_DOMAIN_H
#define RS_HV_CLI_ATTACH_DOMAIN_H

#include "base/error.h"
#include <stdbool.h>

struct rs_cli_domain {
	const char *uri, *name; /* as the user gave them; `uri` may be NULL */
	bool prepare;           /* give it the device if it has none, and say so */
};

/*
 * Finds the domain: *via, to be freed, is how it is reached. What was prepared is told. Errors: as
 * rs_machine_find_domain() and rs_prepare(). -ENOENT also if a session may have been meant.
 */
int rs_cli_find_domain(const struct rs_cli_domain *wish, char **via, struct rs_error *err);

#endif
