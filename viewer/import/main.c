/* SPDX-License-Identifier: MIT */
/*
 * ringside-import: a trace.dat on standard input, which must be a file, becomes a Ringside trace
 * file on standard output. A line on standard error says why not. rs-trace-dat-stream.h starts it.
 *
 * With --pages: requests on standard input, answers on standard output (rs-trace-expand.h).
 * rs-trace-bridged.h of viewer/observe starts that.
 *
 * libtracecmd and libtraceevent trust what they read, print, and may crash. So this process gives
 * away what it does not need: memory, files, time to live without its parent. Nothing that they
 * print gets out.
 */
#include "rs-trace-dat-import.h"
#include "rs-trace-expand.h"

#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_MAX ((rlim_t)2 << 30)

static void limit(int what, rlim_t most)
{
	const struct rlimit to = {.rlim_cur = most, .rlim_max = most};

	setrlimit(what, &to);
}

static void give_away(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	limit(RLIMIT_CORE, 0);
	/* Not maps of the file, which may be as large as it is. A sanitizer needs any amount. */
	if (!RS_SANITIZED)
		limit(RLIMIT_DATA, MEMORY_MAX);
	limit(RLIMIT_FSIZE, 0);
	/* Plugins of libtraceevent are those of the system, as far as it has any. */
	unsetenv("HOME");
	unsetenv("TRACEEVENT_PLUGIN_DIR");
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
	int out = keep(STDOUT_FILENO), err = keep(STDERR_FILENO);
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	g_autoptr(GOutputStream) stream = g_unix_output_stream_new(out, TRUE);
	g_autoptr(GError) error = NULL;

	give_away();
	if (argc > 1 && g_str_equal(argv[1], "--pages"))
		return !rs_trace_expand_serve(in, out);
	if (in < 0 || !rs_trace_dat_import(in, stream, &error)) {
		dprintf(err, "%s\n", error ? error->message : "there is no file");
		return 1;
	}
	return 0;
}
