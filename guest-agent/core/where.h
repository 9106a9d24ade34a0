/* SPDX-License-Identifier: MIT */
/* Where an event fires: its CPU, and what runs there. */
#ifndef RS_AGENT_WHERE_H
#define RS_AGENT_WHERE_H

#include "core.h"

#include "rs_port.h"

#pragma GCC visibility push(hidden) /* not for who links the agent */

struct rs_where {
	uint32_t cpu;
	uint32_t pid;
	uint32_t tgid;
	uint32_t context;
	const char *comm;
};

/* emit.c: what the ops of the OS say. */
void rs_ask_ops(struct rs_where *where);

static inline void rs_find_out(struct rs_where *where)
{
	if (rs_unlikely(rs_core.hooked)) {
		rs_ask_ops(where);
		return;
	}
	where->cpu = rs_port_cpu();
	where->pid = rs_port_pid();
	where->tgid = rs_port_tgid();
	where->context = rs_port_context();
	where->comm = rs_port_comm();
}

#pragma GCC visibility pop

#endif
