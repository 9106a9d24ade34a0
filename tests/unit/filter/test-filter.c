/* SPDX-License-Identifier: MIT */
#include "reference.h"
#include "sample.h"

#include <errno.h>
#include <string.h>

static const struct sample entry = {
	.u8 = 200,
	.s8 = -3,
	.u16 = 0xffff,
	.s16 = -300,
	.u32 = 0xfffffffe,
	.s32 = -1,
	.u64 = UINT64_MAX,
	.s64 = INT64_MIN,
	.addr = 0xffff888000001000,
	.state = 1,
	.bits = 0x80000001,
	.name = "kworker/0:1-evt", /* 15 bytes and a NUL */
	.mac = {0x06, 0x80, 0, 0, 0, 0x40},
};
static const uint16_t list[] = {2, 0x8001, 7};
static const struct rs_dyn dyn[] = {{list, sizeof(list)}, {"disk full", 10}};
static const struct rs_filter_input input = {
	.entry = &entry,
	.entry_size = sizeof(entry),
	.dyn = dyn,
	.dyn_count = 2,
	.comm = "sixteen-bytes-ab",
	.pid = 4294967295u,
	.tgid = 4000,
	.cpu = 3,
};

static bool run(const GByteArray *program, const struct rs_filter_input *in)
{
	return rs_filter_run((const struct rs_filter_program *)program->data, program->len, in);
}

static const struct {
	const char *expression;
	bool want;
} TABLE[] = {
	/* the full range, signed and unsigned */
	{"u64 > 5", true},
	{"u64 == 18446744073709551615", true},
	{"u64 < 0x7fffffffffffffff", false},
	{"s64 < 0", true},
	{"s64 == -9223372036854775808", true},
	{"s64 <= -9223372036854775807", true},
	{"u8 == 200", true},
	{"u8 > 199 && u8 < 201", true},
	{"s8 == -3", true},
	{"s8 > -3", false},
	{"s8 >= -3", true},
	{"s16 == -300", true},
	{"s16 < -299", true},
	{"u16 == 0177777", true},
	{"u32 == 0xFFFFFFFE", true},
	{"s32 == -1", true},
	{"s32 == -(0x1)", true},
	{"s32 == -( 1 )", true},
	{"s32 != -1", false},
	{"s32 < 0", true},
	{"s32 > 0", false},
	{"addr == 0xffff888000001000", true},
	{"addr >= 0xffff800000000000", true},
	{"u8>=200&&u8<=200", true},
	{"  u8\t==\n200  ", true},
	/* masks */
	{"u8 & 8", true},
	{"u8 & 7", false},
	{"u8 & 0xc0 == 0xc0", true},
	{"u8 & 0xc0 == 0x40", false},
	{"u8 & 0xc0 != 0x40", true},
	{"(u8 & 0xc0) == 0xc0", true},
	{"u8&0xf==8", true},
	{"u8 & 0xf < 9", true},
	{"u8 & 0xf > 8", false},
	{"s8 & 0x80", true},
	{"s8 & -4 == -4", true},
	{"s8 & -4 < 0", true},
	{"s32 & 0xffff == 0xffff", true},
	{"u64 & 0x8000000000000000", true},
	{"s64 & 0x8000000000000000", true},
	{"!(u8 & 7)", true},
	{"!u8 & 7", true},
	{"u16 & 010", true},
	/* symbols */
	{"state == S", true},
	{"state != R", true},
	{"state == \"long wait\"", false},
	{"state < 'long wait'", true},
	{"state == 1", true},
	{"bits & A", true},
	{"bits & B", false},
	{"bits & A|B", true},
	{"bits == A|TOP", true},
	{"bits == \"A|TOP\"", true},
	{"bits & A|B == A", true},
	{"bits & 2", false},
	/* strings */
	{"name == kworker/0:1-evt", true},
	{"name == \"kworker/0:1-evt\"", true},
	{"name != 'kworker/0:1-ev'", true},
	{"name == kworker*", false},
	{"name ~ kworker*", true},
	{"name ~ *evt", true},
	{"name ~ *0:1*", true},
	{"name !~ *0:2*", true},
	{"name ~ *", true},
	{"name ~ k?orker/[0-9]:[!2]-*", true},
	{"name ~ k?orker/[^0-9]*", false},
	{"name ~ [a-k]*[rst]", true},
	{"name ~ kworker", false},
	{"name ~ kworker/0:1-evt", true},
	{"name ~ ???????????????", true},
	{"name ~ ????????????????", false},
	{"name == ''", false},
	{"name != ''", true},
	{"name ~ \"\"", false},
	{"why == \"disk full\"", true},
	{"why == disk", false},
	{"why ~ disk?full", true},
	{"why ~ 'disk *'", true},
	{"why ~ disk\\ full", true},
	{"why ~ \"*[ ]full\"", true},
	{"why ~ '*\\*'", false},
	/* where Linux has it otherwise */
	{"why ~ \"!disk*\"", false},
	{"why !~ \"!disk*\"", true},
	{"why ~ \"!tape*\"", true},
	{"why ~ '!disk full'", false},
	{"why ~ '!'", true},
	{"why ~ '!!'", true},
	{"why ~ '\\!*'", false},
	{"why ~ \\!tape*", false},
	{"why ~ \"di\\tk*\"", false},
	{"why ~ \"di\\sk*\"", true},
	{"why == \"disk\\tfull\"", false},
	{"u8 & 010", true},
	{"u16 & 07 == 7", true},
	{"why ~ \"[^d]*\"", false},
	{"why ~ \"disk[\\ ]full\"", true},
	{"why ~ '*[\\]x]full'", false},
	{"why == \"disk\\\\full\"", false},
	{"u8 & 8 > 3", true},
	{"u8 & 8 <= 3", false},
	/* a backslash in a bare word */
	{"why == disk\\ full", true},
	{"why == di\\sk\\ full && u8 == 200", true},
	{"why == disk\\\\\\ full", false},
	{"why ~ di\\sk\\ f*", true},
	{"why ~ disk\\?full", false},
	{"(why != disk\\)full)", true},
	{"why == full\\", false},
	{"state != long\\ wait", true},
	{"why != \"disk \\\"full\\\"\"", true},
	/* brackets, braces and parentheses hold nothing together in a bare word */
	{"why == [x && name == y] || u8 == 200", true},
	{"why == a[1 || u8 == 200 || why == b]2", true},
	{"why == {x || u8 == 200 || why == y}", true},
	{"(why == {) || (CPU & CPUS{3})", true},
	{"why == {||CPU & CPUS{3}", true},
	{"why == [||u8 == 200||why == ]", true},
	{"bits & A|B && u8 == 200", true},
	{"why ~ \\[x && name ~ y] || u8 == 200", true},
	{"why ~ {x || u8 == 200 || why ~ y}", true},
	{"why ~ [x\\]d]isk*", true},
	{"why ~ [d\\ ]isk[\\ \\&]f*", true},
	{"why == CPUS{1 || u8 == 200 || why == 2}", true},
	{"why != -(1) && why != CPUS{1,}", true},
	/* names that every event has */
	{"COMM == sixteen-bytes-ab", true},
	{"comm ~ \"*-ab\"", true},
	{"COMM ~ sixteen*", true},
	{"COMM ~ *[a]b", true},
	{"COMM == sixteen-bytes-a", false},
	{"PID == 4294967295", true},
	{"common_pid > 5", true},
	{"PID & 1", true},
	{"CPU == 3", true},
	{"cpu != 3", false},
	/* s8 is -3: 253 if it were read as unsigned */
	{"s8 & CPUS{253}", false},
	{"s8 & CPUS{0-1023}", false},
	{"s8 == CPUS{253}", false},
	{"s8 != CPUS{253}", true},
	{"CPU & CPUS{0-1,3}", true},
	{"CPU & CPUS{0-2}", false},
	{"!CPU & CPUS{0-2}", true},
	{"CPU & CPUS{ 1, 3-63 }", true},
	{"CPU & CPUS{1023}", false},
	{"CPU & CPUS{0-2,4-1023}", false},
	{"CPU & CPUS{3,1000-1023}", true},
	{"TGID == 4000", true},
	{"common_tgid != 4000", false},
	{"TGID < 4000 || PID == 0", false},
	{"CPU == CPUS{3}", true},
	{"CPU != CPUS{3}", false},
	{"u8 & CPUS{1}", false},
	{"u8 & CPUS{199,201}", false},
	{"u8 & CPUS{200}", true},
	{"common_cpu == 3", true},
	{"CPU != CPUS{0-2}", true},
	{"u16 != CPUS{0-1}", true},
	{"u8 & CPUS{all}", true},
	{"u8 & CPUS{N}", false},
	{"CPU & 1", true},
	{"CPU & 4", false},
	{"u64 & CPUS{0-1}", false},
	{"COMM ~ \"*b\"", true},
	{"COMM ~ \"*a\"", false},
	{"CPU != CPUS{0-3}", false},
	{"!(CPU != CPUS{1,3})", true},
	{"s8 != CPUS{1,253}", true},
	{"CPU & CPUS{all}", true},
	{"CPU & CPUS{0-N}", true},
	{"CPU & CPUS{4-N}", false},
	{"CPU & CPUS{N}", false},
	{"CPU & CPUS{0-7:2/4}", false},
	{"CPU & CPUS{1-7:2/4, 3}", true},
	{"CPU & CPUS{all:1/3}", true},
	{"CPU & CPUS{0-N:1/2}", false},
	/* a field alone */
	{"u8", true},
	{"!u8", false},
	{"u8 && s8", true},
	{"(u8)", true},
	{"(u8) == 200", true},
	{"!name", false},
	{"name && !(why == x)", true},
	{"s64 || u8 == 1", true},
	{"CPU", true},
	{"mac[2]", false},
	{"!mac[2] && mac[1]", true},
	/* the value first */
	{"100 < u8", true},
	{"200 <= u8", true},
	{"201 <= u8", false},
	{"-4 < s8 && -2 > s8", true},
	{"200 == u8", true},
	{"1 != u8", true},
	{"'kworker/0:1-evt' == name", true},
	{"\"x\" != name", true},
	{"8 & u8", true},
	{"7 & u8", false},
	{"0xc0 & u8 == 0xc0", true},
	{"(0xc0 & u8) == 0x40", false},
	{"5<u8&&0x80>=u8", false},
	/* elements of arrays, and arrays of bits */
	{"mac[0] == 6", true},
	{"mac[5] == 0x40 && mac[1] > 127", true},
	{"mac[0] & 2", true},
	{"mac[0] & 6 == 4", false},
	{"list[0] == 2 && list[1] == 32769", true},
	{"list[2] >= 0", true},
	{"list[3] == 0", false},
	{"list[3] != 0", false},
	{"list[3] >= 0", false},
	{"!list[3]", true},
	{"list[3]", false},
	{"7 == list[2]", true},
	{"list[0] & CPUS{1-2}", true},
	{"mac & CPUS{1}", true},
	{"mac & CPUS{0,3-14}", false},
	{"mac & CPUS{46}", true},
	{"mac == CPUS{1-2,15,46}", true},
	{"mac == CPUS{1-2,15}", false},
	{"mac != CPUS{1-2,15,46}", false},
	{"mac & CPUS{all}", true},
	{"list & CPUS{16}", true},
	{"list & CPUS{0,17-30}", false},
	{"list & CPUS{31,800}", true},
	{"list == CPUS{1,16,31-34}", true},
	{"list == CPUS{1,16,31-34,47}", false},
	{"list == CPUS{1,16,31-34,48}", false},
	{"list != CPUS{1}", true},
	/* two fields */
	{"u8 == u16", false},
	{"u8 < u16", true},
	{"u32 > s32", true},
	{"s32 < u8", true},
	{"s8 > s16", true},
	{"s64 <= u64", true},
	{"u64 >= s64 && u64 != s64", true},
	{"s32 == s32", true},
	{"PID == u32", false},
	{"CPU < PID", true},
	{"mac[0] < mac[1]", true},
	{"list[0] == list[2]", false},
	{"list[0] != list[9]", false},
	{"u8 != list[0]", true},
	{"state < bits", true},
	/* precedence and shape */
	{"u8 == 200 || u8 == 1 && u8 == 2", true},
	{"(u8 == 200 || u8 == 1) && u8 == 2", false},
	{"!u8 == 1", true},
	{"!(u8 == 200 && s8 == -3)", false},
	{"!!u8 == 200", true},
	{"!(u8 == 1 || u8 == 2) && !(s8 > 0)", true},
	{"! ! ! (u8 == 200)", false},
	{"((((u8 == 200))))", true},
	{"u8 == 1 || u8 == 2 || u8 == 200", true},
	{"u8 == 200 && s8 == -3 && CPU == 3 && name ~ k*", true},
	/* the result is always the same, though each value is possible */
	{"u8 >= 0", true},
	{"u8 < 0", false},
	{"u8 <= 255 && u8 == 200", true},
	{"u8 < 0 || u8 == 200", true},
	{"u8 >= 0 || u8 == 1", true},
	{"!(u8 >= 0)", false},
};

static void test_filters_are_compiled_against_fields(void)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(TABLE); i++) {
		struct rs_filter_error err = {0};
		g_autoptr(GByteArray) program = NULL;
		struct rs_filter_ast ast;

		g_test_message("%s", TABLE[i].expression);
		if (sample_compile(TABLE[i].expression, &program, &err))
			g_error("%s", rs_filter_error_render(&err, TABLE[i].expression));
		g_assert_cmpint(run(program, &input), ==, TABLE[i].want);
		g_assert_cmpint(rs_filter_check(TABLE[i].expression, NULL), ==, 0);
		if (strstr(TABLE[i].expression, "CPUS{3}"))
			continue; /* the reference has no such shorthand */
		g_assert_cmpint(rs_filter_parse(TABLE[i].expression, &ast, NULL), ==, 0);
		g_assert_cmpint(reference_run(&ast, &sample_event, &input), ==,
				TABLE[i].want ? REF_TRUE : REF_FALSE);
		rs_filter_ast_clear(&ast);
	}
}

static const struct {
	const char *expression;
	int code;
	int at;
	const char *part; /* of the message */
} ERRORS[] = {
	{"", EINVAL, 0, "empty"},
	{"   ", EINVAL, 3, "ends"},
	{"u8 5", EINVAL, 3, "operator is due after 'u8'"},
	{"u8 = 1", EINVAL, 3, "=="},
	{"u8 == ", EINVAL, 6, "value"},
	{"u8 == 1 &&", EINVAL, 10, "ends where a field"},
	{"u8 == 1 & 2", EINVAL, 8, "'&&' or '||'"},
	{"u8 == 1 | 2", EINVAL, 8, "'&&' or '||'"},
	{"u8 == 1)", EINVAL, 7, "closes nothing"},
	{"(u8 == 1", EINVAL, 8, "')'"},
	{"= 5", EINVAL, 0, "a field name is due"},
	{"5 < ", EINVAL, 4, "a field is due"},
	{"5", EINVAL, 1, "operator is due after '5'"},
	{"'k*' ~ name", EINVAL, 0, "to the right of '~'"},
	{"1 < u8 < 5", EINVAL, 7, "2 < a && a < 5"},
	/* as other languages have it */
	{"name =~ k", EINVAL, 5, "'=~' is written '~'"},
	{"name !=~ k", EINVAL, 5, "'!=~' is written '!~'"},
	{"u8 <> 5", EINVAL, 3, "'<>' is written '!='"},
	{"u8 === 5", EINVAL, 3, "'===' is written '=='"},
	{"u8 !== 5", EINVAL, 3, "'!==' is written '!='"},
	{"u8 => 5", EINVAL, 3, "'=>' is written '>='"},
	{"u8 =< 5", EINVAL, 3, "'=<' is written '<='"},
	{"u8 eq 5", EINVAL, 3, "'eq' is written '=='"},
	{"name like k", EINVAL, 5, "'like' is written '~'"},
	{"not u8 == 5", EINVAL, 0, "'not' is written '!'"},
	{"'' (", EINVAL, 3, "operator is due after ''"},
	{"''", EINVAL, 2, "operator is due after ''"},
	{"u8 == 1 and u16 == 2", EINVAL, 8, "'and' is written '&&'"},
	{"(u8 == 1 OR u16 == 2)", EINVAL, 9, "'OR' is written '||'"},
	{"u8 == 1 & u16 == 2", EINVAL, 8, "one '&' does not join"},
	{"u8 == 1 | u16 == 2", EINVAL, 8, "one '|' does not join"},
	{"(u8 == 1 | u16 == 2)", EINVAL, 9, "one '|' does not join"},
	{"name == “k”", EINVAL, 8, "straight"},
	{"‘k’ == name", EINVAL, 0, "straight"},
	{"CPU & CPUS(0-2)", EINVAL, 6, "CPUS{0-2,5}"},
	{"$ctx.vtid == 5", EINVAL, 0, "COMM, PID, TGID and CPU"},
	{"u8.ustring == 5", EINVAL, 2, "there is no '.ustring'"},
	/* a value does not begin as an operator does */
	{"name == =k", EINVAL, 8, "put in quotes"},
	{"name == ~k", EINVAL, 8, "put in quotes"},
	{"name ~ !k*", EINVAL, 7, "put in quotes"},
	{"name == ", EINVAL, 8, "a value is due"},
	/* two fields */
	{"name == why", EINVAL, 8, "two strings cannot be compared"},
	{"name ~ COMM", EINVAL, 7, "two strings cannot be compared"},
	{"u8 == name", EINVAL, 6, "'name' is a string, and 'u8' is a number"},
	{"u8 == mac", EINVAL, 6, "'mac' is an array"},
	{"u8 & u16", EINVAL, 5, "without a mask"},
	{"u8 & 1 == u16", EINVAL, 10, "without a mask"},
	{"u8 == u9", EINVAL, 6, "test:sample has no such field; did you mean 'u8'?"},
	{"u8 == quite_other", EINVAL, 6, "has no such field"},
	{"bits == quite_other", EINVAL, 8, "it has: A, B, TOP"},
	{"bits & u8", EINVAL, 7, "without a mask"},
	/* elements */
	{"mac[6] == 1", EINVAL, 0, "6 elements, counted from 0"},
	{"mac[-1] == 1", EINVAL, 3, "field[1]"},
	{"mac[] == 1", EINVAL, 3, "field[1]"},
	{"mac[1 == 1", EINVAL, 3, "field[1]"},
	{"mac[65536]", EINVAL, 3, "so many"},
	{"list[32768] == 1", EINVAL, 0, "the first 65536 bytes of 'list'"},
	{"u8[1] == 1", EINVAL, 0, "'u8' is no array, but a number"},
	{"name[1] == k", EINVAL, 0, "'name' is no array, but a string"},
	{"PID[1] == 1", EINVAL, 0, "'PID' is no array"},
	{"mac[1] == 256", EINVAL, 10, "'mac[1]' (u8) lies between 0 and 255"},
	{"mac", EINVAL, 0, "compare one element, as mac[0]"},
	{"!list", EINVAL, 1, "compare one element, as list[0]"},
	{"name == \"x", EINVAL, 8, "never closed"},
	{"u9 == 1", ENOENT, 0, "did you mean 'u8'"},
	{"u8 == 1 && nmae == x", ENOENT, 11, "did you mean 'name'"},
	{"pid == 1", ENOENT, 0, "did you mean 'PID'"},
	{"quite_other == 1", ENOENT, 0, "it has: u8, s8"},
	{"quite_other == 1", ENOENT, 0, "COMM, CPU, PID, TGID"},
	{"u8 == 256", EINVAL, 6, "between 0 and 255"},
	{"u8 < 1000", EINVAL, 5, "between 0 and 255"},
	{"u8 == -1", EINVAL, 6, "0xff"},
	{"u64 == -1", EINVAL, 7, "0xffffffffffffffff"},
	{"u64 == 18446744073709551616", EINVAL, 7, "64 bits"},
	{"s32 == 0xffffffff", EINVAL, 7, "the same bits are -1"},
	{"s8 == -129", EINVAL, 6, "between -128 and 127"},
	{"s64 == 9223372036854775808", EINVAL, 7, "between"},
	{"u8 == 08", EINVAL, 6, "octal"},
	{"u8 == 0x", EINVAL, 6, "not a number"},
	{"u8 == 0x0x1F", EINVAL, 6, "'0x0x1F' is not a number"},
	{"u8 == 0X0x0", EINVAL, 6, "not a number"},
	{"s8 == -(0x0x1F)", EINVAL, 6, "not a number"},
	{"s8 == -0x0X1", EINVAL, 6, "not a number"},
	{"u8 == 0x-1", EINVAL, 6, "not a number"},
	{"u8 == 3|4", EINVAL, 6, "'|' joins symbols, and 'u8' has none; write 7, or two terms"},
	{"s8 == 1|-8", EINVAL, 6, "write -7, or two terms with ||"},
	{"u8 & 3|4 == 1", EINVAL, 5, "write 7, or"},
	{"u8 & 3 == 1|2", EINVAL, 10, "write 3, or"},
	{"CPU == 0|1", EINVAL, 7, "'CPU' has none"},
	{"u8 == 3|x", EINVAL, 6, "'x' is not a number"},
	{"u8 == 12z", EINVAL, 6, "not a number"},
	{"u8 == foo", EINVAL, 6, "'foo' is not a number"},
	{"u8 == \"1\"", EINVAL, 7, "not a string"},
	{"u8 ~ 1*", EINVAL, 0, "~ is for strings"},
	{"u8 & 0", EINVAL, 5, "mask of 0"},
	{"u8 & 0x100", EINVAL, 5, "between"},
	{"s8 & 0x100", EINVAL, 5, "a mask for 's8' (s8) lies between -128 and 255"},
	{"u8 & 4 == 2", EINVAL, 10, "never be reached"},
	{"u8 & 4 != 6", EINVAL, 10, "never be reached"},
	{"why == \"a\\\"", EINVAL, 7, "never closed"},
	{"u8 & 4 > 5", EINVAL, 9, "never be reached"},
	{"name < x", EINVAL, 0, "is a string"},
	{"name & 1", EINVAL, 0, "is a string"},
	{"name == 'seventeen bytes !'", EINVAL, 9, "holds 16 bytes"},
	{"COMM == a-name-of-33-bytes-does-not-fit-i", EINVAL, 8, "holds 32 bytes"},
	{"mac == 1", EINVAL, 0, "is an array (u8[6])"},
	{"list == 1", EINVAL, 0, "is an array"},
	{"state == Z", EINVAL, 9, "it has: R, S, long wait"},
	{"bits & TOPP", EINVAL, 7, "did you mean 'TOP'"},
	{"name ~ a[bc", EINVAL, 8, "has no ']'"},
	{"why ~ [x && name == y]", EINVAL, 6, "in quotes"},
	{"why ~ disk[ ]full", EINVAL, 12, "'&&' or '||'"},
	{"why ~ [a\\] b]*", EINVAL, 11, "'&&' or '||'"},
	{"why == -(a b)", EINVAL, 8, "'&&' or '||'"},
	{"why == -(1 b)", EINVAL, 8, "'&&' or '||'"},
	{"why == [x (y]", EINVAL, 10, "'&&' or '||'"},
	{"CPU & CPUS{0 && u8 == 1 || CPU & CPUS{1}", EINVAL, 6, "CPUS{0-2,5}"},
	{"name ~ '[z-a]'", EINVAL, 8, "backwards"},
	{"CPU & CPUS{1024}", EINVAL, 6, "0 to 1023"},
	{"TGID & CPUS{1}", EINVAL, 7, "fields that are CPUs"},
	{"CPU & CPUS{3-1}", EINVAL, 6, "lower first"},
	{"CPU & CPUS{}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{0-7:3/2}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{0-7:0/2}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{0-7:1}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{al}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{1,}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{,1}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{N-3}", EINVAL, 6, "lower first"},
	{"mac & CPUS{48}", EINVAL, 6, "bits of the CPUs 0 to 47"},
	{"mac == CPUS{1,48}", EINVAL, 7, "bits of the CPUs 0 to 47"},
	{"mac == CPUS{all}", EINVAL, 7, "how many CPUs there are"},
	{"list != CPUS{0-N}", EINVAL, 8, "how many CPUs there are"},
	{"mac < CPUS{1}", EINVAL, 6, "asked with &"},
	{"list[0] != CPUS{1,2}", EINVAL, 11, "asked with &"},
	{"name & CPUS{1}", EINVAL, 0, "is a string"},
	{"CPU & CPUS{1,}", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU & CPUS{0", EINVAL, 6, "CPUS{0-2,5}"},
	{"CPU == CPUS{0-1}", EINVAL, 7, "asked with &"},
	{"CPU & CPUS{0} == 1", EINVAL, 6, "stands alone"},
	{"CPU & 1 == CPUS{0}", EINVAL, 11, "asked with &"},
};

static void test_filters_that_do_not_fit_the_fields_are_refused(void)
{
	for (unsigned int i = 0; i < G_N_ELEMENTS(ERRORS); i++) {
		struct rs_filter_error err = {0};
		GByteArray *program = NULL;

		g_test_message("%s", ERRORS[i].expression);
		g_assert_cmpint(sample_compile(ERRORS[i].expression, &program, &err), ==,
				-ERRORS[i].code);
		g_assert_null(program);
		g_test_message("-> %u: %s", err.at, err.message);
		g_assert_cmpint(err.code, ==, ERRORS[i].code);
		g_assert_nonnull(strstr(err.message, ERRORS[i].part));
		g_assert_cmpint(err.at, ==, ERRORS[i].at);
		g_assert_cmpint(sample_compile(ERRORS[i].expression, &program, NULL), ==,
				-ERRORS[i].code);
	}
}

static void check_render(const char *expression, const char *want)
{
	struct rs_filter_error err = {0};
	GByteArray *program = NULL;
	g_autofree char *text = NULL;

	g_assert_cmpint(sample_compile(expression, &program, &err), <, 0);
	text = rs_filter_error_render(&err, expression);
	g_assert_cmpstr(text, ==, want);
}

static void test_render(void)
{
	g_autoptr(GString) big = g_string_new(NULL);
	struct rs_filter_error err = {0};
	g_autofree char *text = NULL;

	check_render("u8 == 1 && nmae == x",
		     "  u8 == 1 && nmae == x\n"
		     "             ^~~~\n"
		     "test:sample has no field 'nmae'; did you mean 'name'?");
	check_render("u8 ==", "  u8 ==\n       ^\na value is due here");
	check_render("name == '\033' && u8 == 999", "  name == '\\x1b' && u8 == 999\n"
						    "                          ^~~\n"
						    "'u8' (u8) lies between 0 and 255");
	check_render("state == \033[2J",
		     "  state == \\x1b[2J\n"
		     "           ^~~~~~~\n"
		     "'state' has no symbol '\\x1b[2J'; it has: R, S, long wait");
	check_render("u8 == 0b1", "  u8 == 0b1\n"
				  "        ^~~\n"
				  "'0b1' is not a number");
	check_render("name == 'é字' && u8 == 999", "  name == 'é字' && u8 == 999\n"
						   "                         ^~~\n"
						   "'u8' (u8) lies between 0 and 255");
	for (unsigned int i = 0; i < 60; i++)
		g_string_append(big, "u8 == 1 || ");
	g_string_append(big, "u9 == 1");
	sample_compile(big->str, &(GByteArray *){NULL}, &err);
	text = rs_filter_error_render(&err, big->str);
	g_assert_true(g_str_has_prefix(text, "  …"));
	g_assert_nonnull(strstr(text, "|| u9 == 1\n"));
	g_assert_cmpuint(strcspn(text, "\n"), <, 100);
}

static void test_limits(void)
{
	struct rs_filter_error err = {0};
	GByteArray *program = NULL;
	g_autofree char *deep = g_malloc(40020), *big = g_malloc(1 << 20);
	g_autoptr(GString) s = g_string_new(NULL);

	/* nesting */
	for (unsigned int i = 0; i < 64; i++)
		g_string_append_c(s, '(');
	g_string_append(s, "u8==200");
	for (unsigned int i = 0; i < 64; i++)
		g_string_append_c(s, ')');
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, 0);
	g_assert_true(run(program, &input));
	g_clear_pointer(&program, g_byte_array_unref);
	g_string_prepend_c(s, '(');
	g_string_append_c(s, ')');
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "64 deep"));
	g_assert_cmpuint(err.at, ==, 64);

	/* 20,000 parentheses, 1 MB, 4096 exclamation marks */
	memset(deep, '(', 20000);
	strcpy(deep + 20000, "u8==1");
	memset(deep + 20005, ')', 20000);
	deep[40005] = 0;
	g_assert_cmpint(rs_filter_check(deep, &err), ==, -E2BIG);
	g_free(rs_filter_error_render(&err, deep));
	deep[4000] = 0;
	g_assert_cmpint(rs_filter_check(deep, &err), ==, -E2BIG);
	memset(big, 'a', (1 << 20) - 1);
	big[(1 << 20) - 1] = 0;
	g_assert_cmpint(rs_filter_check(big, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "4096 bytes"));
	memset(big, '!', 4090);
	strcpy(big + 4090, "u8 & 8");
	g_assert_cmpint(sample_compile(big, &program, &err), ==, 0);
	g_assert_true(run(program, &input));
	g_clear_pointer(&program, g_byte_array_unref);

	/* comparisons */
	g_string_assign(s, "u8 == 200");
	for (unsigned int i = 1; i < 128; i++)
		g_string_append(s, " && u8 == 200");
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, 0);
	g_assert_true(run(program, &input));
	g_clear_pointer(&program, g_byte_array_unref);
	g_string_append(s, " && u8 == 200");
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "128 comparisons"));

	/* bytes: each pattern has its own table */
	g_string_assign(s, "name ~ a?c");
	for (unsigned int i = 1; i < 60; i++)
		g_string_append(s, " || name ~ a?c");
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "16384 bytes"));
	g_assert_null(program);

	/* many symbols */
	g_string_assign(s, "bits & A");
	for (unsigned int i = 0; i < 500; i++)
		g_string_append(s, i % 2 ? "|B" : "|TOP");
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, 0);
	g_assert_true(run(program, &input));
	g_clear_pointer(&program, g_byte_array_unref);
	g_string_append(s, "|C");
	g_assert_cmpint(sample_compile(s->str, &program, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err.message, "'bits' has no symbol 'C'"));
}

/* `count` patterns of a string that may be long, which none of them matches. */
static GString *patterns(unsigned int count, const char *joiner)
{
	GString *s = g_string_new(NULL);

	for (unsigned int i = 0; i < count; i++)
		g_string_append_printf(s, "%swhy ~ *%c?*", i ? joiner : "", 'A' + (int)i % 26);
	return s;
}

/* What the strings may have is what counts, on whatever way through the program. */
static void test_steps(void)
{
	g_autoptr(GString) most = patterns(7, " || "), more = patterns(8, " || ");
	g_autoptr(GString) ways = patterns(8, " && u8 || "), fixed = g_string_new("name ~ *a?*");
	struct rs_filter_error err = {0};
	g_autoptr(GByteArray) a = NULL, b = NULL;
	GByteArray *none = NULL;

	g_assert_cmpint(sample_compile(most->str, &a, &err), ==, 0);
	g_assert_cmpuint(rs_filter_steps(a->data), ==, 7 * 4097);
	g_assert_cmpint(sample_compile(more->str, &none, &err), ==, -E2BIG);
	g_assert_cmpstr(err.message, ==,
			"this filter may take 32776 steps for one event, and 32768 are allowed: "
			"this term takes 4097, and 7 more take as many (a pattern takes one for "
			"each byte that its string may have)");
	g_assert_cmpuint(err.at, ==, 0);
	g_assert_cmpuint(err.length, ==, strlen("why ~ *A?*"));
	g_assert_cmpint(sample_compile(ways->str, &none, &err), ==, -E2BIG);
	/* a short string is cheap */
	for (unsigned int i = 1; i < 50; i++)
		g_string_append_printf(fixed, " || name ~ *%c?*", 'A' + (int)i % 26);
	g_assert_cmpint(sample_compile(fixed->str, &none, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "bytes"));
	g_string_truncate(fixed, fixed->len / 2);
	g_string_append(fixed, " || u8 == 1 || why == x || why ~ x* || why ~ *x || COMM ~ *x");
	g_assert_cmpint(sample_compile("why == x || why ~ x* || why ~ *x || COMM ~ *x", &b, &err),
			==, 0);
	g_assert_cmpuint(rs_filter_steps(b->data), ==, 4 + 4096 / 4 + 32 / 4);
}

/* A text in another, of more bytes than a table has elements. */
static bool inside(const char *pattern, const char *text)
{
	g_autofree char *expression = g_strdup_printf("why ~ '*%s*'", pattern);
	struct rs_dyn d[] = {{NULL, 0}, {text, (uint32_t)strlen(text) + 1}};
	struct rs_filter_input in = input;
	g_autoptr(GByteArray) program = NULL;

	in.dyn = d;
	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, 0);
	g_assert_cmpuint(rs_filter_minor(program->data), ==, strlen(pattern) > 61);
	return run(program, &in);
}

static void test_inside(void)
{
	g_autoptr(GRand) r = g_rand_new_with_seed(5);
	g_autofree char *text = g_malloc0(4001), *part = NULL, *longest = g_strnfill(4000, 'x');
	unsigned int found = 0;

	for (unsigned int round = 0; round < 3000; round++) {
		unsigned int length = (unsigned int)g_rand_int_range(r, 55, 200);
		unsigned int period = (unsigned int)g_rand_int_range(r, 1, 70);
		unsigned int from = (unsigned int)g_rand_int_range(r, 0, 4000 - 200);

		/* nearly periodic, so that much matches before it does not */
		for (unsigned int i = 0; i < 4000; i++)
			text[i] = i >= period && g_rand_int_range(r, 0, 300)
					  ? text[i - period]
					  : (char)('a' + g_rand_int_range(r, 0, 2));
		g_free(part);
		part = g_strndup(text + from, length);
		if (g_rand_boolean(r))
			part[g_rand_int_range(r, 0, (gint)length)] ^= 3;
		g_assert_cmpint(inside(part, text), ==, strstr(text, part) != NULL);
		found += strstr(text, part) != NULL;
	}
	g_assert_cmpuint(found, >, 1000);
	g_assert_cmpuint(found, <, 2900);
	g_assert_true(inside(longest, longest));
	g_assert_false(inside(longest, longest + 1));
	/* an end of it is not enough, nor one with a NUL before its end */
	longest[100] = 0;
	g_assert_true(inside(longest, longest));
	g_assert_false(inside(longest, longest + 1));
}

static void test_doubts(void)
{
	static const char *const none[] = {"name ~ k*",  "name == k", "u8 == 2 && bits & A",
					   "u8",         "name == ",  "COMM != \"a b\"",
					   "'k' == name"};
	g_autofree char *eq = rs_filter_doubt("u8 == 1 && name == \"k*\"");
	g_autofree char *ne = rs_filter_doubt("!(why != *x || u8)");
	g_autofree char *first = rs_filter_doubt("'x*' == name");

	g_assert_cmpstr(eq, ==,
			"name == \"k*\": this compares with the character '*'; for a pattern use "
			"~");
	g_assert_true(g_str_has_suffix(ne, "use !~"));
	g_assert_true(g_str_has_prefix(first, "'x*' == name: "));
	for (unsigned int i = 0; i < G_N_ELEMENTS(none); i++)
		g_assert_null(rs_filter_doubt(none[i]));
}

static int find_function(void *data, const char *name, uint64_t *from, uint64_t *to, char *why,
			 size_t size)
{
	++*(unsigned int *)data;
	if (strcmp(name, "schedule") != 0) {
		g_snprintf(why, size, "no function '%s'", name);
		return -EINVAL;
	}
	*from = 0xffff888000001000;
	*to = 0xffff888000001010;
	return 0;
}

/* An address lies in a function, from its first byte to the one before its end. */
static void test_functions(void)
{
	static const struct {
		const char *expression;
		uint64_t addr;
		bool want;
	} good[] = {
		{"addr.function == schedule", 0xffff888000001000, true},
		{"addr.function == schedule", 0xffff88800000100f, true},
		{"addr.function == schedule", 0xffff888000001010, false},
		{"addr.function == schedule", 0xffff888000000fff, false},
		{"addr.function != schedule", 0xffff888000001010, true},
		{"addr.function != 'schedule'", 0xffff888000001008, false},
		{"!addr.function == schedule && u64.function != schedule", 1, true},
		{"(addr.function==schedule)", 0xffff888000001000, true},
	};
	static const struct {
		const char *expression, *part;
	} bad[] = {
		{"addr.function == nix", "no function 'nix'"},
		{"addr.function == 0xffff888000001000", "the name of a function is due"},
		{"addr.function > schedule", "== and != only"},
		{"addr.function", "== and != only"},
		{"addr.function & schedule", "== and != only"},
		{"addr.function ~ sched*", "== and != only"},
		{"u32.function == schedule", "is no address"},
		{"s64.function == schedule", "is no address"},
		{"name.function == schedule", "is no address"},
		{"mac.function == schedule", "is no address"},
		{"mac[0].function == schedule", "is no address"},
		{"addr.functions == schedule", "no '.functions'"},
	};
	unsigned int asked = 0;
	const struct rs_filter_functions functions = {find_function, &asked};
	struct rs_filter_series *series;
	struct rs_filter_error err = {0};
	GByteArray *program;

	for (unsigned int i = 0; i < G_N_ELEMENTS(good); i++) {
		struct sample at = {.addr = good[i].addr, .u64 = 1};
		struct rs_filter_input in = input;

		in.entry = &at;
		g_test_message("%s", good[i].expression);
		g_assert_cmpint(rs_filter_series_new(good[i].expression, &series, NULL), ==, 0);
		rs_filter_series_set_functions(series, &functions);
		g_assert_cmpint(rs_filter_series_add(series, &sample_event, true, &program, NULL),
				==, 0);
		g_assert_cmpint(run(program, &in), ==, good[i].want);
		g_byte_array_unref(program);
		rs_filter_series_free(series);
	}
	g_assert_cmpuint(asked, ==, G_N_ELEMENTS(good) + 1);
	for (unsigned int i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_test_message("%s", bad[i].expression);
		if (!rs_filter_series_new(bad[i].expression, &series, &err)) {
			rs_filter_series_set_functions(series, &functions);
			g_assert_cmpint(
				rs_filter_series_add(series, &sample_event, true, &program, &err),
				==, -EINVAL);
			rs_filter_series_free(series);
		}
		if (!strstr(err.message, bad[i].part))
			g_error("%s", err.message);
	}
	/* nobody knows where they lie */
	g_assert_cmpint(sample_compile("addr.function == schedule", &program, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err.message, "not known here"));
	g_assert_cmpint(rs_filter_check("addr.function == schedule", NULL), ==, 0);
}

static void check_split(const char *text, const char *want_glob, const char *want_expression)
{
	g_autofree char *glob = NULL, *expression = NULL;

	g_assert_cmpint(rs_filter_split(text, &glob, &expression), ==, want_expression != NULL);
	g_assert_cmpstr(glob, ==, want_glob);
	g_assert_cmpstr(expression, ==, want_expression);
}

static void test_split(void)
{
	check_split("a:b: u8 == 1", "a:b", "u8 == 1");
	check_split("a:b: u8", "a:b", "u8");
	check_split("a:b:u8", "a:b", "u8");
	check_split("u8", NULL, "u8");
	check_split("a:*:", "a:*", "");
	check_split("a:*: ", "a:*", "");
	check_split("a:*: 0", "a:*", "");
	check_split("a:*:0 ", "a:*", "");
	check_split("a:*: 00", "a:*", "00");
	check_split("a:b", NULL, NULL);
	check_split("0", NULL, NULL);
	/* a list has colons of its own, and so may a selection */
	check_split("a:b,c:d", NULL, NULL);
	check_split("a:b,c:d:e", NULL, NULL);
	check_split("a:*@level=3:e", NULL, NULL);
	check_split("a:b,c:d: e", "a:b,c:d", "e");
	check_split("a:*@level=3: e", "a:*@level=3", "e");
	check_split("a:b,c:d:", "a:b,c:d", "");
	check_split("a:b:c:d:", "a:b", "c:d:");
	check_split("a:b:CPU & CPUS{1,2}", "a:b", "CPU & CPUS{1,2}");
}

static void check_split_event(const char *text, const char *want_glob, const char *want_expression)
{
	g_autofree char *glob = NULL, *expression = NULL;

	rs_filter_split_event(text, &glob, &expression);
	g_assert_cmpstr(glob, ==, want_glob);
	g_assert_cmpstr(expression, ==, want_expression);
}

static void test_split_event(void)
{
	check_split_event("a:b: u8 == 1", "a:b", "u8 == 1");
	check_split_event("a:b:u8", "a:b", "u8");
	check_split_event("words:longest,primes:found", "words:longest,primes:found", NULL);
	check_split_event("words:longest@level=3", "words:longest@level=3", NULL);
	check_split_event("words:*,!words:longest", "words:*,!words:longest", NULL);
	check_split_event("words:longest,sort:x: u8 > 1", "words:longest,sort:x", "u8 > 1");
	check_split_event("demo/words:*@level=3,keyword=6: u8", "demo/words:*@level=3,keyword=6",
			  "u8");
	check_split_event("longest", "longest", NULL);
	check_split_event("!longest", "!longest", NULL);
	check_split_event(" a:* ", "a:*", NULL);
	check_split_event("a:b:", "a:b", NULL);
	check_split_event("a:b: 0", "a:b", NULL);
	check_split_event("u8 == 1", NULL, "u8 == 1");
	check_split_event("u8==1", NULL, "u8==1");
	check_split_event("name ~ /tmp", NULL, "name ~ /tmp");
	check_split_event("name==/tmp", NULL, "name==/tmp");
	check_split_event("name==\"a: b\"", NULL, "name==\"a: b\"");
	check_split_event("name~a*", NULL, "name~a*");
	/* neither: the mistake is told as one of an expression */
	check_split_event("a:*, b:*", NULL, "a:*, b:*");
	check_split_event("a:b,c:d:e", NULL, "a:b,c:d:e");
	check_split_event(" ", NULL, NULL);
}

static bool glob(const char *pattern, const char *text)
{
	g_autofree char *expression = g_strdup_printf("why ~ \"%s\"", pattern);
	struct rs_dyn d[] = {{NULL, 0}, {text, (uint32_t)strlen(text) + 1}};
	struct rs_filter_input in = input;
	g_autoptr(GByteArray) program = NULL;

	in.dyn = d;
	g_assert_cmpint(sample_compile(expression, &program, NULL), ==, 0);
	return run(program, &in);
}

static void test_globs(void)
{
	char a64[65] = {0}, p63[70] = {0}, long_text[6000] = {0};
	struct rs_filter_error err = {0};
	GByteArray *none = NULL;
	gint64 start = g_get_monotonic_time();

	memset(a64, 'a', 64);
	for (unsigned int i = 0; i < 1000; i++) {
		g_assert_false(glob("a*a*a*a*a*a*a*a*b", a64));
		g_assert_true(glob("a*a*a*a*a*a*a*a*a", a64));
	}
	/* a backtracking glob needs 14.8 s for each; here 2,000 are compiled and run */
	g_assert_cmpint(g_get_monotonic_time() - start, <, 5 * G_USEC_PER_SEC);

	g_assert_true(glob("*", ""));
	g_assert_true(glob("**", "x"));
	g_assert_true(glob("a**?", "ab"));
	g_assert_false(glob("a**?", "a"));
	g_assert_true(glob("*a*", "a"));
	g_assert_true(glob("[]]x", "]x"));
	g_assert_true(glob("[!]]x", "ax"));
	g_assert_true(glob("[a-]", "-"));
	g_assert_true(glob("[-a]", "-"));
	g_assert_true(glob("\\*\\?\\[", "*?["));
	g_assert_false(glob("\\*", "x"));
	g_assert_true(glob("?", "\xff"));
	g_assert_true(glob("[!a]", "\xff"));
	g_assert_true(glob("x[ab]*[yz]", "xa123z"));
	g_assert_true(glob("7*z", "7 dwarfz"));
	g_assert_true(glob("\\!*", "!x"));
	g_assert_false(glob("!*", "!x")); /* inverts, as in Linux */
	g_assert_true(glob("!x*", "y"));

	/*
	 * 63 elements are taken, 64 are not; without a class or inner star there is no such limit
	 */
	memset(p63, 'a', 61);
	memcpy(p63 + 61, "?*", 3);
	g_assert_true(glob(p63, a64));
	memset(p63, 'a', 62);
	memcpy(p63 + 62, "?*", 3);
	{
		g_autofree char *e = g_strdup_printf("why ~ %s", p63);

		g_assert_cmpint(sample_compile(e, &none, &err), ==, -EINVAL);
		g_assert_nonnull(strstr(err.message, "63"));
	}
	memset(long_text, 'a', 5000);
	g_assert_true(glob("*a", long_text));
	long_text[4500] = 'b'; /* after the bytes that a filter reads */
	g_assert_false(glob("*b*", long_text));
	{
		g_autofree char *long_pattern = g_strndup(long_text, 3000);

		g_assert_false(glob(long_pattern, long_text));
		long_pattern[2999] = '*';
		g_assert_true(glob(long_pattern, long_text));
	}
}

static void test_set(void)
{
	static const char *const too_long[] = {"name == abcde", "name != abcde", "name ~ abcde*",
					       "name !~ *abcde"};
	const RsTraceEvent *events[] = {&sample_event, &other_event};
	struct rs_filter_error err = {0};
	GByteArray *p[2] = {NULL, NULL};
	uint8_t other[16] = {200, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'};
	struct rs_filter_input in = input;

	in.entry = other;
	in.entry_size = sizeof(other);
	in.dyn_count = 0;
	/* known to both; a value too large for one is compared as in mathematics */
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 < 1000", p, &err), ==, 0);
	g_assert_true(run(p[0], &input));
	g_assert_true(run(p[1], &in));
	g_byte_array_unref(p[0]);
	g_byte_array_unref(p[1]);
	/* a term whose field an event lacks is ignored, in && and ||, also under ! */
	g_assert_cmpint(rs_filter_compile(events, 2, "s8 == 5 && u8 == 200", p, &err), ==, 0);
	g_assert_false(run(p[0], &input));
	g_assert_true(run(p[1], &in));
	g_byte_array_unref(p[0]);
	g_byte_array_unref(p[1]);
	g_assert_cmpint(rs_filter_compile(events, 2, "!(s8 == -3 || u8 == 7)", p, &err), ==, 0);
	g_assert_false(run(p[0], &input));
	g_assert_true(run(p[1], &in));
	g_byte_array_unref(p[0]);
	g_byte_array_unref(p[1]);
	/* nothing left: no filter */
	g_assert_cmpint(rs_filter_compile(events, 2, "only == -1", p, &err), ==, 0);
	g_assert_null(p[0]);
	g_assert_true(run(p[1], &in));
	g_byte_array_unref(p[1]);
	p[1] = NULL;
	/* a mask outside one of them leaves 0 there */
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 & 0x100 || u8 & 0xff00 != 0", p, &err), ==,
			0);
	g_assert_false(run(p[0], &input));
	g_assert_false(run(p[1], &in));
	other[1] = 1;
	g_assert_true(run(p[1], &in));
	other[1] = 0;
	g_byte_array_unref(p[0]);
	g_byte_array_unref(p[1]);
	p[0] = p[1] = NULL;
	/* a mask of 0 is a mistake everywhere */
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 & 0", p, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err.message, "mask of 0"));
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 & 0x0 == 0", p, &err), ==, -EINVAL);
	/* two fields, of which one event lacks the second, or the second is another event's */
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 < u16", p, &err), ==, 0);
	g_assert_true(run(p[0], &input));
	g_assert_null(p[1]);
	g_byte_array_unref(p[0]);
	p[0] = p[1] = NULL;
	g_assert_cmpint(rs_filter_compile(events, 2, "u16 != only || u8 == 200", p, &err), ==,
			-ENOENT);
	g_assert_cmpstr(err.message, ==, "none of the events with 'u16' has a field 'only'");
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 == onyl", p, &err), ==, -ENOENT);
	g_assert_cmpstr(err.message, ==,
			"none of the events with 'u8' has a field 'onyl'; did you mean 'only'?");
	g_assert_cmpuint(err.at, ==, 6);
	/* an element that one of them never has is not there */
	g_assert_cmpint(rs_filter_compile(events, 2, "mac[6] == 0 || u8 == mac[9]", p, &err), ==,
			0);
	g_assert_false(run(p[0], &input));
	g_clear_pointer(&p[0], g_byte_array_unref);
	g_clear_pointer(&p[1], g_byte_array_unref);
	/* strings that cannot fit one of them */
	for (unsigned int i = 0; i < G_N_ELEMENTS(too_long); i++) {
		bool negated = strchr(too_long[i], '!') != NULL;

		g_assert_cmpint(rs_filter_compile(events, 2, too_long[i], p, &err), ==, 0);
		g_assert_cmpint(run(p[1], &in), ==, negated);
		g_clear_pointer(&p[0], g_byte_array_unref);
		g_clear_pointer(&p[1], g_byte_array_unref);
	}
	/* unknown to all; wrong for one: nothing is set */
	g_assert_cmpint(rs_filter_compile(events, 2, "u8 == 1 && onyl == 1", p, &err), ==, -ENOENT);
	g_assert_cmpstr(err.message, ==,
			"none of the 2 events has a field 'onyl'; did you mean 'only'?");
	g_assert_cmpint(rs_filter_compile(events, 2, "name == x && only ~ x", p, &err), ==,
			-EINVAL);
	g_assert_true(g_str_has_prefix(err.message, "test:other: "));
	g_assert_null(p[0]);
	g_assert_null(p[1]);
	/* one event: strict */
	g_assert_cmpint(rs_filter_compile(events, 1, "only == -1", p, &err), ==, -ENOENT);
	g_assert_cmpint(rs_filter_compile(events, 1, "u8 < 1000", p, &err), ==, -EINVAL);
}

/* An event that comes later: terms of fields that it lacks are ignored, others must fit. */
static void test_more(void)
{
	struct rs_filter_error err = {0};
	GByteArray *p = NULL;

	g_assert_cmpint(rs_filter_compile_more(&sample_event, "only == -1 || u8 == 200", &p, &err),
			==, 0);
	g_assert_true(run(p, &input));
	g_clear_pointer(&p, g_byte_array_unref);
	g_assert_cmpint(rs_filter_compile_more(&sample_event, "only == -1", &p, &err), ==, 0);
	g_assert_null(p);
	g_assert_cmpint(rs_filter_compile_more(&sample_event, "u8 < 1000", &p, &err), ==, 0);
	g_assert_true(run(p, &input));
	g_clear_pointer(&p, g_byte_array_unref);
	g_assert_cmpint(rs_filter_compile_more(&sample_event, "mac > 3", &p, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err.message, "test:sample"));
	g_assert_null(p);
}

/* A guest cannot give a number another meaning. In quotes its symbol is meant. */
static void test_symbols_like_numbers(void)
{
	static const RsTraceSymbol symbols[] = {{7, "3"}, {8, "0x10"}, {9, "-(2)"}, {10, "1|2"},
						{1, "A"}, {12, "A|3"}, {13, "3com"}};
	static const RsTraceField field = {.name = "e",
					   .type = "s32",
					   .kind = RS_KIND_ENUM,
					   .size = 4,
					   .is_signed = TRUE,
					   .n_symbols = G_N_ELEMENTS(symbols),
					   .symbols = symbols};
	static const RsTraceEvent event = {.id = RS_FIRST_EVENT_ID,
					   .system = "test",
					   .name = "symbols",
					   .entry_size = 8,
					   .n_fields = 1,
					   .fields = &field};
	static const struct {
		const char *expression;
		int32_t value;
	} means[] = {{"e == 3", 3},       {"e == \"3\"", 7},    {"e == '0x10'", 8},
		     {"e == 0x10", 16},   {"e == -(2)", -2},    {"e == \"-(2)\"", 9},
		     {"e == 1|2", 3},     {"e == \"1|2\"", 10}, {"e == \\3", 3},
		     {"e == A|3", 12},    {"e == \"A|3\"", 12}, {"e == 3com", 13},
		     {"e == \"3|A\"", 7}, {"e == 3|A", 3},      {"e & 3 == 2|0", 2}};
	const RsTraceEvent *events[] = {&event};

	for (unsigned int i = 0; i < G_N_ELEMENTS(means); i++) {
		g_autoptr(GByteArray) program = NULL;
		struct rs_filter_input in = input;
		int32_t e[2] = {0};

		g_test_message("%s", means[i].expression);
		in.entry = e;
		in.entry_size = sizeof(e);
		g_assert_cmpint(rs_filter_compile(events, 1, means[i].expression, &program, NULL),
				==, 0);
		for (int32_t v = -20; v <= 20; v++) {
			bool want = v == means[i].value;

			if (strchr(means[i].expression, '&'))
				want = (v & 3) == means[i].value;
			e[0] = v;
			g_assert_cmpint(run(program, &in), ==, want);
		}
	}
}

static void test_missing_context(void)
{
	struct rs_filter_input in = input;
	g_autoptr(GByteArray) program = NULL;

	in.comm = NULL;
	g_assert_cmpint(sample_compile("COMM == ''", &program, NULL), ==, 0);
	g_assert_true(run(program, &in));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/table", test_filters_are_compiled_against_fields);
	g_test_add_func("/filter/errors", test_filters_that_do_not_fit_the_fields_are_refused);
	g_test_add_func("/filter/render", test_render);
	g_test_add_func("/filter/limits", test_limits);
	g_test_add_func("/filter/steps", test_steps);
	g_test_add_func("/filter/inside", test_inside);
	g_test_add_func("/filter/doubts", test_doubts);
	g_test_add_func("/filter/split", test_split);
	g_test_add_func("/filter/split-event", test_split_event);
	g_test_add_func("/filter/functions", test_functions);
	g_test_add_func("/filter/globs", test_globs);
	g_test_add_func("/filter/set", test_set);
	g_test_add_func("/filter/more", test_more);
	g_test_add_func("/filter/symbols-like-numbers", test_symbols_like_numbers);
	g_test_add_func("/filter/missing-context", test_missing_context);
	return g_test_run();
}
