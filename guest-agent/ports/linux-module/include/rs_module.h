/* SPDX-License-Identifier: MIT */
/*
 * Events of another module of the Linux kernel. It defines them with <ringside/event.h>, as any
 * program does, and registers them in one file:
 *
 *	#define RS_CREATE_TRACE_POINTS
 *	#include "events.h"
 *	#include <rs_module.h>
 *
 *	static RS_PROVIDER(provider, "example");
 *
 *	init:	return rs_module_register(THIS_MODULE, &provider);
 *	exit:	rs_module_unregister(&provider);
 *
 * docs/linux-module.md has its Kbuild file. ringside.ko is loaded before it, and stays as long.
 *
 * Events may fire in any context, before they are registered and after. They are dropped while
 * ringside.ko has no region. No function that is discarded after init may fire one.
 */
#ifndef RS_MODULE_H
#define RS_MODULE_H

#include <ringside/agent.h>

struct module;

/*
 * From now on the provider's events are told to the host whenever there is one. The provider stays
 * where it is until it is unregistered. Both may sleep, and wait for the host for some seconds.
 *     0         also without a host, and where the region has no room: dmesg says so
 *     -EINVAL   a site does not lie in text of `owner` that stays; dmesg says which
 *     -EBUSY    it is registered already
 */
int rs_module_register(struct module *owner, struct rs_agent_provider *provider);

/* Its sites are off, and none of its events is on its way, once this returns. */
void rs_module_unregister(struct rs_agent_provider *provider);

#endif
