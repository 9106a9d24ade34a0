/* SPDX-License-Identifier: MIT */
/* Which regions the agent takes: each limit of the header, and one more or less. */
#include "core.h"
#include "sound-header.h"

/* The error, or TAKEN_CODE. */
static int taken(const struct rs_region_header *h, guint64 mapped)
{
	struct rs_region_header out;
	int err = rs_region_take(&out, h, mapped);

	if (err)
		return err;
	g_assert_cmpmem(&out, sizeof(out), h, sizeof(*h));
	return TAKEN_CODE;
}

#define BAD(number, change) EXPECT(-RS_EBADMSG, number, change)
#define NO_ROOM(number, change) EXPECT(-RS_ENOSPC, number, change)

/* The agent has no use for these, so it does not look at them. */
static gboolean is_unused(guint number)
{
	return number == RS_SEC_HEADER || number == RS_SEC_CLOCK;
}

static void test_fields(void)
{
	TAKEN(0, mapped = h.region_size);
	TAKEN(0, mapped++);
	BAD(0, mapped--);
	EXPECT(-RS_ENODEV, 0, mapped = 0);
	EXPECT(-RS_ENODEV, 0, mapped = RS_REGION_HEADER_MIN_SIZE - 1);
	BAD(0, mapped = RS_REGION_HEADER_MIN_SIZE);
	EXPECT(-RS_ENODEV, 0, h.magic++);
	EXPECT(-RS_EPROTO, 0, h.abi_major++);
	EXPECT(-RS_EPROTO, 0, h.abi_major--);
	TAKEN(0, h.abi_minor = 9);
	EXPECT(-RS_EPROTO, 0, h.features = 1);
	TAKEN(0, h.features = 1ull << 32);
	BAD(0, h.header_size--);
	BAD(0, h.header_size++);
	BAD(0, h.guest_offset -= 8);
	TAKEN(0, h.guest_offset -= ALIGN);
	g_assert_cmpint(taken(NULL, 1 << 20), ==, -RS_ENODEV);
}

static void test_rings(void)
{
	static const struct {
		guint pages, page_size;
		gboolean good;
	} cases[] = {{4, 4096, TRUE},  {2, 4096, FALSE},    {5, 4096, FALSE},
		     {0, 4096, FALSE}, {65536, 4096, TRUE}, {131072, 4096, FALSE},
		     {4, 2048, FALSE}, {4, 0, FALSE},       {4, 12288, FALSE},
		     {4, 65536, TRUE}, {4, 131072, FALSE},  {65536, 65536, TRUE}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		EXPECT_FITTED(cases[i].good ? TAKEN_CODE : -RS_EBADMSG, {
			h.ring_pages = cases[i].pages;
			h.section[RS_SEC_RINGS].count = 2 * MAX(h.ring_pages, 1);
			h.ring_page_size = h.section[RS_SEC_RINGS].stride = cases[i].page_size;
			h.section[RS_SEC_RINGS].count += !h.ring_page_size;
		});
	TAKEN(0, h.ring_count = 1);
	BAD(0, h.ring_count = 0);
	TAKEN(0, h.ring_mode = RS_MODE_DROP);
	BAD(0, h.ring_mode = RS_MODE_DROP + 1);
	BAD(RS_SEC_RINGS, (s->stride = 2 * RS_RING_PAGE_MIN, s->count /= 2));
	/* It is for the host to say how many rings and ids there are. */
	EXPECT_FITTED(TAKEN_CODE, {
		h.ring_count = h.section[RS_SEC_RING_CTL].count = 2 * RS_MAX_CPUS;
		h.section[RS_SEC_RING_STATE].count = h.ring_count;
		h.section[RS_SEC_RINGS].count = h.ring_count * h.ring_pages;
	});
	EXPECT_FITTED(TAKEN_CODE,
		      h.event_capacity = h.section[RS_SEC_EVENT_CTL].count = 2 * RS_MAX_EVENTS);
	NO_ROOM(0, h.event_capacity = RS_FIRST_EVENT_ID);
}

/* Each section within its side, with room for its elements. */
static void test_sections(void)
{
	const struct rs_region_header sound = sound_header();

	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		guint number = SECTIONS[i].number, least = SECTIONS[i].least;
		guint64 end = number < RS_SEC_FIRST_GUEST ? sound.guest_offset : sound.region_size;
		gboolean guest = number >= RS_SEC_FIRST_GUEST;

		if (is_unused(number)) {
			TAKEN(number, memset(s, 0xff, sizeof(*s)));
			continue;
		}
		EXPECT(SECTIONS[i].optional ? TAKEN_CODE : -RS_ENOSPC, number,
		       memset(s, 0, sizeof(*s)));
		BAD(number, s->size--);
		BAD(number, s->count++);
		BAD(number, (s->stride = least - 1, s->size += GAP));
		BAD(number, (s->stride = least + 1, s->size += GAP));
		BAD(number, s->offset += RS_STRIDE_ALIGN);
		TAKEN(number, s->offset += ALIGN);
		BAD(number, s->offset = 0);
		BAD(number, s->offset = -ALIGN);
		BAD(number, s->size = sound.region_size + 1);
		BAD(number, s->size = G_MAXUINT64);
		/* Behind all others of its side, up to the end and no further. */
		TAKEN(number,
		      (s->offset = end - RS_ALIGN_UP(s->size, ALIGN), s->size = end - s->offset));
		BAD(number, (s->offset = end - ALIGN, s->size = ALIGN + 1));
		BAD(number, s->offset = guest ? sound.guest_offset - ALIGN : sound.guest_offset);
	}
}

/* Right before `at`, which comes earlier in the list, and a byte too long. */
static void check_before(guint number, guint64 at)
{
	if (is_unused(number))
		return;
	TAKEN(number, (s->size = RS_ALIGN_UP(s->size, ALIGN), s->offset = at - s->size));
	BAD(number, (s->size = RS_ALIGN_UP(s->size, ALIGN), s->offset = at - s->size++));
}

/* Those that the agent uses share no byte, whichever lies first. */
static void test_overlaps(void)
{
	const struct rs_region_header sound = sound_header();
	const struct rs_section *before = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		const struct rs_section *at = &sound.section[SECTIONS[i].number];

		if (is_unused(SECTIONS[i].number))
			continue;
		for (guint k = 0; k < G_N_ELEMENTS(SECTIONS); k++)
			if (i != k && !is_unused(SECTIONS[k].number))
				BAD(SECTIONS[k].number, s->offset = at->offset);
		if (before && SECTIONS[i].number != RS_SEC_GUEST_INFO) {
			guint number = (guint)(before - sound.section);

			TAKEN(number, s->size = at->offset - s->offset);
			BAD(number, s->size = at->offset - s->offset + 1);
		}
		before = at;
	}
	for_each_before(check_before);
	EXPECT(TAKEN_CODE, 0, lay_out(&h, 0));
	/* The bytes of one that is absent are no one's. */
	TAKEN(RS_SEC_FILTERS, (s->offset = h.section[RS_SEC_CONTROL].offset, s->size = 0));
}

static void test_counts(void)
{
	NO_ROOM(RS_SEC_CONTROL, s->count = 0);
	NO_ROOM(RS_SEC_GUEST_INFO, s->count = 0);
	NO_ROOM(RS_SEC_EVENT_CTL, s->count--);
	NO_ROOM(RS_SEC_RING_CTL, s->count--);
	NO_ROOM(RS_SEC_RING_STATE, s->count--);
	NO_ROOM(RS_SEC_RINGS, (s->count--, s->size--));
	TAKEN(RS_SEC_CMDLINE, s->count = 0);
	TAKEN(RS_SEC_CMDLINE, s->count = 1);
	BAD(RS_SEC_CMDLINE, s->count = 3);
	BAD(RS_SEC_CMDLINE, (s->stride += RS_STRIDE_ALIGN, s->size += GAP));
	TAKEN(RS_SEC_CMDLINE, (s->stride += RS_CMDLINE_STRIDE_ALIGN, s->size += GAP));
	/* Requests need slots, each of which needs an answer's. */
	TAKEN(RS_SEC_REQUEST, s->count = 0);
	TAKEN(RS_SEC_REQUEST, h.hcall_channel = RS_CHANNEL_PORT);
	TAKEN(RS_SEC_REQUEST, (h.hcall_channel = RS_CHANNEL_PORT, s->count = 1));
	NO_ROOM(RS_SEC_REQUEST, (h.hcall_channel = RS_CHANNEL_PORT, s->count = 0));
	NO_ROOM(RS_SEC_RESPONSE, (h.hcall_channel = RS_CHANNEL_PORT, s->count--));
	TAKEN(RS_SEC_RESPONSE, s->count--);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/region/fields", test_fields);
	g_test_add_func("/agent/region/rings", test_rings);
	g_test_add_func("/agent/region/sections", test_sections);
	g_test_add_func("/agent/region/overlaps", test_overlaps);
	g_test_add_func("/agent/region/counts", test_counts);
	return g_test_run();
}
