/* SPDX-License-Identifier: MIT */
/* `ringside prepare --list`: the domains of libvirt's daemon. Thread: main. */
#ifndef RS_HV_CLI_LIST_DOMAINS_H
#define RS_HV_CLI_LIST_DOMAINS_H

#include <stdbool.h>

/* Prints them, or why not. Returns the exit code. `uri` NULL: as virsh chooses. */
int rs_cli_list_domains(const char *uri, bool json);

#endif
