/* SPDX-License-Identifier: MIT */
/* Reading and writing text of any target, see text.h. */
#include "target/text.h"

#include "target/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int rs_text_check(const struct rs_target *target, const struct rs_text_patch *patch,
		  struct rs_error *err)
{
	if (!patch->size || patch->size > RS_TEXT_MAX)
		return rs_error_set(err, EINVAL, "a patch of %u bytes at 0x%" PRIx64, patch->size,
				    patch->at.v);
	if (patch->at.v + (patch->size - 1u) < patch->at.v)
		return rs_error_set(err, EINVAL, "a patch at 0x%" PRIx64 " wraps around",
				    patch->at.v);
	if (!target->ops->read_phys)
		return 0;
	if (patch->at_phys.v % RS_PAGE_SIZE != patch->at.v % RS_PAGE_SIZE)
		return rs_error_set(err, EINVAL,
				    "a patch at 0x%" PRIx64 " does not lie at 0x%" PRIx64,
				    patch->at.v, patch->at_phys.v);
	if (rs_text_first_part(patch) < patch->size &&
	    (!patch->next_phys.v || patch->next_phys.v % RS_PAGE_SIZE))
		return rs_error_set(err, EINVAL,
				    "a patch at 0x%" PRIx64
				    " goes on in a page whose place is not known",
				    patch->at.v);
	return 0;
}

struct rs_text_patch rs_text_reversed(const struct rs_text_patch *patch)
{
	struct rs_text_patch back = *patch;

	memcpy(back.old_bytes, patch->new_bytes, sizeof(back.old_bytes));
	memcpy(back.new_bytes, patch->old_bytes, sizeof(back.new_bytes));
	return back;
}

int rs_text_check_all(const struct rs_target *target, const struct rs_text_patch *patches,
		      size_t count, struct rs_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = rs_text_check(target, &patches[i], err);
	return ret;
}

static int read_one(struct rs_target *target, const struct rs_text_patch *patch, uint8_t *out,
		    struct rs_error *err)
{
	struct rs_text_piece pieces[2];
	unsigned int count = rs_text_pieces(patch, pieces);
	int ret = 0;

	if (!target->ops->read_phys)
		return target->ops->read_virt(target, patch->at, out, patch->size, err);
	for (unsigned int i = 0; i < count && !ret; i++)
		ret = target->ops->read_phys(target, pieces[i].at, out + pieces[i].offset,
					     pieces[i].size, err);
	return ret;
}

int rs_text_read_checked(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	int ret = 0;

	if (target->ops->read_text)
		return target->ops->read_text(target, patches, count, now, err);
	for (size_t i = 0; i < count && !ret; i++)
		ret = read_one(target, &patches[i], now[i], err);
	return ret;
}

int rs_text_read(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		 uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	int ret = rs_text_check_all(target, patches, count, err);

	return ret ? ret : rs_text_read_checked(target, patches, count, now, err);
}

int rs_text_write_checked(struct rs_target *target, const struct rs_text_patch *patches,
			  size_t count, bool *bad, struct rs_error *err)
{
	return target->ops->write_text(target, patches, count, bad, err);
}

bool rs_text_writes_live(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, int failed)
{
	return target->ops->writes_live && target->ops->writes_live(target, patches, count, failed);
}

int rs_text_write_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		       bool *bad, struct rs_error *err)
{
	return target->ops->write_live(target, patches, count, bad, err);
}

int rs_text_write(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		  struct rs_error *err)
{
	int ret = rs_text_check_all(target, patches, count, err);
	bool *bad;

	if (ret)
		return ret;
	bad = calloc(count ? count : 1, sizeof(*bad));
	if (!bad)
		abort(); /* out of memory, as GLib does */
	ret = rs_text_write_checked(target, patches, count, bad, err);
	for (size_t i = 0; i < count && !ret; i++)
		if (bad[i])
			ret = rs_error_set(err, EFAULT, "text at 0x%" PRIx64 " cannot be written",
					   patches[i].at.v);
	free(bad);
	return ret;
}
