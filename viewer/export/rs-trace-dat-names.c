/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat has one name for a pid: the last one that is known. Tasks of several sources that
 * share a pid have all their names there.
 *
 * Readers take the nearest symbol before an address for its name, however far away that is. So each
 * frame of a stack has a symbol of its own, which is what we show for it: "schedule+0x12". Likewise
 * addresses in fields, but they leave half of the room to frames.
 */
#include "rs-trace-dat-private.h"
#include "rs-trace-escape.h"
#include "rs-trace-stack.h"

#include <ringside/cmdline.h>
#include <string.h>

#define TASKS_MAX 65536u
#define FRAMES_MAX 65536u

typedef struct {
	char comm[RS_COMM_LEN + 1];
} Task;

struct _RsTraceDatNames {
	GHashTable *tasks;  /* source << 32 | pid -> Task */
	GHashTable *frames; /* address -> name */
};

RsTraceDatNames *rs_trace_dat_names_new(void)
{
	RsTraceDatNames *names = g_new0(RsTraceDatNames, 1);

	names->tasks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	names->frames = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return names;
}

void rs_trace_dat_names_free(RsTraceDatNames *names)
{
	g_hash_table_unref(names->tasks);
	g_hash_table_unref(names->frames);
	g_free(names);
}

void rs_trace_dat_names_task(RsTraceDatNames *names, guint source, guint32 pid, const char *comm)
{
	guint64 key = (guint64)source << 32 | pid;
	Task *task;

	if (!pid || !strcmp(comm, "<...>"))
		return;
	task = g_hash_table_lookup(names->tasks, &key);
	if (!task) {
		if (g_hash_table_size(names->tasks) >= TASKS_MAX)
			return;
		task = g_new0(Task, 1);
		g_hash_table_insert(names->tasks, g_memdup2(&key, sizeof(key)), task);
	}
	if (strcmp(task->comm, comm))
		g_strlcpy(task->comm, comm, sizeof(task->comm));
}

static gint compare_tasks(gconstpointer a, gconstpointer b, gpointer data)
{
	guint64 x = **(guint64 *const *)a, y = **(guint64 *const *)b;

	/* By pid, then by source. */
	x = x << 32 | x >> 32;
	y = y << 32 | y >> 32;
	return x < y ? -1 : x > y;
}

/* "PID NAME" lines. Tasks of several sources that share a pid have all their names there. */
char *rs_trace_dat_names_cmdlines(const RsTraceDatNames *names)
{
	GString *out = g_string_new(NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autofree gpointer *keys = NULL;
	guint n;

	keys = g_hash_table_get_keys_as_array(names->tasks, &n);
	g_qsort_with_data(keys, (gint)n, sizeof(*keys), compare_tasks, NULL);
	for (guint i = 0; i < n; i++) {
		const Task *task = g_hash_table_lookup(names->tasks, keys[i]);
		guint pid = (guint) * (guint64 *)keys[i];
		g_autofree char *comm = rs_trace_escape(task->comm, -1, NULL);

		if (!i || pid != (guint) * (guint64 *)keys[i - 1]) {
			g_string_append_printf(out, "%s%u %s", i ? "\n" : "", pid, comm);
			g_hash_table_remove_all(seen);
		} else if (!g_hash_table_contains(seen, task->comm)) {
			g_string_append_printf(out, "|%s", comm);
		}
		g_hash_table_add(seen, (gpointer)task->comm);
	}
	g_string_append(out, n ? "\n" : "");
	return g_string_free(out, FALSE);
}

static void append_escaped(GString *out, const char *text, gsize size)
{
	rs_trace_append_escaped(out, text, size, NULL);
}

/* A reader's name ends at a blank. Its module comes behind a tab, as in /proc/kallsyms. */
static char *without_blanks(GString *name)
{
	char *module = g_str_has_suffix(name->str, "]") ? strrchr(name->str, ' ') : NULL;

	for (char *at = name->str; *at; at++)
		if (!g_ascii_isgraph(*at))
			*at = '_';
	if (module && module[1] == '[')
		*module = '\t';
	return g_string_free(name, FALSE);
}

static char *frame_name(const RsTraceRecord *record, guint64 frame)
{
	GString *name = g_string_new(NULL);

	if (!rs_trace_symbols_append_frame(record->symbols, record->when, frame, append_escaped,
					   name))
		g_string_append_printf(name, "0x%" G_GINT64_MODIFIER "x", frame);
	return without_blanks(name);
}

gboolean rs_trace_dat_names_frame(RsTraceDatNames *names, const RsTraceRecord *record, guint i)
{
	guint64 frame = rs_trace_stack_frame(record, i);

	if (g_hash_table_contains(names->frames, &frame))
		return TRUE;
	if (g_hash_table_size(names->frames) >= FRAMES_MAX)
		return FALSE;
	return g_hash_table_insert(names->frames, g_memdup2(&frame, sizeof(frame)),
				   frame_name(record, frame));
}

void rs_trace_dat_names_pointer(RsTraceDatNames *names, const RsTraceRecord *record,
				guint64 address)
{
	GString *name;

	if (g_hash_table_contains(names->frames, &address) ||
	    g_hash_table_size(names->frames) >= FRAMES_MAX / 2)
		return;
	name = g_string_new(NULL);
	if (rs_trace_symbols_append(record->symbols, record->when, address, append_escaped, name))
		g_hash_table_insert(names->frames, g_memdup2(&address, sizeof(address)),
				    without_blanks(name));
	else
		g_string_free(name, TRUE);
}

static gint compare_frames(gconstpointer a, gconstpointer b, gpointer data)
{
	guint64 x = **(guint64 *const *)a, y = **(guint64 *const *)b;

	return x < y ? -1 : x > y;
}

char *rs_trace_dat_names_kallsyms(const RsTraceDatNames *names)
{
	GString *out = g_string_new(NULL);
	g_autofree gpointer *keys = NULL;
	guint n;

	keys = g_hash_table_get_keys_as_array(names->frames, &n);
	g_qsort_with_data(keys, (gint)n, sizeof(*keys), compare_frames, NULL);
	for (guint i = 0; i < n; i++)
		g_string_append_printf(out, "%016" G_GINT64_MODIFIER "x T %s\n",
				       *(guint64 *)keys[i],
				       (char *)g_hash_table_lookup(names->frames, keys[i]));
	return g_string_free(out, FALSE);
}
