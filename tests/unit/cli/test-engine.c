/* SPDX-License-Identifier: MIT */
/* What `ringside engine` understands, and how it shows a stopped thread. */
#include "cli/engine_command.h"
#include "cli/engine_show.h"

#include <errno.h>
#include <string.h>

static struct rs_call_names names = {.name = rs_trace_kdump_linux_call};

static void test_events(void)
{
	static const struct {
		const char *text;
		guint32 mask;
	} good[] = {
		{"exec", 1u << 3},
		{"syscall_entry,exec", 1u << 6 | 1u << 3},
		{"syscall", 3u << 6},
		{"SYSCALL_ENTRY,Exec", 1u << 6 | 1u << 3},
		{"signal_all , jctl", 0x1fu << 8 | 1u << 13},
	};
	static const char *const bad[] = {"",        ",",       "exec,",     "syscalls",
					  "QUIESCE", "quiesce", "exec,reap", "death"};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		guint32 mask = 0;

		g_assert_cmpint(rs_cli_engine_parse_events(good[i].text, &mask, NULL), ==, 0);
		g_assert_cmphex(mask, ==, good[i].mask);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct rs_error err = {0};
		guint32 mask = 77;

		g_assert_cmpint(rs_cli_engine_parse_events(bad[i], &mask, &err), ==, -EINVAL);
		g_assert_cmpuint(mask, ==, 77);
		g_assert_cmpstr(err.message, !=, "");
	}
}

static int parse(const char *line, struct rs_cli_engine_command *out)
{
	return rs_cli_engine_parse(line, rs_trace_register_set(RS_ARCH_X86_64), &names, out, NULL);
}

static void test_places(void)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};
	static const struct {
		const char *line;
		uint64_t value;
	} cases[] = {
		{"mem 0x10", 16},
		{"mem 010", 8},
		{"mem rsp", 0x1000},
		{"mem SP+8", 0x1008},
		{"mem rsp-0x10", 0xff0},
		{"mem rip+rsp+1", 0x3001},
		{"mem rsp+rsp", 0x2000},
		{"mem -1", UINT64_MAX},
		{"mem 18446744073709551615", UINT64_MAX},
	};

	values[RS_X86_64_RSP] = 0x1000;
	values[RS_X86_64_RIP] = 0x2000;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_cli_engine_command command;

		g_assert_cmpint(parse(cases[i].line, &command), ==, 0);
		g_assert_cmphex(rs_cli_engine_place_value(&command.places[0], values), ==,
				cases[i].value);
	}
}

static void test_commands(void)
{
	struct rs_cli_engine_command command;

	g_assert_cmpint(parse("  regs\t", &command), ==, 0);
	g_assert_cmpint(command.what, ==, RS_CLI_ENGINE_DO_REGS);
	g_assert_true(command.needs_stop);
	g_assert_cmpint(parse("set rbx 5", &command), ==, 0);
	g_assert_cmpint(command.what, ==, RS_CLI_ENGINE_DO_SET);
	g_assert_cmpuint(command.number, ==, RS_X86_64_RBX);
	g_assert_cmpint(parse("setcall getpid", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 39);
	g_assert_cmpuint(command.count, ==, 0);
	g_assert_cmpint(parse("setcall 1 1 2 3 rax+1 5 6", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 1);
	g_assert_cmpuint(command.count, ==, 6);
	g_assert_cmpint(parse("poke rsp+8 2a00fF", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 3);
	g_assert_cmpmem(command.bytes, 3, "\x2a\0\xff", 3);
	g_assert_cmpint(parse("signal ignore", &command), ==, 0);
	g_assert_cmpint(command.fate, ==, RS_TRACE_ENGINE_IGNORE);
	g_assert_cmpuint(command.number, ==, 0);
	g_assert_cmpint(parse("signal deliver SIGTERM", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 15);
	g_assert_cmpint(parse("signal core 6", &command), ==, 0);
	g_assert_cmpint(command.fate, ==, RS_TRACE_ENGINE_CORE);
	g_assert_cmpuint(command.number, ==, 6);
	g_assert_cmpint(parse("exit -1", &command), ==, 0);
	g_assert_cmphex(command.places[0].number, ==, UINT64_MAX);
	g_assert_cmpint(parse("events exec,syscall", &command), ==, 0);
	g_assert_cmphex(command.number, ==, 1u << 3 | 3u << 6);
	g_assert_false(command.needs_stop);
	g_assert_cmpint(parse("mem rsp 32", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 32);
	g_assert_cmpint(parse("mem rsp", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 64);
	g_assert_cmpint(parse("dis", &command), ==, 0);
	g_assert_cmpuint(command.count, ==, 0);
	g_assert_cmpuint(command.number, ==, 8);
	g_assert_cmpint(parse("s 10", &command), ==, 0);
	g_assert_cmpint(command.what, ==, RS_CLI_ENGINE_DO_STEP);
	g_assert_cmpuint(command.number, ==, 10);
	g_assert_cmpint(parse("stop 7", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 7);
	g_assert_false(command.needs_stop);
	g_assert_cmpstr(command.source, ==, "");
	g_assert_cmpint(parse("use own.2/7", &command), ==, 0);
	g_assert_cmpuint(command.number, ==, 7);
	g_assert_cmpstr(command.source, ==, "own.2");
	g_assert_cmpint(parse("c", &command), ==, 0);
	g_assert_cmpint(command.what, ==, RS_CLI_ENGINE_DO_RESUME);
	g_assert_cmpint(parse("", &command), ==, -ENODATA);
	g_assert_cmpint(parse(" \t", &command), ==, -ENODATA);
}

static void test_no_commands(void)
{
	static const char *const bad[] = {
		"jump",
		"Regs",
		"regs 1",
		"set",
		"set rbx",
		"set rbx 1 2",
		"set nothing 1",
		"set rbx 1x",
		"set rbx 1+",
		"set rbx +1",
		"set rbx 5-rax",
		"set rbx 0x",
		"set rbx 18446744073709551616",
		"mem",
		"mem rsp 0",
		"mem rsp 65537",
		"mem rsp x",
		"mem rsp+",
		"mem [rsp]",
		"dis rip 257",
		"step 0",
		"step 1000001",
		"step -1",
		"stop 0",
		"use",
		"use 4294967296",
		"use own.2/",
		"use own.2/0",
		"stop /2",
		"detach own.2/x",
		"setcall",
		"setcall nosuchcall",
		"setcall 1 1 2 3 4 5 6 7",
		"setcall 1 1 2 3 4 5 6 7 8 9 10 11",
		"poke rsp",
		"poke rsp 2",
		"poke rsp 2g",
		"poke rsp 0x20",
		"poke x 20",
		"signal",
		"signal kill",
		"signal deliver SIGNOTHING",
		"signal deliver 0",
		"signal deliver 1025",
		"exit",
		"exit x",
		"events",
		"events reap",
		"events exec jctl",
		"help frob",
		"quit now",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct rs_cli_engine_command command = {.number = 77};
		struct rs_error err = {0};

		g_assert_cmpint(rs_cli_engine_parse(bad[i], rs_trace_register_set(RS_ARCH_X86_64),
						    &names, &command, &err),
				==, -EINVAL);
		g_assert_cmpuint(command.number, ==, 77);
		g_assert_cmpstr(err.message, !=, "");
	}
}

/* Each word of the help is a command. */
static void test_help(void)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_auto(GStrv) lines = NULL;

	rs_cli_engine_help(text, 0);
	lines = g_strsplit(g_strchomp(text->str), "\n", -1);
	g_assert_cmpuint(g_strv_length(lines), >, 10);
	for (guint i = 0; lines[i]; i++) {
		g_autofree char *word = g_strndup(lines[i] + 2, strcspn(lines[i] + 2, " |"));
		struct rs_cli_engine_command command;
		struct rs_error err = {0};

		if (rs_cli_engine_parse(word, rs_trace_register_set(RS_ARCH_X86_64), &names,
					&command, &err))
			g_assert_true(g_str_has_prefix(err.message, "usage: "));
	}
}

/* Of one command there is its line, and maybe one more. */
static void test_help_of_one(void)
{
	for (unsigned int i = 0; rs_cli_engine_word_name(i); i++) {
		g_autofree char *line = g_strdup_printf("help %s", rs_cli_engine_word_name(i));
		g_autofree char *begin = g_strdup_printf("  %s", rs_cli_engine_word_name(i));
		g_autoptr(GString) text = g_string_new(NULL);
		struct rs_cli_engine_command command;

		g_assert_cmpint(parse(line, &command), ==, 0);
		rs_cli_engine_help(text, command.number);
		g_assert_true(g_str_has_prefix(text->str, begin));
		g_assert_cmpuint(g_strrstr(text->str, "\n") - text->str, ==, text->len - 1);
	}
}

static void test_registers(void)
{
	RsTraceEngineView view = {.set = rs_trace_register_set(RS_ARCH_X86_64),
				  .count = RS_X86_64_REGISTERS};
	g_autoptr(GString) out = g_string_new(NULL);

	for (unsigned int i = 0; i < view.count; i++)
		view.values[i] = i;
	view.values[RS_X86_64_RFLAGS] = 0x246;
	rs_cli_engine_show_registers(out, &view);
	g_assert_cmpstr(out->str, ==,
			"  rax 0000000000000000  rbx 0000000000000003  rcx 0000000000000001\n"
			"  rdx 0000000000000002  rsi 0000000000000006  rdi 0000000000000007\n"
			"  rbp 0000000000000005  rsp 0000000000000004  r8  0000000000000008\n"
			"  r9  0000000000000009  r10 000000000000000a  r11 000000000000000b\n"
			"  r12 000000000000000c  r13 000000000000000d  r14 000000000000000e\n"
			"  r15 000000000000000f  rip 0000000000000010  rflags 0000000000000246 "
			"[PF ZF IF]\n");
	/* A guest may know fewer. */
	g_string_truncate(out, 0);
	view.count = 2;
	rs_cli_engine_show_registers(out, &view);
	g_assert_cmpstr(out->str, ==, "  rax 0000000000000000  rcx 0000000000000001\n");
	g_string_truncate(out, 0);
	view.count = 0;
	rs_cli_engine_show_registers(out, &view);
	g_assert_cmpstr(out->str, ==, "");
	/* Of another architecture, numbers have to do. */
	view.set = NULL;
	view.count = 2;
	rs_cli_engine_show_registers(out, &view);
	g_assert_cmpstr(out->str, ==, "  #0  0000000000000000  #1  0000000000000001\n");
}

static void test_shown_events(void)
{
	static const struct {
		guint event;
		gint64 value;
		const char *text;
	} cases[] = {
		{6, 1, "syscall_entry: write"},
		{6, 4000, "syscall_entry: call 4000"},
		{6, -1, "syscall_entry: call 18446744073709551615"},
		{7, 0, "syscall_exit"},
		{11, 15, "signal_term: SIGTERM"},
		{12, -7, "signal_core: signal -7"},
		{8, 1ll << 40, "signal: signal 1099511627776"},
		{4, -3, "exit: code -3"},
		{2, 9, "clone: thread 9"},
		{13, 0, "jctl: stopped"},
		{13, 1, "jctl: continued"},
		{0, 0, "quiesce: a safe point"},
		{3, 0, "exec"},
		{14, 5, "event 14: 5"},
		{G_MAXUINT, 5, "event 4294967295: 5"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) out = g_string_new(NULL);

		rs_cli_engine_show_event(out, &names, cases[i].event, cases[i].value);
		g_assert_cmpstr(out->str, ==, cases[i].text);
	}
}

static void test_call(void)
{
	RsTraceEngineView view = {.has_call = TRUE,
				  .call = 1,
				  .n_arguments = 3,
				  .arguments = {1, 0x403000, UINT64_MAX}};
	g_autoptr(GString) out = g_string_new(NULL);

	rs_cli_engine_show_call(out, &names, &view);
	g_assert_cmpstr(out->str, ==, "write(0x1, 0x403000, 0xffffffffffffffff)");
	g_string_truncate(out, 0);
	view.call = UINT64_MAX;
	view.n_arguments = 0;
	rs_cli_engine_show_call(out, &names, &view);
	g_assert_cmpstr(out->str, ==, "call 18446744073709551615()");
}

static void test_memory(void)
{
	const uint8_t bytes[18] = "hello\n\x1b[2J\xff word!";
	struct rs_cli_engine_bytes memory = {
		.address = 0x1000, .bytes = bytes, .size = 18, .wanted = 18};
	g_autoptr(GString) out = g_string_new(NULL);

	rs_cli_engine_show_memory(out, &memory);
	g_assert_cmpstr(out->str, ==,
			"   0x0000000000001000  68 65 6c 6c 6f 0a 1b 5b  32 4a ff 20 77 6f 72 64  "
			"hello..[2J. word\n"
			"   0x0000000000001010  21 00                                             "
			"!.\n");
	g_string_truncate(out, 0);
	memory.size = 0;
	rs_cli_engine_show_memory(out, &memory);
	g_assert_cmpstr(out->str, ==, "   0x0000000000001000  cannot be read\n");
}

static void test_code(void)
{
	const uint8_t bytes[] = {0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0x06, 0xeb, 0xf6, 0x48};
	struct rs_cli_engine_bytes code = {
		.address = 0x401000, .bytes = bytes, .size = sizeof(bytes), .wanted = 64};
	g_autoptr(GString) out = g_string_new(NULL);

	/* What is no instruction is a byte, and so is what is cut by the end of memory. */
	rs_cli_engine_show_code(out, RS_ARCH_X86_64, &code, 10, 0x401005);
	g_assert_cmpstr(out->str, ==,
			"   0x0000000000401000  b8 01 00 00 00                 mov eax, 1\n"
			"=> 0x0000000000401005  0f 05                          syscall\n"
			"   0x0000000000401007  06                             .byte 0x06\n"
			"   0x0000000000401008  eb f6                          jmp 0x401000\n"
			"   0x000000000040100a  48                             .byte 0x48\n"
			"   0x000000000040100b  cannot be read\n");
	g_string_truncate(out, 0);
	rs_cli_engine_show_code(out, RS_ARCH_X86_64, &code, 1, 0x401000);
	g_assert_cmpstr(out->str, ==,
			"=> 0x0000000000401000  b8 01 00 00 00                 mov eax, 1\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/engine/events", test_events);
	g_test_add_func("/cli/engine/places", test_places);
	g_test_add_func("/cli/engine/commands", test_commands);
	g_test_add_func("/cli/engine/no-commands", test_no_commands);
	g_test_add_func("/cli/engine/help", test_help);
	g_test_add_func("/cli/engine/help-of-one", test_help_of_one);
	g_test_add_func("/cli/engine/registers", test_registers);
	g_test_add_func("/cli/engine/shown-events", test_shown_events);
	g_test_add_func("/cli/engine/call", test_call);
	g_test_add_func("/cli/engine/memory", test_memory);
	g_test_add_func("/cli/engine/code", test_code);
	return g_test_run();
}
