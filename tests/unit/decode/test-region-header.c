/* SPDX-License-Identifier: MIT */
/* What the header of a region may say: each limit, and one more or less. Nothing lies behind it. */
#include "rs-trace-region.h"

#include "sound-header.h"

#include <ringside/cmdline.h>
#include <string.h>

/* The code of the refusal, or TAKEN_CODE. */
static int taken(const struct rs_region_header *h, guint64 mapped)
{
	struct rs_region_header out;
	GError *error = NULL;
	int code = TAKEN_CODE;

	if (!rs_trace_region_take_header(h, mapped, &out, &error)) {
		g_assert_true(error->domain == RS_TRACE_ERROR);
		code = error->code;
		g_error_free(error);
		return code;
	}
	g_assert_null(error);
	g_assert_cmpmem(&out, sizeof(out), h, sizeof(*h));
	return code;
}

#define REFUSED(number, change) EXPECT(RS_TRACE_ERROR_BAD_REGION, number, change)
#define FITTED(is_good, change)                                                                    \
	EXPECT_FITTED((is_good) ? TAKEN_CODE : (int)RS_TRACE_ERROR_BAD_REGION, change)

static void test_fields(void)
{
	TAKEN(0, mapped = h.region_size);
	TAKEN(0, mapped++);
	REFUSED(0, mapped--);
	REFUSED(0, h.magic++);
	REFUSED(0, h.magic = 0);
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, 0, h.abi_major++);
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, 0, h.abi_major--);
	TAKEN(0, h.abi_minor = 9);
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, 0, h.features = 1);
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, 0, h.features = 1u << 31);
	TAKEN(0, h.features = 1ull << 32);
	REFUSED(0, h.header_size--);
	REFUSED(0, h.header_size++);
	REFUSED(0, h.guest_offset -= 8);
	TAKEN(0, h.guest_offset -= ALIGN);
	REFUSED(0, h.guest_offset = h.region_size + ALIGN);
	/* A wrong version is told even where nothing else fits. */
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, 0, (h.abi_major++, h.header_size = 0));
}

/* Of each ring: how many, how many pages, how large. */
static void set_rings(struct rs_region_header *h, guint rings, guint pages, guint page_size)
{
	h->ring_count = rings;
	h->ring_pages = pages;
	h->ring_page_size = page_size;
	h->section[RS_SEC_RING_CTL].count = h->section[RS_SEC_RING_STATE].count = rings;
	h->section[RS_SEC_RINGS].count = rings * pages;
	h->section[RS_SEC_RINGS].stride = page_size;
}

/* Two rings of 4 pages, with two more places each that have room for so many; `pages` in all. */
static void set_room(struct rs_region_header *h, guint room, guint pages)
{
	set_rings(h, 2, 4, 4096);
	h->ring_room = room;
	h->section[RS_SEC_RINGS].count = pages;
}

static void test_room(void)
{
	FITTED(TRUE, set_room(&h, 0, 2 * 4));
	FITTED(TRUE, set_room(&h, 4, 2 * (4 + 2 * 4)));
	FITTED(TRUE, set_room(&h, 8, 2 * (4 + 2 * 8)));
	FITTED(FALSE, set_room(&h, 8, 2 * (4 + 2 * 8) - 1));
	FITTED(FALSE, set_room(&h, 2, 2 * 4));
	FITTED(FALSE, set_room(&h, 6, 2 * (4 + 2 * 6)));
	FITTED(TRUE, set_room(&h, 65536, 2 * (4 + 2 * 65536)));
	FITTED(FALSE, set_room(&h, 131072, 2 * (4 + 2 * 131072)));
	FITTED(FALSE, set_room(&h, G_MAXUINT32, 2 * 2 * 8));
	FITTED(FALSE, set_room(&h, 1u << 31, 2 * 2 * 8));
}

static void test_geometry(void)
{
	static const struct {
		guint rings, pages, page_size;
		gboolean good;
	} cases[] = {{1, 4, 4096, TRUE},       {0, 4, 4096, FALSE},      {1024, 4, 4096, TRUE},
		     {1025, 4, 4096, FALSE},   {2, 2, 4096, FALSE},      {2, 5, 4096, FALSE},
		     {2, 6, 4096, FALSE},      {2, 0, 4096, FALSE},      {2, 65536, 4096, TRUE},
		     {2, 65537, 4096, FALSE},  {2, 131072, 4096, FALSE}, {2, 4, 2048, FALSE},
		     {2, 4, 0, FALSE},         {2, 4, 4104, FALSE},      {2, 4, 12288, FALSE},
		     {2, 4, 65536, TRUE},      {2, 4, 131072, FALSE},    {1024, 65536, 65536, TRUE},
		     {1024, 32768, 8192, TRUE}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		FITTED(cases[i].good,
		       set_rings(&h, cases[i].rings, cases[i].pages, cases[i].page_size));
	TAKEN(0, h.ring_count = 1);
	REFUSED(0, h.ring_count = 0);
	TAKEN(0, h.ring_mode = RS_MODE_DROP);
	REFUSED(0, h.ring_mode = RS_MODE_DROP + 1);
	TAKEN(0, h.event_capacity = 0);
	FITTED(TRUE, h.event_capacity = h.section[RS_SEC_EVENT_CTL].count = RS_MAX_EVENTS);
	REFUSED(0, h.event_capacity = RS_MAX_EVENTS + 1);
}

/* Where its elements lie, how many, and how far apart. */
static void test_elements(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		guint number = SECTIONS[i].number, least = SECTIONS[i].least;
		/* Sections whose count another must have too are below. */
		gboolean alone = number != RS_SEC_REQUEST && number != RS_SEC_RESPONSE;

		TAKEN(number, s->size += GAP);
		REFUSED(number, s->size--);
		REFUSED(number, s->count++);
		REFUSED(number, s->stride = 0);
		REFUSED(number, (s->stride = least - 1, s->size += GAP));
		REFUSED(number, (s->stride = least + 1, s->size += GAP));
		REFUSED(number, s->stride = G_MAXUINT32 - 63);
		if (least >= RS_STRIDE_ALIGN && number != RS_SEC_RINGS)
			FITTED(TRUE, h.section[number].stride += RS_CMDLINE_STRIDE_ALIGN);
		if (least >= RS_STRIDE_ALIGN)
			REFUSED(number, s->stride = least - 8);
		if (alone && number != RS_SEC_RINGS)
			FITTED(TRUE, h.section[number].count = SECTIONS[i].most);
		if (SECTIONS[i].most < G_MAXUINT32)
			FITTED(FALSE, h.section[number].count = SECTIONS[i].most + 1);
	}
}

/* Each section may end where the next begins, at its side's end, and not one byte later. */
static void test_places(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		guint number = SECTIONS[i].number;
		gboolean guest = number >= RS_SEC_FIRST_GUEST;
		gboolean last = i + 1 == G_N_ELEMENTS(SECTIONS);
		const struct rs_region_header sound = sound_header();
		guint64 next = sound.region_size;

		if (!last)
			next = SECTIONS[i + 1].number == RS_SEC_GUEST_INFO
				       ? sound.guest_offset
				       : sound.section[SECTIONS[i + 1].number].offset;
		TAKEN(number, s->size = next - s->offset);
		REFUSED(number, s->size = next - s->offset + 1);
		REFUSED(number, s->size = h.region_size + 1);
		REFUSED(number, s->size = G_MAXUINT64);
		REFUSED(number, s->offset += RS_STRIDE_ALIGN);
		REFUSED(number, s->offset = -ALIGN);
		REFUSED(number, s->offset = h.region_size);
		if (number == RS_SEC_HEADER) {
			REFUSED(number, s->offset = ALIGN);
			continue;
		}
		TAKEN(number, s->offset += ALIGN);
		REFUSED(number, s->offset = 0);
		REFUSED(number, s->offset = guest ? h.guest_offset - ALIGN : h.guest_offset);
	}
	/* Without gaps, and in another order. */
	EXPECT(TAKEN_CODE, 0, lay_out(&h, 0));
	EXPECT(TAKEN_CODE, RS_SEC_CONTROL, {
		s->offset = h.section[RS_SEC_CLOCK].offset;
		h.section[RS_SEC_CLOCK].offset = h.section[RS_SEC_HEADER].offset + ALIGN;
	});
}

static void check_before(guint number, guint64 at)
{
	TAKEN(number, (s->size = RS_ALIGN_UP(s->size, ALIGN), s->offset = at - s->size));
	REFUSED(number, (s->size = RS_ALIGN_UP(s->size, ALIGN), s->offset = at - s->size++));
}

/* No two share a byte, whichever of them lies first, and however much of it. */
static void test_overlaps(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		for (guint k = 1; k < G_N_ELEMENTS(SECTIONS); k++) {
			guint64 at = sound_header().section[SECTIONS[i].number].offset;

			if (i != k)
				REFUSED(SECTIONS[k].number, s->offset = at);
		}
	}
	for_each_before(check_before);
	/* The bytes of one that is absent are no one's. */
	EXPECT(TAKEN_CODE, RS_SEC_CLOCK,
	       { *s = (struct rs_section){.offset = h.section[RS_SEC_CONTROL].offset}; });
}

static void test_absent(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		guint number = SECTIONS[i].number;

		if (number == RS_SEC_REQUEST || number == RS_SEC_RESPONSE)
			continue;
		EXPECT(SECTIONS[i].optional ? TAKEN_CODE : (int)RS_TRACE_ERROR_BAD_REGION, number,
		       memset(s, 0, sizeof(*s)));
	}
	REFUSED(RS_SEC_REQUEST, memset(s, 0, sizeof(*s)));
	REFUSED(RS_SEC_RESPONSE, memset(s, 0, sizeof(*s)));
	EXPECT(TAKEN_CODE, RS_SEC_REQUEST, {
		memset(s, 0, sizeof(*s));
		memset(&h.section[RS_SEC_RESPONSE], 0, sizeof(*s));
	});
}

/* What one section says of another, and of the header. */
static void test_counts(void)
{
	REFUSED(RS_SEC_CONTROL, s->count = 0);
	REFUSED(RS_SEC_GUEST_INFO, s->count = 0);
	TAKEN(RS_SEC_PROVIDERS, s->count = 0);
	REFUSED(RS_SEC_EVENT_CTL, s->count = CAPACITY - 1);
	TAKEN(RS_SEC_EVENT_CTL, h.event_capacity = CAPACITY - 1);
	REFUSED(RS_SEC_RING_CTL, s->count = 1);
	REFUSED(RS_SEC_RING_STATE, s->count = 1);
	REFUSED(RS_SEC_RINGS, (s->count--, s->size -= s->stride));
	REFUSED(RS_SEC_RINGS, (s->count--, s->size--));
	TAKEN(RS_SEC_RINGS, s->count = 0);
	REFUSED(RS_SEC_RINGS, (s->stride = 2 * RS_RING_PAGE_MIN, s->count /= 2));
	REFUSED(RS_SEC_REQUEST, s->count--);
	REFUSED(RS_SEC_RESPONSE, s->count--);
	FITTED(TRUE, h.section[RS_SEC_REQUEST].count = h.section[RS_SEC_RESPONSE].count = 65536);
	FITTED(FALSE, h.section[RS_SEC_REQUEST].count = h.section[RS_SEC_RESPONSE].count = 65537);
	TAKEN(RS_SEC_CMDLINE, s->count = 0);
	TAKEN(RS_SEC_CMDLINE, s->count = 1);
	REFUSED(RS_SEC_CMDLINE, s->count = 3);
	REFUSED(RS_SEC_CMDLINE, (s->stride += RS_STRIDE_ALIGN, s->size += GAP));
	TAKEN(RS_SEC_CMDLINE, (s->stride += RS_STRIDE_ALIGN, s->size += GAP, s->count = 0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/region-header/fields", test_fields);
	g_test_add_func("/decode/region-header/room", test_room);
	g_test_add_func("/decode/region-header/geometry", test_geometry);
	g_test_add_func("/decode/region-header/elements", test_elements);
	g_test_add_func("/decode/region-header/places", test_places);
	g_test_add_func("/decode/region-header/overlaps", test_overlaps);
	g_test_add_func("/decode/region-header/absent", test_absent);
	g_test_add_func("/decode/region-header/counts", test_counts);
	return g_test_run();
}
