/* SPDX-License-Identifier: MIT */
#include "rs-trace-registers-private.h"

#include <string.h>

const RsTraceRegisterSet *rs_trace_register_set(guint32 arch)
{
	return arch == RS_ARCH_X86_64 ? &rs_trace_registers_x86_64 : NULL;
}

static gboolean is_called(const char *known, const char *name, gsize size)
{
	return known && strlen(known) == size && !g_ascii_strncasecmp(known, name, size);
}

const RsTraceRegister *rs_trace_register_find(const RsTraceRegisterSet *set, const char *name,
					      gsize size)
{
	for (guint i = 0; set && i < set->count; i++)
		if (is_called(set->registers[i].name, name, size) ||
		    is_called(set->registers[i].alias, name, size))
			return &set->registers[i];
	return NULL;
}
