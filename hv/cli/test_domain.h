/* SPDX-License-Identifier: MIT */
/* Specs whose guest is a domain of libvirt: the keys domain, template and connect. Thread: main. */
#ifndef RS_HV_CLI_TEST_DOMAIN_H
#define RS_HV_CLI_TEST_DOMAIN_H

#include "expect/rs-trace-spec.h"

#include <stdbool.h>

/* How many of domain and template it has. */
unsigned int rs_test_domain_count(const RsTraceSpec *spec);

/* Whether these keys go with the others. False: *error has the place. */
bool rs_test_domain_check(const RsTraceSpec *spec, GError **error);

/* Whether the guest's console goes to a file of ours. */
bool rs_test_domain_has_console(const RsTraceSpec *spec);

/* Adds the options of `ringside run` that they mean. `template`: its path; NULL: there is none. */
void rs_test_domain_add(const RsTraceSpec *spec, const char *template, GPtrArray *args);

/*
 * Why libvirt's daemon cannot be asked, to be freed: it is not installed, does not run, or refuses
 * us. NULL: it can, or the guest is no domain. Each daemon is asked once.
 */
char *rs_test_domain_missing(const RsTraceSpec *spec);

#endif
