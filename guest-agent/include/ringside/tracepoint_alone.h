/* SPDX-License-Identifier: MIT */
/*
 * Tracing without a host. The OS lends a piece of its own memory, and a region is laid out there.
 * On it the agent runs as on any other one: ids, rings, names, callbacks, snapshots. Nobody reads
 * it but the guest itself, and whoever finds it in a memory dump.
 *
 *	config.region = memory;
 *	config.region_size = size;
 *	config.flags = RS_GUEST_SELF_PATCH;
 *	if (!rs_alone_lay_out(memory, size, cpus) && !rs_agent_init(&config) &&
 *	    !rs_agent_register(&provider))
 *		rs_tracepoint_write(id, RS_TRACEPOINT_ENABLE, "1", 1, NULL);
 *
 * The guest patches its own text then. There is nobody who compiles filters, so what is written to
 * the file `filter` is refused with -RS_EHOSTUNREACH, and the file reads "none".
 *
 * Threads: the lay-out is for one CPU, before rs_agent_init(). Afterwards tracepoints are enabled
 * in any context that may take the agent's lock (agent.h). In a callback the site follows later:
 * when rs_agent_control_due() says so.
 */
#ifndef RINGSIDE_TRACEPOINT_ALONE_H
#define RINGSIDE_TRACEPOINT_ALONE_H

#include <ringside/agent.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of memory for `pages` ring pages of 4 KiB, a power of two, for each of `cpus`. */
uint64_t rs_alone_size(uint32_t cpus, uint32_t pages);

/*
 * Clears the memory and lays out a region: as many ring pages for each of `cpus` as fit, always a
 * power of two. 0. -RS_EINVAL: the memory is not aligned to 64 bytes, or `cpus` is not 1 to
 * RS_MAX_CPUS; -RS_ENOSPC: it is less than rs_alone_size(cpus, 4); -RS_EBUSY: an agent uses it.
 */
int rs_alone_lay_out(void *memory, uint64_t size, uint32_t cpus);

/* Whether the agent runs on such a region. */
bool rs_alone(void);

#ifdef __cplusplus
}
#endif

#endif
