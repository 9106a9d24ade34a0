/* SPDX-License-Identifier: MIT */
#include "fake_target.h"

#include <errno.h>
#include <string.h>

static struct fake_target *fake_of(struct rs_target *target)
{
	return (struct fake_target *)target;
}

static int fake_pause(struct rs_target *target, struct rs_error *err)
{
	struct fake_target *fake = fake_of(target);

	if (fake->fail_pause)
		return rs_error_set(err, -fake->fail_pause, "told to fail");
	fake->pauses++;
	fake->paused = true;
	if (fake->on_pause)
		fake->on_pause(fake);
	return 0;
}

static int fake_resume(struct rs_target *target, struct rs_error *err)
{
	struct fake_target *fake = fake_of(target);

	fake->resumes++;
	if (fake->fail_resume)
		return rs_error_set(err, -fake->fail_resume, "told to fail");
	fake->paused = false;
	return 0;
}

static int fake_read(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
		     struct rs_error *err)
{
	struct fake_target *fake = fake_of(target);

	fake->reads++;
	if (at.v > fake->size || size > fake->size - at.v)
		return rs_error_set(err, EFAULT, "no memory there");
	memcpy(out, fake->ram + at.v, size);
	return 0;
}

static uint64_t virtual_base;

static int fake_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			  struct rs_error *err)
{
	return fake_read(target, (rs_gpa_t){at.v - virtual_base}, out, size, err);
}

static int refuse_write(struct fake_target *fake, struct rs_error *err)
{
	fake->bad_writes++;
	return rs_error_set(err, EINVAL, "a write that must not be");
}

static bool fails_now(struct fake_target *fake)
{
	if (!fake->fail_write)
		return false;
	if (fake->fail_write_after) {
		fake->fail_write_after--;
		return false;
	}
	return !fake->fail_write_count || fake->fail_writes_done++ < fake->fail_write_count;
}

/* One piece of a patch. */
static int write_piece(struct fake_target *fake, const struct rs_text_patch *patch,
		       struct rs_text_piece piece, struct rs_error *err)
{
	uint64_t to = piece.at.v;
	const uint8_t *bytes = patch->new_bytes + piece.offset;

	if (to > fake->size || piece.size > fake->size - to)
		return rs_error_set(err, EFAULT, "no memory there");
	for (unsigned int i = 0; i < piece.size; i++)
		if ((fake->writable && !fake->writable[to + i]) ||
		    (!fake->fail_write && fake->ram[to + i] != patch->old_bytes[piece.offset + i]))
			return refuse_write(fake, err);
	if (fails_now(fake)) {
		size_t part = fake->fail_write_bytes;

		memcpy(fake->ram + to, bytes, part < piece.size ? part : piece.size);
		return rs_error_set(err, -fake->fail_write, "told to fail");
	}
	memcpy(fake->ram + to, bytes, piece.size);
	return 0;
}

static int fake_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			   size_t count, bool *bad, struct rs_error *err)
{
	struct fake_target *fake = fake_of(target);
	struct rs_text_piece pieces[2];
	int ret = 0;

	if (!fake->paused)
		return refuse_write(fake, err);
	for (size_t i = 0; i < count && !ret; i++) {
		unsigned int n = rs_text_pieces(&patches[i], pieces);

		if (!fake->ops.read_phys) {
			pieces[0] = (struct rs_text_piece){
				{patches[i].at.v - virtual_base}, 0, patches[i].size};
			n = 1;
		}
		for (unsigned int k = 0; k < n && !ret; k++)
			ret = write_piece(fake, &patches[i], pieces[k], err);
		fake->writes += !ret;
		bad[i] = ret == -EFAULT;
		ret = bad[i] ? 0 : ret;
	}
	return ret;
}

void fake_target_init(struct fake_target *fake, uint8_t *ram, size_t size)
{
	memset(fake, 0, sizeof(*fake));
	fake->ops = (struct rs_target_ops){
		.kind = "fake",
		.pause = fake_pause,
		.resume = fake_resume,
		.read_phys = fake_read,
		.write_text = fake_write_text,
	};
	fake->base.ops = &fake->ops;
	fake->base.vcpus = 1;
	fake->ram = ram;
	fake->size = size;
}

void fake_target_virtual(struct fake_target *fake, uint64_t base)
{
	fake->ops.read_phys = NULL;
	fake->ops.read_virt = fake_read_virt;
	virtual_base = base;
}

void fake_target_map(struct fake_target *fake, uint64_t root, uint64_t gva, uint64_t gpa,
		     unsigned int level)
{
	uint64_t table = root;

	for (unsigned int at = 4;; at--) {
		uint64_t slot = table + ((gva >> (12 + 9 * (at - 1))) & 511) * 8, entry;

		memcpy(&entry, fake->ram + slot, sizeof(entry));
		if (at == level) {
			entry = gpa | 3 | (level > 1 ? 0x80 : 0);
			memcpy(fake->ram + slot, &entry, sizeof(entry));
			return;
		}
		if (!(entry & 1)) {
			entry = fake->next_table | 3;
			memset(fake->ram + fake->next_table, 0, 4096);
			memcpy(fake->ram + slot, &entry, sizeof(entry));
			fake->next_table += 4096;
		}
		table = entry & 0x000ffffffffff000ull;
	}
}
