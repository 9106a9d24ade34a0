/* SPDX-License-Identifier: MIT */
/* Taking a region out of a piece of shared memory that holds several: see ringside/directory.h. */
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/directory.h>

/* A checked private copy of the head. */
static int read_head(const uint8_t *memory, uint64_t size, struct rs_directory *head)
{
	const struct rs_directory *shared = (const struct rs_directory *)memory;

	if (!memory || size < sizeof(*head))
		return RS_AGENT_NO_REGION;
	/* Acquire: pairs with the host's release of the magic. */
	if (rs_load_acquire(&shared->magic) != RS_DIRECTORY_MAGIC)
		return RS_AGENT_NO_REGION;
	__builtin_memcpy(head, shared, sizeof(*head));
	if (head->abi_major != RS_ABI_MAJOR)
		return RS_AGENT_BAD_ABI;
	if (head->size > size || head->entry_stride < sizeof(struct rs_directory_entry) ||
	    head->entry_stride % 8 || !head->entry_count || head->entry_count > RS_MAX_REGIONS ||
	    head->entries_offset % 8 || head->entries_offset > head->size ||
	    (uint64_t)head->entry_count * head->entry_stride > head->size - head->entries_offset ||
	    head->claims_offset % 8 || head->claims_offset > head->size ||
	    head->entry_count * sizeof(uint64_t) > head->size - head->claims_offset)
		return RS_AGENT_BAD_LAYOUT;
	return 0;
}

/* Swaps the claim word. False: it belongs to somebody else. */
static bool take(uint64_t *claim, uint32_t generation, uint32_t kind, uint32_t owner)
{
	uint64_t word = rs_load(claim), mine = rs_directory_claim_word(generation, owner);

	for (;;) {
		if (kind == RS_SOURCE_USER && word >> 32 == generation && word != mine)
			return false;
		if (rs_shared_cas64(claim, &word, mine))
			return true;
	}
}

int rs_directory_take(void *memory, uint64_t size, uint32_t kind, uint32_t owner, uint64_t *offset,
		      uint64_t *region_size)
{
	struct rs_directory head;
	int err = read_head(memory, size, &head);

	if (err)
		return err;
	for (uint32_t i = 0; i < head.entry_count; i++) {
		const struct rs_directory_entry *entry =
			(const void *)((uint8_t *)memory + head.entries_offset +
				       (uint64_t)i * head.entry_stride);
		uint64_t *claim = (uint64_t *)((uint8_t *)memory + head.claims_offset) + i;
		/* Acquire: pairs with the host's release once the region is laid out. */
		uint32_t generation = rs_load_acquire(&entry->generation);
		uint64_t at = rs_load(&entry->offset), bytes = rs_load(&entry->size);

		if (rs_load(&entry->kind) != kind || !generation)
			continue;
		if (at % RS_SECTION_ALIGN || at > head.size || bytes > head.size - at)
			return RS_AGENT_BAD_LAYOUT;
		if (!take(claim, generation, kind, owner))
			continue;
		*offset = at;
		*region_size = bytes;
		return 0;
	}
	return RS_AGENT_TAKEN;
}
