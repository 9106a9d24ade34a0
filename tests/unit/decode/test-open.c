/* SPDX-License-Identifier: MIT */
/* How traces are opened by name, and how opening, reading and seeking are cancelled. */
#include "build-file.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL "a:10<...> a:11<...> a:20<...> a:30<...> "

typedef struct {
	GBytes *bytes;
	char *folder, *path;
} Fixture;

static void set_up_file(Fixture *f, gconstpointer unused)
{
	File file = {0};

	set_up(&file, NULL);
	put_source(&file, 0, "a");
	put_schema(&file, 0);
	PAGE(&file, 0, 0, 0, 10, 11);
	end_window(&file, 15);
	PAGE(&file, 0, 1, 0, 20);
	end_window(&file, 25);
	PAGE(&file, 0, 0, 0, 30);
	f->bytes = finish(&file);
	tear_down(&file, NULL);
	f->folder = g_dir_make_tmp("ringside-XXXXXX", NULL);
	f->path = g_build_filename(f->folder, "trace", NULL);
	g_assert_true(g_file_set_contents(f->path, g_bytes_get_data(f->bytes, NULL),
					  (gssize)g_bytes_get_size(f->bytes), NULL));
}

static void tear_down_file(Fixture *f, gconstpointer unused)
{
	g_unlink(f->path);
	g_rmdir(f->folder);
	g_free(f->path);
	g_free(f->folder);
	g_bytes_unref(f->bytes);
}

static void check_rest(RsTraceReader *reader, const char *expected)
{
	Result result;

	g_assert_nonnull(reader);
	read_rest(reader, &result);
	g_assert_no_error(result.error);
	g_assert_cmpstr(result.text->str, ==, expected);
	free_result(&result);
}

/* ---- names ---- */

static void test_file(Fixture *f, gconstpointer unused)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);

	check_rest(reader, ALL);
	g_assert_true(rs_trace_reader_seek_last(reader, 1, NULL, NULL));
	check_rest(reader, "a:30<...> ");
}

/* The caller has the path, and says it. */
static void test_no_file(Fixture *f, gconstpointer unused)
{
	g_autofree char *none = g_build_filename(f->folder, "none", NULL);
	g_autoptr(GError) missing = NULL, folder = NULL, other = NULL;

	g_assert_null(rs_trace_reader_open(none, NULL, &missing));
	g_assert_error(missing, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
	g_assert_null(strstr(missing->message, none));
	g_assert_null(rs_trace_reader_open(f->folder, NULL, &folder));
	g_assert_error(folder, G_IO_ERROR, G_IO_ERROR_IS_DIRECTORY);
	g_assert_null(rs_trace_reader_open("/dev/zero", NULL, &other));
	g_assert_error(other, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
}

/* Standard input that is a file is one; behind its start it is a pipe. */
static void test_standard_input(Fixture *f, gconstpointer unused)
{
	g_autofree char *more = g_build_filename(f->folder, "more", NULL);
	g_autoptr(GString) text = g_string_new("12345678");
	int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), fd = g_open(f->path, O_RDONLY);
	g_autoptr(RsTraceReader) reader = NULL, behind = NULL;
	g_autoptr(GError) error = NULL;

	dup2(fd, STDIN_FILENO);
	close(fd);
	reader = rs_trace_reader_open("-", NULL, NULL);
	g_assert_nonnull(reader);
	g_assert_true(rs_trace_reader_seek_last(reader, 2, NULL, NULL));
	check_rest(reader, "a:20<...> a:30<...> ");

	g_string_append_len(text, g_bytes_get_data(f->bytes, NULL),
			    (gssize)g_bytes_get_size(f->bytes));
	g_assert_true(g_file_set_contents(more, text->str, (gssize)text->len, NULL));
	fd = g_open(more, O_RDONLY);
	g_unlink(more);
	lseek(fd, 8, SEEK_SET);
	dup2(fd, STDIN_FILENO);
	close(fd);
	behind = rs_trace_reader_open("-", NULL, NULL);
	g_assert_nonnull(behind);
	g_assert_false(rs_trace_reader_seek_last(behind, 2, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
	check_rest(behind, ALL);
	if (kept >= 0) {
		dup2(kept, STDIN_FILENO);
		close(kept);
	}
}

static gpointer write_fifo(gpointer data)
{
	const Fixture *f = data;
	g_autofree char *fifo = g_build_filename(f->folder, "fifo", NULL);
	int fd = g_open(fifo, O_WRONLY);

	g_assert_cmpint(write(fd, g_bytes_get_data(f->bytes, NULL), g_bytes_get_size(f->bytes)), ==,
			g_bytes_get_size(f->bytes));
	close(fd);
	return NULL;
}

static gpointer cancel(gpointer cancellable)
{
	g_usleep(20000);
	g_cancellable_cancel(cancellable);
	return NULL;
}

/* Its writer may come late, or never. */
static void test_fifo(Fixture *f, gconstpointer unused)
{
	g_autofree char *fifo = g_build_filename(f->folder, "fifo", NULL);
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GError) error = NULL;
	GThread *thread;

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	thread = g_thread_new("cancel", cancel, cancellable);
	g_assert_null(rs_trace_reader_open(fifo, cancellable, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	g_thread_join(thread);
	thread = g_thread_new("writer", write_fifo, f);
	reader = rs_trace_reader_open(fifo, NULL, NULL);
	check_rest(reader, ALL);
	g_thread_join(thread);
	g_unlink(fifo);
}

/* ---- sources ---- */

/* Source "b" joins in the second window. */
static GBytes *make_late(void)
{
	GBytes *bytes;
	File file = {0};

	set_up(&file, NULL);
	put_source(&file, 0, "a");
	put_schema(&file, 0);
	PAGE(&file, 0, 0, 0, 10);
	end_window(&file, 15);
	put_source(&file, 1, "b");
	put_schema(&file, 1);
	PAGE(&file, 1, 0, 0, 20);
	end_window(&file, 25);
	PAGE(&file, 0, 0, 0, 30);
	end_window(&file, 35);
	PAGE(&file, 0, 0, 0, 40);
	bytes = finish(&file);
	tear_down(&file, NULL);
	return bytes;
}

static char *first_text(RsTraceReader *reader)
{
	g_autoptr(RsTraceItem) item = rs_trace_reader_read(reader, NULL, NULL);

	g_assert_nonnull(item);
	return g_strdup(rs_trace_item_to_text(item));
}

/* What a record says does not depend on how far one has read. */
static void test_sources(Fixture *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = make_late();
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes)), piped = NULL;
	g_autoptr(GInputStream) pipe = pipe_of(bytes);
	g_autofree char *before = NULL, *after = NULL;

	g_assert_cmpuint(rs_trace_reader_n_sources(reader), ==, 2);
	before = first_text(reader);
	g_assert_nonnull(strstr(before, " a/"));
	check_rest(reader, "b:20<...> a:30<...> a:40<...> ");
	g_assert_cmpuint(rs_trace_reader_n_sources(reader), ==, 2);
	g_assert_true(rs_trace_reader_seek(reader, 0, NULL, NULL));
	after = first_text(reader);
	g_assert_cmpstr(before, ==, after);
	piped = rs_trace_reader_open_stream(pipe, NULL, NULL);
	g_assert_cmpuint(rs_trace_reader_n_sources(piped), ==, 0);
	check_rest(piped, "a:10<...> b:20<...> a:30<...> a:40<...> ");
	g_assert_cmpuint(rs_trace_reader_n_sources(piped), ==, 2);
}

/* ---- cancelling ---- */

/* Bytes that come a few at a time. The read before last cancels what is under way. */
typedef struct {
	GMemoryInputStream parent;
	gboolean seekable;
	guint left; /* reads until then; 0: never */
	GCancellable *cancellable;
} Slow;
typedef GMemoryInputStreamClass SlowClass;
GType slow_get_type(void);
static void slow_make_seekable(GSeekableIface *iface);
static GSeekableIface *memory_seekable;
G_DEFINE_TYPE_WITH_CODE(Slow, slow, G_TYPE_MEMORY_INPUT_STREAM,
			G_IMPLEMENT_INTERFACE(G_TYPE_SEEKABLE, slow_make_seekable))

static gssize slow_read(GInputStream *stream, void *to, gsize size, GCancellable *cancellable,
			GError **error)
{
	Slow *slow = (Slow *)stream;

	if (slow->left && !--slow->left)
		g_cancellable_cancel(slow->cancellable);
	return G_INPUT_STREAM_CLASS(slow_parent_class)
		->read_fn(stream, to, MIN(size, 50), cancellable, error);
}

static gboolean slow_can_seek(GSeekable *seekable)
{
	return ((Slow *)seekable)->seekable;
}

static void slow_make_seekable(GSeekableIface *iface)
{
	memory_seekable = g_type_interface_peek_parent(iface);
	iface->tell = memory_seekable->tell;
	iface->seek = memory_seekable->seek;
	iface->can_seek = slow_can_seek;
}

static void slow_class_init(SlowClass *class)
{
	class->parent_class.read_fn = slow_read;
}

static void slow_init(Slow *slow)
{
}

static RsTraceReader *open_slow(GBytes *bytes, gboolean seekable, Slow **slow)
{
	g_autoptr(GInputStream) stream = g_object_new(slow_get_type(), NULL);

	*slow = (Slow *)stream;
	(*slow)->seekable = seekable;
	g_memory_input_stream_add_bytes(G_MEMORY_INPUT_STREAM(stream), bytes);
	return rs_trace_reader_open_stream(stream, NULL, NULL);
}

/* Wherever it is cancelled, the next call goes on there. Returns whether it was. */
static gboolean read_stopped(GBytes *bytes, gboolean seekable, guint at)
{
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceReader) reader = NULL;
	const RsTraceRecord *record;
	Result rest;
	Slow *slow;

	reader = open_slow(bytes, seekable, &slow);
	slow->left = at;
	slow->cancellable = cancellable;
	while ((record = rs_trace_reader_next(reader, cancellable, &error)))
		g_string_append_printf(text, "a:%u<...> ", (guint)record->ns);
	if (error) /* there was one more read */
		g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	slow->left = 0;
	read_rest(reader, &rest);
	g_assert_no_error(rest.error);
	g_string_append(text, rest.text->str);
	g_assert_cmpstr(text->str, ==, ALL);
	g_assert_false(rest.cut);
	g_assert_cmpuint(rest.damage.gaps, ==, 0);
	free_result(&rest);
	return g_cancellable_is_cancelled(cancellable);
}

static void test_reading(Fixture *f, gconstpointer unused)
{
	for (guint seekable = 0; seekable < 2; seekable++) {
		guint n = 1;

		while (read_stopped(f->bytes, seekable, n))
			n++;
		g_assert_cmpuint(n, >, 3);
	}
}

/* Goes to 20, or to the last 2. Returns whether it was cancelled; it can be done again. */
static gboolean seek_stopped(GBytes *bytes, gboolean last, guint at)
{
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceReader) reader = NULL;
	gboolean found;
	Slow *slow;

	reader = open_slow(bytes, TRUE, &slow);
	slow->left = at;
	slow->cancellable = cancellable;
	found = last ? rs_trace_reader_seek_last(reader, 2, cancellable, &error)
		     : rs_trace_reader_seek(reader, 20, cancellable, &error);
	g_assert_cmpint(found, ==, !error);
	if (error)
		g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	slow->left = 0;
	if (!found && last)
		g_assert_true(rs_trace_reader_seek_last(reader, 2, NULL, NULL));
	else if (!found)
		g_assert_true(rs_trace_reader_seek(reader, 20, NULL, NULL));
	check_rest(reader, "a:20<...> a:30<...> ");
	return g_cancellable_is_cancelled(cancellable);
}

/* With the file's end, and without: then all heads are read. */
static void test_seeking(Fixture *f, gconstpointer unused)
{
	gsize size = g_bytes_get_size(f->bytes);

	for (guint i = 0; i < 4; i++) {
		g_autoptr(GBytes) bytes =
			g_bytes_new_from_bytes(f->bytes, 0, i & 1 ? size - RS_FILE_END_SIZE : size);
		guint n = 1;

		while (seek_stopped(bytes, i & 2, n))
			n++;
		g_assert_cmpuint(n, >, 3);
	}
}

/* What was cancelled before it began changes nothing. */
static void test_cancelled(Fixture *f, gconstpointer unused)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(GError) open = NULL, seek = NULL;

	g_cancellable_cancel(cancellable);
	g_assert_null(rs_trace_reader_open(f->path, cancellable, &open));
	g_assert_error(open, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	g_assert_false(rs_trace_reader_seek(reader, 20, cancellable, &seek));
	g_assert_error(seek, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	check_rest(reader, ALL);
}

#define ADD(name, func)                                                                            \
	g_test_add("/decode/open/" name, Fixture, NULL, set_up_file, func, tear_down_file)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("file", test_file);
	ADD("no-file", test_no_file);
	ADD("standard-input", test_standard_input);
	ADD("fifo", test_fifo);
	ADD("sources", test_sources);
	ADD("reading", test_reading);
	ADD("seeking", test_seeking);
	ADD("cancelled", test_cancelled);
	return g_test_run();
}
