/* SPDX-License-Identifier: MIT */
#include "cli/engine_input.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#define TYPED_MAX 4096 /* bytes of a command */

void rs_cli_engine_input_init(struct rs_cli_engine_input *input, char **script,
			      void (*more)(void *data), void *data)
{
	*input = (struct rs_cli_engine_input){.script = script, .more = more, .data = data};
	input->from = script                 ? RS_CLI_ENGINE_FROM_SCRIPT
		      : isatty(STDIN_FILENO) ? RS_CLI_ENGINE_FROM_TERMINAL
					     : RS_CLI_ENGINE_FROM_PIPE;
	input->typed = g_string_new(NULL);
}

void rs_cli_engine_input_deinit(struct rs_cli_engine_input *input)
{
	g_clear_handle_id(&input->listening, g_source_remove);
	g_string_free(input->typed, TRUE);
}

static const char *end_of_line(const struct rs_cli_engine_input *input)
{
	return memchr(input->typed->str, '\n', input->typed->len);
}

char *rs_cli_engine_input_peek(const struct rs_cli_engine_input *input)
{
	const GString *typed = input->typed;
	const char *end;

	if (input->from == RS_CLI_ENGINE_FROM_SCRIPT)
		return input->script ? g_strdup(input->script[input->at]) : NULL;
	end = end_of_line(input);
	if (!end && (!input->ended || !typed->len))
		return NULL;
	return g_strndup(typed->str, end ? (gsize)(end - typed->str) : typed->len);
}

void rs_cli_engine_input_take(struct rs_cli_engine_input *input)
{
	const char *end;

	if (input->from == RS_CLI_ENGINE_FROM_SCRIPT) {
		input->at++;
		return;
	}
	end = end_of_line(input);
	g_string_erase(input->typed, 0, end ? end - input->typed->str + 1 : -1);
}

static gboolean on_input(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_cli_engine_input *input = data;
	char bytes[TYPED_MAX];
	ssize_t got = read(fd, bytes, sizeof(bytes));

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return G_SOURCE_CONTINUE;
	input->listening = 0;
	if (got <= 0)
		input->ended = true;
	else
		g_string_append_len(input->typed, bytes, got);
	input->too_long = input->typed->len > TYPED_MAX && !end_of_line(input);
	input->more(input->data);
	return G_SOURCE_REMOVE;
}

void rs_cli_engine_input_listen(struct rs_cli_engine_input *input)
{
	if (input->from == RS_CLI_ENGINE_FROM_SCRIPT || input->ended || input->too_long ||
	    input->listening || end_of_line(input))
		return;
	input->listening =
		g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP | G_IO_ERR, on_input, input);
}
