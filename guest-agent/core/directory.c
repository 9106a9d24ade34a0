/* SPDX-License-Identifier: MIT */
/* Takes a region of a piece of shared memory that holds several: see ringside/directory.h. */
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/directory.h>

/* How often a swap is tried that others disturb. */
#define TRIES 64

/*
 * Takes a private copy of the head and checks it. Each look reads it anew, so whatever it says by
 * then leads only into the `size` bytes that are mapped.
 */
static int read_head(const void *memory, uint64_t size, struct rs_directory *head)
{
	const struct rs_directory *shared = memory;
	uint64_t limit;
	bool fields;

	if (!memory || size < RS_DIRECTORY_MIN_SIZE)
		return -RS_ENODEV;
	/* Acquire: pairs with the host's release of the magic. */
	if (rs_load_acquire(&shared->magic) != RS_DIRECTORY_MAGIC)
		return -RS_ENODEV;
	fields = rs_directory_take_head(head, memory, size);
	if (head->abi_major != RS_ABI_MAJOR)
		return -RS_EPROTO;
	limit = head->size < size ? head->size : size;
	if (!fields || !rs_stride_fits(head->entry_stride, RS_DIRECTORY_ENTRY_MIN_SIZE) ||
	    !head->entry_count || head->entries_offset % RS_STRIDE_ALIGN ||
	    head->entries_offset > limit ||
	    (uint64_t)head->entry_count * head->entry_stride > limit - head->entries_offset ||
	    head->claims_offset % 8 || head->claims_offset > limit ||
	    ((uint64_t)head->entry_count + 1) * sizeof(uint64_t) > limit - head->claims_offset)
		return -RS_EBADMSG;
	return 0;
}

/* What one look at an entry finds. */
struct view {
	const struct rs_directory_entry *entry;
	uint64_t *claim;
	uint64_t word;
	uint32_t generation;
};

static int view_entry(const void *memory, uint64_t size, uint32_t index, struct view *view,
		      struct rs_place *place)
{
	struct rs_directory head;
	int err = read_head(memory, size, &head);

	if (err)
		return err;
	if (index >= head.entry_count)
		return -RS_EADDRINUSE;
	view->entry = (const void *)((const uint8_t *)memory + head.entries_offset +
				     (uint64_t)index * head.entry_stride);
	view->claim = (uint64_t *)((uint8_t *)memory + head.claims_offset) + index;
	/*
	 * The claim word is read before the generation. The generation grows only after the word
	 * has changed. So if a swap of this word succeeds, the region still has the generation that
	 * is read here.
	 */
	view->word = rs_load_acquire(view->claim);
	/* Acquire: pairs with the host's release once the region is laid out. */
	view->generation = rs_load_acquire(&view->entry->generation);
	place->index = index;
	place->kind = view->generation ? rs_load(&view->entry->kind) : RS_SOURCE_NONE;
	place->free = rs_directory_claim_generation(view->word) != view->generation &&
		      place->kind != RS_SOURCE_GIVEN;
	place->owner = place->free ? RS_CLAIM_LEFT : rs_directory_claim_owner(view->word);
	place->offset = rs_load(&view->entry->offset);
	place->size = rs_load(&view->entry->size);
	if (place->offset % RS_REGION_ALIGN || place->offset > head.size ||
	    place->size > head.size - place->offset)
		return -RS_EBADMSG;
	return 0;
}

int rs_directory_look(const void *memory, uint64_t size, uint32_t index, struct rs_place *place)
{
	struct view view;

	return view_entry(memory, size, index, &view, place);
}

int rs_directory_claim(void *memory, uint64_t size, uint32_t index, uint32_t owner)
{
	struct rs_place place;
	struct view view;
	uint64_t mine;
	int err;

	for (int i = 0; i < TRIES; i++) {
		err = view_entry(memory, size, index, &view, &place);
		if (err)
			return err;
		mine = rs_directory_claim_word(view.generation, owner);
		if (place.kind == RS_SOURCE_NONE ||
		    (place.kind == RS_SOURCE_GIVEN && view.word != mine) ||
		    (place.kind == RS_SOURCE_USER && !place.free))
			return -RS_EADDRINUSE;
		if (rs_shared_cas64(view.claim, &view.word, mine))
			return 0;
	}
	return -RS_EADDRINUSE;
}

void rs_directory_turn_away(void *memory, uint64_t size)
{
	struct rs_directory head;

	if (read_head(memory, size, &head) == 0)
		rs_shared_add64((uint64_t *)(void *)((char *)memory + head.claims_offset) +
					head.entry_count,
				1);
}

int rs_directory_take(void *memory, uint64_t size, uint32_t kind, uint32_t owner,
		      struct rs_place *place)
{
	struct rs_place at;
	int err;

	/* A look past the last entry returns -RS_EADDRINUSE. */
	for (uint32_t i = 0; !(err = rs_directory_look(memory, size, i, &at)); i++) {
		if (at.offset > size || at.size > size - at.offset)
			return -RS_EBADMSG;
		if (at.kind != kind || rs_directory_claim(memory, size, i, owner))
			continue;
		*place = at;
		return 0;
	}
	return err;
}

int rs_directory_leave(void *memory, uint64_t size, uint32_t index, uint32_t owner)
{
	struct rs_place place;
	struct view view;
	uint64_t gone;
	int err = view_entry(memory, size, index, &view, &place);

	if (err)
		return err;
	gone = rs_directory_claim_word(view.generation, RS_CLAIM_LEFT);
	for (int i = 0; i < TRIES && view.word == rs_directory_claim_word(view.generation, owner);
	     i++) {
		/* Release: all that the owner did with the region comes before the swap. */
		if (rs_shared_cas64(view.claim, &view.word, gone))
			return 0;
	}
	return -RS_EADDRINUSE;
}
