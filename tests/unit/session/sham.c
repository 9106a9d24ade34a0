/* SPDX-License-Identifier: MIT */
#include "sham.h"

#include "region/regions.h"
#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define TEXT SHAM_TEXT
#define SITES (TEXT + 64 * SHAM_EVENTS)
#define OBJECTS (TEXT + 2 * 64 * SHAM_EVENTS)
#define TEXT_SIZE SHAM_TEXT_SIZE
#define BULK 0x1000000u
#define NOP "\x0f\x1f\x44\x00\x00"

static struct sham *sham_of(struct rs_target *target)
{
	return (struct sham *)target;
}

static int sham_start(struct rs_target *target, struct rs_error *err)
{
	sham_of(target)->running = true;
	return 0;
}

static bool sham_ready(struct rs_target *target)
{
	return !sham_of(target)->not_ready;
}

static int refuse(struct sham *sham, struct rs_error *err)
{
	if (!sham->refusal || (sham->patience && sham->patience--))
		return 0;
	sham->refusals++;
	return rs_error_set(err, -sham->refusal, "it has no time");
}

static int sham_pause(struct rs_target *target, struct rs_error *err)
{
	const struct rs_target_end end = {.reason = RS_END_GONE};

	int ret = refuse(sham_of(target), err);

	if (ret)
		return ret;
	if (sham_of(target)->unstoppable)
		return rs_error_set(err, EIO, "it runs away");
	sham_of(target)->pauses++;
	if (sham_of(target)->dying)
		target->events.ended(target->events.data, &end);
	return 0;
}

static int sham_resume(struct rs_target *target, struct rs_error *err)
{
	sham_of(target)->resumes++;
	return 0;
}

static void sham_stop(struct rs_target *target, const char *why)
{
	struct rs_target_end end = {.reason = RS_END_KILLED};

	if (!sham_of(target)->running)
		return;
	sham_of(target)->running = false;
	g_strlcpy(end.text, why, sizeof(end.text));
	target->events.ended(target->events.data, &end);
}

static int sham_nudge(struct rs_target *target, uint32_t vector, struct rs_error *err)
{
	sham_of(target)->nudges++;
	sham_of(target)->nudge_vector = vector;
	return 0;
}

/* NULL: no memory is there. */
static uint8_t *memory_at(struct sham *sham, rs_gva_t at, size_t size)
{
	if (sham->bulk && at.v >= BULK && at.v <= BULK + sham->bulk_size &&
	    size <= BULK + sham->bulk_size - at.v)
		return sham->bulk + (at.v - BULK);
	if (sham->text && at.v >= TEXT && at.v <= TEXT + TEXT_SIZE &&
	    size <= TEXT + TEXT_SIZE - at.v)
		return sham->text + (at.v - TEXT);
	return NULL;
}

static int sham_read(struct rs_target *target, rs_gva_t at, void *out, size_t size,
		     struct rs_error *err)
{
	struct sham *sham = sham_of(target);
	const uint8_t *from = memory_at(sham, at, size);
	int ret = refuse(sham, err);

	if (sham->watch)
		sham->watch(sham, NULL);
	if (ret)
		return ret;
	if (!from)
		return rs_error_set(err, EFAULT, "no memory is there");
	memcpy(out, from, size);
	return 0;
}

static bool is_stone(const struct sham *sham, rs_gva_t at)
{
	return sham->stone == SHAM_ALL ||
	       (at.v < TEXT + TEXT_SIZE && RS_FIRST_EVENT_ID + (at.v - TEXT) / 64 == sham->stone);
}

static int sham_write(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		      bool *bad, struct rs_error *err)
{
	struct sham *sham = sham_of(target);
	int ret = refuse(sham, err);

	if (ret)
		return ret;
	if (sham->read_only)
		return rs_error_set(err, EACCES, "it is engraved");
	for (size_t i = 0; i < count; i++) {
		bad[i] = is_stone(sham, patches[i].at);
		if (sham->watch)
			sham->watch(sham, &patches[i]);
		if (!bad[i])
			memcpy(memory_at(sham, patches[i].at, patches[i].size),
			       patches[i].new_bytes, patches[i].size);
	}
	return 0;
}

static void sham_destroy(struct rs_target *target)
{
	sham_of(target)->destroyed = true;
}

static const struct rs_target_ops ops = {.kind = "sham",
					 .start = sham_start,
					 .ready = sham_ready,
					 .pause = sham_pause,
					 .resume = sham_resume,
					 .read_virt = sham_read,
					 .write_text = sham_write,
					 .nudges = RS_GUEST_NUDGE_VECTOR | RS_GUEST_NUDGE_NMI,
					 .nudge = sham_nudge,
					 .stop = sham_stop,
					 .destroy = sham_destroy};

struct sham *sham_on(RsTraceRegion *region, bool text)
{
	struct sham *sham = g_new0(struct sham, 1);

	sham->region = region;
	sham->target.ops = &ops;
	sham->target.vcpus = region->header.ring_count;
	sham->text = text ? g_malloc0(TEXT_SIZE) : NULL;
	return sham;
}

struct sham *sham_new(uint32_t cpus, uint32_t hcall_channel)
{
	RsTraceRegion *region;
	struct rs_region_config config = {.vcpus = cpus,
					  .ring_bytes = 65536,
					  .event_capacity = 256,
					  .hcall_channel = hcall_channel};
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	return sham_on(region, false);
}

struct sham *sham_new_with_text(uint32_t cpus, uint32_t hcall_channel, uint32_t filter_bytes)
{
	struct sham *sham = sham_new(cpus, hcall_channel);

	/* The smallest section that can be laid out has room for many filters. */
	sham->region->header.section[RS_SEC_FILTERS].size = filter_bytes;
	sham->text = g_malloc0(TEXT_SIZE);
	return sham;
}

void sham_free(struct sham *sham)
{
	g_assert_true(sham->destroyed);
	g_free(sham->text);
	g_free(sham->bulk);
	g_free(sham);
}

static struct rs_guest_info *info_of(struct sham *sham)
{
	return rs_trace_region_section(sham->region, RS_SEC_GUEST_INFO, NULL);
}

void sham_hello(struct sham *sham, uint32_t flags)
{
	struct rs_guest_info *info = info_of(sham);
	size_t size;
	void *providers = rs_trace_region_section(sham->region, RS_SEC_PROVIDERS, &size);

	if (sham->boot)
		memset(providers, 0, size);
	sham->events = sham->sites = 0;
	sham->event_bytes = 0;
	memset(info, 0, sizeof(*info));
	info->abi_major = RS_ABI_MAJOR;
	info->abi_minor = sham->older ? 0 : RS_ABI_MINOR;
	info->arch = RS_ARCH_X86_64;
	info->paging = RS_PAGING_X86_64_4;
	info->session_id = sham->region->header.session_id;
	info->boot = ++sham->boot;
	info->flags = flags;
	info->state = RS_GUEST_RUNNING;
	info->cpu_count = sham->region->header.ring_count;
	info->tsc_hz = 1000000000;
	info->nudge_vector = sham->announced;
	strcpy(info->name, "sham");
	rs_store_release(&info->magic, RS_GUEST_MAGIC);
}

struct desc {
	struct rs_event_desc event;
	struct rs_field_desc field[3];
	char strings[256];
};

static uint32_t add_string(struct desc *desc, size_t *used, const char *text)
{
	uint32_t at = (uint32_t)(offsetof(struct desc, strings) + *used);

	strcpy(desc->strings + *used, text);
	*used += strlen(text) + 1;
	return at;
}

static void add_event(struct sham *sham, uint32_t slot, const char *system, const char *name)
{
	uint8_t *events = rs_trace_region_section(sham->region, RS_SEC_EVENTS, NULL);
	struct desc desc = {0};
	size_t used = 0;

	desc.event = (struct rs_event_desc){.size = sizeof(desc),
					    .id = (uint16_t)(RS_FIRST_EVENT_ID + sham->events),
					    .field_count = sham->bare ? 1 : 3,
					    .provider = slot,
					    .header_size = sizeof(struct rs_event_desc),
					    .field_stride = sizeof(struct rs_field_desc),
					    .symbol_stride = sizeof(struct rs_symbol),
					    .entry_size = 32};
	desc.event.system = add_string(&desc, &used, system);
	desc.event.name = add_string(&desc, &used, name);
	desc.event.print = add_string(&desc, &used, sham->bare ? "a" : "b=%lld c=%s");
	desc.event.print_args = add_string(&desc, &used, sham->bare ? "" : "b,c");
	desc.field[0] = (struct rs_field_desc){.size = 4, .kind = RS_KIND_UINT};
	desc.field[1] = (struct rs_field_desc){.offset = 8, .size = 8, .kind = RS_KIND_SINT};
	desc.field[2] = (struct rs_field_desc){.offset = 16, .size = 16, .kind = RS_KIND_STRING};
	if (sham->odd)
		desc.field[0] = (struct rs_field_desc){
			.size = 4, .kind = RS_KIND_ARRAY, .elem_size = 1, .elem_count = 4};
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"a", "b", "c"};
		const char *const types[] = {sham->odd ? "u8[4]" : "u32", "s64", "char[16]"};

		desc.field[i].name = add_string(&desc, &used, names[i]);
		desc.field[i].type = add_string(&desc, &used, types[i]);
	}
	memcpy(events + sham->event_bytes, &desc, sizeof(desc));
	sham->events++;
	sham->event_bytes += sizeof(desc);
}

/* The newest event's `k`th site. */
static void add_site(struct sham *sham, uint32_t k)
{
	uint32_t n = sham->events - 1, id = RS_FIRST_EVENT_ID + n;
	uint32_t at = SITES + sham->sites++ * (uint32_t)sizeof(struct rs_site);
	uint32_t code = TEXT + n * 64 + k * 8;
	uint32_t event = OBJECTS + n * 64;
	struct rs_site *site = (struct rs_site *)(void *)(sham->text + (at - TEXT));

	if (!k)
		memset(sham->text + n * 64, 0x90, 64);
	if (!sham->torn)
		memcpy(sham->text + (code - TEXT), NOP, RS_SITE_BYTES);
	memcpy(sham->text + (event - TEXT), &id, sizeof(id));
	*site = (struct rs_site){
		.code = (int32_t)(code - at),
		.target = (int32_t)(code + 32 - (at + offsetof(struct rs_site, target))),
		.event = (int32_t)(event - (at + offsetof(struct rs_site, event))),
		.size = RS_SITE_BYTES,
	};
}

void sham_get_ready(struct sham *sham)
{
	sham->not_ready = false;
	sham->target.events.ready(sham->target.events.data);
}

void sham_set_called(struct sham *sham, uint32_t event, uint32_t word)
{
	memcpy(sham->text + (OBJECTS - TEXT) + (event - RS_FIRST_EVENT_ID) * 64 +
		       RS_EVENT_CALLED_AT,
	       &word, sizeof(word));
}

bool sham_patched(struct sham *sham, uint32_t event)
{
	return memcmp(sham->text + (event - RS_FIRST_EVENT_ID) * 64, NOP, RS_SITE_BYTES) != 0;
}

static struct rs_provider *entry_of(struct sham *sham, uint32_t slot)
{
	return rs_trace_region_element(sham->region, RS_SEC_PROVIDERS, slot);
}

/* As the agent does it: odd while it is being written. */
static void end_write(struct sham *sham, struct rs_provider *entry)
{
	struct rs_guest_info *info = info_of(sham);

	rs_store_release(&entry->sequence, entry->sequence + 2);
	rs_store_release(&info->provider_changes, info->provider_changes + 1);
}

/* Begins a provider in the next slot. */
static struct rs_provider *begin_provider(struct sham *sham, const char *system)
{
	struct rs_provider *p = entry_of(sham, info_of(sham)->provider_slots);

	p->first_boot = p->last_boot = info_of(sham)->boot;
	p->generation = 1;
	p->site_stride = sizeof(struct rs_site);
	p->first_id = RS_FIRST_EVENT_ID + sham->events;
	p->desc_offset = sham->event_bytes;
	p->text_pool = sham->pool;
	p->text_pool_size = sham->pool_size;
	g_strlcpy(p->name, system, sizeof(p->name));
	return p;
}

static uint32_t end_provider(struct sham *sham, struct rs_provider *p)
{
	uint32_t slot = info_of(sham)->provider_slots;

	p->desc_size = sham->event_bytes - p->desc_offset;
	p->state = RS_PROVIDER_LIVE;
	rs_store_release(&info_of(sham)->provider_slots, slot + 1);
	end_write(sham, p);
	return slot;
}

uint32_t sham_provider(struct sham *sham, const char *system, const char *const *events)
{
	uint32_t slot = info_of(sham)->provider_slots;
	struct rs_provider *p = begin_provider(sham, system);

	p->sites = sham->text ? SITES + sham->sites * sizeof(struct rs_site) : 0;
	for (; *events; events++) {
		add_event(sham, slot, system, *events);
		for (uint32_t k = 0; sham->text && k <= sham->more_sites; k++, p->site_count++)
			add_site(sham, k);
		p->event_count++;
	}
	return end_provider(sham, p);
}

/* Code, 8 bytes for each site; the target of all jumps; the event's id; the list. */
uint32_t sham_bulk(struct sham *sham, const char *system, const char *event, uint32_t sites)
{
	uint32_t slot = info_of(sham)->provider_slots, id = RS_FIRST_EVENT_ID + sham->events;
	uint32_t target = BULK + 8 * sites, ids = target + 32, list = ids + 64;
	struct rs_provider *p = begin_provider(sham, system);

	sham->bulk_size = list - BULK + (size_t)sites * sizeof(struct rs_site);
	sham->bulk = g_malloc0(RS_ALIGN_UP(sham->bulk_size, RS_PAGE_SIZE));
	sham->bulk_size = RS_ALIGN_UP(sham->bulk_size, RS_PAGE_SIZE);
	memset(sham->bulk, 0x90, ids - BULK);
	memcpy(sham->bulk + (ids - BULK), &id, sizeof(id));
	for (uint32_t i = 0; i < sites; i++) {
		uint32_t at = list + i * (uint32_t)sizeof(struct rs_site), code = BULK + 8 * i;
		struct rs_site *site = (struct rs_site *)(void *)(sham->bulk + (at - BULK));

		memcpy(sham->bulk + 8 * i, NOP, RS_SITE_BYTES);
		*site = (struct rs_site){
			.code = (int32_t)(code - at),
			.target = (int32_t)(target - (at + offsetof(struct rs_site, target))),
			.event = (int32_t)(ids - (at + offsetof(struct rs_site, event))),
			.size = RS_SITE_BYTES,
		};
	}
	add_event(sham, slot, system, event);
	p->event_count = 1;
	p->sites = list;
	p->site_count = sham->bulk_sites = sites;
	return end_provider(sham, p);
}

uint32_t sham_bulk_patched(struct sham *sham)
{
	uint32_t patched = 0;

	for (uint32_t i = 0; i < sham->bulk_sites; i++)
		patched += memcmp(sham->bulk + 8 * (size_t)i, NOP, RS_SITE_BYTES) != 0;
	return patched;
}

void sham_provider_dies(struct sham *sham, uint32_t slot)
{
	struct rs_provider *p = entry_of(sham, slot);

	p->state = RS_PROVIDER_DEAD;
	p->until = 1000;
	end_write(sham, p);
}

void sham_provider_returns(struct sham *sham, uint32_t slot)
{
	struct rs_provider *p = entry_of(sham, slot);

	p->state = RS_PROVIDER_LIVE;
	p->until = 0;
	p->generation++;
	end_write(sham, p);
}

uint32_t sham_word(struct sham *sham, uint32_t event)
{
	uint32_t *words = rs_trace_region_section(sham->region, RS_SEC_EVENT_CTL, NULL);

	return rs_load_acquire(&words[event]);
}

uint32_t sham_native(struct sham *sham, uint32_t event)
{
	uint32_t *words = rs_trace_region_section(sham->region, RS_SEC_NATIVE, NULL);

	return rs_load_acquire(&words[event]);
}

uint8_t *sham_pool(struct sham *sham)
{
	return sham->text + (SHAM_POOL - TEXT);
}

uint32_t sham_generation(struct sham *sham)
{
	struct rs_control *control = rs_trace_region_section(sham->region, RS_SEC_CONTROL, NULL);

	return rs_load_acquire(&control->generation);
}

void sham_request(struct sham *sham, uint32_t ring, uint32_t number, uint64_t arg, const char *data)
{
	sham_request_args(sham, ring, number, (const uint64_t[3]){arg}, data);
}

void sham_request_args(struct sham *sham, uint32_t ring, uint32_t number, const uint64_t args[3],
		       const char *data)
{
	struct rs_hcall_request *r = rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);

	r += ring;
	r->number = number;
	memcpy(r->args, args, 3 * sizeof(*args));
	r->data_size = data ? (uint32_t)strlen(data) : 0;
	if (data)
		memcpy(r->data, data, r->data_size);
	rs_store_release(&r->sequence, r->sequence + 1);
}

const struct rs_hcall_response *sham_response(struct sham *sham, uint32_t ring)
{
	return (const struct rs_hcall_response *)rs_trace_region_section(sham->region,
									 RS_SEC_RESPONSE, NULL) +
	       ring;
}

static gboolean too_late(gpointer data)
{
	g_error("nothing came in five seconds");
	return G_SOURCE_REMOVE;
}

static GSource *start_patience(void)
{
	GSource *source = g_timeout_source_new(5000);

	g_source_set_callback(source, too_late, NULL, NULL);
	g_source_attach(source, g_main_context_get_thread_default());
	return source;
}

static void end_patience(GSource *source)
{
	g_source_destroy(source);
	g_source_unref(source);
}

void sham_wait(const bool *flag)
{
	GSource *patience = start_patience();

	while (!*flag)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	end_patience(patience);
}

void sham_wait_answer(struct sham *sham, uint32_t ring)
{
	struct rs_hcall_request *r = rs_trace_region_section(sham->region, RS_SEC_REQUEST, NULL);
	GSource *patience = start_patience();

	while (rs_load_acquire(&sham_response(sham, ring)->sequence) != r[ring].sequence)
		g_main_context_iteration(g_main_context_get_thread_default(), TRUE);
	end_patience(patience);
}
