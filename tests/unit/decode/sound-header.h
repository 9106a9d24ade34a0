/* SPDX-License-Identifier: MIT */
/*
 * A region's header that is as small as it may be, for the tests of those who check one. Each test
 * changes one thing of it. Nothing lies behind the header, however large the region is to be.
 */
#ifndef RS_TESTS_SOUND_HEADER_H
#define RS_TESTS_SOUND_HEADER_H

#include <glib.h>
#include <ringside/cmdline.h>
#include <ringside/control.h>
#include <ringside/hypercall.h>
#include <ringside/record.h>
#include <ringside/region.h>
#include <ringside/ring.h>

#define ALIGN ((guint64)RS_REGION_ALIGN)
#define GAP (16 * ALIGN) /* between two sections */
#define CAPACITY (RS_FIRST_EVENT_ID + 1)

/* The sections that 1.0 knows, in the order in which they lie here. */
static const struct {
	guint number;
	gboolean optional;
	guint32 least; /* stride */
	guint32 most;  /* elements */
	guint32 count; /* in sound_header() */
} SECTIONS[] = {
	{RS_SEC_HEADER, FALSE, 128, 1, 1},
	{RS_SEC_CONTROL, FALSE, 128, 1, 1},
	{RS_SEC_EVENT_CTL, FALSE, 4, 65536, CAPACITY},
	{RS_SEC_FILTERS, TRUE, 1, G_MAXUINT32, 100},
	{RS_SEC_RING_CTL, FALSE, RS_RING_CTL_MIN_SIZE, 1024, 2},
	{RS_SEC_RESPONSE, TRUE, 4096, 65536, 2},
	{RS_SEC_CLOCK, TRUE, 64, 65536, 4},
	{RS_SEC_GUEST_INFO, FALSE, 464, 1, 1},
	{RS_SEC_PROVIDERS, FALSE, RS_PROVIDER_MIN_SIZE, 65536, 4},
	{RS_SEC_EVENTS, FALSE, 1, G_MAXUINT32, 4096},
	{RS_SEC_CMDLINE, TRUE, 512, 1u << 20, 4},
	{RS_SEC_REQUEST, TRUE, 4096, 65536, 2},
	{RS_SEC_RING_STATE, FALSE, RS_RING_STATE_MIN_SIZE, 1024, 2},
	{RS_SEC_RINGS, FALSE, 4096, 3 * 1024u * 65536, 2 * RS_RING_PAGES_MIN},
};

/* Gives each section the bytes of its elements. The next one follows it after `gap`. */
static inline void lay_out(struct rs_region_header *h, guint64 gap)
{
	guint64 at = 0;

	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++) {
		struct rs_section *s = &h->section[SECTIONS[i].number];

		if (SECTIONS[i].number == RS_SEC_GUEST_INFO)
			h->guest_offset = at;
		s->size = (guint64)s->count * s->stride;
		s->offset = s->size ? at : 0;
		at += s->size ? RS_ALIGN_UP(s->size, ALIGN) + gap : 0;
	}
	h->region_size = at;
}

static inline struct rs_region_header sound_header(void)
{
	struct rs_region_header h = {
		.magic = RS_REGION_MAGIC,
		.abi_major = RS_ABI_MAJOR,
		.header_size = RS_REGION_HEADER_MIN_SIZE,
		.ring_count = 2,
		.ring_pages = RS_RING_PAGES_MIN,
		.ring_page_size = RS_RING_PAGE_MIN,
		.event_capacity = CAPACITY,
		.section_count = RS_SEC_COUNT,
		.section_stride = sizeof(struct rs_section),
		.section_offset = offsetof(struct rs_region_header, section),
	};

	for (guint i = 0; i < G_N_ELEMENTS(SECTIONS); i++)
		h.section[SECTIONS[i].number] = (struct rs_section){.stride = SECTIONS[i].least,
								    .count = SECTIONS[i].count};
	lay_out(&h, GAP);
	return h;
}

/* Each section, with the place of each other that its side has and that it does not follow. */
static inline void for_each_before(void (*check)(guint number, guint64 at))
{
	const struct rs_region_header sound = sound_header();

	for (guint i = 1; i < G_N_ELEMENTS(SECTIONS); i++) {
		guint64 at = sound.section[SECTIONS[i].number].offset;
		gboolean guest = SECTIONS[i].number >= RS_SEC_FIRST_GUEST;

		for (guint k = i + 1; at != sound.guest_offset && k < G_N_ELEMENTS(SECTIONS); k++)
			if ((SECTIONS[k].number >= RS_SEC_FIRST_GUEST) == guest)
				check(SECTIONS[k].number, at);
	}
}

#define TAKEN_CODE (-1)

/*
 * What the test's taken(header, bytes mapped) returns after `change`, which may use h, mapped, and
 * `s`, the entry of section `number`.
 */
#define EXPECT(want, number, change)                                                               \
	do {                                                                                       \
		struct rs_region_header h = sound_header();                                        \
		struct rs_section *s = &h.section[number];                                         \
		guint64 mapped = h.region_size;                                                    \
                                                                                                   \
		g_test_message("section %u: %s", (guint)(number), #change);                        \
		change;                                                                            \
		g_assert_cmpint(taken(&h, mapped), ==, want);                                      \
		(void)s;                                                                           \
	} while (0)
/* The same, where the sections have as many bytes as their elements then need. */
#define EXPECT_FITTED(want, change)                                                                \
	EXPECT(want, 0, {                                                                          \
		change;                                                                            \
		lay_out(&h, GAP);                                                                  \
		mapped = h.region_size;                                                            \
	})
#define TAKEN(number, change) EXPECT(TAKEN_CODE, number, change)

#endif
