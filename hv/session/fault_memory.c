/* SPDX-License-Identifier: MIT */
/* Faults in a guest's memory: bits that flip, and functions that do nothing but return. */
#include "session/faults_private.h"

#include "patch/insn.h"
#include "target/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_MAX 9u /* bytes that rs_insn_entry() skips */

/* ---- where it is ---- */

/* *room: bytes of the symbol from there on; 0: not known. */
static int find_symbol(const struct rs_source *source, const struct rs_fault_place *place,
		       rs_gva_t *at, uint64_t *room, struct rs_error *err)
{
	uint64_t start = 0, size = 0;
	int ret = rs_source_find_symbol(source, place->symbol, &start, &size, err);

	if (ret)
		return ret;
	if (size && place->at >= size)
		return rs_error_set(err, EINVAL, "'%s' has %" PRIu64 " bytes", place->symbol, size);
	at->v = start + place->at;
	*room = size ? size - place->at : 0;
	return 0;
}

static int find_place(const struct rs_source *source, const struct rs_fault_place *place,
		      rs_gva_t *at, uint64_t *room, struct rs_error *err)
{
	struct rs_error why = {0};
	int ret;

	*room = 0;
	if (!*place->symbol) {
		at->v = place->at;
		return 0;
	}
	ret = find_symbol(source, place, at, room, &why);
	if (ret && err)
		*err = why;
	return ret;
}

static int find_root(const struct rs_source *source, uint64_t *root, struct rs_error *err)
{
	const struct rs_guest_info *info = &source->info;

	return rs_target_root(source->target, info->arch, info->paging, info->page_table_root, root,
			      err);
}

/* Fills in where a patch lies. */
static int locate(const struct rs_source *source, uint64_t root, struct rs_text_patch *patch,
		  struct rs_error *err)
{
	const uint8_t first = rs_text_first_part(patch);
	int ret = rs_target_translate(source->target, root, patch->at, &patch->at_phys, err);

	if (ret || first == patch->size)
		return ret;
	return rs_target_translate(source->target, root, (rs_gva_t){patch->at.v + first},
				   &patch->next_phys, err);
}

/* ---- bits ---- */

/* Bytes of the word that change, up to the last one. */
static uint8_t bytes_of(uint64_t mask)
{
	uint8_t size = 0;

	for (; mask; mask >>= 8)
		size++;
	return size;
}

/* What is there is read in the same pause, so that nothing of it is lost. */
static int flip_paused(struct rs_target *target, struct rs_text_patch *patch, uint64_t mask,
		       struct rs_error *err)
{
	uint8_t now[1][RS_TEXT_MAX];
	int ret = rs_text_read(target, patch, 1, now, err);

	if (ret)
		return ret;
	memcpy(patch->old_bytes, now[0], patch->size);
	for (unsigned int i = 0; i < patch->size; i++)
		patch->new_bytes[i] = (uint8_t)(now[0][i] ^ mask >> 8 * i);
	return rs_text_write(target, patch, 1, err);
}

int rs_fault_flip(const struct rs_active_fault *active, struct rs_error *err)
{
	const struct rs_source *source = active->source;
	const struct rs_fault *fault = &active->what;
	struct rs_target *target = source->target;
	struct rs_text_patch patch = {.size = bytes_of(fault->mask)};
	uint64_t root, room;
	int ret, resumed;

	if (!target->ops->write_text)
		return rs_error_set(err, ENOTSUP, "the memory of '%s' cannot be written",
				    source->name);
	if (fault->place.physical && !target->ops->read_phys)
		return rs_error_set(err, ENOTSUP, "a process has no physical addresses");
	ret = find_place(source, &fault->place, &patch.at, &room, err);
	if (!ret && fault->place.physical) {
		patch.at_phys.v = patch.at.v;
		patch.next_phys.v = (patch.at.v | (RS_PAGE_SIZE - 1)) + 1;
	} else if (!ret) {
		ret = find_root(source, &root, err);
		ret = ret ? ret : locate(source, root, &patch, err);
	}
	if (!ret)
		ret = rs_target_pause(target, err);
	if (ret)
		return ret;
	ret = flip_paused(target, &patch, fault->mask, err);
	if (!ret)
		rs_fault_tell_begin(active);
	resumed = rs_target_resume(target, NULL, ret ? NULL : err);
	return ret ? ret : resumed;
}

/* ---- functions ---- */

/* What the function begins with, as far as it is to be replaced. */
static int read_entry(const struct rs_source *source, uint64_t root, rs_gva_t at, int64_t value,
		      struct rs_text_patch *patch, struct rs_error *err)
{
	uint8_t text[ENTRY_MAX + RS_INSN_RETURN_MAX], skip;
	struct rs_jump_target seen;
	int ret = rs_target_read_virt(source->target, root, at, text, sizeof(text), err);

	if (ret)
		return ret;
	skip = rs_insn_entry(text, sizeof(text));
	patch->at.v = at.v + skip;
	patch->size = rs_insn_return(value, patch->new_bytes);
	memcpy(patch->old_bytes, text + skip, patch->size);
	return rs_insn_check_target(patch->at, text + skip, RS_INSN_RETURN_MAX, &seen, err);
}

static int write_paused(struct rs_active_fault *active, const struct rs_text_patch *patch,
			uint64_t root, struct rs_error *err)
{
	struct rs_source *source = active->source;
	int ret = rs_target_pause(source->target, err), resumed;

	if (ret)
		return ret;
	ret = rs_patcher_poke(source->patcher, patch, root, &active->poke, err);
	if (!ret)
		rs_fault_tell_begin(active);
	resumed = rs_target_resume(source->target, NULL, ret ? NULL : err);
	if (!ret && resumed)
		rs_patcher_unpoke(source->patcher, active->poke, NULL);
	return ret ? ret : resumed;
}

int rs_fault_fail_function(struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	const struct rs_fault *fault = &active->what;
	struct rs_text_patch patch = {0};
	rs_gva_t at = {0};
	uint64_t root = 0, room;
	int ret;

	if (!source->target->ops->write_text)
		return rs_error_set(err, ENOTSUP, "the text of '%s' cannot be written",
				    source->name);
	ret = find_place(source, &fault->place, &at, &room, err);
	if (!ret)
		ret = find_root(source, &root, err);
	if (!ret)
		ret = read_entry(source, root, at, fault->value, &patch, err);
	if (ret)
		return ret;
	if (room && patch.at.v + patch.size > at.v + room)
		return rs_error_set(err, EINVAL,
				    "the function has %" PRIu64 " bytes, and %" PRIu64
				    " are needed",
				    room, patch.at.v + patch.size - at.v);
	ret = locate(source, root, &patch, err);
	return ret ? ret : write_paused(active, &patch, root, err);
}
