/* SPDX-License-Identifier: MIT */
/*
 * A hostile program: it fills its rings with 16-byte records of an event that takes as much text as
 * an event can. Run by flood.py, which looks at what that costs the host.
 */
#include <ringside/descriptor.h>
#include <ringside/directory.h>
#include <ringside/record.h>
#include <ringside/region.h>
#include <ringside/ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELDS 32
#define SYMBOLS 64

static struct {
	struct rs_event_desc event;
	struct rs_field_desc field[FIELDS];
	struct rs_symbol symbol[FIELDS][SYMBOLS];
	char strings[1024];
} desc;
static size_t used;

static uint32_t add_string(const char *text)
{
	uint32_t at = (uint32_t)(offsetof(__typeof__(desc), strings) + used);

	memcpy(desc.strings + used, text, strlen(text) + 1);
	used += strlen(text) + 1;
	return at;
}

static void describe(void)
{
	uint32_t type, label;
	char text[RS_SYMBOL_LEN - 1];

	desc.event = (struct rs_event_desc){.size = sizeof(desc),
					    .id = RS_FIRST_EVENT_ID,
					    .field_count = FIELDS,
					    .header_size = sizeof(struct rs_event_desc),
					    .field_stride = sizeof(struct rs_field_desc),
					    .symbol_stride = sizeof(struct rs_symbol),
					    .entry_size = 8};
	desc.event.system = add_string("flood");
	desc.event.name = add_string("word");
	type = add_string("u64");
	memset(text, 'A', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	label = add_string(text);
	for (int i = 0; i < FIELDS; i++) {
		snprintf(text, sizeof(text), "f%d", i);
		desc.field[i] = (struct rs_field_desc){
			.name = add_string(text),
			.type = type,
			.size = 8,
			.kind = RS_KIND_FLAGS,
			.symbol_count = SYMBOLS,
			.symbols = (uint32_t)offsetof(__typeof__(desc), symbol[i])};
		for (int j = 0; j < SYMBOLS; j++)
			desc.symbol[i][j] = (struct rs_symbol){.value = 1ull << j, .name = label};
	}
}

static void fill_ring(uint8_t *map, const struct rs_region_header *h, uint32_t ring)
{
	const uint64_t record[2] = {RS_FIRST_EVENT_ID | sizeof(record) << 16, UINT64_MAX};
	uint64_t per_page = (h->ring_page_size - RS_RING_PAGE_HEADER) / sizeof(record);
	uint8_t *page = map + h->section[RS_SEC_RINGS].offset +
			(uint64_t)ring * h->ring_pages * h->ring_page_size;
	struct rs_ring_state *state =
		(struct rs_ring_state *)(map + h->section[RS_SEC_RING_STATE].offset) + ring;

	for (uint32_t i = 0; i < h->ring_pages; i++, page += h->ring_page_size) {
		struct rs_ring_page *head = (struct rs_ring_page *)page;

		for (uint64_t n = 0; n < per_page; n++)
			memcpy(page + RS_RING_PAGE_HEADER + n * sizeof(record), record,
			       sizeof(record));
		head->seq = i;
		head->boot = 1;
		head->header_size = RS_RING_PAGE_HEADER;
		head->records = i * per_page;
		head->committed = h->ring_page_size;
	}
	state->pages = h->ring_pages;
	state->records = h->ring_pages * per_page;
	state->word = state->records << RS_WORD_RECORDS_SHIFT |
		      (uint64_t)(h->ring_pages - 1) << RS_WORD_PAGE_SHIFT |
		      h->ring_page_size / RS_RING_UNIT;
}

int main(void)
{
	const char *number = getenv("RINGSIDE_REGION_FD");
	const struct rs_region_header *h;
	struct rs_guest_info *info;
	struct rs_provider *provider;
	struct stat st;
	uint8_t *map;

	if (!number || fstat(atoi(number), &st))
		return 1;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(number), 0);
	if (map == MAP_FAILED)
		return 1;
	/* The first region is the one that waits for us. */
	map += ((const struct rs_directory_entry *)(map + ((const struct rs_directory *)map)
								  ->entries_offset))
		       ->offset;
	h = (const struct rs_region_header *)map;
	describe();
	memcpy(map + h->section[RS_SEC_EVENTS].offset, &desc, sizeof(desc));
	info = (struct rs_guest_info *)(map + h->section[RS_SEC_GUEST_INFO].offset);
	info->abi_major = RS_ABI_MAJOR;
	info->session_id = h->session_id;
	info->boot = 1;
	info->flags = RS_GUEST_SELF_PATCH;
	info->provider_slots = 1;
	info->provider_changes = 1;
	provider = (struct rs_provider *)(map + h->section[RS_SEC_PROVIDERS].offset);
	*provider = (struct rs_provider){
		.sequence = 2,
		.state = RS_PROVIDER_LIVE,
		.first_boot = 1,
		.last_boot = 1,
		.site_stride = sizeof(struct rs_site),
		.event_count = 1,
		.first_id = RS_FIRST_EVENT_ID,
		.desc_size = sizeof(desc),
		.generation = 1,
		.name = "flood",
	};
	__atomic_store_n(&info->magic, RS_GUEST_MAGIC, __ATOMIC_RELEASE);
	for (uint32_t ring = 0; ring < h->ring_count; ring++)
		fill_ring(map, h, ring);
	sleep(1);
	return 0;
}
