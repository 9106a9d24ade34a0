/* SPDX-License-Identifier: MIT */
/*
 * A page on the terminal of standard output, drawn again and again on its other screen, and keys.
 * The terminal is put back as it was however this process ends, but by SIGKILL: when the screen is
 * destroyed, by a signal that ends the process, and while it is stopped (^Z).
 *
 * One at a time. Thread: main, with its main context.
 */
#ifndef RS_HV_CLI_SCREEN_H
#define RS_HV_CLI_SCREEN_H

#include <glib.h>
#include <stdbool.h>

struct rs_cli_screen;

/* Keys that are no character. */
enum { RS_KEY_LEFT = 0x110000, RS_KEY_RIGHT, RS_KEY_BACKTAB };

struct rs_cli_screen_config {
	void (*key)(int key, void *data); /* a character, or RS_KEY_* */
	void (*redraw)(void *data);       /* the size has changed, or the page was lost */
	void (*gone)(void *data);         /* nobody reads the terminal any more */
	void *data;
};

/* Whether standard output is a terminal that can move its cursor. */
bool rs_cli_screen_is_possible(void);
struct rs_cli_screen *rs_cli_screen_new(const struct rs_cli_screen_config *config);
/* NULL is accepted. */
void rs_cli_screen_free(struct rs_cli_screen *screen);

unsigned rs_cli_screen_rows(const struct rs_cli_screen *screen);
unsigned rs_cli_screen_columns(const struct rs_cli_screen *screen);
/*
 * Shows the lines of `text`, from the top; what does not fit below is left out. A line must not be
 * wider than the screen. If the terminal takes nothing for a while, the page is given up.
 */
void rs_cli_screen_draw(struct rs_cli_screen *screen, const char *text);

#endif
