/* SPDX-License-Identifier: MIT */
/*
 * Filters as machine code. A random program and its code decide the same about random records, the
 * checker accepts the code, and the code reads nothing beyond the record. Input: what is chosen at
 * random. Only an x86-64 host runs the code.
 */
#include "native/native.h"
#include "random-filter.h"
#include "seed.h"

#define RECORDS 512u

static struct random_record record;
static uint8_t *pool;
static uint64_t ran, accepted;

static void report(void)
{
	fprintf(stderr,
		"compared %" G_GUINT64_FORMAT " times, of which accepted: %" G_GUINT64_FORMAT "\n",
		ran, accepted);
}

static void rs_fuzz_seeds(void)
{
	char name[16];

	for (uint8_t i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "seed%u", i);
		rs_fuzz_seed(name, &i, 1);
	}
}

static void prepare(void)
{
	if (pool)
		return;
	random_record_init(&record);
	pool = mmap(NULL, 4 * RS_PAGE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert(pool != MAP_FAILED);
	atexit(report);
}

static bool run_native(const struct rs_native *native)
{
	uint32_t yes;

	if (native->kind == RS_NATIVE_FIELDS)
		yes = ((uint32_t(*)(const void *))pool)(record.input.entry);
	else
		yes = ((uint32_t(*)(const void *, const void *))pool)(record.input.entry,
								      &record.input);
	g_assert_cmpuint(yes, <=, 1);
	return yes;
}

static void compare(struct choices *c, const GByteArray *program, const struct rs_native *native)
{
	memcpy(pool, native->bytes, native->size);
	for (unsigned int i = 0; i < RECORDS; i++) {
		bool want;

		if (i % 64)
			random_change(c, &record);
		else
			random_record(c, &record);
		want = rs_filter_run((const void *)program->data, program->len, &record.input);
#ifdef __x86_64__
		if (run_native(native) != want)
			g_error("the code says %d, the program %d", !want, want);
#endif
		ran++;
		accepted += want;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choices c = choices_of(data, size);
	g_autoptr(GByteArray) program = random_program(&c);
	struct rs_filter_error why = {0};
	struct rs_error err = {0};
	static struct rs_native native;
	int ret;

	prepare();
	ret = rs_filter_verify(program->data, program->len, RANDOM_ENTRY, RANDOM_DYNS, &why);
	if (ret == -E2BIG) /* too many steps */
		return 0;
	if (ret)
		g_error("not a program: %s", why.message);
	ret = rs_native_compile(RS_ARCH_X86_64, program->data, RANDOM_ENTRY, RANDOM_DYNS, &native,
				&err);
	if (ret == -E2BIG)
		return 0;
	if (ret || rs_native_check(RS_ARCH_X86_64, &native, &err))
		g_error("%s", err.message);
	compare(&c, program, &native);
	return 0;
}
