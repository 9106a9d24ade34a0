/* SPDX-License-Identifier: MIT */
/*
 * What the host tells of itself: the events of the source "host" (docs/adr/0027). They are told by
 * host.c alone, which calls their emit functions: there are no sites, and nothing is patched for
 * them. `source` is the number of the source that an event is about.
 */
#include <ringside/event.h>

/* Values of rs_exit_reason (target/target.h). `at`: a port's number or an address. */
RS_TRACE_EVENT_LEVEL(host, exit, 5, 0x1,
		     TP_PROTO(uint32_t of, uint32_t cpu, uint32_t why, uint64_t where,
			      uint64_t inside, uint64_t outside),
		     TP_ARGS(of, cpu, why, where, inside, outside),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, vcpu),
				      __enum(u32, reason, {0, "kick"}, {1, "port"}, {2, "mmio"},
					     {3, "hypercall"}, {4, "doorbell"}, {5, "console"},
					     {6, "halt"}, {7, "shutdown"}, {8, "system"},
					     {9, "error"}, {10, "other"}),
				      __field_hex(u64, at), __field(u64, guest_ns),
				      __field(u64, host_ns)),
		     TP_fast_assign(__entry->source = of; __entry->vcpu = cpu;
				    __entry->reason = why; __entry->at = where;
				    __entry->guest_ns = inside; __entry->host_ns = outside;),
		     TP_printk("source=%u vcpu=%u reason=%s at=%#llx guest_ns=%llu host_ns=%llu",
			       source, vcpu, reason, at, guest_ns, host_ns))

/* From here to host:resume no vCPU of the source runs. */
RS_TRACE_EVENT_LEVEL(host, pause, 4, 0x2, TP_PROTO(uint32_t of, uint32_t cpus, uint64_t took),
		     TP_ARGS(of, cpus, took),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, vcpus),
				      __field(u64, stop_ns)),
		     TP_fast_assign(__entry->source = of; __entry->vcpus = cpus;
				    __entry->stop_ns = took;),
		     TP_printk("source=%u vcpus=%u stop_ns=%llu", source, vcpus, stop_ns))

RS_TRACE_EVENT_LEVEL(host, resume, 4, 0x2, TP_PROTO(uint32_t of, uint32_t cpus, uint64_t still),
		     TP_ARGS(of, cpus, still),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, vcpus),
				      __field(u64, still_ns)),
		     TP_fast_assign(__entry->source = of; __entry->vcpus = cpus;
				    __entry->still_ns = still;),
		     TP_printk("source=%u vcpus=%u still_ns=%llu", source, vcpus, still_ns))

/* A batch of patches, as `ringside stat` counts them. */
RS_TRACE_EVENT_LEVEL(host, batch, 4, 0x4,
		     TP_PROTO(uint32_t of, uint32_t written, uint32_t not_written, uint64_t paused),
		     TP_ARGS(of, written, not_written, paused),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, sites),
				      __field(u32, refused), __field(u64, pause_ns)),
		     TP_fast_assign(__entry->source = of; __entry->sites = written;
				    __entry->refused = not_written; __entry->pause_ns = paused;),
		     TP_printk("source=%u sites=%u refused=%u pause_ns=%llu", source, sites,
			       refused, pause_ns))

/* One site of it. `event`: the id of its event; 0: a provider's gate. */
RS_TRACE_EVENT_LEVEL(host, patch, 5, 0x4,
		     TP_PROTO(uint32_t of, uint32_t event_id, uint64_t where, uint32_t what),
		     TP_ARGS(of, event_id, where, what),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, event),
				      __field_hex(u64, at),
				      __enum(u32, now, {0, "off"}, {1, "on"}, {2, "refused"})),
		     TP_fast_assign(__entry->source = of; __entry->event = event_id;
				    __entry->at = where; __entry->now = what;),
		     TP_printk("source=%u event=%u at=%#llx now=%s", source, event, at, now))

/* A source has been attached to, or started. */
RS_TRACE_EVENT_LEVEL(host, attach, 4, 0x8,
		     TP_PROTO(uint32_t of, const char *called, const char *type),
		     TP_ARGS(of, called, type),
		     TP_STRUCT__entry(__field(u32, source), __string(name), __string(kind)),
		     TP_fast_assign(__entry->source = of; __assign_str(name, called);
				    __assign_str(kind, type);),
		     TP_printk("source=%u name=%s kind=%s", source, name, kind))

/* Its agent has reported. `boot`: which boot of the guest that is. */
RS_TRACE_EVENT_LEVEL(host, boot, 4, 0x8, TP_PROTO(uint32_t of, uint32_t number),
		     TP_ARGS(of, number),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, boot)),
		     TP_fast_assign(__entry->source = of; __entry->boot = number;),
		     TP_printk("source=%u boot=%u", source, boot))

RS_TRACE_EVENT_LEVEL(host, reset, 3, 0x8, TP_PROTO(uint32_t of), TP_ARGS(of),
		     TP_STRUCT__entry(__field(u32, source)), TP_fast_assign(__entry->source = of;),
		     TP_printk("source=%u", source))

/* `why` is the guest's; empty: it has not said it. */
RS_TRACE_EVENT_LEVEL(host, panic, 1, 0x8, TP_PROTO(uint32_t of, const char *text),
		     TP_ARGS(of, text), TP_STRUCT__entry(__field(u32, source), __string(why)),
		     TP_fast_assign(__entry->source = of; __assign_str(why, text);),
		     TP_printk("source=%u why=%s", source, why))

/* The source has ended, or the session lets go of it. */
RS_TRACE_EVENT_LEVEL(host, detach, 4, 0x8, TP_PROTO(uint32_t of, const char *how), TP_ARGS(of, how),
		     TP_STRUCT__entry(__field(u32, source), __string(reason)),
		     TP_fast_assign(__entry->source = of; __assign_str(reason, how);),
		     TP_printk("source=%u reason=%s", source, reason))

/*
 * A fault that somebody has injected (docs/faults.md). One that lasts has a record at its end, too.
 * One that was refused did nothing.
 */
RS_TRACE_EVENT_LEVEL(host, fault, 3, 0x10,
		     TP_PROTO(uint32_t of, uint32_t which, const char *text, uint32_t how),
		     TP_ARGS(of, which, text, how),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, number), __string(fault),
				      __enum(u32, state, {0, "begin"}, {1, "end"}, {2, "refused"})),
		     TP_fast_assign(__entry->source = of; __entry->number = which;
				    __assign_str(fault, text); __entry->state = how;),
		     TP_printk("source=%u number=%u fault=\"%s\" state=%s", source, number, fault,
			       state))

/*
 * A trigger fires (docs/triggers.md): the session has seen the event of that source, so long ago,
 * and begins to do what the trigger says.
 */
RS_TRACE_EVENT_LEVEL(host, trigger, 3, 0x20,
		     TP_PROTO(uint32_t of, uint32_t which, const char *seen, const char *what,
			      uint64_t late),
		     TP_ARGS(of, which, seen, what, late),
		     TP_STRUCT__entry(__field(u32, source), __field(u32, number), __string(event),
				      __string(action), __field(u64, late_ns)),
		     TP_fast_assign(__entry->source = of; __entry->number = which;
				    __assign_str(event, seen); __assign_str(action, what);
				    __entry->late_ns = late;),
		     TP_printk("source=%u number=%u event=%s do=\"%s\" late_ns=%llu", source,
			       number, event, action, late_ns))
