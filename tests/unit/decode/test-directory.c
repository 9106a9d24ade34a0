/* SPDX-License-Identifier: MIT */
/* What a directory of regions may say: each limit, and one more or less. */
#include "rs-trace-directory.h"

#include <ringside/region.h>
#include <string.h>

#define ENTRIES 3u
#define STRIDE 136u /* as in a later version */
#define ALIGN ((guint64)RS_REGION_ALIGN)
#define SIZE (64 * ALIGN)
/* Bytes of the entries, and of the claims with the word after them. */
#define ENTRY_BYTES (ENTRIES * STRIDE)
#define CLAIM_BYTES ((ENTRIES + 1) * 8)

static struct rs_directory good(void)
{
	return (struct rs_directory){
		.magic = RS_DIRECTORY_MAGIC,
		.abi_major = RS_ABI_MAJOR,
		.header_size = RS_DIRECTORY_MIN_SIZE,
		.size = SIZE,
		.entries_offset = RS_DIRECTORY_MIN_SIZE,
		.claims_offset = ALIGN,
		.entry_count = ENTRIES,
		.entry_stride = STRIDE,
	};
}

static int takes(struct rs_directory head, guint64 mapped)
{
	struct rs_directory out;
	GError *error = NULL;
	int code = -1;

	if (!rs_trace_directory_take(&head, mapped, &out, &error)) {
		code = error->code;
		g_error_free(error);
		return code;
	}
	g_assert_cmpmem(&out, sizeof(out), &head, sizeof(head));
	return code;
}

#define EXPECT(want, change)                                                                       \
	do {                                                                                       \
		struct rs_directory d = good();                                                    \
		guint64 mapped = SIZE;                                                             \
                                                                                                   \
		change;                                                                            \
		g_test_message("%s", #change);                                                     \
		g_assert_cmpint(takes(d, mapped), ==, want);                                       \
	} while (0)
#define TAKEN(change) EXPECT(-1, change)
#define REFUSED(change) EXPECT(RS_TRACE_ERROR_BAD_REGION, change)

static void test_head(void)
{
	TAKEN(mapped = SIZE);
	REFUSED(mapped = RS_DIRECTORY_MIN_SIZE - 1);
	REFUSED(d.magic++);
	EXPECT(RS_TRACE_ERROR_BAD_VERSION, d.abi_major++);
	TAKEN(d.abi_minor++);
	REFUSED(mapped = SIZE - 1);
	TAKEN(mapped = SIZE + 1);
	REFUSED(d.header_size--);
	REFUSED(d.entry_count = 0);
	TAKEN(d.entry_count = 1);
	TAKEN((d.entry_count = RS_MAX_REGIONS, d.claims_offset = 32 * ALIGN));
	REFUSED((d.entry_count = RS_MAX_REGIONS + 1, d.claims_offset = 32 * ALIGN));
	TAKEN(d.entry_stride = RS_DIRECTORY_ENTRY_MIN_SIZE);
	REFUSED(d.entry_stride = RS_DIRECTORY_ENTRY_MIN_SIZE - 8);
	REFUSED(d.entry_stride = RS_DIRECTORY_ENTRY_MIN_SIZE + 4);
}

static void test_places(void)
{
	/* Entries: not in the head, at a multiple of 8, up to the end of the memory. */
	REFUSED(d.entries_offset = RS_DIRECTORY_MIN_SIZE - 8);
	REFUSED(d.entries_offset = RS_DIRECTORY_MIN_SIZE + 4);
	TAKEN(d.entries_offset = SIZE - ENTRY_BYTES);
	REFUSED(d.entries_offset = SIZE - ENTRY_BYTES + 8);
	REFUSED(d.entries_offset = SIZE + 8);
	REFUSED(d.entries_offset = G_MAXUINT64 - 7);
	/* Claims: at a page, up to the end of the memory. */
	REFUSED(d.claims_offset = ALIGN + 8);
	REFUSED(d.claims_offset = 0);
	TAKEN(d.claims_offset = SIZE - ALIGN);
	REFUSED(d.claims_offset = SIZE);
	TAKEN((d.size = ALIGN + CLAIM_BYTES));
	REFUSED((d.size = ALIGN + CLAIM_BYTES - 1));
	REFUSED(d.claims_offset = G_MAXUINT64 - ALIGN + 1);
	/* They may lie next to each other. */
	TAKEN(d.entries_offset = ALIGN - ENTRY_BYTES);
	REFUSED(d.entries_offset = ALIGN - ENTRY_BYTES + 8);
	TAKEN(d.entries_offset = ALIGN + CLAIM_BYTES);
	REFUSED(d.entries_offset = ALIGN + CLAIM_BYTES - 8);
}

static gboolean takes_entry(const struct rs_directory *head, guint64 offset, guint64 size,
			    guint32 kind)
{
	struct {
		struct rs_directory_entry entry;
		guint8 later[STRIDE - sizeof(struct rs_directory_entry)];
	} shared = {.entry = {.offset = offset, .size = size, .kind = kind}};
	struct rs_directory_entry out;

	memset(shared.entry.name, 'x', sizeof(shared.entry.name));
	if (!rs_trace_directory_take_entry(head, &shared, &out, NULL))
		return FALSE;
	g_assert_cmpuint(strlen(out.name), ==, sizeof(out.name) - 1);
	return TRUE;
}

static void test_entries(void)
{
	struct rs_directory head = good();
	guint64 end = 2 * ALIGN;

	g_assert_cmpuint(rs_trace_directory_end(&head), ==, end);
	g_assert_true(takes_entry(&head, end, SIZE - end, RS_SOURCE_GIVEN));
	g_assert_false(takes_entry(&head, end, SIZE - end, RS_SOURCE_GIVEN + 1));
	g_assert_false(takes_entry(&head, end, SIZE - end + 1, 0));
	g_assert_false(takes_entry(&head, end - ALIGN, ALIGN, 0));
	g_assert_false(takes_entry(&head, end + 8, ALIGN, 0));
	g_assert_true(takes_entry(&head, SIZE, 0, 0));
	g_assert_false(takes_entry(&head, SIZE + ALIGN, 0, 0));
	/* It ends where the last of both ends, and not a byte before. */
	head.entries_offset = 3 * ALIGN - ENTRY_BYTES;
	g_assert_cmpuint(rs_trace_directory_end(&head), ==, 3 * ALIGN);
	head.entries_offset += 8;
	g_assert_cmpuint(rs_trace_directory_end(&head), ==, 4 * ALIGN);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/directory/head", test_head);
	g_test_add_func("/decode/directory/places", test_places);
	g_test_add_func("/decode/directory/entries", test_entries);
	return g_test_run();
}
