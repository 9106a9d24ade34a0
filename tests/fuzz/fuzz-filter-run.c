/* SPDX-License-Identifier: MIT */
/*
 * Filter programs. The agent stays inside its bounds with programs that the verifier accepts, and
 * also with those that it refuses. Input: the program; its `size` field is corrected, so that the
 * verifier accepts more.
 */
#include "../../guest-agent/core/filter.h"
#include "../unit/filter/sample.h"
#include "filter/filter.h"
#include "seed.h"

#include <ringside/control.h>
#include <string.h>

static void rs_fuzz_seeds(void)
{
	static const char *const seeds[] = {
		"u8 == 1 && why ~ *a?c* || name ~ [ab]*",
		"COMM == abc || COMM ~ *x && why ~ d*",
		"u64 & 5 == 4",
		"!(s8 < -3 || CPU & CPUS{1})",
		"list[1] == 3 && list == CPUS{1,16}",
		"u8 < s16 || list[0] > mac[2]",
		"why ~ *abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcx*"};
	char name[16];

	for (unsigned int i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		g_autoptr(GByteArray) program = NULL;

		if (sample_compile(seeds[i], &program, NULL))
			g_error("seed %u", i);
		snprintf(name, sizeof(name), "seed%u", i);
		rs_fuzz_seed(name, program->data, program->len);
	}
}

static void run(const void *program, uint32_t size, uint32_t entry_size, uint32_t dyn_count)
{
	g_autofree char *entry = g_malloc0(MAX(entry_size, 1));
	g_autofree char *comm = g_strndup("sixteen-bytes-ab", 16), *text = g_strdup("abcabca");
	struct rs_dyn dyn[2] = {{text, 7}, {text, 8}};
	struct rs_filter_input in = {.entry = entry,
				     .entry_size = entry_size,
				     .dyn = dyn,
				     .dyn_count = dyn_count,
				     .comm = comm};

	rs_filter_run(program, size, &in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t rounded = (uint32_t)(size / RS_FILTER_GRAIN * RS_FILTER_GRAIN);
	g_autofree uint8_t *program = g_memdup2(data, size);

	if (rounded >= sizeof(struct rs_filter_program)) {
		struct rs_filter_program *head = (struct rs_filter_program *)program;

		head->size = rounded;
		if (!rs_filter_verify(program, rounded, sample_event.entry_size, 2, NULL))
			run(program, rounded, sample_event.entry_size, 2);
	}
	if (size) { /* not verified, and the event is smaller */
		run(program, (uint32_t)size, sample_event.entry_size, 2);
		run(program, (uint32_t)size, size % 80, 1);
	}
	return 0;
}
