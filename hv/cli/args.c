/* SPDX-License-Identifier: MIT */
#include "cli/args.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int rs_cli_parse_size(const char *text, uint64_t *out, struct rs_error *err)
{
	static const char units[] = "KMGT";
	char *end = (char *)text;
	const char *unit;
	unsigned int shift;
	guint64 value;

	/* Decimal, and no more than 2^64 in the end; the C library takes signs and blanks too. */
	errno = 0;
	value = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
	unit = *end ? strchr(units, g_ascii_toupper(*end)) : NULL;
	shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	if (end == text || errno || (*end && (!unit || end[1])) || (shift && value >> (64 - shift)))
		return rs_error_set(err, EINVAL, "'%s' is no size, such as 512K or 64M", text);
	*out = value << shift;
	return 0;
}

int rs_cli_find_demo(char **out, struct rs_error *err)
{
	const char *dir = g_getenv("RINGSIDE_GUESTS");
	g_autofree char *path = g_build_filename(dir ? dir : RS_GUESTS_DIR, "demo", NULL);

	if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
		return rs_error_set(
			err, EIO, "the demo guest is not at %s (RINGSIDE_GUESTS names its folder)",
			path);
	*out = g_steal_pointer(&path);
	return 0;
}

/* The option of this letter; NULL: there is none. */
static const GOptionEntry *by_letter(const GOptionEntry *entries, char letter)
{
	for (; entries && entries->long_name; entries++)
		if (entries->short_name == letter)
			return entries;
	return NULL;
}

static bool takes_value(const GOptionEntry *entry)
{
	if (entry->arg == G_OPTION_ARG_CALLBACK)
		return !(entry->flags & (G_OPTION_FLAG_NO_ARG | G_OPTION_FLAG_OPTIONAL_ARG));
	return entry->arg != G_OPTION_ARG_NONE;
}

/* How many bytes of "-abc" are letters, up to the first that takes a value; 0: it is no option. */
static size_t letters_of(const GOptionEntry *entries, const char *arg, bool *value)
{
	*value = false;
	if (arg[0] != '-' || arg[1] == '-')
		return 0;
	for (size_t i = 1; arg[i]; i++) {
		const GOptionEntry *entry = by_letter(entries, arg[i]);

		if (!entry)
			return 0;
		*value = takes_value(entry);
		if (*value)
			return i + 1;
	}
	return 0;
}

static char *intern(const char *text, size_t size)
{
	g_autofree char *copy = g_strndup(text, size);

	return (char *)g_intern_string(copy);
}

char **rs_cli_split_values(const GOptionEntry *entries, int argc, char **argv)
{
	GPtrArray *out = g_ptr_array_new();
	int i = 0;

	for (; i < argc && strcmp(argv[i], "--"); i++) {
		bool value;
		const size_t letters = i ? letters_of(entries, argv[i], &value) : 0;

		if (!letters || !argv[i][letters]) {
			g_ptr_array_add(out, argv[i]);
			/* What follows is its value, whatever it looks like. */
			if (letters && i + 1 < argc)
				g_ptr_array_add(out, argv[++i]);
			continue;
		}
		g_ptr_array_add(out, intern(argv[i], letters));
		g_ptr_array_add(out, argv[i] + letters);
	}
	for (; i < argc; i++)
		g_ptr_array_add(out, argv[i]);
	g_ptr_array_add(out, NULL);
	return (char **)g_ptr_array_free(out, FALSE);
}
