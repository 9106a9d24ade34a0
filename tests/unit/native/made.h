/* SPDX-License-Identifier: MIT */
/* Programs of one instruction, and their code in memory that can be run. */
#ifndef RS_TESTS_NATIVE_MADE_H
#define RS_TESTS_NATIVE_MADE_H

#include "../../fuzz/random-filter.h"
#include "native/native.h"

struct made {
	struct rs_filter_program head;
	struct rs_filter_insn in;
	uint8_t pool[RS_FILTER_MAX_SIZE - 64];
} __attribute__((aligned(8)));

/* One that accepts if the instruction is true. `pool`: what its imm names. */
static inline void made_program(struct made *m, struct rs_filter_insn in, const void *pool,
				uint32_t size)
{
	memset(m, 0, sizeof(*m));
	in.on_true = RS_FILTER_ACCEPT;
	in.on_false = RS_FILTER_REJECT;
	m->head = (struct rs_filter_program){
		.insn_count = 1,
		.pool = offsetof(struct made, pool),
		.event = RS_FIRST_EVENT_ID,
		.size = RS_ALIGN_UP(offsetof(struct made, pool) + size, RS_FILTER_GRAIN)};
	if (pool) {
		memcpy(m->pool, pool, size);
		in.imm = offsetof(struct made, pool) | (uint64_t)size << 32;
	}
	m->in = in;
}

static inline uint8_t *made_page(void)
{
	static uint8_t *page;

	if (!page)
		page = mmap(NULL, 4 * RS_PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert(page != MAP_FAILED);
	return page;
}

static inline bool made_run(const struct rs_native *native, const struct rs_filter_input *input)
{
	uint8_t *page = made_page();

	memcpy(page, native->bytes, native->size);
	if (native->kind == RS_NATIVE_FIELDS)
		return ((uint32_t(*)(const void *))page)(input->entry);
	return ((uint32_t(*)(const void *, const void *))page)(input->entry, input);
}

/* Compiles, checks. */
static inline void made_code(const void *program, struct rs_native *native)
{
	struct rs_error err = {0};
	int ret =
		rs_native_compile(RS_ARCH_X86_64, program, RANDOM_ENTRY, RANDOM_DYNS, native, &err);

	if (!ret)
		ret = rs_native_check(RS_ARCH_X86_64, native, &err);
	if (ret)
		g_error("%s", err.message);
}

#endif
