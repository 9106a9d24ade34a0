/* SPDX-License-Identifier: MIT */
#include "filter/nearest.h"

#include <glib.h>
#include <string.h>

/* A guest may have very many names, and the time is the product of two lengths. */
#define COMPARED 64u

unsigned int rs_distance(const char *a, const char *b)
{
	unsigned int row[COMPARED + 1];
	size_t m = strnlen(a, COMPARED), n = strnlen(b, COMPARED);

	for (unsigned int j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= m; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (unsigned int j = 1; j <= n; j++) {
			bool same = g_ascii_tolower(a[i - 1]) == g_ascii_tolower(b[j - 1]);
			unsigned int change = diagonal + !same;

			diagonal = row[j];
			row[j] = MIN(change, MIN(row[j], row[j - 1]) + 1);
		}
	}
	return row[n];
}

struct rs_nearest rs_nearest_to(const char *wanted)
{
	return (struct rs_nearest){.wanted = wanted,
				   .limit = (unsigned int)strnlen(wanted, COMPARED) / 3 + 2};
}

bool rs_nearest_offer(struct rs_nearest *nearest, const char *name)
{
	unsigned int distance = rs_distance(name, nearest->wanted);

	/* A name of which every letter is wrong was not meant. */
	if (distance >= nearest->limit || distance >= strlen(name))
		return false;
	nearest->limit = distance;
	nearest->found = name;
	return true;
}
