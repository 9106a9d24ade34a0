/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-stream-private.h"
#include "rs-trace-error.h"
#include "rs-trace-escape.h"
#include "rs-trace-paths.h"

#include <string.h>

#define PROGRAM "ringside-import"
#define MESSAGE_MAX 512u

struct _RsTraceDatStream {
	GInputStream parent_instance;
	GSubprocess *process;
	GInputStream *pipe; /* the process's */
	GError *error;      /* how it ended, once it has; a g_error_copy() each time */
	gboolean ended;
};

G_DEFINE_FINAL_TYPE(RsTraceDatStream, rs_trace_dat_stream, G_TYPE_INPUT_STREAM)

/* What it said about the end, for a terminal. */
static char *last_words(RsTraceDatStream *self)
{
	GInputStream *pipe = g_subprocess_get_stderr_pipe(self->process);
	char words[MESSAGE_MAX];
	gsize size = 0;

	g_input_stream_read_all(pipe, words, sizeof(words), &size, NULL, NULL);
	while (size && words[size - 1] == '\n')
		size--;
	return size ? rs_trace_escape(words, (gssize)size, NULL) : NULL;
}

static void on_end(RsTraceDatStream *self)
{
	g_autofree char *words = last_words(self);

	self->ended = TRUE;
	g_subprocess_wait(self->process, NULL, NULL);
	if (g_subprocess_get_successful(self->process))
		return;
	if (g_subprocess_get_if_signaled(self->process))
		g_set_error(&self->error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
			    "the trace.dat is damaged: libtracecmd failed with signal %d",
			    g_subprocess_get_term_sig(self->process));
	else
		g_set_error(&self->error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE, "%s",
			    words ? words : "the trace.dat is damaged: libtracecmd gave up");
}

static gssize stream_read(GInputStream *stream, void *buffer, gsize count,
			  GCancellable *cancellable, GError **error)
{
	RsTraceDatStream *self = RS_TRACE_DAT_STREAM(stream);
	gssize n = 0;

	if (!self->ended) {
		n = g_input_stream_read(self->pipe, buffer, count, cancellable, error);
		if (!n && count)
			on_end(self);
	}
	if (self->ended && self->error) {
		if (error)
			*error = g_error_copy(self->error);
		return -1;
	}
	return n;
}

static gboolean stream_close(GInputStream *stream, GCancellable *cancellable, GError **error)
{
	RsTraceDatStream *self = RS_TRACE_DAT_STREAM(stream);

	if (!self->ended) {
		g_subprocess_force_exit(self->process);
		g_subprocess_wait(self->process, NULL, NULL);
		self->ended = TRUE;
	}
	return TRUE;
}

static void stream_finalize(GObject *object)
{
	RsTraceDatStream *self = RS_TRACE_DAT_STREAM(object);

	g_clear_object(&self->process);
	g_clear_error(&self->error);
	G_OBJECT_CLASS(rs_trace_dat_stream_parent_class)->finalize(object);
}

static void rs_trace_dat_stream_class_init(RsTraceDatStreamClass *class)
{
	G_OBJECT_CLASS(class)->finalize = stream_finalize;
	G_INPUT_STREAM_CLASS(class)->read_fn = stream_read;
	G_INPUT_STREAM_CLASS(class)->close_fn = stream_close;
}

static void rs_trace_dat_stream_init(RsTraceDatStream *self)
{
}

GInputStream *rs_trace_dat_stream_new(int fd, GError **error)
{
	const char *folder = g_getenv("RINGSIDE_LIBEXEC");
	g_autofree char *program =
		g_build_filename(folder ? folder : RS_LIBEXEC_DIR, PROGRAM, NULL);
	g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(
		G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
	g_autoptr(RsTraceDatStream) self = g_object_new(RS_TYPE_TRACE_DAT_STREAM, NULL);

	g_subprocess_launcher_take_stdin_fd(launcher, fd);
	self->ended = TRUE; /* until it has begun */
	self->process = g_subprocess_launcher_spawn(launcher, error, program, NULL);
	if (!self->process) {
		g_prefix_error(error, "a trace.dat needs %s (RINGSIDE_LIBEXEC names its folder): ",
			       program);
		return NULL;
	}
	self->ended = FALSE;
	self->pipe = g_subprocess_get_stdout_pipe(self->process);
	return G_INPUT_STREAM(g_steal_pointer(&self));
}
