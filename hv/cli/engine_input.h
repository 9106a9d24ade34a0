/* SPDX-License-Identifier: MIT */
/* Where `ringside engine` has its commands from: a script, a pipe or a terminal. Thread: main. */
#ifndef RS_HV_CLI_ENGINE_INPUT_H
#define RS_HV_CLI_ENGINE_INPUT_H

#include <glib.h>
#include <stdbool.h>

enum rs_cli_engine_from {
	RS_CLI_ENGINE_FROM_SCRIPT,   /* anew at each stop; the thread goes on at its end */
	RS_CLI_ENGINE_FROM_PIPE,     /* a line waits until its thread has stopped */
	RS_CLI_ENGINE_FROM_TERMINAL, /* a line is carried out at once, and may be wrong */
};

struct rs_cli_engine_input {
	enum rs_cli_engine_from from;
	char **script; /* borrowed; NULL: it is empty */
	guint at;      /* the next command of the script; 0: it has not begun */
	bool ended;    /* nothing more will be typed */
	bool too_long; /* a line is, and so nothing more is read */
	/* More was typed, or nothing more will be. */
	void (*more)(void *data);
	void *data;
	/* Private: */
	GString *typed;
	guint listening;
};

/* `script` NULL: from standard input. */
void rs_cli_engine_input_init(struct rs_cli_engine_input *input, char **script,
			      void (*more)(void *data), void *data);
void rs_cli_engine_input_deinit(struct rs_cli_engine_input *input);

/* The next line, to be freed; NULL: there is none now. It stays until it is taken. */
char *rs_cli_engine_input_peek(const struct rs_cli_engine_input *input);
void rs_cli_engine_input_take(struct rs_cli_engine_input *input);
/* Reads on if no line is there. */
void rs_cli_engine_input_listen(struct rs_cli_engine_input *input);

#endif
