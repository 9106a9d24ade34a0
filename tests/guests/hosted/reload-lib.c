/* SPDX-License-Identifier: MIT */
/* A library with an event of its own, to be opened and closed by hosted-reload. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <ringside/agent.h>

RS_TRACE_EVENT(reload, ping, TP_PROTO(uint32_t round), TP_ARGS(round),
	       TP_STRUCT__entry(__field(u32, round), __string(what)),
	       TP_fast_assign(__entry->round = round; __assign_str(what, RELOAD_WHAT);),
	       TP_printk("round=%u what=%s", round, what))

/* Written by code that is in the library itself (ringside/emit.h). */
RS_TRACE_EVENT(reload, tick, TP_PROTO(uint32_t round), TP_ARGS(round),
	       TP_STRUCT__entry(__field(u32, round)), TP_fast_assign(__entry->round = round;),
	       TP_printk("round=%u", round))

static RS_PROVIDER(provider, "reload-" RELOAD_WHAT);

int reload_enter(void);
void reload_ping(uint32_t round);
void reload_leave(void);

int reload_enter(void)
{
	return rs_agent_register(&provider);
}

void reload_ping(uint32_t round)
{
	for (int i = 0; i < 3; i++)
		trace_reload_tick(round);
	trace_reload_ping(round);
	trace_reload_tick(round);
}

void reload_leave(void)
{
	rs_agent_unregister(&provider);
}
