/* SPDX-License-Identifier: MIT */
/* Loads a site list, its text and events from arbitrary memory and switches the sites on. The only
 * writes are a JMP over the NOP, and the NOP over the JMP. */
#include "../unit/target/fake_target.h"
#include "patch/patcher.h"
#include "seed.h"

#include <ringside/record.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x100000u

#define RAM (3u * 4096u)
#define EVENTS 32u

static void want_all(struct rs_patcher *patcher, int delta)
{
	for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + EVENTS; id++)
		rs_patcher_want(patcher, (uint16_t)id, delta);
	rs_patcher_commit(patcher, NULL, NULL);
}

/* A site does not cross an 8-byte boundary, so it lies in one block. */
#define BLOCK 64u

static void check_block(const uint8_t *before, const uint8_t *now)
{
	static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	for (size_t i = 0; i < BLOCK;) {
		if (now[i] == before[i]) {
			i++;
			continue;
		}
		if (i + 5 > BLOCK || !((now[i] == 0xe9 && !memcmp(before + i, nop, 5)) ||
				       (before[i] == 0xe9 && !memcmp(now + i, nop, 5))))
			abort();
		i += 5;
	}
}

static void check(const uint8_t *before, const uint8_t *ram)
{
	for (size_t at = 0; at < RAM; at += BLOCK)
		if (memcmp(before + at, ram + at, BLOCK))
			check_block(before + at, ram + at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t strides[8] = {16, 16, 16, 16, 20, 8, 18, 1u << 20};
	static struct rs_patcher *patcher;
	static struct fake_target fake;
	static uint8_t *ram, *before;
	struct rs_site_list list = {.provider = 1, .stride = sizeof(struct rs_site)};

	if (size < 4 || size - 4 > RAM)
		return 0;
	if (!patcher) {
		ram = malloc(RAM);
		before = malloc(RAM);
		fake_target_init(&fake, ram, RAM);
		fake_target_virtual(&fake, BASE);
		if (rs_patcher_create(&fake.base, RS_PATCH_HOST, NULL, NULL, &patcher, NULL))
			abort();
	}
	memset(ram, 0, RAM);
	memcpy(ram, data + 4, size - 4);
	memcpy(before, ram, RAM);
	list.stride = strides[data[3] >> 5];
	list.at.v =
		(data[1] & 0x80 ? UINT64_MAX - RAM / 2 : BASE) + (data[0] | (data[1] & 31u) << 8);
	list.count = data[2] | (uint32_t)(data[3] & 3) << 8;
	if (data[3] & 8)
		list.count <<= 16; /* more than anybody may have */
	rs_patcher_add_provider(patcher, &list, NULL, NULL);
	if (data[3] & 16) {
		/* Nearly the same text once more. */
		list.provider = 2;
		list.at.v += data[3] & 4 ? list.stride : 0;
		rs_patcher_add_provider(patcher, &list, NULL, NULL);
	}
	want_all(patcher, 1);
	check(before, ram);
	want_all(patcher, -1);
	check(before, ram);
	if (fake.bad_writes)
		abort();
	rs_patcher_forget(patcher);
	return 0;
}

/* Its entries lie at 0, its events' ids at 0x300, and its text from 0x380 on. */
struct __attribute__((packed)) memory {
	uint8_t at[2], count[2];
	uint8_t ram[0x800];
};

static void put_site(struct memory *memory, uint32_t i, uint32_t id, uint32_t code)
{
	struct rs_site site = {
		.code = (int32_t)(code - i * 16),
		.target = (int32_t)(code + 32 - (i * 16 + 4)),
		.event = (int32_t)(0x300 + i * 4 - (i * 16 + 8)),
		.size = RS_SITE_BYTES,
	};

	memcpy(memory->ram + i * 16, &site, sizeof(site));
	memcpy(memory->ram + 0x300 + i * 4, &id, sizeof(id));
	memcpy(memory->ram + code, "\x0f\x1f\x44\x00\x00", 5);
	memset(memory->ram + code + 32, 0x90, 8);
	memory->count[0]++;
}

/* Another place for the site's JMP to lead to. */
static void aim(struct memory *memory, uint32_t i, uint32_t target)
{
	int32_t relative = (int32_t)(target - (i * 16 + offsetof(struct rs_site, target)));

	memcpy(memory->ram + i * 16 + offsetof(struct rs_site, target), &relative,
	       sizeof(relative));
}

static void rs_fuzz_seeds(void)
{
	struct memory memory = {0};

	put_site(&memory, 0, RS_FIRST_EVENT_ID, 0x400);
	put_site(&memory, 1, RS_FIRST_EVENT_ID + 1, 0x440);
	rs_fuzz_seed("two", &memory, sizeof(memory));
	memory.count[1] = 16;
	rs_fuzz_seed("twice", &memory, sizeof(memory));
	memory.count[1] = 16 | 4;
	rs_fuzz_seed("again", &memory, sizeof(memory));
	memory.count[1] = 8;
	rs_fuzz_seed("too-many", &memory, sizeof(memory));
	for (uint8_t stride = 5; stride < 8; stride++) {
		memory.count[1] = (uint8_t)(stride << 5);
		rs_fuzz_seed(stride == 5   ? "short"
			     : stride == 6 ? "odd-stride"
					   : "long",
			     &memory, sizeof(memory));
	}
	memory.count[1] = 3; /* they reach beyond the end of all memory */
	memory.at[1] = 0x80 | 31;
	rs_fuzz_seed("end", &memory, sizeof(memory));
	memory.count[1] = memory.at[1] = 0;
	put_site(&memory, 2, RS_FIRST_EVENT_ID, 0x480);
	memcpy(memory.ram + 0x480, "\xe9\x1b\x00\x00\x00", 5); /* it is on already */
	put_site(&memory, 3, RS_FIRST_EVENT_ID + 2, 0x440);    /* listed twice */
	put_site(&memory, 4, RS_FIRST_EVENT_ID, 0x4c5);        /* crosses a boundary */
	put_site(&memory, 5, 0, 0x500);
	put_site(&memory, 6, 1, 0x540);
	put_site(&memory, 7, RS_FIRST_EVENT_ID, 0x580);
	memory.ram[0x5a0] = 0x06; /* its target holds no instruction */
	put_site(&memory, 8, RS_FIRST_EVENT_ID, 0x5c0);
	aim(&memory, 8, RAM - 4); /* at the end of the memory */
	put_site(&memory, 9, RS_FIRST_EVENT_ID, 0x600);
	aim(&memory, 9, RAM); /* behind it */
	rs_fuzz_seed("odd", &memory, sizeof(memory));
	/* Its entry lies behind its text, so its target can be too far away. */
	memset(&memory, 0, sizeof(memory));
	put_site(&memory, 0x60, RS_FIRST_EVENT_ID, 0x380);
	aim(&memory, 0x60, 0x600u + 4 + INT32_MAX);
	memory.at[0] = 0;
	memory.at[1] = 0x600 >> 8;
	rs_fuzz_seed("far", &memory, sizeof(memory));
}
