/* SPDX-License-Identifier: MIT */
#include "cli/test_progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PERIOD_MS 200u
#define WIDTH 80 /* of a terminal that does not tell */

struct rs_test_progress {
	void (*show)(void *data, GString *out);
	void *data;
	guint timer;
	bool shown;
};

static glong width_of_terminal(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : WIDTH;
}

/* A line that is too long would become two, of which only one could be taken away. */
static gboolean on_timer(gpointer data)
{
	struct rs_test_progress *progress = data;
	const glong width = width_of_terminal() - 1;
	g_autoptr(GString) line = g_string_new(NULL);

	progress->show(progress->data, line);
	if (g_utf8_strlen(line->str, -1) > width)
		g_string_truncate(line,
				  (gsize)(g_utf8_offset_to_pointer(line->str, width) - line->str));
	fprintf(stderr, "\r\033[K%s", line->str);
	fflush(stderr);
	progress->shown = true;
	return G_SOURCE_CONTINUE;
}

struct rs_test_progress *rs_test_progress_new(void (*show)(void *data, GString *out), void *data)
{
	struct rs_test_progress *progress;

	if (!isatty(STDERR_FILENO))
		return NULL;
	progress = g_new0(struct rs_test_progress, 1);
	progress->show = show;
	progress->data = data;
	progress->timer = g_timeout_add(PERIOD_MS, on_timer, progress);
	return progress;
}

void rs_test_progress_free(struct rs_test_progress *progress)
{
	if (!progress)
		return;
	rs_test_progress_hide(progress);
	g_source_remove(progress->timer);
	g_free(progress);
}

void rs_test_progress_hide(struct rs_test_progress *progress)
{
	if (!progress || !progress->shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->shown = false;
}
