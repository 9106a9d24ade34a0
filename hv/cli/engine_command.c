/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigabbrev_np() */
#include "cli/engine_command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define SIGNALS_MAX 1024u /* numbers of any OS */

/* ---- events ---- */

/* Also as filters write it, SYSCALL_ENTRY. */
static int add_event(const char *name, guint32 *mask, struct rs_error *err)
{
	g_autofree char *lower = g_ascii_strdown(name, -1);
	guint32 one = rs_trace_engine_event_mask(lower);

	if (one == 1u << RS_UTRACE_EVENT_QUIESCE)
		return rs_error_set(err, EINVAL, "quiesce is what --stop asks for");
	if (one & (1u << RS_UTRACE_EVENT_REAP | 1u << RS_UTRACE_EVENT_DEATH))
		return rs_error_set(err, EINVAL,
				    "no thread can stop once it has died; its end is told always");
	if (!one)
		return rs_error_set(err, EINVAL,
				    "no event '%s': clone, exec, exit, syscall_entry, "
				    "syscall_exit (both: syscall), signal, signal_ign, "
				    "signal_stop, signal_term, signal_core (all five: "
				    "signal_all), jctl",
				    name);
	*mask |= one;
	return 0;
}

int rs_cli_engine_parse_events(const char *text, guint32 *mask, struct rs_error *err)
{
	g_auto(GStrv) names = g_strsplit(text, ",", -1);
	guint32 found = 0;
	int ret = 0;

	for (guint i = 0; names[i] && !ret; i++)
		ret = add_event(g_strstrip(names[i]), &found, err);
	if (!ret && !found)
		ret = rs_error_set(err, EINVAL, "no event is named");
	if (!ret)
		*mask = found;
	return ret;
}

/* ---- numbers ---- */

static int parse_range(const char *text, uint64_t least, uint64_t most, const char *what,
		       uint64_t *out, struct rs_error *err)
{
	uint64_t value;
	const char *end = rs_cli_engine_parse_number(text, &value);

	if (!end || *end || value < least || value > most)
		return rs_error_set(err, EINVAL,
				    "'%s': %s is a number from %" G_GUINT64_FORMAT
				    " to %" G_GUINT64_FORMAT,
				    text, what, least, most);
	*out = value;
	return 0;
}

/* ---- commands ---- */

static const struct word {
	const char *name, *alias, *args, *help;
	enum rs_cli_engine_word what;
	unsigned int least, most; /* arguments */
	bool needs_stop, looks;
} words[] = {
	{"regs", "r", "", "the registers", RS_CLI_ENGINE_DO_REGS, 0, 0, true, true},
	{"set", NULL, "REG VALUE", "change a register", RS_CLI_ENGINE_DO_SET, 2, 2, true},
	{"mem", "x", "ADDR [BYTES]", "memory, such as: mem rsp+8 32", RS_CLI_ENGINE_DO_MEM, 1, 2,
	 true, true},
	{"dis", NULL, "[ADDR] [COUNT]", "instructions", RS_CLI_ENGINE_DO_DIS, 0, 2, true, true},
	{"call", NULL, "", "the system call that it is about to make", RS_CLI_ENGINE_DO_CALL, 0, 0,
	 true, true},
	{"setcall", NULL, "CALL [ARG...]", "make it another call, by number or name",
	 RS_CLI_ENGINE_DO_SETCALL, 1, 1 + RS_TRACE_ENGINE_ARGUMENTS_MAX, true},
	{"poke", NULL, "ADDR HEX", "write memory, such as: poke rsp+8 2a00ff",
	 RS_CLI_ENGINE_DO_POKE, 2, 2, true},
	{"signal", NULL, "FATE [SIGNAL]",
	 "at a signal: deliver, ignore, stop, terminate or core, also as another one",
	 RS_CLI_ENGINE_DO_SIGNAL, 1, 2, true},
	{"exit", NULL, "CODE", "at an exit: another code", RS_CLI_ENGINE_DO_EXIT, 1, 1, true},
	{"events", NULL, "EVENTS", "stop at these from now on, as --events",
	 RS_CLI_ENGINE_DO_EVENTS, 1, 1, false},
	{"step", "s", "[N]", "run one instruction, or N", RS_CLI_ENGINE_DO_STEP, 0, 1, true},
	{"block", NULL, "", "run up to the next branch", RS_CLI_ENGINE_DO_BLOCK, 0, 0, true},
	{"resume", "c", "", "let the thread go on", RS_CLI_ENGINE_DO_RESUME, 0, 0, true},
	{"stop", NULL, "[ID]", "stop a thread at its next safe point", RS_CLI_ENGINE_DO_STOP, 0, 1,
	 false},
	{"interrupt", NULL, "[ID]", "stop it, and end its system call if that waits",
	 RS_CLI_ENGINE_DO_INTERRUPT, 0, 1, false},
	{"detach", NULL, "[ID]", "take the engine off a thread, which goes on",
	 RS_CLI_ENGINE_DO_DETACH, 0, 1, false},
	{"threads", NULL, "", "the threads, * is the one that commands mean",
	 RS_CLI_ENGINE_DO_THREADS, 0, 0, false},
	{"use", NULL, "ID", "commands mean this thread until it goes on", RS_CLI_ENGINE_DO_USE, 1,
	 1, false},
	{"help", "?", "[COMMAND]", "this list, or more about one", RS_CLI_ENGINE_DO_HELP, 0, 1,
	 false},
	{"quit", "q", "", "detach all, and end", RS_CLI_ENGINE_DO_QUIT, 0, 0, false},
};

#define NAMED "ID: of a thread, with several sources also SOURCE/ID"

/* What `help COMMAND` says beyond the list. */
static const struct {
	enum rs_cli_engine_word what;
	const char *text;
} more[] = {
	{RS_CLI_ENGINE_DO_SET, "VALUE: a number, a register, or a sum such as rsp+8."},
	{RS_CLI_ENGINE_DO_MEM, "ADDR: a number, a register, or a sum. BYTES: 64 if not given."},
	{RS_CLI_ENGINE_DO_DIS, "ADDR: the program counter if not given. COUNT: 8."},
	{RS_CLI_ENGINE_DO_CALL, "At a stop at syscall_entry only."},
	{RS_CLI_ENGINE_DO_SETCALL,
	 "At a stop at syscall_entry. Arguments that are not given stay."},
	{RS_CLI_ENGINE_DO_POKE, "HEX: two digits a byte, 256 bytes at most."},
	{RS_CLI_ENGINE_DO_SIGNAL,
	 "At a stop at a signal. SIGNAL: a number or name, as 15, TERM or SIGTERM."},
	{RS_CLI_ENGINE_DO_EXIT, "At a stop at exit. To end this command: quit."},
	{RS_CLI_ENGINE_DO_EVENTS, "EVENTS: with commas between, as syscall,exec."},
	{RS_CLI_ENGINE_DO_STEP, "Only the last stop is shown. Typing a line ends them."},
	{RS_CLI_ENGINE_DO_STOP, NAMED "; the current thread if not given."},
	{RS_CLI_ENGINE_DO_INTERRUPT, NAMED "; the current thread if not given."},
	{RS_CLI_ENGINE_DO_USE, NAMED "."},
	{RS_CLI_ENGINE_DO_DETACH, NAMED "; the current thread if not given."},
};

const char *rs_cli_engine_word_name(unsigned int at)
{
	return at < G_N_ELEMENTS(words) ? words[at].name : NULL;
}

void rs_cli_engine_help(GString *out, uint64_t only)
{
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
		if (only && i + 1 != only)
			continue;
		g_autofree char *usage =
			g_strdup_printf("%s%s%s%s%s", words[i].name, words[i].alias ? "|" : "",
					words[i].alias ? words[i].alias : "",
					*words[i].args ? " " : "", words[i].args);

		g_string_append_printf(out, "  %-22s  %s\n", usage, words[i].help);
	}
	for (size_t i = 0; only && i < G_N_ELEMENTS(more); i++)
		if (more[i].what == words[only - 1].what)
			g_string_append_printf(out, "  %-22s  %s\n", "", more[i].text);
}

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
		if (!strcmp(name, words[i].name) || !g_strcmp0(name, words[i].alias))
			return &words[i];
	return NULL;
}

static int parse_set(char **args, const RsTraceRegisterSet *set, struct rs_cli_engine_command *out,
		     struct rs_error *err)
{
	const RsTraceRegister *reg = rs_trace_register_find(set, args[0], strlen(args[0]));

	if (!reg)
		return rs_error_set(err, EINVAL, "there is no register '%s'", args[0]);
	out->number = reg->number;
	out->count = 1;
	return rs_cli_engine_parse_place(args[1], set, &out->places[0], err);
}

static int parse_setcall(char **args, const RsTraceRegisterSet *set,
			 const struct rs_call_names *names, struct rs_cli_engine_command *out,
			 struct rs_error *err)
{
	const char *end = rs_cli_engine_parse_number(args[0], &out->number);
	int ret = 0;

	if (!end || *end) {
		gint64 number = rs_call_number(names, args[0]);

		if (number < 0)
			return rs_error_set(err, EINVAL, "there is no system call '%s'", args[0]);
		out->number = (uint64_t)number;
	}
	for (args++; *args && !ret; args++)
		ret = rs_cli_engine_parse_place(*args, set, &out->places[out->count++], err);
	return ret;
}

/* ADDR and BYTES, or ADDR and COUNT. */
static int parse_look(char **args, const RsTraceRegisterSet *set, uint64_t most, const char *what,
		      struct rs_cli_engine_command *out, struct rs_error *err)
{
	int ret = 0;

	if (args[0]) {
		out->count = 1;
		ret = rs_cli_engine_parse_place(args[0], set, &out->places[0], err);
	}
	if (!ret && args[0] && args[1])
		ret = parse_range(args[1], 1, most, what, &out->number, err);
	return ret;
}

static int parse_poke(char **args, const RsTraceRegisterSet *set, struct rs_cli_engine_command *out,
		      struct rs_error *err)
{
	const char *hex = args[1];
	const size_t digits = strlen(hex);

	if (digits % 2 || digits > 2 * RS_CLI_ENGINE_POKE_MAX ||
	    strspn(hex, "0123456789abcdefABCDEF") != digits)
		return rs_error_set(err, EINVAL,
				    "'%s': HEX is up to %u bytes of two hexadecimal digits, such "
				    "as 2a00ff",
				    hex, RS_CLI_ENGINE_POKE_MAX);
	for (size_t i = 0; i < digits; i += 2)
		out->bytes[i / 2] = (uint8_t)(g_ascii_xdigit_value(hex[i]) * 16 +
					      g_ascii_xdigit_value(hex[i + 1]));
	out->number = digits / 2;
	out->count = 1;
	return rs_cli_engine_parse_place(args[0], set, &out->places[0], err);
}

/* By number or by name, TERM or SIGTERM. */
static int parse_signal_number(const char *text, uint64_t *out, struct rs_error *err)
{
	const char *name = g_str_has_prefix(text, "SIG") ? text + 3 : text;

	if (g_ascii_isdigit(*text))
		return parse_range(text, 1, SIGNALS_MAX, "SIGNAL", out, err);
	for (int i = 1; i < NSIG; i++) {
		if (g_strcmp0(sigabbrev_np(i), name) != 0)
			continue;
		*out = (uint64_t)i;
		return 0;
	}
	return rs_error_set(err, EINVAL, "there is no signal '%s'", text);
}

static int parse_signal(char **args, struct rs_cli_engine_command *out, struct rs_error *err)
{
	static const char *const fates[] = {
		[RS_TRACE_ENGINE_DELIVER] = "deliver", [RS_TRACE_ENGINE_IGNORE] = "ignore",
		[RS_TRACE_ENGINE_SUSPEND] = "stop",    [RS_TRACE_ENGINE_TERMINATE] = "terminate",
		[RS_TRACE_ENGINE_CORE] = "core",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(fates); i++) {
		if (strcmp(fates[i], args[0]) != 0)
			continue;
		out->fate = (RsTraceEngineFate)i;
		return args[1] ? parse_signal_number(args[1], &out->number, err) : 0;
	}
	return rs_error_set(err, EINVAL, "'%s': FATE is deliver, ignore, stop, terminate or core",
			    args[0]);
}

static int parse_exit(char **args, const RsTraceRegisterSet *set, struct rs_cli_engine_command *out,
		      struct rs_error *err)
{
	out->count = 1;
	return rs_cli_engine_parse_place(args[0], set, &out->places[0], err);
}

static int parse_new_events(char **args, struct rs_cli_engine_command *out, struct rs_error *err)
{
	guint32 mask = 0;
	int ret = rs_cli_engine_parse_events(args[0], &mask, err);

	out->number = mask;
	return ret;
}

/* ID or SOURCE/ID. */
static int parse_thread(const char *text, struct rs_cli_engine_command *out, struct rs_error *err)
{
	const char *slash = strrchr(text, '/');
	const size_t length = slash ? (size_t)(slash - text) : 0;

	if (slash && (!length || length >= sizeof(out->source)))
		return rs_error_set(err, EINVAL, "'%s': a thread is ID or SOURCE/ID", text);
	memcpy(out->source, text, length);
	return parse_range(slash ? slash + 1 : text, 1, UINT32_MAX, "ID", &out->number, err);
}

static int parse_help(char **args, struct rs_cli_engine_command *out, struct rs_error *err)
{
	const struct word *word = args[0] ? find_word(args[0]) : NULL;

	if (args[0] && !word)
		return rs_error_set(err, EINVAL, "there is no command '%s'; help lists them",
				    args[0]);
	out->number = word ? (uint64_t)(word - words) + 1 : 0;
	return 0;
}

static int parse_args(char **args, const RsTraceRegisterSet *set, const struct rs_call_names *names,
		      struct rs_cli_engine_command *out, struct rs_error *err)
{
	switch (out->what) {
	case RS_CLI_ENGINE_DO_SET:
		return parse_set(args, set, out, err);
	case RS_CLI_ENGINE_DO_SETCALL:
		return parse_setcall(args, set, names, out, err);
	case RS_CLI_ENGINE_DO_HELP:
		return parse_help(args, out, err);
	case RS_CLI_ENGINE_DO_POKE:
		return parse_poke(args, set, out, err);
	case RS_CLI_ENGINE_DO_SIGNAL:
		return parse_signal(args, out, err);
	case RS_CLI_ENGINE_DO_EXIT:
		return parse_exit(args, set, out, err);
	case RS_CLI_ENGINE_DO_EVENTS:
		return parse_new_events(args, out, err);
	case RS_CLI_ENGINE_DO_MEM:
		out->number = 64;
		return parse_look(args, set, RS_CLI_ENGINE_MEM_MAX, "BYTES", out, err);
	case RS_CLI_ENGINE_DO_DIS:
		out->number = 8;
		return parse_look(args, set, RS_CLI_ENGINE_DIS_MAX, "COUNT", out, err);
	case RS_CLI_ENGINE_DO_STEP:
		out->number = 1;
		return args[0] ? parse_range(args[0], 1, RS_CLI_ENGINE_STEPS_MAX, "N", &out->number,
					     err)
			       : 0;
	default:
		return args[0] ? parse_thread(args[0], out, err) : 0;
	}
}

int rs_cli_engine_parse(const char *line, const RsTraceRegisterSet *set,
			const struct rs_call_names *names, struct rs_cli_engine_command *out,
			struct rs_error *err)
{
	g_auto(GStrv) raw = g_strsplit_set(line, " \t\r", -1);
	char *args[RS_TRACE_ENGINE_ARGUMENTS_MAX + 4] = {NULL};
	struct rs_cli_engine_command command = {0};
	const struct word *word;
	unsigned int count = 0;
	int ret;

	for (guint i = 0; raw[i]; i++)
		if (*raw[i] && count < G_N_ELEMENTS(args) - 1)
			args[count++] = raw[i];
	if (!count)
		return rs_error_set(err, ENODATA, "no command");
	word = find_word(args[0]);
	if (!word)
		return rs_error_set(err, EINVAL, "there is no command '%s'; help lists them",
				    args[0]);
	if (count - 1 < word->least || count - 1 > word->most)
		return rs_error_set(err, EINVAL, "usage: %s%s%s", word->name,
				    *word->args ? " " : "", word->args);
	command.what = word->what;
	command.needs_stop = word->needs_stop;
	command.looks = word->looks;
	ret = parse_args(args + 1, set, names, &command, err);
	if (!ret)
		*out = command;
	return ret;
}
