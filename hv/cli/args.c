/* SPDX-License-Identifier: MIT */
#include "cli/args.h"

#include <errno.h>
#include <glib.h>
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
