/* SPDX-License-Identifier: MIT */
/*
 * A domain of libvirt that is started for a run, and that ends with it: one that libvirt knows, or
 * one that is made of a template (libvirt/template.h). libvirt's daemon ends it when our connection
 * is closed, also because we were killed. Its trace's memory has no name any more once it was
 * started.
 *
 * Thread: main.
 */
#ifndef RS_HV_MACHINE_RUN_DOMAIN_H
#define RS_HV_MACHINE_RUN_DOMAIN_H

#include "machine/machine.h"

/* Whether `domain` of a struct rs_machine_config names a template: a file, NAME.xml. */
bool rs_machine_is_template(const char *domain);

/*
 * `config->domain` is started, paused; the target's start() lets it run. Its stop() and destroy()
 * force it off. Of the rest of `config`, a domain that libvirt knows takes the regions' sizes only.
 * Errors: -EIO the template cannot be read; -EBUSY the domain runs already; -ENODEV it has no
 * device for traces; -EBADMSG, -ENOTSUP as rs_template_make(); others as rs_domain_make() and
 * rs_machine_reach() give them.
 */
int rs_machine_run_domain(const struct rs_machine_config *config, struct rs_machine *out,
			  struct rs_error *err);

#endif
