/* SPDX-License-Identifier: MIT */
#include "cli/list_rows.h"

#include <string.h>

static void read_value(GVariant *value, const struct rs_cli_key *key, void *row)
{
	if (g_variant_check_format_string(value, key->format, FALSE))
		g_variant_get(value, key->format, (char *)row + key->offset);
}

void rs_cli_read_row(GVariant *dict, const struct rs_cli_key *keys, gsize n, void *row)
{
	GVariantIter iter;
	GVariant *value;
	const char *name;
	guint64 seen = 0;

	g_assert(n <= 64);
	g_variant_iter_init(&iter, dict);
	while (g_variant_iter_loop(&iter, "{&sv}", &name, &value)) {
		for (gsize i = 0; i < n; i++) {
			if (strcmp(keys[i].key, name) != 0)
				continue;
			if (!(seen & 1ull << i))
				read_value(value, &keys[i], row);
			seen |= 1ull << i;
			break;
		}
	}
}
