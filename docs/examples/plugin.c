/* SPDX-License-Identifier: MIT */
/* A plugin that is a source of its own, whoever opens it: docs/programs.md. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <rs_hosted.h>

RS_TRACE_EVENT(plugin, loaded, TP_PROTO(uint32_t version), TP_ARGS(version),
	       TP_STRUCT__entry(__field(u32, version)), TP_fast_assign(__entry->version = version;),
	       TP_printk("version=%u", version))

__attribute__((constructor)) static void loaded(void)
{
	rs_hosted_init("plugin");
	trace_plugin_loaded(3);
}
