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
	fake->paused = false;
	return fake->fail_resume ? rs_error_set(err, -fake->fail_resume, "told to fail") : 0;
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

static int fake_write(struct rs_target *target, rs_gva_t at, rs_gpa_t at_phys, const void *bytes,
		      size_t size, struct rs_error *err)
{
	struct fake_target *fake = fake_of(target);
	uint64_t to = fake->ops.read_phys ? at_phys.v : at.v - virtual_base;

	if (!fake->paused || !size || at.v % 8 + size > 8) {
		fake->bad_writes++;
		return rs_error_set(err, EINVAL, "a write that must not be");
	}
	if (fake->fail_write) {
		if (!fake->fail_write_after)
			return rs_error_set(err, -fake->fail_write, "told to fail");
		fake->fail_write_after--;
	}
	if (to > fake->size || size > fake->size - to)
		return rs_error_set(err, EFAULT, "no memory there");
	memcpy(fake->ram + to, bytes, size);
	fake->writes++;
	return 0;
}

void fake_target_init(struct fake_target *fake, uint8_t *ram, size_t size)
{
	memset(fake, 0, sizeof(*fake));
	fake->ops = (struct rs_target_ops){
		.kind = "fake",
		.pause = fake_pause,
		.resume = fake_resume,
		.read_phys = fake_read,
		.write_text = fake_write,
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
