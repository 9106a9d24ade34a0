/* SPDX-License-Identifier: MIT */
/* Specs whose guest is a domain of libvirt. Thread: main. */
#ifndef RS_HV_CLI_TEST_DOMAIN_H
#define RS_HV_CLI_TEST_DOMAIN_H

/*
 * Why libvirt's daemon cannot be asked, to be freed: it is not installed, does not run, or refuses
 * us. NULL: it can. `uri` "": the default. Each daemon is asked once.
 */
char *rs_test_domain_missing(const char *uri);

#endif
