/* SPDX-License-Identifier: MIT */
#include "random.h"

#include <string.h>

static void fill_entry(GRand *r, struct sample *s, char *why, char *comm)
{
	static const int64_t edges[] = {
		0,     1,         -1,        127,        128,       -128,      255, 32767,
		65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 5,   3};
	static const char letters[] = "abc";
	uint8_t *bytes = (uint8_t *)s;
	int64_t v;

	for (unsigned int i = 0; i < sizeof(*s); i++)
		bytes[i] = (uint8_t)g_rand_int(r);
#define PICK(f)                                                                                    \
	do {                                                                                       \
		v = edges[g_rand_int_range(r, 0, G_N_ELEMENTS(edges))];                            \
		if (g_rand_boolean(r))                                                             \
			memcpy(&s->f, &v, sizeof(s->f));                                           \
	} while (0)
	PICK(u8);
	PICK(s8);
	PICK(u16);
	PICK(s16);
	PICK(u32);
	PICK(s32);
	PICK(u64);
	PICK(s64);
	PICK(state);
	PICK(bits);
#undef PICK
	if (g_rand_boolean(r)) {
		memset(s->mac, 0, sizeof(s->mac));
		s->mac[0] = (uint8_t)(1u << g_rand_int_range(r, 0, 8));
	}
	memset(s->name, 0, sizeof(s->name));
	for (int i = g_rand_int_range(r, 0, 17); i-- > 0;)
		s->name[i] = letters[g_rand_int_range(r, 0, 3)];
	memset(why, 0, 32);
	for (int i = g_rand_int_range(r, 0, 31); i-- > 0;)
		why[i] = letters[g_rand_int_range(r, 0, 3)];
	memset(comm, 0, RS_COMM_LEN);
	for (int i = g_rand_int_range(r, 0, 17); i-- > 0;)
		comm[i] = letters[g_rand_int_range(r, 0, 3)];
}

static void append_number(GRand *r, GString *out)
{
	static const char *const numbers[] = {"0",
					      "1",
					      "-1",
					      "3",
					      "5",
					      "127",
					      "-128",
					      "128",
					      "0xff",
					      "0177777",
					      "32767",
					      "-32768",
					      "0x7fffffff",
					      "-2147483648",
					      "0xffffffff",
					      "4294967296",
					      "0x7fffffffffffffff",
					      "-9223372036854775808",
					      "0xffffffffffffffff",
					      "-(0x10)",
					      "200",
					      "4",
					      "-4"};

	if (g_rand_boolean(r))
		g_string_append(out, numbers[g_rand_int_range(r, 0, G_N_ELEMENTS(numbers))]);
	else
		g_string_append_printf(out, "%d", g_rand_int_range(r, -300, 300));
}

/* A string in quotes, or, if `bare`, as a word in which a backslash keeps what would end it. */
static void append_string(GString *out, const char *text, bool is_glob, bool bare)
{
	if (!bare)
		g_string_append_c(out, '"');
	for (const char *s = text; *s; s++) {
		/* a glob has backslashes of its own, which a bare word leaves to it */
		if (bare && is_glob && *s == '\\' && s[1])
			g_string_append_c(out, *s++);
		else if (bare ? strchr(" \t\n()&\"'\\", *s) ||
					 (s == text && strchr("=<>!~|", *s)) ||
					 (*s == '|' && s[1] == '|')
			      : *s == '"' || *s == '\\')
			g_string_append_c(out, '\\');
		g_string_append_c(out, *s);
	}
	if (!bare)
		g_string_append_c(out, '"');
}

/* Strings of the letters that entries have, and now and then of what a bare word may stumble on. */
static void append_text(GRand *r, GString *out, bool is_glob, bool quoted)
{
	static const char *const pieces[] = {
		"a",   "b", "c",  "*",  "?",      "[ab]", "[!a]", "[^bc]",   "[a-b]",        "*",
		"aa",  "{", "}",  "]",  "(",      ")",    " ",    " && b",   "||",           "|",
		"&",   "'", "\"", "-(", "CPUS{1", "\\[",  "\\]",  "[a\\]b]", "[c (&|)\"\\]", "\\\\",
		"\\*", "=="};
	g_autoptr(GString) text = g_string_new(NULL);
	bool bare = g_rand_boolean(r), plain = g_rand_boolean(r);

	if (is_glob && !bare && g_rand_int_range(r, 0, 5) == 0)
		g_string_append_c(text, '!'); /* inverts the pattern, but a bare word has none */
	for (int i = g_rand_int_range(r, 0, 8); i-- > 0;)
		g_string_append(
			text,
			pieces[g_rand_int_range(r, 0, plain ? 11 : (int)G_N_ELEMENTS(pieces))]);
	append_string(out, text->str, is_glob, bare && !quoted && text->len > 0);
}

static void append_symbol(GRand *r, GString *out, bool quoted)
{
	static const struct {
		const char *term, *symbol;
	} symbols[] = {{"state == ", "S"},
		       {"state != ", "long wait"},
		       {"bits & ", "A|B"},
		       {"bits == ", "TOP"}};
	unsigned int which = (unsigned int)g_rand_int_range(r, 0, G_N_ELEMENTS(symbols));
	bool bare = g_rand_boolean(r);

	g_string_append(out, symbols[which].term);
	append_string(out, symbols[which].symbol, false, bare && !quoted);
}

static const char *numeric(GRand *r)
{
	static const char *const names[] = {"u8",         "s8",     "u16",    "s16",     "u32",
					    "s32",        "u64",    "s64",    "addr",    "state",
					    "bits",       "PID",    "TGID",   "CPU",     "only",
					    "common_cpu", "mac[1]", "mac[5]", "list[0]", "list[3]"};

	return names[g_rand_int_range(r, 0, G_N_ELEMENTS(names))];
}

static const char *comparison(GRand *r)
{
	static const char *const cmps[] = {" == ", " != ", " < ", " <= ", " > ", ">="};

	return cmps[g_rand_int_range(r, 0, G_N_ELEMENTS(cmps))];
}

/* A list of CPUs, and what is asked for them. */
static void append_cpus(GRand *r, GString *out)
{
	static const char *const what[] = {"CPU & ",  "CPU & ",  "CPU != ",  "mac & ",  "mac == ",
					   "mac != ", "list & ", "list == ", "list != "};
	static const char *const more[] = {"5", "0-7:1/3", "1-40:2/4"};

	g_string_append_printf(out, "%sCPUS{%d-%d, %s}",
			       what[g_rand_int_range(r, 0, G_N_ELEMENTS(what))],
			       g_rand_int_range(r, 0, 2), g_rand_int_range(r, 2, 5),
			       more[g_rand_int_range(r, 0, G_N_ELEMENTS(more))]);
}

static void append_numbers(GRand *r, GString *out)
{
	switch (g_rand_int_range(r, 0, 8)) {
	case 0: /* two fields */
		g_string_append_printf(out, "%s%s%s", numeric(r), comparison(r), numeric(r));
		return;
	case 1: /* the number first */
		append_number(r, out);
		g_string_append_printf(out, "%s%s", comparison(r), numeric(r));
		return;
	case 2: /* the field alone */
		g_string_append(out, numeric(r));
		return;
	case 3:
	case 4:
		g_string_append_printf(out, "%s & ", numeric(r));
		append_number(r, out);
		if (g_rand_boolean(r))
			return;
		break;
	default:
		g_string_append(out, numeric(r));
		break;
	}
	g_string_append(out, comparison(r));
	append_number(r, out);
}

static void append_term(GRand *r, GString *out, bool quoted)
{
	static const char *const text[] = {"name", "why", "COMM"};
	static const char *const tests[] = {" == ", " != ", " ~ ", " !~ "};
	unsigned int test;

	switch (g_rand_int_range(r, 0, 9)) {
	case 0:
	case 1:
		g_string_append(out, text[g_rand_int_range(r, 0, 3)]);
		test = (unsigned int)g_rand_int_range(r, 0, G_N_ELEMENTS(tests) + 1);
		if (test == G_N_ELEMENTS(tests))
			return; /* it is not empty */
		g_string_append(out, tests[test]);
		append_text(r, out, test >= 2, quoted);
		return;
	case 2:
		append_cpus(r, out);
		return;
	case 3:
		append_symbol(r, out, quoted);
		return;
	default:
		append_numbers(r, out);
		return;
	}
}

void random_expression(GRand *r, GString *out, bool quoted, int depth)
{
	int n = g_rand_int_range(r, 1, 4);

	for (int i = 0; i < n; i++) {
		if (i)
			g_string_append(out, g_rand_boolean(r) ? " && " : " || ");
		if (g_rand_int_range(r, 0, 4) == 0)
			g_string_append_c(out, '!');
		if (depth && g_rand_int_range(r, 0, 3) == 0) {
			g_string_append_c(out, '(');
			random_expression(r, out, quoted, depth - 1);
			g_string_append_c(out, ')');
		} else {
			append_term(r, out, quoted);
		}
	}
}

const struct rs_filter_input *random_input(GRand *r, struct random_input *out)
{
	out->dyn[0] = (struct rs_dyn){NULL, 0};
	if (g_rand_boolean(r)) {
		for (unsigned int i = 0; i < G_N_ELEMENTS(out->list); i++)
			out->list[i] = (uint16_t)g_rand_int_range(r, 0, 9);
		out->dyn[0] = (struct rs_dyn){
			out->list, (uint32_t)g_rand_int_range(r, 0, G_N_ELEMENTS(out->list) + 1) *
					   (uint32_t)sizeof(out->list[0])};
	}
	out->dyn[1] = (struct rs_dyn){out->why, sizeof(out->why)};
	fill_entry(r, &out->entry, out->why, out->comm);
	out->input = (struct rs_filter_input){
		.entry = &out->entry,
		.entry_size = sizeof(out->entry),
		.dyn = out->dyn,
		.dyn_count = 2,
		.comm = out->comm,
		.pid = g_rand_int(r) >> g_rand_int_range(r, 0, 32),
		.tgid = g_rand_int(r) >> g_rand_int_range(r, 0, 32),
		.cpu = (uint32_t)g_rand_int_range(r, 0, 9),
	};
	return &out->input;
}
