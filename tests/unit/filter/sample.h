/* SPDX-License-Identifier: MIT */
/* One event with every kind of field, for the tests and the fuzzers of filters. */
#ifndef RS_TESTS_FILTER_SAMPLE_H
#define RS_TESTS_FILTER_SAMPLE_H

#include "filter/filter.h"
#include <ringside/record.h>

struct sample {
	uint8_t u8;
	int8_t s8;
	uint16_t u16;
	int16_t s16;
	uint32_t u32;
	int32_t s32;
	uint64_t u64;
	int64_t s64;
	uint64_t addr;
	uint32_t state;
	uint32_t bits;
	char name[16];
	uint32_t list; /* locator */
	uint32_t why;  /* locator */
	uint8_t mac[6];
	uint8_t pad[2];
};

static const RsTraceSymbol sample_states[] = {{0, "R"}, {1, "S"}, {0x80, "long wait"}};
static const RsTraceSymbol sample_bits[] = {{1, "A"}, {2, "B"}, {0x80000000u, "TOP"}};

#define NUMBER(f, ctype, k, s)                                                                     \
	{                                                                                          \
		.name = #f, .type = ctype, .kind = k, .offset = offsetof(struct sample, f),        \
		.size = sizeof(((struct sample *)0)->f), .is_signed = s                            \
	}
static const RsTraceField sample_fields[] = {
	NUMBER(u8, "u8", RS_KIND_UINT, FALSE),
	NUMBER(s8, "s8", RS_KIND_SINT, TRUE),
	NUMBER(u16, "u16", RS_KIND_UINT, FALSE),
	NUMBER(s16, "s16", RS_KIND_SINT, TRUE),
	NUMBER(u32, "u32", RS_KIND_UINT, FALSE),
	NUMBER(s32, "s32", RS_KIND_SINT, TRUE),
	NUMBER(u64, "u64", RS_KIND_HEX, FALSE),
	NUMBER(s64, "s64", RS_KIND_SINT, TRUE),
	NUMBER(addr, "void *", RS_KIND_POINTER, FALSE),
	{.name = "state",
	 .type = "u32",
	 .kind = RS_KIND_ENUM,
	 .size = 4,
	 .offset = offsetof(struct sample, state),
	 .n_symbols = 3,
	 .symbols = sample_states},
	{.name = "bits",
	 .type = "u32",
	 .kind = RS_KIND_FLAGS,
	 .size = 4,
	 .offset = offsetof(struct sample, bits),
	 .n_symbols = 3,
	 .symbols = sample_bits},
	NUMBER(name, "char[16]", RS_KIND_STRING, FALSE),
	{.name = "list",
	 .type = "__data_loc u16[]",
	 .kind = RS_KIND_DYN_ARRAY,
	 .size = 4,
	 .offset = offsetof(struct sample, list),
	 .elem_size = 2,
	 .dyn_index = 0},
	{.name = "why",
	 .type = "__data_loc char[]",
	 .kind = RS_KIND_DYN_STRING,
	 .size = 4,
	 .offset = offsetof(struct sample, why),
	 .dyn_index = 1},
	{.name = "mac",
	 .type = "u8[6]",
	 .kind = RS_KIND_ARRAY,
	 .size = 6,
	 .elem_size = 1,
	 .elem_count = 6,
	 .offset = offsetof(struct sample, mac)},
};
#undef NUMBER

static const RsTraceEvent sample_event = {
	.id = RS_FIRST_EVENT_ID,
	.system = "test",
	.name = "sample",
	.entry_size = sizeof(struct sample),
	.n_fields = G_N_ELEMENTS(sample_fields),
	.fields = sample_fields,
};

static inline int sample_compile(const char *expression, GByteArray **program,
				 struct rs_filter_error *err)
{
	return rs_filter_compile((const RsTraceEvent *[]){&sample_event}, 1, expression, program,
				 err);
}

/* A second event, which lacks most fields, and whose u32 is a string. */
static const RsTraceField other_fields[] = {
	{.name = "u8", .type = "u64", .kind = RS_KIND_UINT, .size = 8},
	{.name = "only",
	 .type = "s32",
	 .kind = RS_KIND_SINT,
	 .size = 4,
	 .offset = 8,
	 .is_signed = TRUE},
	{.name = "name", .type = "char[4]", .kind = RS_KIND_STRING, .size = 4, .offset = 12},
};
static const RsTraceEvent other_event = {
	.id = RS_FIRST_EVENT_ID + 1,
	.system = "test",
	.name = "other",
	.entry_size = 16,
	.n_fields = G_N_ELEMENTS(other_fields),
	.fields = other_fields,
};

#endif
