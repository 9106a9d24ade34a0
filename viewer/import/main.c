/* SPDX-License-Identifier: MIT */
/*
 * ringside-import: a trace.dat on standard input, which must be a file, becomes a Ringside trace
 * file on standard output. A line on standard error says why not. rs-trace-dat-stream.h starts it.
 *
 * With --pages: requests on standard input, answers on standard output (rs-trace-expand.h).
 * rs-trace-bridged.h of viewer/observe starts that.
 *
 * libtracecmd and libtraceevent trust what they read, print, and may crash. So this process gives
 * away what it does not need (rs-trace-rights.h), and nothing that they print gets out.
 */
#include "rs-trace-dat-import.h"
#include "rs-trace-expand.h"
#include "rs-trace-rights.h"

#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <unistd.h>

/* For whoever wonders: G_MESSAGES_DEBUG=all. It is no error, as not every machine can do it. */
static void note(int err, const char *what)
{
	if (g_getenv("G_MESSAGES_DEBUG"))
		dprintf(err, "ringside-import: %s\n", what);
}

static void give_away(int err, gboolean pages)
{
	/* Plugins of libtraceevent are those of the system, as far as it has any. */
	unsetenv("HOME");
	unsetenv("TRACEEVENT_PLUGIN_DIR");
	if (!rs_trace_rights_reduce())
		note(err, "there is no user nobody, so it stays root");
	if (pages && !rs_trace_rights_confine())
		note(err, "system calls are not filtered here");
}

/* Standard output and error for us, and nothing for libraries that print. */
static int keep(int fd)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 3), none = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (kept < 0 || none < 0)
		_exit(1);
	dup2(none, fd);
	close(none);
	return kept;
}

int main(int argc, char **argv)
{
	const gboolean pages = argc > 1 && g_str_equal(argv[1], "--pages");
	int out = keep(STDOUT_FILENO), err = keep(STDERR_FILENO);
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	g_autoptr(GOutputStream) stream = g_unix_output_stream_new(out, TRUE);
	g_autoptr(GError) error = NULL;

	give_away(err, pages);
	if (pages)
		return !rs_trace_expand_serve(in, out);
	if (in < 0 || !rs_trace_dat_import(in, stream, &error)) {
		dprintf(err, "%s\n", error ? error->message : "there is no file");
		return 1;
	}
	return 0;
}
