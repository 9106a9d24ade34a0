/* SPDX-License-Identifier: MIT */
/*
 * The host as a source: this process has an agent of its own, which writes a ring as that of any
 * program does. The session tells it what happens, and it makes records of that, if somebody wants
 * them (docs/adr/0027-host-events.md).
 *
 * It is a target, of kind "host", that cannot be paused or read. A process has one agent, so there
 * is one such target at a time.
 *
 * Threads: the session's, but rs_target_watch.exit, which vCPUs call on threads of their own. All
 * of these must have ended before the target is destroyed. Trust: texts may be a guest's. They
 * become fields of records, and nothing else.
 */
#ifndef RS_HV_HOST_HOST_H
#define RS_HV_HOST_HOST_H

#include "target/target.h"

struct rs_host_config {
	void *region; /* mapped writable, in which nobody is; outlives the target */
	uint64_t region_size;
	uint32_t rings; /* of the region: one for each vCPU that tells of exits, and one more */
	/*
	 * Each event goes to the ring of the CPU that it happens on, as in any program, and takes
	 * the same time. `rings` are those of all CPUs. For who measures; rs_host_watch() is of no
	 * use.
	 */
	bool of_cpus;
	/* For machine code of filters (ringside/native.h), executable. NULL: programs judge. */
	const void *text_pool;
	uint32_t text_pool_size;
};

/*
 * Puts the agent there. -EBUSY: this process has one already. -EPROTO: the region is no such.
 */
int rs_host_create(const struct rs_host_config *config, struct rs_target **out,
		   struct rs_error *err);

/*
 * For a target that tells its exits: a watch that records them as those of source `source`, vCPU n
 * in ring `first_ring` + n. It lives as long as the host.
 */
const struct rs_target_watch *rs_host_watch(struct rs_target *host, uint32_t source,
					    uint32_t first_ring);

enum rs_host_site { RS_HOST_SITE_OFF, RS_HOST_SITE_ON, RS_HOST_SITE_REFUSED };

/* Each records one event of events.h, about the source with that number. `host` NULL: nothing. */
void rs_host_tell_pause(struct rs_target *host, uint32_t source, uint32_t vcpus, uint64_t stop_ns);
void rs_host_tell_resume(struct rs_target *host, uint32_t source, uint32_t vcpus,
			 uint64_t still_ns);
void rs_host_tell_batch(struct rs_target *host, uint32_t source, uint32_t sites, uint32_t refused,
			uint64_t pause_ns);
void rs_host_tell_patch(struct rs_target *host, uint32_t source, uint32_t event, rs_gva_t at,
			enum rs_host_site now);
void rs_host_tell_attach(struct rs_target *host, uint32_t source, const char *name,
			 const char *kind);
void rs_host_tell_boot(struct rs_target *host, uint32_t source, uint32_t boot);
void rs_host_tell_reset(struct rs_target *host, uint32_t source);
void rs_host_tell_panic(struct rs_target *host, uint32_t source, const char *why);
void rs_host_tell_detach(struct rs_target *host, uint32_t source, const char *reason);
enum rs_host_fault { RS_HOST_FAULT_BEGIN, RS_HOST_FAULT_END, RS_HOST_FAULT_REFUSED };
void rs_host_tell_fault(struct rs_target *host, uint32_t source, uint32_t number, const char *text,
			enum rs_host_fault state);
void rs_host_tell_trigger(struct rs_target *host, uint32_t source, uint32_t number,
			  const char *event, const char *action, uint64_t late_ns);

#endif
