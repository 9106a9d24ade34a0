/* SPDX-License-Identifier: MIT */
#include "region/regions.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <rs-trace-region.h>
#include <string.h>
#include <unistd.h>

static struct rs_region_config small_config(void)
{
	return (struct rs_region_config){.vcpus = 2, .ring_bytes = 64 << 10};
}

/* Whether a region that begins so is accepted; its header as it is taken goes to `out`. */
static gboolean check(RsTraceRegion *region, const struct rs_region_header *h,
		      struct rs_region_header *out, GError **error)
{
	memcpy(region->map, h, sizeof(*h));
	return rs_trace_region_take_header(region->map, region->size, out, error);
}

/* With any 8-byte word of the header changed, it is refused, or every later access is safe. */
static void test_hostile_headers(void)
{
	static const uint64_t words[] = {0,
					 1,
					 0xffffffffffffffff,
					 0x8000000000000000,
					 4095,
					 0xfffffffffffff000,
					 0x0000000100000000};
	static const guint8 known[] = {RS_SEC_HEADER,     RS_SEC_CONTROL,    RS_SEC_EVENT_CTL,
				       RS_SEC_FILTERS,    RS_SEC_RING_CTL,   RS_SEC_RESPONSE,
				       RS_SEC_CLOCK,      RS_SEC_GUEST_INFO, RS_SEC_PROVIDERS,
				       RS_SEC_EVENTS,     RS_SEC_CMDLINE,    RS_SEC_REQUEST,
				       RS_SEC_RING_STATE, RS_SEC_RINGS};
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};
	guint refused = 0;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	for (size_t at = 0; at < sizeof(struct rs_region_header); at += 8) {
		for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
			struct rs_region_header h = region->header;

			memcpy((uint8_t *)&h + at, &words[i], 8);
			if (!check(region, &h, &h, NULL)) {
				refused++;
				continue;
			}
			for (guint k = 0; k < G_N_ELEMENTS(known); k++) {
				const struct rs_section *s = &h.section[known[k]];

				if (!s->size)
					continue;
				g_assert_cmpuint(s->offset, <=, region->size);
				g_assert_cmpuint(s->size, <=, region->size - s->offset);
				g_assert_cmpuint((guint64)s->count * s->stride, <=, s->size);
			}
		}
	}
	g_assert_cmpuint(refused, >, 50);
	rs_trace_region_free(region);
}

/* A change of a good header, and the message with which it is refused. */
typedef struct {
	const char *why; /* part of the message; NULL: the header is good */
	guint number;
	struct rs_section add; /* to this section's entry */
} Change;

static void check_change(RsTraceRegion *region, const Change *change)
{
	struct rs_region_header h = region->header;
	struct rs_section *section = &h.section[change->number];
	GError *error = NULL;

	section->offset += change->add.offset;
	section->size += change->add.size;
	section->stride += change->add.stride;
	section->count += change->add.count;
	if (!change->why) {
		check(region, &h, &h, &error);
		g_assert_no_error(error);
		return;
	}
	g_assert_false(check(region, &h, &h, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION);
	if (!strstr(error->message, change->why))
		g_error("section %u: \"%s\", not \"%s\"", change->number, error->message,
			change->why);
	g_clear_error(&error);
}

static void test_sections(void)
{
	static const Change changes[] = {
		{.why = NULL},
		/* Unknown numbers, with any offset and size. */
		{NULL, 50, {.offset = 1, .size = G_MAXUINT64, .stride = 3, .count = 9}},
		{NULL, 20, {.offset = 0, .size = 1 << 20, .stride = 8, .count = G_MAXUINT32}},
		/* Elements: larger ones, fewer, or none of an optional section. */
		{NULL, RS_SEC_RING_STATE, {.stride = 64}},
		{NULL, RS_SEC_RING_CTL, {.stride = 8}},
		{NULL, RS_SEC_CLOCK, {.count = -10u}},
		{NULL, RS_SEC_HEADER, {.stride = 64}},
		{"section 37 has impossible elements", RS_SEC_RING_STATE, {.stride = -8u}},
		{"section 37 has impossible elements", RS_SEC_RING_STATE, {.stride = 4}},
		{"section 37 has impossible elements", RS_SEC_RING_STATE, {.stride = 1}},
		{"section 33 has impossible elements", RS_SEC_PROVIDERS, {.stride = 9}},
		{"section 3 has impossible elements", RS_SEC_FILTERS, {.stride = 9}},
		{"cmdline buckets of", RS_SEC_CMDLINE, {.stride = 8, .count = -256u}},
		{"ring pages of", RS_SEC_RINGS, {.stride = 4096, .count = -16u}},
		{"section 37 has impossible elements", RS_SEC_RING_STATE, {.stride = 1u << 20}},
		{"section 4 has impossible elements", RS_SEC_RING_CTL, {.stride = -8u}},
		{"section 2 has impossible elements", RS_SEC_EVENT_CTL, {.stride = 4}},
		{"section 34 has impossible elements", RS_SEC_EVENTS, {.stride = -1u}},
		{"section 6 has impossible elements", RS_SEC_CLOCK, {.count = 1u << 20}},
		{"section 33 has impossible elements", RS_SEC_PROVIDERS, {.count = 1u << 16}},
		{"a section is too small", RS_SEC_RING_STATE, {.count = -1u}},
		{"a section is too small", RS_SEC_EVENT_CTL, {.count = -1u}},
		{"requests", RS_SEC_REQUEST, {.count = -1u}},
		{"cmdline buckets", RS_SEC_CMDLINE, {.count = -1u}},
		/* Places. */
		{"section 0 lies badly", RS_SEC_HEADER, {.offset = RS_SECTION_ALIGN * 7}},
		{"section 33 lies badly", RS_SEC_PROVIDERS, {.offset = 2048}},
		{"section 38 lies badly", RS_SEC_RINGS, {.offset = RS_REGION_ALIGN}},
		{"section 38 lies badly",
		 RS_SEC_RINGS,
		 {.offset = -(uint64_t)RS_REGION_ALIGN * 512}},
		{"sections 1 and 2 overlap",
		 RS_SEC_EVENT_CTL,
		 {.offset = -(uint64_t)RS_SECTION_ALIGN}},
		{"sections 37 and 38 overlap", RS_SEC_RING_STATE, {.size = RS_SECTION_ALIGN}},
	};
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(changes); i++)
		check_change(region, &changes[i]);
	rs_trace_region_free(region);
}

/* The host's sections lie before guest_offset, the guest's after it. */
static void test_sides(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	for (int side = -1; side <= 1; side++) {
		struct rs_region_header h = region->header;
		GError *error = NULL;

		h.guest_offset += (uint64_t)(side * (int)RS_REGION_ALIGN);
		g_assert_true(check(region, &h, &h, &error) == !side);
		if (side)
			g_assert_nonnull(strstr(error->message, "is on the wrong side"));
		g_clear_error(&error);
	}
	rs_trace_region_free(region);
}

/* Fields of a later minor version, and features. */
static void test_later_header(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_region_header h, taken;
	struct rs_error err = {0};
	GError *error = NULL;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	h = region->header;
	h.abi_minor++;
	h.features = ~RS_FEATURES_REQUIRED;
	g_assert_true(check(region, &h, &taken, NULL));
	h.features |= 1;
	g_assert_false(check(region, &h, &taken, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	g_clear_error(&error);
	h.features = 0;
	h.header_size = RS_REGION_HEADER_MIN_SIZE - 8;
	g_assert_false(check(region, &h, &taken, NULL));
	/* Longer than we know it, the table behind it. */
	h.header_size = RS_REGION_HEADER_MIN_SIZE + 64;
	g_assert_false(check(region, &h, &taken, NULL));
	h.section_offset = 4096;
	g_assert_false(check(region, &h, &taken, NULL));
	memcpy(region->map + 4096, h.section, sizeof(h.section));
	g_assert_true(check(region, &h, &taken, NULL));
	g_assert_cmpmem(taken.section, sizeof(taken.section), h.section, sizeof(h.section));
	h.header_size = 1u << 30;
	h.section_offset = h.header_size;
	g_assert_false(check(region, &h, &taken, NULL));
	rs_trace_region_free(region);
}

/* Where the section table lies, how long it is, and how long its entries are. */
static void test_table(void)
{
	static const struct {
		guint32 offset, count, stride;
		gboolean good;
	} tables[] = {
		{128, 64, 24, TRUE},
		{4096, 64, 24, TRUE},
		{4096, 64, 32, TRUE},
		{4096, 100, 40, TRUE},
		/* It ends with the last section that we know, or before it. */
		{4096, RS_SEC_RINGS + 1, 24, TRUE},
		{4096, RS_SEC_RINGS, 24, FALSE},
		{4096, 0, 24, FALSE},
		{4096, 64, 16, FALSE},
		{4096, 64, 28, FALSE},
		{4100, 64, 24, FALSE},
		{120, 64, 24, FALSE},
		{0, 64, 24, FALSE},
		{1u << 31, 64, 24, FALSE},
		{4096, G_MAXUINT32, 24, FALSE},
		{4096, 64, G_MAXUINT32 - 7, FALSE},
	};
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		struct rs_region_header h = region->header, taken;

		memset(region->map, 0xee, 16384);
		h.section_offset = tables[i].offset;
		h.section_count = tables[i].count;
		h.section_stride = tables[i].stride;
		memset(h.section, 0xee, sizeof(h.section));
		memcpy(region->map, &h, sizeof(h));
		for (guint k = 0; tables[i].offset < 16384 && k < RS_SEC_COUNT; k++)
			memcpy(region->map + tables[i].offset + k * MIN(tables[i].stride, 64),
			       &region->header.section[k], sizeof(struct rs_section));
		if (tables[i].offset < RS_REGION_HEADER_MIN_SIZE)
			memcpy(region->map, &h, RS_REGION_HEADER_MIN_SIZE);
		g_assert_true(rs_trace_region_take_header(region->map, region->size, &taken,
							  NULL) == tables[i].good);
		if (!tables[i].good)
			continue;
		for (guint k = 0; k < MIN(tables[i].count, RS_SEC_COUNT); k++)
			g_assert_cmpmem(&taken.section[k], sizeof(struct rs_section),
					&region->header.section[k], sizeof(struct rs_section));
	}
	rs_trace_region_free(region);
}

/* A table that ends before an optional section: the section is absent. */
static void test_short_table(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_region_header h, taken;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	h = region->header;
	/* The section that a later version may add is what an older one lacks. */
	h.section[RS_SEC_COUNT - 1] = (struct rs_section){.offset = 64 << 10, .size = 64 << 10};
	h.section_count = RS_SEC_COUNT - 1;
	g_assert_true(check(region, &h, &taken, NULL));
	g_assert_cmpuint(taken.section[RS_SEC_COUNT - 1].size, ==, 0);
	rs_trace_region_free(region);
}

/* Elements lie as far apart as the header says, also in a region that an observer opens. */
static void test_elements(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL, *seen;
	struct rs_region_header *shared;
	struct rs_error err = {0};
	guint8 *first;
	int fd = -1;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	shared = (struct rs_region_header *)region->map;
	shared->section[RS_SEC_RING_STATE].stride = 320;
	g_assert_cmpint(rs_region_reopen_readonly(region, &fd, &err), ==, 0);
	seen = rs_trace_region_open(fd, region->offset, FALSE, NULL);
	g_assert_nonnull(seen);
	first = rs_trace_region_section(seen, RS_SEC_RING_STATE, NULL);
	g_assert_true(rs_trace_region_element(seen, RS_SEC_RING_STATE, 0) == first);
	g_assert_true(rs_trace_region_element(seen, RS_SEC_RING_STATE, 1) == first + 320);
	g_assert_null(rs_trace_region_element(seen, RS_SEC_RING_STATE, 2));
	g_assert_null(rs_trace_region_element(seen, RS_SEC_HOST_STATE, 0));
	rs_trace_region_free(seen);
	rs_trace_region_free(region);
}

/* The accessors return nothing for a section that is absent or unknown. */
static void test_unchecked(void)
{
	static const guint numbers[] = {RS_SEC_CLOCK, RS_SEC_RESPONSE, RS_SEC_REQUEST, 50};
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL, *seen;
	struct rs_region_header *shared;
	struct rs_error err = {0};
	int fd = -1;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	shared = (struct rs_region_header *)region->map;
	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		shared->section[numbers[i]] =
			(struct rs_section){.offset = 1ull << 60, .stride = 4096, .count = 16};
	shared->section[50].size = 1ull << 60;
	g_assert_cmpint(rs_region_reopen_readonly(region, &fd, &err), ==, 0);
	seen = rs_trace_region_open(fd, region->offset, FALSE, NULL);
	g_assert_nonnull(seen);
	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
		gsize size;

		g_assert_null(rs_trace_region_element(seen, numbers[i], 0));
		g_assert_null(rs_trace_region_section(seen, numbers[i], &size));
		g_assert_cmpuint(size, ==, 0);
	}
	rs_trace_region_free(seen);
	rs_trace_region_free(region);
}

/* A consistent copy, or none. */
static void test_provider(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	g_autofree guint8 *descriptors = NULL;
	gsize size;
	struct rs_provider *shared, entry;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	shared = rs_trace_region_element(region, RS_SEC_PROVIDERS, 3);
	memset(shared, 0xff, sizeof(*shared));
	shared->sequence = 8;
	shared->state = RS_PROVIDER_LIVE;
	shared->first_id = 77;
	g_assert_true(rs_trace_region_provider(region, 3, &entry));
	g_assert_cmpuint(entry.sequence, ==, 8);
	g_assert_cmpuint(entry.state, ==, RS_PROVIDER_LIVE);
	g_assert_cmpuint(entry.first_id, ==, 77);
	g_assert_cmpuint(strlen(entry.name), ==, sizeof(entry.name) - 1);
	shared->state = RS_PROVIDER_DEAD;
	g_assert_true(rs_trace_region_provider(region, 3, &entry));
	g_assert_cmpuint(entry.state, ==, RS_PROVIDER_DEAD);
	shared->state = RS_PROVIDER_DEAD + 1;
	g_assert_true(rs_trace_region_provider(region, 3, &entry));
	g_assert_cmpuint(entry.state, ==, RS_PROVIDER_FREE);
	/* Descriptors are an entry's only while it is the same. */
	entry.desc_offset = 0;
	entry.desc_size = 64;
	descriptors = rs_trace_region_descriptors(region, 3, &entry, &size);
	g_assert_nonnull(descriptors);
	g_assert_cmpuint(size, ==, 64);
	shared->sequence = 10;
	g_assert_null(rs_trace_region_descriptors(region, 3, &entry, &size));
	shared->sequence = 9;
	g_assert_false(rs_trace_region_provider(region, 3, &entry));
	g_assert_false(rs_trace_region_provider(
		region, region->header.section[RS_SEC_PROVIDERS].count, &entry));
	rs_trace_region_free(region);
}

static void test_guest_info(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_guest_info *shared, info;
	struct rs_error err = {0};
	GError *error = NULL;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT);
	g_clear_error(&error);
	shared = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	memset(shared, 0xff, sizeof(*shared));
	shared->magic = RS_GUEST_MAGIC;
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	g_clear_error(&error);
	shared->abi_major = RS_ABI_MAJOR;
	shared->session_id = region->header.session_id;
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	g_clear_error(&error);
	shared->features = ~RS_FEATURES_REQUIRED;
	g_assert_true(rs_trace_region_guest_info(region, &info, NULL));
	g_assert_cmpuint(info.cpu_count, ==, 2);
	g_assert_cmpuint(info.provider_slots, ==, region->header.section[RS_SEC_PROVIDERS].count);
	/* The compiler would take for granted that the length of a text is below the array's. */
	g_assert_cmpint(info.name[sizeof(info.name) - 1], ==, 0);
	g_assert_cmpint(info.name[sizeof(info.name) - 2], ==, -1);
	g_assert_cmpint(info.agent[sizeof(info.agent) - 1], ==, 0);
	g_assert_cmpint(info.agent[sizeof(info.agent) - 2], ==, -1);
	g_assert_cmpuint(info.owner_pid, ==, G_MAXUINT32);
	shared->cpu_count = 1;
	shared->provider_slots = 3;
	g_assert_true(rs_trace_region_guest_info(region, &info, NULL));
	g_assert_cmpuint(info.cpu_count, ==, 1);
	g_assert_cmpuint(info.provider_slots, ==, 3);
	shared->session_id++;
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT);
	g_clear_error(&error);
	rs_trace_region_free(region);
}

/* Any bytes of a section, as many as it has. */
static void test_copy(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	guint8 out[64], *section;
	gsize size;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	section = rs_trace_region_section(region, RS_SEC_EVENTS, &size);
	for (gsize i = 0; i < 64; i++)
		section[i] = section[size - 64 + i] = (guint8)(i + 1);
	for (gsize offset = 0; offset < 16; offset++) {
		for (gsize bytes = 0; bytes <= 40; bytes++) {
			memset(out, 0xee, sizeof(out));
			g_assert_cmpuint(
				rs_trace_region_copy(region, RS_SEC_EVENTS, offset, out, bytes), ==,
				bytes);
			g_assert_cmpmem(out, bytes, section + offset, bytes);
			g_assert_cmpint(out[bytes], ==, 0xee);
		}
	}
	for (gsize left = 0; left < 24; left++) {
		memset(out, 0xee, sizeof(out));
		g_assert_cmpuint(rs_trace_region_copy(region, RS_SEC_EVENTS, size - left, out, 40),
				 ==, left);
		g_assert_cmpmem(out, left, section + size - left, left);
		g_assert_cmpint(out[left], ==, 0xee);
	}
	g_assert_cmpuint(rs_trace_region_copy(region, RS_SEC_EVENTS, size + 1, out, 1), ==, 0);
	g_assert_cmpuint(rs_trace_region_copy(region, RS_SEC_EVENTS, G_MAXSIZE, out, 1), ==, 0);
	g_assert_cmpuint(rs_trace_region_copy(region, RS_SEC_HOST_RING, 0, out, 1), ==, 0);
	rs_trace_region_free(region);
}

/* What both sides know of an element, and zeros after that. */
static void test_take(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	guint stride;
	guint8 out[RS_PROVIDER_MIN_SIZE + 16];
	guint8 *second;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	stride = region->header.section[RS_SEC_PROVIDERS].stride;
	g_assert_cmpuint(stride, <=, sizeof(out) - 8);
	second = rs_trace_region_element(region, RS_SEC_PROVIDERS, 1);
	memset(second - stride, 0x11, 3 * stride);
	memset(second, 0x5a, stride);
	for (guint size = stride - 1; size <= stride + 8; size++) {
		memset(out, 0xee, sizeof(out));
		g_assert_true(rs_trace_region_take(region, RS_SEC_PROVIDERS, 1, out, size));
		for (guint i = 0; i < size; i++)
			g_assert_cmpint(out[i], ==, i < stride ? 0x5a : 0);
		for (guint i = size; i < sizeof(out); i++)
			g_assert_cmpint(out[i], ==, 0xee);
	}
	g_assert_false(rs_trace_region_take(
		region, RS_SEC_PROVIDERS, region->header.section[RS_SEC_PROVIDERS].count, out, 1));
	rs_trace_region_free(region);
}

/* An entry may name any bytes: those of the section are copied. */
static void test_descriptors(void)
{
	struct rs_region_config config = small_config();
	struct rs_provider entry = {0};
	RsTraceRegion *region = NULL;
	guint8 *section;
	gsize size;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	section = rs_trace_region_section(region, RS_SEC_EVENTS, &size);
	section[0] = 1;
	section[size - 1] = 9;
	for (guint i = 0; i < 5; i++) {
		const guint64 places[][3] = {
			/* offset, size; how many are copied */
			{0, G_MAXUINT64, size}, {size - 1, 8, 1}, {size, 8, 0},
			{1ull << 60, size, 0},  {0, 0, 0},
		};
		g_autofree guint8 *bytes = NULL;
		gsize copied;

		entry.desc_offset = places[i][0];
		entry.desc_size = places[i][1];
		bytes = rs_trace_region_descriptors(region, 0, &entry, &copied);
		g_assert_nonnull(bytes);
		g_assert_cmpuint(copied, ==, places[i][2]);
		if (copied)
			g_assert_cmpmem(bytes, copied, section + entry.desc_offset, copied);
	}
	rs_trace_region_free(region);
}

static void test_no_region(void)
{
	static const char text[] = "no region";
	GError *error = NULL;
	char *path;
	int fd = g_file_open_tmp("region-XXXXXX", &path, NULL);

	g_assert_cmpint(write(fd, text, sizeof(text)), ==, sizeof(text));
	g_assert_null(rs_trace_region_open(fd, 0, FALSE, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION);
	g_clear_error(&error);
	for (guint i = 0; i < 4; i++) {
		const guint64 places[][2] = {
			/* the file's size, and where the region should be */
			{1 << 20, 0},
			{1 << 20, (1 << 20) - 4096},
			{RS_REGION_HEADER_MIN_SIZE - 1, 0},
			{1 << 20, 1 << 21},
		};
		static const char *const why[] = {"", "", "only 127 bytes", "only 0 bytes"};

		g_assert_cmpint(ftruncate(fd, (off_t)places[i][0]), ==, 0);
		g_assert_null(rs_trace_region_open(fd, places[i][1], FALSE, &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION);
		g_assert_nonnull(strstr(error->message, why[i]));
		g_clear_error(&error);
	}
	g_assert_null(rs_trace_region_open(fd, 8, FALSE, &error)); /* not a page's */
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
	g_clear_error(&error);
	g_assert_null(rs_trace_region_open(-1, 0, FALSE, &error));
	g_assert_true(error->domain == G_IO_ERROR);
	g_clear_error(&error);
	close(fd);
	g_unlink(path);
	g_free(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/region/hostile", test_hostile_headers);
	g_test_add_func("/decode/region/sections", test_sections);
	g_test_add_func("/decode/region/sides", test_sides);
	g_test_add_func("/decode/region/later-header", test_later_header);
	g_test_add_func("/decode/region/table", test_table);
	g_test_add_func("/decode/region/short-table", test_short_table);
	g_test_add_func("/decode/region/elements", test_elements);
	g_test_add_func("/decode/region/unchecked", test_unchecked);
	g_test_add_func("/decode/region/provider", test_provider);
	g_test_add_func("/decode/region/guest-info", test_guest_info);
	g_test_add_func("/decode/region/copy", test_copy);
	g_test_add_func("/decode/region/take", test_take);
	g_test_add_func("/decode/region/descriptors", test_descriptors);
	g_test_add_func("/decode/region/none", test_no_region);
	return g_test_run();
}
