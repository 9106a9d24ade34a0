/* SPDX-License-Identifier: MIT */
#include "rs-trace-files-private.h"
#include "rs-trace-error.h"
#include "rs-trace-kept.h"
#include "rs-trace-output.h"

#include <sys/stat.h>
#include <unistd.h>

#define TICK 20000 /* us: so often somebody who waits looks whether he is cancelled */

typedef struct {
	int fd;
	char *name; /* NULL: it has none */
} Kept;

struct _RsTraceFiles {
	gatomicrefcount refs;
	RsTraceNumbers *numbers;
	GMutex lock;
	GCond changed;
	GArray *kept; /* Kept; does not change once they are open */
	gboolean is_open, is_live, has_failed, has_ended;
};

static void kept_clear(gpointer data)
{
	Kept *kept = data;

	close(kept->fd);
	g_free(kept->name);
}

RsTraceFiles *rs_trace_files_new(void)
{
	RsTraceFiles *files = g_new0(RsTraceFiles, 1);

	g_atomic_ref_count_init(&files->refs);
	g_mutex_init(&files->lock);
	g_cond_init(&files->changed);
	files->numbers = rs_trace_numbers_new();
	files->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
	g_array_set_clear_func(files->kept, kept_clear);
	return files;
}

RsTraceFiles *rs_trace_files_ref(RsTraceFiles *files)
{
	g_atomic_ref_count_inc(&files->refs);
	return files;
}

void rs_trace_files_unref(RsTraceFiles *files)
{
	if (!files || !g_atomic_ref_count_dec(&files->refs))
		return;
	g_array_unref(files->kept);
	rs_trace_numbers_unref(files->numbers);
	g_cond_clear(&files->changed);
	g_mutex_clear(&files->lock);
	g_free(files);
}

/* ---- how they come to be ---- */

static void set(RsTraceFiles *files, gboolean *what)
{
	g_mutex_lock(&files->lock);
	*what = TRUE;
	g_cond_broadcast(&files->changed);
	g_mutex_unlock(&files->lock);
}

/* Takes `file` over. */
static gboolean add(RsTraceFiles *files, RsTraceReader **reader, RsTraceFile *file, GError **error)
{
	if (*reader)
		return rs_trace_reader_add(*reader, file, error);
	*reader = rs_trace_reader_new(file);
	rs_trace_reader_share_numbers(*reader, files->numbers);
	return TRUE;
}

RsTraceReader *rs_trace_files_open(RsTraceFiles *files, const char *const *paths,
				   GCancellable *cancellable, GError **error)
{
	g_autoptr(RsTraceReader) reader = NULL;

	for (; *paths; paths++) {
		Kept kept = {.fd = -1, .name = g_strdup(*paths)};
		RsTraceFile *file = rs_trace_file_open_kept(*paths, &kept.fd, cancellable, error);

		if (!file || (g_array_append_val(files->kept, kept), FALSE) ||
		    !add(files, &reader, file, error)) {
			g_autofree char *shown = g_filename_display_name(*paths);

			if (!file)
				g_free(kept.name);
			g_prefix_error(error, "%s: ", shown);
			rs_trace_files_fail(files);
			return NULL;
		}
	}
	set(files, &files->is_open);
	return g_steal_pointer(&reader);
}

void rs_trace_files_take(RsTraceFiles *files, int fd)
{
	const Kept kept = {.fd = fd};

	g_array_append_val(files->kept, kept);
	set(files, &files->is_live);
	set(files, &files->is_open);
}

void rs_trace_files_fail(RsTraceFiles *files)
{
	set(files, &files->has_failed);
}

void rs_trace_files_end(RsTraceFiles *files)
{
	set(files, &files->has_ended);
}

static gboolean get(RsTraceFiles *files, const gboolean *flag)
{
	gboolean is;

	g_mutex_lock(&files->lock);
	is = *flag;
	g_mutex_unlock(&files->lock);
	return is;
}

gboolean rs_trace_files_have_ended(RsTraceFiles *files)
{
	return get(files, &files->has_ended);
}

gboolean rs_trace_files_are_live(RsTraceFiles *files)
{
	return get(files, &files->is_live);
}

/* ---- who reads them ---- */

static guint64 measure(const RsTraceFiles *files)
{
	guint64 size = 0;
	struct stat stat;

	for (guint i = 0; files->is_open && i < files->kept->len; i++)
		if (fstat(g_array_index(files->kept, Kept, i).fd, &stat) == 0)
			size += (guint64)stat.st_size;
	return size;
}

gboolean rs_trace_files_have(RsTraceFiles *files, const char *path)
{
	gboolean have = FALSE;
	struct stat info;

	g_mutex_lock(&files->lock);
	for (guint i = 0; files->is_open && !have && i < files->kept->len; i++) {
		const Kept *kept = &g_array_index(files->kept, Kept, i);

		/* What is read may be a copy of what has the name, as of a pipe. */
		have = (!fstat(kept->fd, &info) && rs_trace_output_is_file(path, &info)) ||
		       (kept->name && !stat(kept->name, &info) &&
			rs_trace_output_is_file(path, &info));
	}
	g_mutex_unlock(&files->lock);
	return have;
}

guint64 rs_trace_files_size(RsTraceFiles *files)
{
	guint64 size;

	g_mutex_lock(&files->lock);
	size = measure(files);
	g_mutex_unlock(&files->lock);
	return size;
}

static gboolean wait_until_open(RsTraceFiles *files, GCancellable *cancellable, GError **error)
{
	gboolean is_open;

	g_mutex_lock(&files->lock);
	while (!files->is_open && !files->has_failed && !g_cancellable_is_cancelled(cancellable))
		g_cond_wait_until(&files->changed, &files->lock, g_get_monotonic_time() + TICK);
	is_open = files->is_open;
	g_mutex_unlock(&files->lock);
	if (!is_open && !g_cancellable_set_error_if_cancelled(cancellable, error))
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "the trace could not be opened");
	return is_open;
}

RsTraceReader *rs_trace_files_read(RsTraceFiles *files, GCancellable *cancellable, GError **error)
{
	g_autoptr(RsTraceReader) reader = NULL;

	if (!wait_until_open(files, cancellable, error))
		return NULL;
	for (guint i = 0; i < files->kept->len; i++) {
		const Kept *kept = &g_array_index(files->kept, Kept, i);
		RsTraceFile *file = rs_trace_file_open_again(kept->fd, cancellable, error);

		if (!file)
			return NULL;
		rs_trace_file_set_name(file, kept->name);
		if (!add(files, &reader, file, error))
			return NULL;
	}
	return g_steal_pointer(&reader);
}

gboolean rs_trace_files_wait(RsTraceFiles *files, guint64 size, GCancellable *cancellable)
{
	g_mutex_lock(&files->lock);
	for (guint i = 0; i < 5 && !files->has_ended && !g_cancellable_is_cancelled(cancellable);
	     i++) {
		if (i && measure(files) > size)
			break;
		g_cond_wait_until(&files->changed, &files->lock, g_get_monotonic_time() + TICK);
	}
	g_mutex_unlock(&files->lock);
	return !g_cancellable_is_cancelled(cancellable);
}
