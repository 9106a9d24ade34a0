/* SPDX-License-Identifier: MIT */
/* The agent's life: attach to a region, providers that come and go. */
#include "core.h"

#include "arch.h"
#include "rs_port.h"

void rs_core_lock(void)
{
	while (__atomic_exchange_n(&rs_core.lock, 1, __ATOMIC_ACQUIRE)) {
		if (rs_core.ops.relax)
			rs_core.ops.relax();
		else
			rs_port_relax();
	}
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

bool rs_agent_active(void)
{
	return rs_load_acquire(&rs_core.ring_count) != 0;
}

static void init_rings(void)
{
	const struct rs_region_header *header = &rs_core.header;
	struct rs_ring_state *state = rs_core_section(RS_SEC_RING_STATE);
	const struct rs_ring_ctl *ctl = rs_core_section(RS_SEC_RING_CTL);
	uint8_t *pages = rs_core_section(RS_SEC_RINGS);
	uint64_t bytes = (uint64_t)header->ring_pages * header->ring_page_size;

	for (uint32_t i = 0; i < header->ring_count; i++) {
		struct rs_ring *ring = &rs_core.rings[i].ring;

		rs_ring_init(ring, &state[i], &ctl[i], pages + i * bytes, header->ring_page_size,
			     header->ring_pages, i, header->ring_mode, &rs_core.control->epoch,
			     &rs_core.info->lost_nested);
		rs_ring_resume(ring);
	}
}

/* The magic comes last: a host that sees it (acquire) sees the rest. */
static void write_info(const struct rs_agent_config *config)
{
	struct rs_guest_info *info = rs_core.info;
	bool again = rs_load(&info->magic) == RS_GUEST_MAGIC &&
		     rs_load(&info->session_id) == rs_core.header.session_id;
	uint64_t boot = again ? rs_load(&info->boot_generation) + 1 : 1;

	rs_store_release(&info->magic, 0);
	__builtin_memset((uint8_t *)info + 8, 0, sizeof(*info) - 8);
	info->abi_major = RS_ABI_MAJOR;
	info->abi_minor = RS_ABI_MINOR;
	info->arch = RS_ARCH;
	info->session_id = rs_core.header.session_id;
	info->boot_generation = boot;
	info->flags = config->flags | (RS_PORT_PREEMPTIBLE ? RS_GUEST_PREEMPTIBLE : 0);
	info->state = RS_GUEST_RUNNING;
	info->cpu_count = config->cpu_count;
	info->tsc_hz = config->tsc_hz;
	info->page_table_root = config->page_table_root;
	rs_core_copy_text(info->agent, config->agent, sizeof(info->agent));
	rs_core_copy_text(info->name, config->name, sizeof(info->name));
	rs_store_release(&info->magic, RS_GUEST_MAGIC);
}

static int attach(const struct rs_agent_config *config)
{
	const struct rs_region_header *header = config->region;
	int err;

	if (!header || config->region_size < sizeof(*header))
		return RS_AGENT_NO_REGION;
	/* Acquire: pairs with the host's release of the magic. */
	if (rs_load_acquire(&header->magic) != RS_REGION_MAGIC)
		return RS_AGENT_NO_REGION;
	__builtin_memcpy(&rs_core.header, header, sizeof(rs_core.header));
	err = rs_region_check(&rs_core.header, config->region_size);
	if (err)
		return err;

	rs_core.config = *config;
	if (config->ops)
		rs_core.ops = *config->ops;
	else
		__builtin_memset(&rs_core.ops, 0, sizeof(rs_core.ops));
	rs_core.region = config->region;
	rs_core.info = rs_core_section(RS_SEC_GUEST_INFO);
	rs_core.control = rs_core_section(RS_SEC_CONTROL);
	rs_core.filters = rs_core_section(RS_SEC_FILTERS);
	rs_core.filters_size = (uint32_t)rs_core.header.section[RS_SEC_FILTERS].size;
	rs_core.cmdline = rs_core_section(RS_SEC_CMDLINE);
	rs_core.cmdline_buckets = rs_core.header.cmdline_buckets;
	rs_core.raw = rs_core.ops.trace_pipe_push_raw_record != NULL;
	rs_core.tasks = rs_core.ops.current_pid || rs_core.ops.current_comm;
	rs_core.hooked = rs_core.raw || rs_core.ops.time_now || rs_core.ops.cpu_id ||
			 rs_core.ops.current_pid || rs_core.ops.context_flags ||
			 rs_core.ops.current_comm;
	rs_core.plain = !rs_core.hooked && (!RS_PORT_PREEMPTIBLE || rs_port_restartable());
	rs_core.name_epoch++;
	rs_core.greeted = false;
	rs_core.next_event_id = RS_FIRST_EVENT_ID;
	init_rings();
	write_info(config);
	rs_store_release(&rs_core.ring_count, rs_core.header.ring_count);
	/* Last: from now on events find their control words. */
	rs_store_release(&rs_event_ctl, (const uint32_t *)rs_core_section(RS_SEC_EVENT_CTL));
	return 0;
}

int rs_agent_init(const struct rs_agent_config *config)
{
	int err;

	rs_core_lock();
	err = rs_agent_active() ? RS_AGENT_BUSY : attach(config);
	rs_core_unlock();
	return err;
}

static void forget(struct rs_agent_provider *provider)
{
	for (struct rs_event *event = provider->events; event < provider->events_end; event++) {
		rs_store(&event->id, 0);
		rs_store(&event->provider, NULL);
	}
	provider->id = 0;
	provider->next = NULL;
}

void rs_agent_fini(void)
{
	rs_core_lock();
	rs_store_release(&rs_event_ctl, rs_nothing_enabled);
	rs_store_release(&rs_core.ring_count, 0);
	while (rs_core.providers) {
		struct rs_agent_provider *provider = rs_core.providers;

		rs_core.providers = provider->next;
		forget(provider);
	}
	rs_core.info = NULL;
	rs_core_unlock();
}

/* Bytes of all descriptors, or an error; nothing is written. */
static int64_t measure(const struct rs_agent_provider *provider, uint32_t *count)
{
	int64_t bytes = 0;

	*count = 0;
	for (const struct rs_event *event = provider->events; event < provider->events_end;
	     event++, ++*count) {
		int size = rs_describe_size(event->info);

		if (size < 0)
			return size;
		bytes += size;
	}
	return bytes;
}

/* The provider's entry in the region, complete but not published. */
static void write_provider(const struct rs_agent_provider *provider, uint32_t index, uint32_t count)
{
	struct rs_provider *out = (struct rs_provider *)rs_core_section(RS_SEC_PROVIDERS) + index;

	__builtin_memset(out, 0, sizeof(*out));
	out->id = index + 1;
	out->sites = (uint64_t)(uintptr_t)provider->sites;
	out->site_count = (uint32_t)(provider->sites_end - provider->sites);
	out->site_size = sizeof(struct rs_site);
	out->page_table_root = provider->page_table_root;
	out->event_count = count;
	rs_core_copy_text(out->name, provider->name, sizeof(out->name));
	rs_store_release(&out->state, RS_PROVIDER_LIVE);
}

static int publish(struct rs_agent_provider *provider)
{
	struct rs_guest_info *info = rs_core.info;
	const struct rs_region_header *header = &rs_core.header;
	uint64_t at = rs_load(&info->event_bytes);
	uint32_t index = rs_load(&info->provider_count), count;
	uint8_t *events = rs_core_section(RS_SEC_EVENTS);
	int64_t bytes = measure(provider, &count);

	if (bytes < 0)
		return (int)bytes;
	if (index >= header->provider_capacity ||
	    (uint64_t)bytes > header->section[RS_SEC_EVENTS].size - at ||
	    count > header->event_capacity - rs_core.next_event_id ||
	    rs_core.next_event_id + count > RS_MAX_EVENTS)
		return RS_AGENT_NO_ROOM;

	write_provider(provider, index, count);
	for (struct rs_event *event = provider->events; event < provider->events_end; event++) {
		uint32_t id = rs_core.next_event_id++;

		rs_describe(event->info, id, index + 1, events + at);
		at += (uint64_t)rs_describe_size(event->info);
		rs_store(&event->provider, provider);
		rs_store_release(&event->id, id);
	}
	provider->id = index + 1;
	provider->next = rs_core.providers;
	rs_core.providers = provider;
	/* Release: pairs with the host's acquire of the counts. */
	rs_store_release(&info->event_bytes, at);
	rs_store_release(&info->event_count, rs_load(&info->event_count) + count);
	rs_store_release(&info->provider_count, index + 1);
	return 0;
}

int rs_agent_register(struct rs_agent_provider *provider)
{
	bool tell;
	int err;

	rs_core_lock();
	if (!rs_agent_active())
		err = RS_AGENT_NOT_READY;
	else if (provider->id)
		err = RS_AGENT_BUSY;
	else
		err = publish(provider);
	tell = !err && rs_core.greeted;
	rs_core_unlock();
	if (tell) {
		uint64_t args[6] = {provider->id};

		/* A host that does not answer now finds the provider in the region later. */
		rs_hypercall(RS_HCALL_REGISTER, args, NULL, 0, NULL);
	}
	return err;
}

int rs_agent_unregister(struct rs_agent_provider *provider)
{
	uint32_t id = provider->id, on = 0;
	uint64_t args[6] = {id};
	struct rs_provider *entries;

	if (!rs_agent_active() || !id)
		return RS_AGENT_NOT_READY;
	/* The host reads the list of sites to switch them off, so the entry is still live here. */
	if (rs_core.greeted)
		rs_hypercall(RS_HCALL_UNREGISTER, args, NULL, 0, NULL);

	rs_core_lock();
	if (rs_load(&rs_core.info->flags) & RS_GUEST_SELF_PATCH)
		rs_patch_provider(provider, true, &on);
	entries = rs_core_section(RS_SEC_PROVIDERS);
	rs_store_release(&entries[id - 1].state, RS_PROVIDER_DEAD);
	for (struct rs_agent_provider **at = &rs_core.providers; *at; at = &(*at)->next) {
		if (*at == provider) {
			*at = provider->next;
			break;
		}
	}
	forget(provider);
	rs_core_unlock();
	return 0;
}

int rs_agent_hello(void)
{
	if (!rs_agent_active())
		return RS_AGENT_NOT_READY;
	rs_core.greeted = true;
	return rs_hypercall(RS_HCALL_HELLO, NULL, NULL, 0, NULL);
}

struct rs_event *rs_event_by_id(uint32_t id)
{
	for (struct rs_agent_provider *p = rs_core.providers; id && p; p = p->next) {
		for (struct rs_event *event = p->events; event < p->events_end; event++) {
			if (rs_load(&event->id) == id)
				return event;
		}
	}
	return NULL;
}

void rs_event_read_state(uint32_t id, void (*f)(const struct rs_event_state *, void *), void *data)
{
	const struct rs_event *event;

	if (rs_core.ops.read_tracepoint_state) {
		rs_core.ops.read_tracepoint_state(id, f, data);
		return;
	}
	event = rs_event_by_id(id);
	if (event)
		f(&event->state, data);
}

void rs_event_write_state(uint32_t id, void (*f)(struct rs_event_state *, void *), void *data)
{
	struct rs_event *event;

	if (rs_core.ops.write_tracepoint_state) {
		rs_core.ops.write_tracepoint_state(id, f, data);
		return;
	}
	event = rs_event_by_id(id);
	if (event)
		f(&event->state, data);
}

const char *rs_agent_strerror(int error)
{
	switch (error) {
	case 0:
		return "success";
	case RS_ERR_BAD_NUMBER:
		return "the host does not know this hypercall";
	case RS_ERR_BAD_ARGUMENT:
		return "the host calls the argument wrong";
	case RS_ERR_NOT_FOUND:
		return "the host finds nothing of that name";
	case RS_ERR_REFUSED:
		return "the host refuses";
	case RS_ERR_TOO_LARGE:
		return "too large for a hypercall";
	case RS_ERR_UNREACHABLE:
		return "no host answers";
	case RS_AGENT_NO_REGION:
		return "no trace region here";
	case RS_AGENT_BAD_ABI:
		return "the trace region is of another ABI version";
	case RS_AGENT_BAD_LAYOUT:
		return "the trace region's header contradicts itself";
	case RS_AGENT_NO_ROOM:
		return "the trace region is too small for this";
	case RS_AGENT_BAD_EVENT:
		return "an event's description breaks a limit";
	case RS_AGENT_NOT_READY:
		return "the agent is not attached, or this is not registered";
	case RS_AGENT_BUSY:
		return "already attached or registered";
	}
	return "unknown error";
}
