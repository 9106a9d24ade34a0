/* SPDX-License-Identifier: MIT */
/* The agent's life on a region: attach, say what it is, detach. Errors as text. */
#include "core.h"
#include "judge.h"

#include "arch.h"
#include "rs_port.h"

void rs_core_relax(void)
{
	if (rs_core.ops.relax)
		rs_core.ops.relax();
	else
		rs_port_relax();
}

void rs_core_panic(const char *why)
{
	if (rs_core.ops.panic)
		rs_core.ops.panic(why);
	else
		rs_port_panic(why);
}

void rs_core_lock(void)
{
	while (__atomic_exchange_n(&rs_core.lock, 1, __ATOMIC_ACQUIRE))
		rs_core_relax();
}

void rs_core_unlock(void)
{
	rs_store_release(&rs_core.lock, 0);
}

void rs_core_copy_text(char *out, const char *text, uint32_t size)
{
	uint32_t i = 0;

	for (; text && i < size - 1 && text[i]; i++)
		out[i] = text[i];
	for (; i < size; i++)
		out[i] = 0;
}

void *rs_core_section(uint32_t section)
{
	return rs_core.region + rs_core.header.section[section].offset;
}

void *rs_core_element(uint32_t section, uint32_t index)
{
	return (uint8_t *)rs_core_section(section) +
	       (uint64_t)index * rs_core.header.section[section].stride;
}

size_t rs_core_known(uint32_t section, size_t here)
{
	return rs_known_bytes(rs_core.header.section[section].stride, here);
}

bool rs_agent_active(void)
{
	return rs_load_acquire(&rs_core.rings.count) != 0;
}

static void init_rings(uint32_t boot)
{
	const struct rs_region_header *header = &rs_core.header;
	struct rs_rings *rings = &rs_core.rings;

	/* count stays 0: nothing is emitted until all else is there */
	struct rs_rings made = {
		.states = rs_core_section(RS_SEC_RING_STATE),
		.state_stride = header->section[RS_SEC_RING_STATE].stride,
		.ctls = rs_core_section(RS_SEC_RING_CTL),
		.ctl_stride = header->section[RS_SEC_RING_CTL].stride,
		.pages = rs_core_section(RS_SEC_RINGS),
		.region = rs_core.region,
		.chain = &rs_core.control->clock_chain,
		.lost_nested = &rs_core.info->lost_nested,
		.mode = &((const struct rs_region_header *)rs_core.region)->ring_mode,
		.boot = boot,
	};

	rs_rings_init(&made, header);
	rs_store(&rs_emit_common.chain, made.chain);
	rs_store(&rs_emit_common.units, made.units);
	for (uint32_t i = 0; i < header->ring_count; i++) {
		struct rs_ring ring = rs_ring_at(&made, i);

		rs_ring_resume(&ring);
	}
	made.count = 0;
	*rings = made;
}

/* The number of this boot: one more than the last one's on this region. */
static uint32_t next_boot(void)
{
	const struct rs_guest_info *info = rs_core.info;
	bool again = rs_load(&info->session_id) == rs_core.header.session_id;

	return again ? rs_load(&info->boot) + 1 : 1;
}

/* What outlives a boot: boots, the table of providers, and the count of names. */
static void clear_info(struct rs_guest_info *info)
{
	uint32_t slots = info->provider_slots, changes = info->provider_changes;
	uint32_t names = info->cmdline_changes;
	struct rs_boot boots[RS_BOOTS];

	__builtin_memcpy(boots, info->boots, sizeof(boots));
	__builtin_memset((uint8_t *)info + 8, 0,
			 rs_core_known(RS_SEC_GUEST_INFO, sizeof(*info)) - 8);
	__builtin_memcpy(info->boots, boots, sizeof(boots));
	info->provider_slots = slots;
	info->provider_changes = changes;
	info->cmdline_changes = names;
}

/* A bridge's records are those of the kernel's own tracer, into which nobody puts a stack. */
static bool takes_stacks(const struct rs_agent_config *config)
{
	return !(config->flags & RS_GUEST_BRIDGE) &&
	       (RS_PORT_STACKS || rs_core.ops.stack_end || rs_core.ops.call_stack);
}

/* Magic last: who sees it (acquire) sees the rest. */
static void write_info(const struct rs_agent_config *config, uint32_t boot)
{
	struct rs_guest_info *info = rs_core.info;
	struct rs_boot *begun = &info->boots[boot % RS_BOOTS];
	uint32_t ping;

	rs_store_release(&info->magic, 0);
	clear_info(info);
	info->abi_major = RS_ABI_MAJOR;
	info->abi_minor = RS_ABI_MINOR;
	info->arch = RS_ARCH;
	info->session_id = rs_core.header.session_id;
	info->boot = boot;
	info->flags = config->flags | RS_GUEST_RING_MODE | RS_GUEST_RING_SHAPE |
		      (RS_PORT_PREEMPTIBLE ? RS_GUEST_PREEMPTIBLE : 0) |
		      (takes_stacks(config) ? RS_GUEST_STACKS : 0);
	info->state = RS_GUEST_RUNNING;
	info->cpu_count = config->cpu_count;
	info->nudge_vector = config->nudge_vector;
	info->tsc_hz = config->tsc_hz;
	info->page_table_root = config->page_table_root;
	info->paging = config->paging;
	if (config->page_table_root && config->paging == RS_PAGING_NONE)
		info->paging = RS_ARCH_PAGING;
	info->owner_pid = config->owner_pid;
	ping = rs_load_acquire(&rs_core.control->clock_ping);
	begun->boot = boot;
	begun->ts = rs_core_time_from(&begun->chain);
	rs_store(&info->clock_ts, begun->ts);
	rs_store_release(&info->clock_pong, ping);
	rs_core_copy_text(info->agent, config->agent, sizeof(info->agent));
	rs_core_copy_text(info->name, config->name, sizeof(info->name));
	rs_store_release(&info->magic, RS_GUEST_MAGIC);
}

/* A host before 1.4 has no words: then no entry is ever used, whatever stands there instead. */
static void init_native(const struct rs_agent_config *config)
{
	const struct rs_section *words = &rs_core.header.section[RS_SEC_NATIVE];
	bool told = words->size && words->count >= rs_core.header.event_capacity;
	uint32_t size = config->text_pool_size < RS_NATIVE_POOL_MAX ? config->text_pool_size
								    : RS_NATIVE_POOL_MAX;

	rs_native.pool = config->text_pool;
	rs_native.words = rs_core_section(told ? RS_SEC_NATIVE : RS_SEC_EVENT_CTL);
	rs_native.entries =
		told && config->text_pool
			? RS_NATIVE_ENTRY_BYTES(size) / (uint32_t)sizeof(struct rs_native_entry)
			: 0;
}

static int attach(const struct rs_agent_config *config)
{
	int err = rs_region_take(&rs_core.header, config->region, config->region_size);
	uint64_t filters;
	uint32_t boot;

	if (err)
		return err;

	filters = rs_core.header.section[RS_SEC_FILTERS].size;
	rs_core.config = *config;
	if (config->ops)
		rs_core.ops = *config->ops;
	else
		__builtin_memset(&rs_core.ops, 0, sizeof(rs_core.ops));
	rs_core.region = config->region;
	rs_core.info = rs_core_section(RS_SEC_GUEST_INFO);
	rs_core.control = rs_core_section(RS_SEC_CONTROL);
	rs_core.filters = rs_core_section(RS_SEC_FILTERS);
	/* A control word reaches no further than the first GiB. */
	rs_core.filters_size = filters < UINT32_MAX ? (uint32_t)filters : UINT32_MAX;
	rs_core.names = (struct rs_names){
		.buckets = rs_core_section(RS_SEC_CMDLINE),
		.count = rs_core.header.section[RS_SEC_CMDLINE].count,
		.stride = rs_core.header.section[RS_SEC_CMDLINE].stride,
	};
	init_native(config);
	rs_core.raw = rs_core.ops.trace_pipe_push_raw_record != NULL;
	rs_core.tasks =
		rs_core.ops.current_pid || rs_core.ops.current_tgid || rs_core.ops.current_comm;
	rs_core.hooked = rs_core.raw || rs_core.ops.time_now || rs_core.ops.cpu_id ||
			 rs_core.ops.current_pid || rs_core.ops.current_tgid ||
			 rs_core.ops.context_flags || rs_core.ops.current_comm;
	rs_core.plain = !rs_core.hooked && (!RS_PORT_PREEMPTIBLE || rs_port_restartable());
	rs_core.name_epoch++;
	rs_core.greeted = false;
	rs_store(&rs_core.host_gone, 0);
	boot = next_boot();
	init_rings(boot);
	write_info(config, boot);
	rs_providers_begin_boot();
	rs_store_release(&rs_core.rings.count, rs_core.header.ring_count);
	rs_store_release(&rs_emit_common.epoch,
			 rs_core.plain ? rs_core.name_epoch : RS_EMIT_NO_EPOCH);
	rs_store(&rs_event_generation, &rs_core.control->generation);
	__atomic_add_fetch(&rs_event_changes, 1, __ATOMIC_RELEASE);
	/* Last: from now on events find their control words. */
	rs_store_release(&rs_event_ctl, (const uint32_t *)rs_core_section(RS_SEC_EVENT_CTL));
	return 0;
}

int rs_agent_init(const struct rs_agent_config *config)
{
	int err;

	rs_core_lock();
	err = rs_agent_active() ? -RS_EBUSY : attach(config);
	rs_core_unlock();
	return err;
}

void rs_agent_fini(void)
{
	rs_core_lock();
	/* Events look at the control word of no event from now on: rs_nothing_enabled has one. */
	if (rs_agent_active())
		rs_providers_forget_all();
	rs_store(&rs_event_generation, rs_nothing_enabled);
	__atomic_add_fetch(&rs_event_changes, 1, __ATOMIC_RELEASE);
	if (rs_core.ops.wait_events)
		rs_core.ops.wait_events();
	rs_store_release(&rs_event_ctl, rs_nothing_enabled);
	rs_store(&rs_emit_common.epoch, RS_EMIT_NO_EPOCH);
	rs_native.entries = 0;
	if (rs_agent_active())
		rs_store_release(&rs_core.rings.count, 0);
	rs_core.info = NULL;
	rs_core_unlock();
}

int rs_agent_hello(void)
{
	if (!rs_agent_active())
		return -RS_ENOTCONN;
	rs_core.greeted = true;
	return rs_hypercall(RS_HCALL_HELLO, NULL, NULL, 0, NULL);
}

const char *rs_agent_strerror(int error)
{
	switch (error) {
	case 0:
		return "success";
	case -RS_ENOSYS:
		return "the host does not know this hypercall";
	case -RS_EINVAL:
		return "an argument is wrong";
	case -RS_ENOENT:
		return "there is nothing of that name";
	case -RS_EACCES:
		return "the host refuses";
	case -RS_E2BIG:
		return "too large";
	case -RS_EHOSTUNREACH:
		return "no host answers";
	case -RS_ENODEV:
		return "no trace region here";
	case -RS_EPROTO:
		return "the trace region is of another ABI version";
	case -RS_EBADMSG:
		return "the trace region's header, or an event's description, contradicts itself";
	case -RS_ENOSPC:
		return "the trace region is too small for this";
	case -RS_EOVERFLOW:
		return "a limit is exceeded";
	case -RS_EILSEQ:
		return "a name is empty, or has characters that names may not have";
	case -RS_ENOTCONN:
		return "the agent is not attached, or this is not registered";
	case -RS_EBUSY:
		return "already attached or registered";
	case -RS_EADDRINUSE:
		return "every trace region here belongs to another agent";
	case -RS_EXDEV:
		return "the agent is part of another image, with which events are registered";
	case -RS_EPERM:
		return "only root may do that";
	case -RS_ESRCH:
		return "the thread or process has gone";
	case -RS_EBADF:
		return "nobody listens";
	case -RS_ENAMETOOLONG:
		return "a name is too long";
	case -RS_EAGAIN:
		return "not now; perhaps later";
	case -RS_EEXIST:
		return "there is one already";
	case -RS_EALREADY:
		return "it is too late";
	case -RS_EINPROGRESS:
		return "it is under way";
	case -RS_ERESTARTSYS:
		return "a signal came meanwhile";
	}
	return "unknown error";
}
