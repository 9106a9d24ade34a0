/* SPDX-License-Identifier: MIT */
/* An image's notes: the build id is found among others, and nothing is read beyond their end. */
#include <ringside/agent.h>

#include <elf.h>
#include <glib.h>
#include <string.h>

static void add(GByteArray *notes, uint32_t type, const char *name, const void *bytes,
		uint32_t size)
{
	static const uint8_t zero[4];
	Elf64_Nhdr header = {(uint32_t)strlen(name) + 1, size, type};

	g_byte_array_append(notes, (const void *)&header, sizeof(header));
	g_byte_array_append(notes, (const void *)name, header.n_namesz);
	g_byte_array_append(notes, zero, -header.n_namesz & 3u);
	g_byte_array_append(notes, bytes, size);
	g_byte_array_append(notes, zero, -size & 3u);
}

/* Copies the notes to memory of the exact size, so that a sanitizer sees any read beyond. */
static struct rs_agent_provider look(const uint8_t *notes, size_t size, uint8_t **copy)
{
	struct rs_agent_provider provider = {0};

	*copy = g_memdup2(notes, size);
	rs_provider_find_build_id(&provider, *copy, *copy + size);
	return provider;
}

static void test_among_others(void)
{
	g_autoptr(GByteArray) notes = g_byte_array_new();
	g_autofree uint8_t *copy = NULL;
	struct rs_agent_provider provider;

	add(notes, 18, "Xen", "\0\0\x10", 4);
	add(notes, NT_GNU_BUILD_ID, "GNUs", "no", 2);
	add(notes, NT_GNU_BUILD_ID, "GNX", "no", 2);
	add(notes, NT_GNU_PROPERTY_TYPE_0, "GNU", "01234567", 8);
	add(notes, NT_GNU_BUILD_ID, "GNU", "seven b", 7);
	add(notes, NT_GNU_BUILD_ID, "GNU", "another", 7);
	provider = look(notes->data, notes->len, &copy);
	g_assert_cmpmem(provider.build_id, provider.build_id_size, "seven b", 7);
}

static void test_none(void)
{
	g_autoptr(GByteArray) notes = g_byte_array_new();
	g_autofree uint8_t *copy = NULL;

	g_assert_null(look(NULL, 0, &copy).build_id);
	add(notes, 18, "Xen", "\0\0\x10", 4);
	g_clear_pointer(&copy, g_free);
	g_assert_null(look(notes->data, notes->len, &copy).build_id);
}

static void test_cut(void)
{
	static const uint32_t huge[] = {0x7fffffff, 0xfffffffc, 0xfffffffd, 0xffffffff};
	g_autoptr(GByteArray) notes = g_byte_array_new();

	add(notes, 18, "Xen", "\0\0\x10", 4);
	add(notes, NT_GNU_BUILD_ID, "GNU", "12345678", 8);
	for (size_t size = 0; size < notes->len; size++) {
		g_autofree uint8_t *copy = NULL;

		g_assert_null(look(notes->data, size, &copy).build_id);
	}
	/* It may end where the notes do, and may be empty. */
	for (uint32_t size = 0; size <= 8; size += 4) {
		g_autoptr(GByteArray) one = g_byte_array_new();
		g_autofree uint8_t *copy = NULL;
		struct rs_agent_provider provider;

		add(one, NT_GNU_BUILD_ID, "GNU", "12345678", size);
		provider = look(one->data, one->len, &copy);
		g_assert_nonnull(provider.build_id);
		g_assert_cmpmem(provider.build_id, provider.build_id_size, "12345678", size);
	}
	/* Sizes of the second one that lead beyond the end, or around it. */
	for (size_t i = 0; i < 2 * G_N_ELEMENTS(huge); i++) {
		g_autofree uint8_t *copy = NULL, *bad = g_memdup2(notes->data, notes->len);

		memcpy(bad + 20 + (i & 1 ? 4 : 0), &huge[i / 2], 4);
		g_assert_null(look(bad, notes->len, &copy).build_id);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/notes/among-others", test_among_others);
	g_test_add_func("/agent/notes/none", test_none);
	g_test_add_func("/agent/notes/cut", test_cut);
	return g_test_run();
}
