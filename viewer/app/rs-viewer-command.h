/* SPDX-License-Identifier: MIT */
/*
 * The command line of ringside-viewer. It is checked by the process that was started, which has a
 * console, and carried out by the one that has the windows.
 *
 * Thread: main. Trust: the user's own.
 */
#ifndef RS_VIEWER_COMMAND_H
#define RS_VIEWER_COMMAND_H

#include <gio/gio.h>

G_BEGIN_DECLS

enum {
	RS_VIEWER_EXIT_FAILED = 1,
	RS_VIEWER_EXIT_USAGE = 2,
	RS_VIEWER_EXIT_NOT_FOUND = 3, /* no such session */
};

typedef struct {
	char *session; /* NULL: none */
	char **paths;  /* never NULL */
	gboolean compare, tabs, new_window;
} RsViewerCommand;

void rs_viewer_command_clear(RsViewerCommand *command);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsViewerCommand, rs_viewer_command_clear)

/* Tells the application its options. */
void rs_viewer_command_describe(GApplication *application);
/*
 * For GApplicationClass.handle_local_options: -1, or the code with which to exit, after a message
 * if it is not 0.
 */
int rs_viewer_command_check(GApplication *application, GVariantDict *options);
/* FALSE: a path is none of a file of this computer. */
gboolean rs_viewer_command_read(GApplicationCommandLine *line, RsViewerCommand *out);

G_END_DECLS

#endif
