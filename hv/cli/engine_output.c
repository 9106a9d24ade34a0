/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* fopencookie() */
#include "cli/engine_output.h"

#include "cli/verb.h"

#include <errno.h>
#include <unistd.h>

#define LOOK_US 100000 /* between two looks whether the user ends it */

/* All of it, or none is said to be written, which is an error of the stream. */
static ssize_t write_some(void *data, const char *text, size_t size)
{
	struct rs_cli_engine_output *output = data;
	size_t written = 0;

	while (written < size && !output->error) {
		gint64 until = g_get_monotonic_time() + LOOK_US;
		size_t done = 0;
		int ret = rs_output_write(&output->output, text + written, size - written, &until,
					  &done);

		written += done;
		if (ret && ret != -ETIMEDOUT)
			output->error = -ret;
		else if (ret && rs_cli_wait_is_over(output->wait))
			output->error = EPIPE;
	}
	errno = output->error;
	return written == size ? (ssize_t)size : 0;
}

void rs_cli_engine_output_begin(struct rs_cli_engine_output *output, struct rs_cli_wait *wait)
{
	const cookie_io_functions_t functions = {.write = write_some};
	FILE *stream;

	*output = (struct rs_cli_engine_output){.wait = wait, .before = stdout};
	rs_output_init(&output->output, STDOUT_FILENO);
	stream = fopencookie(output, "w", functions);
	g_assert(stream);
	setvbuf(stream, NULL, _IOLBF, 0);
	stdout = stream;
}

int rs_cli_engine_output_end(struct rs_cli_engine_output *output)
{
	fclose(stdout);
	stdout = output->before;
	rs_output_deinit(&output->output);
	if (!output->error || output->error == EPIPE)
		return RS_CLI_OK;
	return rs_cli_fail(RS_CLI_FAILED, "the output could not be written: %s",
			   g_strerror(output->error));
}
