/* SPDX-License-Identifier: MIT */
/*
 * Providers that come, go and come back: their slots, event ids and descriptors in the region. The
 * table in the region is all there is to it, so the next boot goes on from there. The rules are in
 * docs/adr/0006-lives.md. Everything here runs under the agent's lock.
 */
#include "core.h"

#include <ringside/name.h>

static struct rs_provider *entry_of(uint32_t slot)
{
	return rs_core_element(RS_SEC_PROVIDERS, slot);
}

static uint32_t capacity(void)
{
	return rs_core.header.section[RS_SEC_PROVIDERS].count;
}

/* Ids from RS_FIRST_EVENT_ID up to here have a control word. */
static uint32_t id_end(void)
{
	uint32_t end = rs_core.header.event_capacity;

	return end < RS_FIRST_HOST_EVENT_ID ? end : RS_FIRST_HOST_EVENT_ID;
}

/*
 * An entry is written between these two: observers see that, and look again. They wait for it, so
 * it takes no longer than it must.
 */
static void begin_write(struct rs_provider *entry)
{
	rs_store(&entry->sequence, rs_load(&entry->sequence) | 1);
	rs_wmb(); /* pairs with the host's barrier between its copy and its second look */
}

static void end_write(struct rs_provider *entry)
{
	struct rs_guest_info *info = rs_core.info;

	/*
	 * The count first: whoever uses the whole entry may make the provider's first record be
	 * written, and an observer of that record looks at the count.
	 */
	rs_store_release(&info->provider_changes, rs_load(&info->provider_changes) + 1);
	/* Release: pairs with the host's acquire before its copy. */
	rs_store_release(&entry->sequence, rs_load(&entry->sequence) + 1);
}

static void free_entry(struct rs_provider *entry)
{
	begin_write(entry);
	entry->state = RS_PROVIDER_FREE;
	end_write(entry);
}

/* ---- what of the table can be believed after an earlier boot ---- */

static bool entry_is_sane(const struct rs_provider *entry)
{
	uint64_t room = rs_core.header.section[RS_SEC_EVENTS].size;

	return !(entry->sequence & 1) && entry->state <= RS_PROVIDER_DEAD &&
	       entry->first_id >= RS_FIRST_EVENT_ID && entry->first_id <= id_end() &&
	       entry->event_count <= id_end() - entry->first_id && entry->desc_offset <= room &&
	       entry->desc_size <= room - entry->desc_offset && entry->desc_offset % 8 == 0;
}

void rs_providers_begin_boot(void)
{
	uint32_t slots = rs_load(&rs_core.info->provider_slots);

	if (slots > capacity())
		slots = capacity();
	rs_store(&rs_core.info->provider_slots, slots);
	for (uint32_t slot = 0; slot < slots; slot++) {
		struct rs_provider *entry = entry_of(slot);

		if (entry->sequence == 0)
			continue;
		if (!entry_is_sane(entry)) {
			free_entry(entry);
		} else if (entry->state == RS_PROVIDER_LIVE) {
			begin_write(entry);
			entry->state = RS_PROVIDER_DEAD;
			end_write(entry);
		}
	}
}

/* ---- how long a dead provider is remembered ---- */

/* The page was begun after the provider had died, so no record from here on is of the provider. */
static bool begun_after(const struct rs_ring_page *page, const struct rs_provider *entry)
{
	uint32_t boot = rs_load(&page->boot), chain = rs_load(&page->chain);

	if (boot != entry->last_boot)
		return boot > entry->last_boot;
	if (chain != entry->until_chain)
		return entry->until && chain > entry->until_chain;
	return entry->until && rs_load(&page->ts) > entry->until;
}

static bool ring_forgot(uint32_t index, const struct rs_provider *entry)
{
	struct rs_ring ring = rs_ring_at(&rs_core.rings, index);
	uint64_t now = rs_load_acquire(&ring.state->shape);
	uint64_t pages = rs_load_acquire(&ring.state->pages);
	uint64_t first = rs_ring_oldest(&ring, now, pages);

	if (rs_rings_drop(ring.rings) && rs_load(&ring.ctl->consumed) > first)
		first = rs_load(&ring.ctl->consumed);
	if (pages && first >= pages)
		first = pages - 1; /* the page that is being filled */
	/* The oldest page that is still there. Some may have been passed over. */
	for (uint64_t page = first; page < pages; page++) {
		uint64_t shape = rs_ring_shape_of(&ring, now, page);
		const struct rs_ring_page *header = rs_ring_page(&ring, shape, page);

		if (shape && rs_load_acquire(&header->seq) == page)
			return begun_after(header, entry);
	}
	return true;
}

static bool forgotten(const struct rs_provider *entry)
{
	for (uint32_t i = 0; i < rs_core.rings.count; i++) {
		if (!ring_forgot(i, entry))
			return false;
	}
	return true;
}

/* Frees what no page can name any more. */
static void reclaim(void)
{
	for (uint32_t slot = 0; slot < rs_core.info->provider_slots; slot++) {
		struct rs_provider *entry = entry_of(slot);

		if (entry->state == RS_PROVIDER_DEAD && forgotten(entry))
			free_entry(entry);
	}
}

/* ---- finding room ---- */

struct run {
	uint64_t from, size;
};

static bool overlap(const struct run *a, uint64_t from, uint64_t size)
{
	return a->from < from + size && from < a->from + a->size;
}

static struct run ids_of(const struct rs_provider *entry)
{
	return (struct run){entry->first_id, entry->event_count};
}

static struct run bytes_of(const struct rs_provider *entry)
{
	return (struct run){entry->desc_offset, entry->desc_size};
}

/* The first hole in [first, end) that `size` fits in. False: there is none. */
static bool find_hole(struct run (*used)(const struct rs_provider *), uint64_t first, uint64_t end,
		      uint64_t size, uint64_t *out)
{
	uint64_t at = first;
	bool moved = true;

	while (moved && at <= end && size <= end - at) {
		moved = false;
		for (uint32_t slot = 0; slot < rs_core.info->provider_slots; slot++) {
			const struct rs_provider *entry = entry_of(slot);
			struct run run = used(entry);

			if (entry->state != RS_PROVIDER_FREE && run.size &&
			    overlap(&run, at, size)) {
				at = run.from + run.size;
				moved = true;
			}
		}
	}
	*out = at;
	return !moved && at <= end && size <= end - at;
}

/* A slot that is free; it may be one behind those that were used before. */
static bool find_slot(uint32_t *out)
{
	uint32_t slots = rs_core.info->provider_slots;

	for (uint32_t slot = 0; slot < slots; slot++) {
		if (entry_of(slot)->state == RS_PROVIDER_FREE) {
			*out = slot;
			return true;
		}
	}
	*out = slots;
	return slots < capacity();
}

struct place {
	uint32_t slot, first_id, count;
	uint64_t offset, size;
	bool revived;
};

/* Room for one that is new. */
static bool find_place(struct place *place)
{
	uint64_t first_id, offset;

	for (int tries = 0; tries < 2; tries++) {
		if (find_slot(&place->slot) &&
		    find_hole(ids_of, RS_FIRST_EVENT_ID, id_end(), place->count, &first_id) &&
		    find_hole(bytes_of, 0, rs_core.header.section[RS_SEC_EVENTS].size, place->size,
			      &offset)) {
			place->first_id = (uint32_t)first_id;
			place->offset = offset;
			return true;
		}
		reclaim();
	}
	return false;
}

/* ---- coming back ---- */

static bool same_name(const struct rs_provider *entry, const char *name)
{
	for (uint32_t i = 0; i < sizeof(entry->name); i++) {
		if (entry->name[i] != name[i])
			return false;
		if (!name[i])
			return true;
	}
	return false;
}

/* Whether the descriptors at the entry's place are those that the provider would write there. */
static bool same_events(const struct rs_provider *entry, uint32_t slot,
			const struct rs_agent_provider *provider)
{
	const uint8_t *at = (const uint8_t *)rs_core_section(RS_SEC_EVENTS) + entry->desc_offset;
	uint32_t id = entry->first_id;

	rs_core_each_event (event, provider) {
		if (!rs_described(event->info, id++, slot, at))
			return false;
		at += rs_describe_size(event->info);
	}
	return true;
}

/* The dead entry that it was before, if its events are still the same. */
static bool find_former(const struct rs_agent_provider *provider, struct place *place)
{
	for (uint32_t slot = 0; slot < rs_core.info->provider_slots; slot++) {
		const struct rs_provider *entry = entry_of(slot);

		if (entry->state != RS_PROVIDER_DEAD || entry->event_count != place->count ||
		    entry->desc_size != place->size || !same_name(entry, provider->name) ||
		    !same_events(entry, slot, provider))
			continue;
		place->slot = slot;
		place->first_id = entry->first_id;
		place->offset = entry->desc_offset;
		place->revived = true;
		return true;
	}
	return false;
}

/* ---- writing ---- */

/* Bytes of all descriptors, or an error; nothing is written. */
static int64_t measure(const struct rs_agent_provider *provider, uint32_t *count)
{
	int64_t bytes = 0;

	*count = 0;
	rs_core_each_event (event, provider) {
		int size = rs_describe_size(event->info);

		if (size < 0)
			return size;
		bytes += size;
		++*count;
	}
	return bytes;
}

static void describe_all(const struct rs_agent_provider *provider, const struct place *place)
{
	uint8_t *at = (uint8_t *)rs_core_section(RS_SEC_EVENTS) + place->offset;
	uint32_t id = place->first_id;

	rs_core_each_event (event, provider) {
		rs_describe(event->info, id++, place->slot, at);
		at += rs_describe_size(event->info);
	}
}

/* Gives the events their provider. It also brings their pages in, before the entry is written. */
static void own_events(struct rs_agent_provider *provider)
{
	rs_core_each_event (event, provider)
		rs_store(&event->provider, provider);
}

static void write_entry(struct rs_agent_provider *provider, const struct place *place)
{
	struct rs_provider *out = entry_of(place->slot);
	uint32_t boot = rs_core.rings.boot, id = place->first_id;
	uint32_t size = provider->build_id ? provider->build_id_size : 0;
	uint8_t build_id[sizeof(out->build_id)] = {0};

	if (size > sizeof(build_id))
		size = sizeof(build_id);
	if (size)
		__builtin_memcpy(build_id, provider->build_id, size);
	own_events(provider);
	begin_write(out);
	if (!place->revived) {
		__builtin_memset((uint8_t *)out + sizeof(out->sequence), 0,
				 rs_core_known(RS_SEC_PROVIDERS, sizeof(*out)) -
					 sizeof(out->sequence));
		describe_all(provider, place);
		out->first_boot = boot;
		out->since = rs_core_time_from(&out->since_chain);
		out->event_count = place->count;
		out->first_id = place->first_id;
		out->desc_offset = place->offset;
		out->desc_size = place->size;
		rs_core_copy_text(out->name, provider->name, sizeof(out->name));
	}
	out->last_boot = boot;
	out->until = 0;
	out->until_chain = 0;
	out->generation++;
	out->sites = (uint64_t)(uintptr_t)provider->sites;
	out->site_count = (uint32_t)(provider->sites_end - provider->sites);
	out->site_stride = sizeof(struct rs_site);
	out->page_table_root = provider->page_table_root;
	out->image_start = (uint64_t)(uintptr_t)provider->image;
	out->image_end = (uint64_t)(uintptr_t)provider->image_end;
	out->owner_pid = rs_core.config.owner_pid;
	out->text_pool = (uint64_t)(uintptr_t)rs_core.config.text_pool;
	out->text_pool_size = rs_core.config.text_pool_size;
	out->build_id_size = size;
	__builtin_memcpy(out->build_id, build_id, sizeof(build_id));
	out->state = RS_PROVIDER_LIVE;
	if (place->slot >= rs_core.info->provider_slots)
		rs_store_release(&rs_core.info->provider_slots, place->slot + 1);
	/*
	 * Before the entry is complete: a host that finds it reads the sites at once, and leaves
	 * out those whose event has no id.
	 */
	rs_core_each_event (event, provider)
		rs_store_release(&event->id, id++);
	rs_core_each_copy (event, provider)
		rs_store_release(&event->id, event->same->id);
	end_write(out);
}

/* The array of an image as a list. */
static void link_events(struct rs_agent_provider *provider)
{
	struct rs_event **at = &provider->first;

	for (struct rs_event *event = provider->events; event < provider->events_end; event++) {
		rs_store(at, event);
		at = &event->next;
	}
	rs_store(at, NULL);
}

static int publish(struct rs_agent_provider *provider)
{
	struct place place = {.revived = false};
	int64_t bytes;

	bytes = rs_core_check_name(provider->name, RS_NAME_MAX);
	if (!bytes)
		bytes = measure(provider, &place.count);
	if (bytes < 0)
		return (int)bytes;
	place.size = (uint64_t)bytes;
	if (!find_former(provider, &place) && !find_place(&place))
		return -RS_ENOSPC;
	/*
	 * For who looks without the lock. First, since a host that finds the entry may switch sites
	 * at once, and CPUs then meet its breakpoints.
	 */
	provider->next = rs_core.providers;
	rs_store_release(&rs_core.providers, provider);
	write_entry(provider, &place);
	rs_store(&provider->id, place.slot + 1);
	return 0;
}

static int come(struct rs_agent_provider *provider, bool link)
{
	bool tell;
	int err;

	rs_core_lock();
	if (!rs_agent_active())
		err = -RS_ENOTCONN;
	else if (provider->id)
		err = -RS_EBUSY;
	else {
		if (link)
			link_events(provider);
		err = publish(provider);
	}
	tell = !err && rs_core.greeted;
	rs_core_unlock();
	if (tell) {
		uint64_t args[6] = {provider->id - 1};

		/* A host that does not answer finds the provider by itself when it comes back. */
		rs_hypercall(RS_HCALL_REGISTER, args, NULL, 0, NULL);
	}
	if (!err)
		rs_callbacks_tell(provider);
	return err;
}

int rs_agent_register(struct rs_agent_provider *provider)
{
	if (!provider->events && provider->sites)
		return -RS_EINVAL;
	return come(provider, true);
}

int rs_core_register(struct rs_agent_provider *provider)
{
	return come(provider, false);
}

/*
 * The host may lay a region out anew while we have it, and another agent may take it. What stands
 * there is not ours then.
 */
static bool is_anothers(void)
{
	const struct rs_region_header *now = (const void *)rs_core.region;

	return rs_load(&now->session_id) != rs_core.header.session_id ||
	       rs_load(&rs_core.info->boot) != rs_core.rings.boot;
}

static void mark_dead(struct rs_provider *entry)
{
	if (is_anothers())
		return;
	begin_write(entry);
	entry->state = RS_PROVIDER_DEAD;
	entry->until = rs_core_time_until(&entry->until_chain);
	end_write(entry);
}

static void forget(struct rs_agent_provider *provider)
{

	rs_core_each_event (event, provider) {
		rs_store(&event->id, 0);
		rs_store(&event->provider, NULL);
	}
	rs_core_each_copy (event, provider)
		rs_store(&event->id, 0);
	mark_dead(entry_of(provider->id - 1));
	/* Who looks stores the word before it looks at the id once more. */
	__atomic_store_n(&provider->id, 0, __ATOMIC_SEQ_CST);
	rs_store(&provider->listened, RS_LISTENED_UNKNOWN);
	provider->next = NULL;
}

void rs_providers_forget_all(void)
{
	struct rs_agent_provider *provider = rs_core.providers, *next;

	rs_core_unlink_providers(&rs_core.providers, NULL);
	for (; provider; provider = next) {
		next = provider->next;
		forget(provider);
	}
}

static int go(struct rs_agent_provider *provider)
{
	uint32_t id = provider->id, on = 0;
	uint64_t args[6] = {id - 1};

	if (!rs_agent_active() || !id)
		return -RS_ENOTCONN;
	/* The host reads the list of sites when it takes them out of force, so the entry still
	 * lives; its events are off from the last line on. */
	if (rs_core.greeted)
		rs_hypercall(RS_HCALL_UNREGISTER, args, NULL, 0, NULL);

	rs_core_lock();
	/* Somebody else may have unregistered it meanwhile. */
	if (provider->id != id) {
		rs_core_unlock();
		return -RS_ENOTCONN;
	}
	if (rs_load(&rs_core.info->flags) & RS_GUEST_SELF_PATCH)
		rs_patch_provider(provider, true, &on);
	for (struct rs_agent_provider **at = &rs_core.providers; *at; at = &(*at)->next) {
		if (*at == provider) {
			rs_core_unlink_providers(at, provider->next);
			break;
		}
	}
	forget(provider);
	rs_core_unlock();
	return 0;
}

int rs_agent_unregister(struct rs_agent_provider *provider)
{
	int err = go(provider);

	rs_callbacks_drop(provider);
	return err;
}
