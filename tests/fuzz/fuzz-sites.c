/* SPDX-License-Identifier: MIT */
/* Loads a site list, its text and events from arbitrary memory and switches the sites on. The only
 * writes are a JMP over the NOP, and the NOP over the JMP. */
#include "../unit/target/fake_target.h"
#include "patch/patcher.h"

#include <ringside/record.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	struct rs_site_list list = {.provider = 1, .stride = sizeof(struct rs_site)};
	struct rs_patcher *patcher = NULL;
	struct fake_target fake;
	size_t ram_size = 3 * 4096;
	uint8_t *ram, *before;

	if (size < 4 || size - 4 > ram_size)
		return 0;
	ram = calloc(1, ram_size);
	before = malloc(ram_size);
	memcpy(ram, data + 4, size - 4);
	memcpy(before, ram, ram_size);
	list.at.v = BASE + (data[0] | (data[1] & 31u) << 8);
	list.count = data[2] | (uint32_t)(data[3] & 3) << 8;
	fake_target_init(&fake, ram, ram_size);
	fake_target_virtual(&fake, BASE);
	if (rs_patcher_create(&fake.base, RS_PATCH_HOST, NULL, NULL, &patcher, NULL))
		abort();
	rs_patcher_add_provider(patcher, &list, NULL, NULL);
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + 32; id++)
		rs_patcher_want(patcher, (uint16_t)id, 1);
	rs_patcher_commit(patcher, NULL, NULL);
	if (fake.bad_writes)
		abort();
	for (size_t i = 0; i < ram_size;) {
		if (ram[i] == before[i]) {
			i++;
			continue;
		}
		if (i + 5 > ram_size || !((ram[i] == 0xe9 && !memcmp(before + i, nop, 5)) ||
					  (before[i] == 0xe9 && !memcmp(ram + i, nop, 5))))
			abort();
		i += 5;
	}
	rs_patcher_destroy(patcher);
	free(ram);
	free(before);
	return 0;
}
