/* SPDX-License-Identifier: MIT */
#include "rs-trace-spans.h"

#include <string.h>

#define TRACKS_MAX 65536u

/* What was told of a track. */
typedef struct {
	guint64 track;
	guint32 group;
	char *name;
} Told;

static void told_free(gpointer data)
{
	g_free(((Told *)data)->name);
	g_free(data);
}

GHashTable *rs_tracks_new(void)
{
	return g_hash_table_new_full(g_int64_hash, g_int64_equal, told_free, NULL);
}

gboolean rs_tracks_is_news(GHashTable *tracks, guint64 track, guint32 group, const char *name)
{
	Told *told = g_hash_table_lookup(tracks, &track);

	if (told && told->group == group && !strcmp(told->name, name))
		return FALSE;
	if (!told) {
		if (g_hash_table_size(tracks) >= TRACKS_MAX)
			g_hash_table_remove_all(tracks);
		told = g_new0(Told, 1);
		told->track = track;
		g_hash_table_add(tracks, told);
	}
	g_free(told->name);
	told->name = g_strdup(name);
	told->group = group;
	return TRUE;
}
