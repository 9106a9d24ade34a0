/* SPDX-License-Identifier: MIT */
/* Page tables in arbitrary memory: a walk ends, and reads only inside the memory. */
#include "../unit/target/fake_target.h"
#include "target/memory.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct {
		uint64_t root, at;
		uint16_t want;
	} in;
	struct rs_page_reader *reader;
	struct fake_target fake;
	uint8_t out[8192], again[8192];
	rs_gpa_t gpa;
	uint64_t root;
	size_t want;
	int ret, ret2;
	uint8_t *ram;

	if (size < 18)
		return 0;
	memcpy(&in.root, data, 8);
	memcpy(&in.at, data + 8, 8);
	memcpy(&in.want, data + 16, 2);
	want = in.want % sizeof(out);
	size -= 18;
	ram = malloc(size ? size : 1); /* the exact size, so that ASan guards the end */
	memcpy(ram, data + 18, size);
	fake_target_init(&fake, ram, size);
	if (in.want & 0x8000)
		fake_target_virtual(&fake, in.at & ~4095ull);
	if (rs_target_root(&fake.base, in.want >> 13 & 1 ? RS_ARCH_X86_64 : 7, in.want >> 12 & 3,
			   in.root, &root, NULL) == 0)
		in.root = root;
	ret = rs_target_read_virt(&fake.base, in.root, (rs_gva_t){in.at}, out, want, NULL);
	/* At most 5 table reads and one of memory for each piece of at least one page. */
	if (fake.reads > 6 * (want / 4096 + 2))
		abort();
	rs_target_translate(&fake.base, in.root, (rs_gva_t){in.at}, &gpa, NULL);
	reader = rs_page_reader_create(&fake.base, in.root);
	ret2 = rs_page_reader_read(reader, (rs_gva_t){in.at}, again, want, NULL, NULL);
	/* The page reader reads whole pages, so only it may fail at the end of memory. */
	if (!ret2 && (ret || memcmp(out, again, want)))
		abort();
	rs_page_reader_set_root(reader, ~in.root);
	rs_page_reader_read(reader, (rs_gva_t){in.at}, again, want, NULL, NULL);
	rs_page_reader_destroy(reader);
	free(ram);
	return 0;
}
