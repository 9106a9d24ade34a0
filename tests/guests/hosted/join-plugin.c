/* SPDX-License-Identifier: MIT */
/* A library that links the hosted port itself, and is opened by a program that does so too. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <rs_hosted.h>

RS_TRACE_EVENT(plugin, step, TP_PROTO(uint32_t n), TP_ARGS(n), TP_STRUCT__entry(__field(u32, n)),
	       TP_fast_assign(__entry->n = n;), TP_printk("n=%u", n))

int join_plugin_work(uint32_t count);

int join_plugin_work(uint32_t count)
{
	int ret = rs_hosted_init("plugin");

	for (uint32_t n = 0; !ret && n < count; n++)
		trace_plugin_step(n);
	return ret;
}
