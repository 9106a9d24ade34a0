/* SPDX-License-Identifier: MIT */
#include "guest.h"

#include <glib.h>
#include <string.h>

static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

uint64_t guest_site(uint32_t site)
{
	return TEXT + site * 64ull + 8;
}

uint64_t guest_jump(uint32_t site)
{
	return TEXT + site * 64ull + 32;
}

uint8_t *guest_text(struct guest *guest, uint32_t site)
{
	return guest->ram + TEXT_GPA + site * 64ull + 8;
}

struct rs_site *guest_entry(struct guest *guest, uint32_t site)
{
	return (struct rs_site *)(guest->ram + DATA_GPA) + site;
}

void guest_init(struct guest *guest, uint32_t sites, uint32_t events)
{
	memset(guest, 0, sizeof(*guest));
	guest->ram = g_malloc0(RAM);
	guest->sites = sites;
	fake_target_init(&guest->fake, guest->ram, RAM);
	guest->fake.next_table = 0x2000;
	for (uint64_t at = 0; at < 0x100000; at += 4096) {
		fake_target_map(&guest->fake, ROOT, TEXT + at, TEXT_GPA + at, 1);
		fake_target_map(&guest->fake, ROOT, DATA + at, DATA_GPA + at, 1);
	}
	memset(guest->ram + TEXT_GPA, 0x90, sites * 64ull);
	guest->writable = g_malloc0(RAM);
	guest->fake.writable = guest->writable;
	for (uint32_t i = 0; i < sites; i++) {
		uint64_t entry = DATA + i * sizeof(struct rs_site);
		uint32_t id = FIRST + i % events;

		memcpy(guest_text(guest, i), nop, sizeof(nop));
		memset(guest->writable + (guest_text(guest, i) - guest->ram), 1, sizeof(nop));
		guest_entry(guest, i)->code = (int32_t)(guest_site(i) - entry);
		guest_entry(guest, i)->target = (int32_t)(guest_jump(i) - (entry + 4));
		guest_entry(guest, i)->size = RS_SITE_BYTES;
		guest_entry(guest, i)->event = (int32_t)(EVENTS + (i % events) * 16 - (entry + 8));
		memcpy(guest->ram + DATA_GPA + (EVENTS - DATA) + (i % events) * 16, &id,
		       sizeof(id));
	}
	guest->list = (struct rs_site_list){
		.provider = 1,
		.count = sites,
		.stride = sizeof(struct rs_site),
		.at = {DATA},
		.root = ROOT,
	};
}

void guest_deinit(struct guest *guest)
{
	g_assert_cmpuint(guest->fake.bad_writes, ==, 0);
	g_assert_false(guest->fake.paused);
	g_free(guest->ram);
	g_free(guest->writable);
}

bool guest_is_nop(struct guest *guest, uint32_t site)
{
	return !memcmp(guest_text(guest, site), nop, sizeof(nop));
}

bool guest_is_jmp(struct guest *guest, uint32_t site)
{
	uint8_t *text = guest_text(guest, site);
	int32_t rel;

	memcpy(&rel, text + 1, sizeof(rel));
	return text[0] == 0xe9 && guest_site(site) + 5 + (uint64_t)(int64_t)rel == guest_jump(site);
}

uint32_t guest_count_on(struct guest *guest)
{
	uint32_t on = 0;

	for (uint32_t i = 0; i < guest->sites; i++)
		on += guest_is_jmp(guest, i);
	return on;
}

void guest_move_text(struct guest *guest, uint64_t from, uint64_t to)
{
	memcpy(guest->ram + to, guest->ram + from, RS_PAGE_SIZE);
	memcpy(guest->writable + to, guest->writable + from, RS_PAGE_SIZE);
	fake_target_map(&guest->fake, ROOT, TEXT, to, 1);
}
