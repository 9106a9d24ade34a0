/* SPDX-License-Identifier: MIT */
#include "guest.h"
#include "patch/sites.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static struct guest guest;
static GArray *sites, *refused;
static uint64_t refused_count;

static int load(uint32_t budget, struct rs_error *err)
{
	g_array_set_size(sites, 0);
	g_array_set_size(refused, 0);
	refused_count = 0;
	return rs_sites_load(&guest.fake.base, &guest.list, budget, sites, refused, &refused_count,
			     err);
}

static void test_good(void)
{
	struct rs_patch_site *site;

	guest_init(&guest, 600, 7);
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 600);
	g_assert_cmpuint(refused_count, ==, 0);
	site = &g_array_index(sites, struct rs_patch_site, 599);
	g_assert_cmphex(site->at.v, ==, guest_site(599));
	g_assert_cmphex(site->at_phys.v, ==, TEXT_GPA + 599 * 64 + 8);
	g_assert_cmphex(site->target.v, ==, guest_jump(599));
	g_assert_cmpuint(site->event, ==, FIRST + 599 % 7);
	g_assert_false(site->on);
	guest_deinit(&guest);
}

static const char *why(size_t i)
{
	return g_array_index(refused, struct rs_site_refusal, i).why;
}

static void test_bad_sites(void)
{
	guest_init(&guest, 10, 10);
	guest_text(&guest, 0)[2] = 0x40;                          /* another NOP */
	guest_entry(&guest, 1)->code = INT32_MIN;                 /* nowhere */
	guest_entry(&guest, 2)->code += 4;                        /* crosses a word */
	guest_entry(&guest, 3)->target = INT32_MIN;               /* nowhere */
	guest_entry(&guest, 4)->event = INT32_MIN;                /* nowhere */
	memset(guest.ram + TEXT_GPA + 5 * 64 + 32, 0x06, 4);      /* not an instruction */
	memset(guest.ram + DATA_GPA + 0x80000 + 6 * 16, 0, 4);    /* event not registered */
	memset(guest.ram + DATA_GPA + 0x80000 + 7 * 16, 0xff, 4); /* impossible id */
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 2); /* 8 and 9 */
	g_assert_cmpuint(refused_count, ==, 7);
	g_assert_cmpuint(refused->len, ==, 7);
	/* First what the list itself says, then what the text does. */
	g_assert_nonnull(strstr(why(0), "crosses"));
	g_assert_nonnull(strstr(why(1), "event cannot be read"));
	g_assert_nonnull(strstr(why(2), "impossible id"));
	g_assert_nonnull(strstr(why(3), "0f 1f 40 00 00"));
	g_assert_nonnull(strstr(why(4), "cannot be read"));
	g_assert_nonnull(strstr(why(5), "not mapped"));
	g_assert_nonnull(strstr(why(6), "no instruction"));
	g_assert_cmphex(g_array_index(refused, struct rs_site_refusal, 3).at.v, ==, guest_site(0));
	guest_deinit(&guest);
}

/* Entry i says what entry 0 does. */
static void repeat(struct guest *of, uint32_t i)
{
	const struct rs_site *from = guest_entry(of, 0);
	struct rs_site *to = guest_entry(of, i);
	int32_t by = (int32_t)(i * sizeof(*to));

	*to = *from;
	to->code -= by;
	to->target -= by;
	to->event -= by;
}

/* Text has one site, however often it is listed. */
static void test_repeated(void)
{
	guint reads;

	guest_init(&guest, 600, 7);
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	reads = guest.fake.reads;
	for (uint32_t i = 2; i < 600; i++)
		repeat(&guest, i);
	guest.fake.reads = 0;
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 2);
	g_assert_cmphex(g_array_index(sites, struct rs_patch_site, 0).at.v, ==, guest_site(0));
	g_assert_cmphex(g_array_index(sites, struct rs_patch_site, 1).at.v, ==, guest_site(1));
	g_assert_cmpuint(refused_count, ==, 1);
	g_assert_cmpuint(refused->len, ==, 1);
	g_assert_cmpstr(why(0), ==, "is listed 599 times");
	g_assert_cmphex(g_array_index(refused, struct rs_site_refusal, 0).at.v, ==, guest_site(0));
	/* Its text was read only once. */
	g_assert_cmpuint(guest.fake.reads, <, reads / 2);
	/* Another provider, which lists the same. */
	guest.list.provider++;
	guest.list.count = 2;
	g_assert_cmpint(rs_sites_load(&guest.fake.base, &guest.list, RS_MAX_SITES, sites, refused,
				      &refused_count, NULL),
			==, 0);
	g_assert_cmpuint(sites->len, ==, 2);
	g_assert_cmpuint(refused_count, ==, 3);
	g_assert_cmpstr(why(2), ==, "is listed 2 times");
	/* Elsewhere the same address is other text. */
	guest.list.root = guest.list.root + 1;
	g_assert_cmpint(rs_sites_load(&guest.fake.base, &guest.list, RS_MAX_SITES, sites, refused,
				      &refused_count, NULL),
			==, 0);
	g_assert_cmpuint(sites->len, ==, 4);
	guest_deinit(&guest);
}

static void test_bad_lists(void)
{
	guest_init(&guest, 10, 1);
	g_assert_cmpint(load(9, NULL), ==, -E2BIG);
	guest.list.stride = 12;
	g_assert_cmpint(load(100, NULL), ==, -EINVAL);
	guest.list.stride = 1 << 20;
	g_assert_cmpint(load(100, NULL), ==, -EINVAL);
	guest.list.stride = sizeof(struct rs_site);
	guest.list.at.v = UINT64_MAX - 20;
	g_assert_cmpint(load(100, NULL), ==, -EINVAL);
	guest.list.at.v = DATA + 0x100000 - 16; /* runs out of the mapping */
	g_assert_cmpint(load(100, NULL), ==, -EFAULT);
	g_assert_cmpuint(sites->len, ==, 0);
	guest.list.at.v = DATA;
	guest.list.count = UINT32_MAX;
	g_assert_cmpint(load(UINT32_MAX, NULL), ==, -E2BIG);
	guest_deinit(&guest);
}

/* Entries of a later version are longer. The known part is at their start. */
static void test_stride(void)
{
	uint8_t *list;

	guest_init(&guest, 300, 3);
	list = guest.ram + DATA_GPA;
	for (uint32_t i = 300; i-- > 0;) {
		struct rs_site entry = *guest_entry(&guest, i);

		entry.code -= (int32_t)(i * 8);
		entry.target -= (int32_t)(i * 8);
		entry.event -= (int32_t)(i * 8);
		memcpy(list + i * 24, &entry, sizeof(entry));
	}
	guest.list.stride = 24;
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 300);
	g_assert_cmpuint(refused_count, ==, 0);
	g_assert_cmphex(g_array_index(sites, struct rs_patch_site, 299).at.v, ==, guest_site(299));
	/* A site of another length is refused by name. */
	((struct rs_site *)list)->size = 8;
	g_assert_cmpint(load(RS_MAX_SITES, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 299);
	g_assert_cmpuint(refused_count, ==, 1);
	guest_deinit(&guest);
}

static void test_hosted(void)
{
	guest_init(&guest, 5, 1);
	/* No physical addresses: text and data at one offset from memory. */
	fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	guest.list.at.v = TEXT - TEXT_GPA + DATA_GPA;
	for (uint32_t i = 0; i < 5; i++) {
		guest_entry(&guest, i)->code += (int32_t)(DATA - guest.list.at.v);
		guest_entry(&guest, i)->target += (int32_t)(DATA - guest.list.at.v);
	}
	g_assert_cmpint(load(100, NULL), ==, 0);
	g_assert_cmpuint(sites->len, ==, 5);
	g_assert_cmphex(g_array_index(sites, struct rs_patch_site, 0).at_phys.v, ==, 0);
	guest_deinit(&guest);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	sites = g_array_new(FALSE, FALSE, sizeof(struct rs_patch_site));
	refused = g_array_new(FALSE, FALSE, sizeof(struct rs_site_refusal));
	g_test_add_func("/patch/sites/good", test_good);
	g_test_add_func("/patch/sites/bad-sites", test_bad_sites);
	g_test_add_func("/patch/sites/repeated", test_repeated);
	g_test_add_func("/patch/sites/bad-lists", test_bad_lists);
	g_test_add_func("/patch/sites/stride", test_stride);
	g_test_add_func("/patch/sites/hosted", test_hosted);
	return g_test_run();
}
