/* SPDX-License-Identifier: MIT */
/* Threads and Engine*: what peers ask of threads in guests, and whose engines are whose. */
#include "host.h"

#include <ringside/atomic.h>
#include <ringside/error.h>
#include <ringside/registers.h>
#include <string.h>

#define ONE "{'source': <uint32 1>}"
#define TWO "{'source': <uint32 2>}"
#define NONE "@a{sv} {}"
#define ENTRY 6u
#define HANDLE 0x700000001u

/* ---- calls ---- */

struct call {
	bool over;
	GVariant *reply;
	GError *error;
};

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct call *call = data;

	call->reply = g_dbus_proxy_call_finish(G_DBUS_PROXY(object), result, &call->error);
	call->over = true;
}

/* `args`: as text, "(uint32 1, ...)". */
static void begin(RsDBusSession1 *client, const char *method, const char *args, struct call *call)
{
	*call = (struct call){0};
	g_dbus_proxy_call(G_DBUS_PROXY(client), method, g_variant_new_parsed(args),
			  G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_answer, call);
	g_dbus_connection_flush_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(client)), NULL, NULL);
}

/* About one engine, without options. `rest`: ", ARGUMENT" and so on, as text. */
static void begin_for(RsDBusSession1 *client, const char *method, guint engine, const char *rest,
		      struct call *call)
{
	g_autofree char *args = g_strdup_printf("(uint32 %u%s, @a{sv} {})", engine, rest);

	begin(client, method, args, call);
}

/* What was answered, as text. */
static void check_ok(struct call *call, const char *expected)
{
	g_autofree char *text = NULL;

	sham_wait(&call->over);
	g_assert_no_error(call->error);
	text = g_variant_print(call->reply, FALSE);
	if (expected)
		g_assert_cmpstr(text, ==, expected);
	g_clear_pointer(&call->reply, g_variant_unref);
}

static void check_error(struct call *call, RsTraceSessionError code, const char *says)
{
	sham_wait(&call->over);
	g_assert_null(call->reply);
	g_assert_error(call->error, RS_TRACE_SESSION_ERROR, (gint)code);
	if (!strstr(call->error->message, says))
		g_error("'%s' does not say '%s'", call->error->message, says);
	g_clear_error(&call->error);
}

static void check_refused(RsDBusSession1 *client, const char *method, const char *args,
			  RsTraceSessionError code, const char *says)
{
	struct call call;

	begin(client, method, args, &call);
	check_error(&call, code, says);
}

/* EngineList, as text. */
static void check_list(RsDBusSession1 *client, const char *expected)
{
	struct call call;

	begin(client, "EngineList", "(@a{sv} {},)", &call);
	check_ok(&call, expected);
}

/* ---- the guests ---- */

static const struct rs_cmd_thread worker = {.id = 7, .process = 5, .parent = 1, .comm = "worker"};

/* The guest must have got this command; its id. */
static uint64_t expect(struct sham *sham, uint32_t number, uint64_t a, uint64_t b)
{
	const struct rs_hcall_response *command = host_command(sham);

	g_assert_cmpuint(command->values[1], ==, number);
	g_assert_cmpuint(command->values[2], ==, a);
	g_assert_cmpuint(command->values[3], ==, b);
	return command->values[0];
}

static void give_handle(struct sham *sham, uint64_t id, uint64_t handle)
{
	const struct host_result result = {
		.values = {handle}, .data = &worker, .size = sizeof(worker)};

	host_report_all(sham, id, &result);
}

/* Attaches to thread 7 of the first guest. */
static guint attach(struct host *host, RsDBusSession1 *client, uint64_t handle)
{
	struct call call;
	guint engine;

	begin(client, "EngineAttach", "(uint32 7, uint32 64, " ONE ")", &call);
	give_handle(host->sham[0], expect(host->sham[0], RS_CMD_ENGINE_ATTACH, 7, 64), handle);
	sham_wait(&call.over);
	g_assert_no_error(call.error);
	g_variant_get(call.reply, "(u@a{sv})", &engine, NULL);
	g_variant_unref(call.reply);
	return engine;
}

/* ---- methods ---- */

static void test_each_action_reaches_the_guest(struct host *host)
{
	static const struct {
		const char *name;
		uint32_t action;
	} actions[] = {
		{", 'stop'", RS_UTRACE_STOP},       {", 'interrupt'", RS_UTRACE_INTERRUPT},
		{", 'step'", RS_UTRACE_SINGLESTEP}, {", 'block-step'", RS_UTRACE_BLOCKSTEP},
		{", 'resume'", RS_UTRACE_RESUME},   {", 'detach'", RS_UTRACE_DETACH},
	};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
		begin_for(c, "EngineControl", engine, actions[i].name, &call);
		host_report(host->sham[0],
			    expect(host->sham[0], RS_CMD_ENGINE_CONTROL, HANDLE, actions[i].action),
			    0);
		check_ok(&call, "({},)");
	}
}

static void test_registers_are_shown_and_set(struct host *host)
{
	const uint64_t values[] = {11, 12, 13, 21, 22};
	struct host_result result = {
		.result = 3, .values = {ENTRY, 1, 9, 2}, .data = values, .size = sizeof(values)};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	const struct rs_hcall_response *command;
	struct call call;
	uint64_t given[RS_REGISTERS_MAX] = {0};
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	begin_for(c, "EngineRegisters", engine, "", &call);
	host_report_all(host->sham[0], expect(host->sham[0], RS_CMD_ENGINE_REGISTERS, HANDLE, 0),
			&result);
	check_ok(&call, "([11, 12, 13], {'syscall': <uint64 9>, 'arguments': <[uint64 21, 22]>})");

	/* A guest that says more than it gives. */
	result.result = INT32_MAX;
	result.values[3] = UINT64_MAX;
	begin_for(c, "EngineRegisters", engine, "", &call);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &result);
	check_ok(&call, "([11, 12, 13, 21, 22], {'syscall': <uint64 9>, 'arguments': <@at []>})");

	begin_for(c, "EngineSetRegisters", engine, ", [uint64 5, 6], uint64 2", &call);
	expect(host->sham[0], RS_CMD_ENGINE_SET_REGISTERS, HANDLE, 2);
	command = host_command(host->sham[0]);
	g_assert_cmpuint(command->data_size, ==, sizeof(given));
	given[0] = 5;
	given[1] = 6;
	g_assert_cmpmem(command->data, command->data_size, given, sizeof(given));
	host_carry_out(host->sham[0], 0);
	check_ok(&call, "({},)");

	begin_for(c, "EngineSetSyscall", engine, ", uint64 39, [uint64 5, 6]", &call);
	expect(host->sham[0], RS_CMD_ENGINE_SET_SYSCALL, HANDLE, 39);
	command = host_command(host->sham[0]);
	g_assert_cmpuint(command->values[4], ==, 2);
	g_assert_cmpmem(command->data, command->data_size, given, 16);
	host_carry_out(host->sham[0], 0);
	check_ok(&call, "({},)");
}

static void test_memory_is_read(struct host *host)
{
	const struct host_result result = {.result = 3, .data = "abcd", .size = 4};
	const struct host_result too_much = {.result = INT32_MAX, .data = "abcd", .size = 4};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	begin_for(c, "EngineReadMemory", engine, ", uint64 0x1000, uint32 4000000000", &call);
	expect(host->sham[0], RS_CMD_ENGINE_MEMORY, HANDLE, 0x1000);
	g_assert_cmpuint(host_command(host->sham[0])->values[4], ==, RS_CMD_DATA);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &result);
	check_ok(&call, "([0x61, 0x62, 0x63], {})");
	begin_for(c, "EngineReadMemory", engine, ", uint64 0x1000, uint32 8", &call);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &too_much);
	check_ok(&call, "([0x61, 0x62, 0x63, 0x64], {})");
}

/* None of them reaches the guest. */
static void test_memory_is_written(struct host *host)
{
	const struct host_result too_much = {.result = INT32_MAX};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	g_autoptr(GString) many = g_string_new(", uint64 0x1000, [byte 0");
	const struct rs_hcall_response *command;
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	begin_for(c, "EngineWriteMemory", engine, ", uint64 0x1000, [byte 1, 2, 3]", &call);
	expect(host->sham[0], RS_CMD_ENGINE_SET_MEMORY, HANDLE, 0x1000);
	command = host_command(host->sham[0]);
	g_assert_cmpmem(command->data, command->data_size, "\1\2\3", 3);
	host_carry_out(host->sham[0], 2);
	check_ok(&call, "(2, {})");
	begin_for(c, "EngineWriteMemory", engine, ", uint64 0x1000, @ay []", &call);
	host_report_all(host->sham[0], host_command(host->sham[0])->values[0], &too_much);
	check_ok(&call, "(3968, {})");
	for (guint i = 0; i < RS_CMD_DATA; i++)
		g_string_append(many, ", 0");
	g_string_append(many, "]");
	begin_for(c, "EngineWriteMemory", engine, many->str, &call);
	check_error(&call, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "3968 bytes");
}

static void test_signals_exits_and_events_are_changed(struct host *host)
{
	static const struct {
		const char *method, *rest;
		uint32_t number;
		uint64_t a, b;
	} cases[] = {
		{"EngineSetSignal", ", 'deliver', uint32 0", RS_CMD_ENGINE_SET_SIGNAL, 0, 0},
		{"EngineSetSignal", ", 'ignore', uint32 10", RS_CMD_ENGINE_SET_SIGNAL, 10, 0x10},
		{"EngineSetSignal", ", 'stop', uint32 0", RS_CMD_ENGINE_SET_SIGNAL, 0, 0x20},
		{"EngineSetSignal", ", 'terminate', uint32 0", RS_CMD_ENGINE_SET_SIGNAL, 0, 0x30},
		{"EngineSetSignal", ", 'core', uint32 0x7fffffff", RS_CMD_ENGINE_SET_SIGNAL,
		 0x7fffffff, 0x40},
		{"EngineSetExitCode", ", int64 -2", RS_CMD_ENGINE_SET_EXIT, UINT64_MAX - 1, 0},
		{"EngineSetEvents", ", uint32 64", RS_CMD_ENGINE_SET_EVENTS, 64, 0},
	};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin_for(c, cases[i].method, engine, cases[i].rest, &call);
		expect(host->sham[0], cases[i].number, HANDLE, cases[i].a);
		g_assert_cmpuint(host_command(host->sham[0])->values[4], ==, cases[i].b);
		host_carry_out(host->sham[0], 0);
		check_ok(&call, "({},)");
	}
	begin(c, "EngineSetEvents", "(uint32 1, uint32 64, {'follow': <true>})", &call);
	g_assert_cmpuint(host_command(host->sham[0])->values[4], ==, RS_ENGINE_FOLLOW);
	host_carry_out(host->sham[0], 0);
	check_ok(&call, "({},)");
	begin(c, "EngineAttach", "(uint32 7, uint32 64, {'source': <uint32 1>, 'follow': <true>})",
	      &call);
	g_assert_cmpuint(host_command(host->sham[0])->values[4], ==, RS_ENGINE_FOLLOW);
	host_carry_out(host->sham[0], -RS_EALREADY);
	check_error(&call, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "still to be reaped");
}

static void test_an_os_has_commands_of_its_own(struct host *host)
{
	const uint64_t values[RS_CMD_ARGS] = {1, 2, 3, 4};
	struct host_result result = {.result = -77, .data = "ok", .size = 2};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	const struct rs_hcall_response *command;
	struct call call;

	memcpy(result.values, values, sizeof(values));
	host_offer_all(host);
	begin(c, "GuestCommand", "(uint32 0x40000007, [uint64 5, 6], [byte 9], " ONE ")", &call);
	expect(host->sham[0], 0x40000007, 5, 6);
	command = host_command(host->sham[0]);
	g_assert_cmpuint(command->values[4], ==, 0);
	g_assert_cmpmem(command->data, command->data_size, "\11", 1);
	host_report_all(host->sham[0], command->values[0], &result);
	check_ok(&call, "(-77, [1, 2, 3, 4], [0x6f, 0x6b], {})");
	/* The peer goes meanwhile. */
	begin(c, "GuestCommand", "(uint32 0x7fffffff, @at [], @ay [], " ONE ")", &call);
	command = host_command(host->sham[0]);
	g_assert_true(g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(c)),
						   NULL, NULL));
	sham_wait(&call.over);
	g_clear_error(&call.error);
	host_carry_out(host->sham[0], 0);
}

static void test_engines_that_follow_are_listed(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);
	const struct rs_cmd_thread child = {.id = 8, .process = 8, .parent = 7, .comm = "c"};
	struct call call;

	host_offer_all(host);
	attach(host, c, HANDLE);
	host_news_with(host->sham[0], (const uint64_t[]){RS_NEWS_ATTACHED, HANDLE + 1, HANDLE, 0},
		       &child, sizeof(child));
	host_news_with(host->sham[0],
		       (const uint64_t[]){RS_NEWS_STOPPED, HANDLE + 1, RS_UTRACE_EVENT_EXEC, 0},
		       "/\033x", 3);
	host_news(host->sham[0], RS_NEWS_STEPPED, HANDLE, 12, 5);
	host_news(host->sham[0], RS_NEWS_REFUSED, HANDLE, 2, 0);
	check_list(
		c,
		"([{'engine': <uint32 1>, 'source': <'k'>, 'source_number': <uint32 1>, 'thread': "
		"<uint32 7>, 'process': <uint32 5>, 'parent': <uint32 1>, 'comm': <'worker'>, "
		"'refused': <uint32 2>, 'state': <'stopped'>, 'stop': <uint64 1>, 'event': <uint32 "
		"12>, 'value': <int64 5>, 'stepped': <true>}, {'engine': <uint32 2>, 'source': "
		"<'k'>, 'source_number': <uint32 1>, 'thread': <uint32 8>, 'process': <uint32 8>, "
		"'parent': <uint32 7>, 'comm': <'c'>, 'follows': <uint32 1>, 'state': <'stopped'>, "
		"'stop': <uint64 1>, 'event': <uint32 3>, 'value': <int64 0>, 'path': "
		"<'/\\\\x1bx'>}], {})");
	begin(c, "EngineList", "(@a{sv} {},)", &call);
	check_ok(&call, NULL);
}

static void test_wrong_arguments_are_refused(struct host *host)
{
	static const struct {
		const char *method, *args, *says;
	} cases[] = {
		{"Threads", "({'hue': <1>},)", "'hue'"},
		{"Threads", "({'source': <'k'>},)", "'source'"},
		{"Threads", "({'source': <uint32 3>},)", "number 3"},
		{"EngineList", "({'hue': <1>},)", "'hue'"},
		{"EngineAttach", "(uint32 7, uint32 64, {'hue': <1>})", "'hue'"},
		{"EngineAttach", "(uint32 7, uint32 64, {'source': <uint32 0>})", "number 0"},
		{"EngineAttach", "(uint32 7, uint32 64, @a{sv} {})", "of which source"},
		{"EngineAttach", "(uint32 7, uint32 0x4000, " ONE ")", "no such events"},
		{"EngineAttach", "(uint32 7, uint32 0x41, " ONE ")", "EngineControl 'stop'"},
		{"EngineAttach", "(uint32 7, uint32 0x42, " ONE ")", "DEATH or REAP"},
		{"EngineAttach", "(uint32 7, uint32 0x60, " ONE ")", "DEATH or REAP"},
		{"EngineControl", "(uint32 1, 'stop', {'hue': <1>})", "'hue'"},
		{"EngineControl", "(uint32 1, 'halt', @a{sv} {})", "'block-step'"},
		{"EngineRegisters", "(uint32 1, {'hue': <1>})", "'hue'"},
		{"EngineSetRegisters", "(uint32 1, [uint64 1], uint64 1, {'hue': <1>})", "'hue'"},
		{"EngineSetRegisters", "(uint32 1, [uint64 1], uint64 0, @a{sv} {})", "mask"},
		{"EngineSetRegisters", "(uint32 1, [uint64 1], uint64 2, @a{sv} {})", "mask"},
		{"EngineSetSyscall", "(uint32 1, uint64 1, @at [], {'hue': <1>})", "'hue'"},
		{"EngineSetSyscall",
		 "(uint32 1, uint64 1, [uint64 1, 2, 3, 4, 5, 6, 7], @a{sv} {})", "6 numbers"},
		{"EngineReadMemory", "(uint32 1, uint64 1, uint32 1, {'hue': <1>})", "'hue'"},
		{"EngineWriteMemory", "(uint32 1, uint64 1, [byte 1], {'hue': <1>})", "'hue'"},
		{"EngineSetEvents", "(uint32 1, uint32 64, {'source': <uint32 1>})", "'source'"},
		{"EngineSetEvents", "(uint32 1, uint32 1, @a{sv} {})", "EngineControl 'stop'"},
		{"EngineSetSignal", "(uint32 1, 'core', uint32 1, {'hue': <1>})", "'hue'"},
		{"EngineSetSignal", "(uint32 1, 'hold', uint32 1, @a{sv} {})", "'terminate'"},
		{"EngineSetSignal", "(uint32 1, 'core', uint32 0x80000000, @a{sv} {})",
		 "no signal"},
		{"EngineSetExitCode", "(uint32 1, int64 1, {'hue': <1>})", "'hue'"},
		{"GuestCommand", "(uint32 16, @at [], @ay [], " ONE ")", "0x40000000"},
		{"GuestCommand", "(uint32 0x80000000, @at [], @ay [], " ONE ")", "0x7fffffff"},
		{"GuestCommand", "(uint32 0x40000000, @at [], @ay [], @a{sv} {})", "which source"},
		{"GuestCommand", "(uint32 0x40000000, [uint64 1, 2, 3, 4, 5], @ay [], " ONE ")",
		 "4 numbers"},
	};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	g_autoptr(GString) many = g_string_new("(uint32 1, [uint64 0");

	host_offer_all(host);
	g_assert_cmpuint(attach(host, c, HANDLE), ==, 1);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		check_refused(c, cases[i].method, cases[i].args,
			      RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, cases[i].says);
	for (guint i = 0; i < RS_REGISTERS_MAX; i++)
		g_string_append(many, ", 0");
	g_string_append(many, "], uint64 1, @a{sv} {})");
	check_refused(c, "EngineSetRegisters", many->str, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
		      "numbers at most");
}

static void test_guests_errors_have_names(struct host *host)
{
	static const struct {
		int64_t result;
		RsTraceSessionError code;
		const char *says;
	} cases[] = {
		{-RS_EAGAIN, RS_TRACE_SESSION_ERROR_NOT_STOPPED, "the thread runs"},
		{-RS_EINPROGRESS, RS_TRACE_SESSION_ERROR_NOT_STOPPED, "the thread runs"},
		{-RS_ENOENT, RS_TRACE_SESSION_ERROR_NOT_STOPPED, "before a system call"},
		{-RS_EINVAL, RS_TRACE_SESSION_ERROR_BAD_ARGUMENT, "does not know"},
		{-RS_EPERM, RS_TRACE_SESSION_ERROR_FAILED, "does not let us"},
		{-RS_ENOSYS, RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "cannot do that"},
		{-RS_ESRCH, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "has died"},
		{INT64_MIN, RS_TRACE_SESSION_ERROR_FAILED, "the number -2147483648"},
		/* The last one: the engine is gone after that. */
		{-RS_EBADF, RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, "has let go"},
	};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		begin_for(c, "EngineRegisters", engine, "", &call);
		host_carry_out(host->sham[0], cases[i].result);
		check_error(&call, cases[i].code, cases[i].says);
	}
	check_refused(c, "EngineRegisters", "(uint32 1, @a{sv} {})",
		      RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, "no engine 1");

	begin(c, "EngineAttach", "(uint32 8, uint32 0, " ONE ")", &call);
	host_carry_out(host->sham[0], -RS_ESRCH);
	check_error(&call, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD, "thread");
	begin(c, "EngineAttach", "(uint32 8, uint32 0, " ONE ")", &call);
	host_carry_out(host->sham[0], -RS_ENOSPC);
	check_error(&call, RS_TRACE_SESSION_ERROR_FAILED, "no room");
	/* A success without a handle is none. */
	begin(c, "EngineAttach", "(uint32 8, uint32 0, " ONE ")", &call);
	host_carry_out(host->sham[0], 0);
	check_error(&call, RS_TRACE_SESSION_ERROR_FAILED, "no handle");
}

static void test_a_guest_without_a_task_cannot_do_it(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host);

	check_refused(c, "EngineAttach", "(uint32 7, uint32 0, " TWO ")",
		      RS_TRACE_SESSION_ERROR_NOT_SUPPORTED, "takes no commands");
	check_refused(c, "Threads", "(" NONE ",)", RS_TRACE_SESSION_ERROR_NOT_SUPPORTED,
		      "takes no commands");
}

/* ---- peers ---- */

static void test_the_list_says_what_happens(struct host *host)
{
#define ROW                                                                                        \
	"'engine': <uint32 1>, 'source': <'k'>, 'source_number': <uint32 1>, 'thread': <uint32 "   \
	"7>, 'process': <uint32 5>, "                                                              \
	"'parent': <uint32 1>, 'comm': <'worker'>, "
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	check_list(c, "([], {})");
	host_offer_all(host);
	attach(host, c, HANDLE);
	check_list(c, "([{" ROW "'state': <'running'>}], {})");
	host_news(host->sham[0], RS_NEWS_STOPPED, HANDLE, ENTRY, -3);
	check_list(c, "([{" ROW "'state': <'stopped'>, 'stop': <uint64 1>, 'event': <uint32 6>, "
		      "'value': <int64 -3>}], "
		      "{})");
	/* Of another engine, and of another guest. */
	host_news(host->sham[0], RS_NEWS_GONE, HANDLE + 1, 0, 0);
	host_report(host->sham[1], 0, 0);
	host_news(host->sham[1], RS_NEWS_GONE, HANDLE, 0, 0);
	begin_for(c, "EngineControl", 1, ", 'resume'", &call);
	host_carry_out(host->sham[0], 0);
	check_ok(&call, NULL);
	check_list(c, "([{" ROW "'state': <'running'>}], {})");
	host_news(host->sham[0], RS_NEWS_GONE, HANDLE, 0, 0);
	/* Told once. */
	check_list(c, "([{" ROW "'state': <'gone'>}], {})");
	check_list(c, "([], {})");
	check_refused(c, "EngineControl", "(uint32 1, 'resume', @a{sv} {})",
		      RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, "no engine 1");
#undef ROW
}

static void test_an_engine_is_its_peers(struct host *host)
{
	static const char *const methods[][2] = {
		{"EngineControl", "(uint32 1, 'resume', @a{sv} {})"},
		{"EngineRegisters", "(uint32 1, @a{sv} {})"},
		{"EngineSetRegisters", "(uint32 1, [uint64 1], uint64 1, @a{sv} {})"},
		{"EngineSetSyscall", "(uint32 1, uint64 1, @at [], @a{sv} {})"},
		{"EngineReadMemory", "(uint32 1, uint64 1, uint32 1, @a{sv} {})"},
	};
	g_autoptr(RsDBusSession1) c = host_connect(host), other = host_connect(host);

	host_offer_all(host);
	g_assert_cmpuint(attach(host, c, HANDLE), ==, 1);
	for (guint i = 0; i < G_N_ELEMENTS(methods); i++)
		check_refused(other, methods[i][0], methods[i][1],
			      RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE, "no engine 1 here");
	check_list(other, "([], {})");
	g_assert_cmpuint(attach(host, other, HANDLE + 1), ==, 2);
}

/* Else a stopped thread would stay so until somebody else is done. */
static void test_a_claim_refuses_attach_only(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host), other = host_connect(host);
	const char *const calls[][2] = {{"EngineRegisters", ""},
					{"EngineSetRegisters", ", [uint64 1], uint64 1"},
					{"EngineSetSyscall", ", uint64 1, @at []"},
					{"EngineReadMemory", ", uint64 1, uint32 1"},
					{"EngineControl", ", 'resume'"},
					{"EngineControl", ", 'detach'"}};
	struct call call;
	guint engine;

	host_offer_all(host);
	engine = attach(host, c, HANDLE);
	g_assert_true(rs_dbus_session1_call_claim_sync(other, rs_trace_client_no_options(), NULL,
						       NULL, NULL));
	check_refused(c, "EngineAttach", "(uint32 7, uint32 0, " ONE ")",
		      RS_TRACE_SESSION_ERROR_BUSY, "another command");
	for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
		begin_for(c, calls[i][0], engine, calls[i][1], &call);
		host_carry_out(host->sham[0], 0);
		check_ok(&call, NULL);
	}
	begin(c, "Threads", "(" ONE ",)", &call);
	host_carry_out(host->sham[0], 0);
	check_ok(&call, "([], {})");
	attach(host, other, HANDLE + 1);
}

static void leave(RsDBusSession1 *client)
{
	g_dbus_connection_close_sync(g_dbus_proxy_get_connection(G_DBUS_PROXY(client)), NULL, NULL);
	g_object_unref(client);
}

static void expect_detach(struct sham *sham, uint64_t handle)
{
	host_report(sham, expect(sham, RS_CMD_ENGINE_CONTROL, handle, RS_UTRACE_DETACH), 0);
}

static void test_threads_of_a_peer_that_goes_go_on(struct host *host)
{
	g_autoptr(RsDBusSession1) other = host_connect(host);
	RsDBusSession1 *c = host_connect(host);
	struct call call;

	host_offer_all(host);
	attach(host, c, HANDLE);
	attach(host, other, HANDLE + 1);
	host_news(host->sham[0], RS_NEWS_STOPPED, HANDLE, ENTRY, 0);
	leave(c);
	expect_detach(host->sham[0], HANDLE);

	/* While one of its calls is with the guest. */
	c = host_connect(host);
	attach(host, c, HANDLE + 2);
	begin_for(c, "EngineRegisters", 3, "", &call);
	expect(host->sham[0], RS_CMD_ENGINE_REGISTERS, HANDLE + 2, 0);
	leave(c);
	sham_wait(&call.over);
	g_clear_error(&call.error);
	host_carry_out(host->sham[0], 0);
	expect_detach(host->sham[0], HANDLE + 2);

	/* Before it has the engine's number. */
	c = host_connect(host);
	begin(c, "EngineAttach", "(uint32 7, uint32 0, " ONE ")", &call);
	expect(host->sham[0], RS_CMD_ENGINE_ATTACH, 7, 0);
	leave(c);
	sham_wait(&call.over);
	g_clear_error(&call.error);
	give_handle(host->sham[0], host_command(host->sham[0])->values[0], HANDLE + 3);
	expect_detach(host->sham[0], HANDLE + 3);

	/* Nobody else's. */
	begin_for(other, "EngineControl", 2, ", 'resume'", &call);
	host_carry_out(host->sham[0], 0);
	check_ok(&call, NULL);
}

static void test_end_of_the_session_answers_calls(struct host *host)
{
	g_autoptr(RsDBusSession1) c = host_connect(host), other = host_connect(host);
	struct call call;

	host_offer_all(host);
	attach(host, c, HANDLE);
	begin_for(c, "EngineRegisters", 1, "", &call);
	expect(host->sham[0], RS_CMD_ENGINE_REGISTERS, HANDLE, 0);
	g_assert_true(rs_dbus_session1_call_stop_sync(other, "enough", rs_trace_client_no_options(),
						      NULL, NULL, NULL));
	check_error(&call, RS_TRACE_SESSION_ERROR_ENDED, "ended");
	check_refused(c, "Threads", "(" NONE ",)", RS_TRACE_SESSION_ERROR_ENDED, "ended");
}

/* The calls wait on: the session goes with them. */
static void test_session_may_go_before_the_answer(struct host *host)
{
	static struct call attaching, asking;
	RsDBusSession1 *c = host_connect(host), *other = host_connect(host);

	host_offer_all(host);
	attach(host, c, HANDLE);
	begin(c, "EngineAttach", "(uint32 7, uint32 0, " ONE ")", &attaching);
	begin(other, "Threads", "(" TWO ",)", &asking);
	host_command(host->sham[0]);
	host_command(host->sham[1]);
	g_object_unref(c);
	g_object_unref(other);
}

/* ---- threads ---- */

/* The guest must have been asked for threads after `after`. */
static void give_threads(struct sham *sham, uint32_t after, const uint32_t *ids, guint count)
{
	struct rs_cmd_thread threads[RS_CMD_THREADS_MAX] = {0};
	const struct host_result result = {.result = (int64_t)count,
					   .values = {sizeof(*threads)},
					   .data = threads,
					   .size = count * sizeof(*threads)};

	for (guint i = 0; i < count; i++)
		threads[i].id = ids[i];
	host_report_all(sham, expect(sham, RS_CMD_THREADS, after, 0), &result);
}

/* "1/5 1/6 2/5": of each its source and id. */
static void check_threads(struct call *call, const char *expected, bool cut)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GVariant) rows = NULL, more = NULL;
	gboolean told = FALSE;

	sham_wait(&call->over);
	g_assert_no_error(call->error);
	rows = g_variant_get_child_value(call->reply, 0);
	more = g_variant_get_child_value(call->reply, 1);
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);
		guint source, id;

		g_assert_true(g_variant_lookup(row, "source_number", "u", &source));
		g_assert_true(g_variant_lookup(row, "id", "u", &id));
		g_string_append_printf(text, "%s%u/%u", i ? " " : "", source, id);
	}
	g_assert_cmpstr(text->str, ==, expected);
	g_variant_lookup(more, "cut", "b", &told);
	g_assert_cmpint(told, ==, cut);
	g_clear_pointer(&call->reply, g_variant_unref);
}

static void test_threads_of_all_sources_are_listed(struct host *host)
{
	static const uint32_t ids[] = {3, 5, 9};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	host_offer_all(host);
	begin(c, "Threads", "(" NONE ",)", &call);
	give_threads(host->sham[0], 0, ids, 3);
	give_threads(host->sham[1], 0, ids, 2);
	check_threads(&call, "1/3 1/5 1/9 2/3 2/5", false);
	begin(c, "Threads", "(" TWO ",)", &call);
	give_threads(host->sham[1], 0, ids, 1);
	check_threads(&call, "2/3", false);
	/* One that cannot say is no problem, if another one can. */
	begin(c, "Threads", "(" NONE ",)", &call);
	host_carry_out(host->sham[0], -RS_ENOSYS);
	give_threads(host->sham[1], 0, ids, 1);
	check_threads(&call, "2/3", false);
	begin(c, "Threads", "(" NONE ",)", &call);
	host_carry_out(host->sham[0], -RS_ENOSYS);
	host_carry_out(host->sham[1], -RS_EPERM);
	check_error(&call, RS_TRACE_SESSION_ERROR_FAILED, "does not let us");
}

/* All are asked at once: one that stands still does not hold up the others. */
static void test_a_source_that_fails_is_a_problem_line(struct host *host)
{
	static const uint32_t ids[] = {3, 5, 9};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	struct call call;

	host_offer_all(host);
	begin(c, "Threads", "(" NONE ",)", &call);
	give_threads(host->sham[1], 0, ids, 3);
	host_carry_out(host->sham[0], -RS_EPERM);
	sham_wait(&call.over);
	g_assert_no_error(call.error);
	more = g_variant_get_child_value(call.reply, 1);
	g_assert_true(g_variant_lookup(more, "problems", "^as", &problems));
	g_assert_cmpstr(problems[0], ==, "k: the guest does not let us");
	g_assert_null(problems[1]);
	check_threads(&call, "2/3 2/5 2/9", false);
}

/* A newer guest says more of each; one that says too little, nothing. */
static void test_threads_have_a_stride(struct host *host)
{
	struct {
		struct rs_cmd_thread thread;
		uint64_t more;
	} threads[2] = {{{.id = 3, .state = RS_THREAD_DEAD}, 9}, {{.id = 4}, 9}};
	struct host_result result = {.result = 2,
				     .values = {sizeof(*threads)},
				     .data = threads,
				     .size = sizeof(threads)};
	static const uint64_t wrong[] = {0, 47, RS_CMD_DATA + 1, UINT64_MAX};
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	host_offer_all(host);
	begin(c, "Threads", "(" ONE ",)", &call);
	host_report_all(host->sham[0], expect(host->sham[0], RS_CMD_THREADS, 0, 0), &result);
	sham_wait(&call.over);
	g_assert_no_error(call.error);
	{
		g_autofree char *text = g_variant_print(call.reply, FALSE);

		g_assert_nonnull(strstr(text, "'id': <uint32 3>"));
		g_assert_nonnull(strstr(text, "'state': <'dead'>"));
		g_assert_nonnull(strstr(text, "'state': <'alive'>"));
	}
	check_threads(&call, "1/3 1/4", false);
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		result.values[0] = wrong[i];
		begin(c, "Threads", "(" ONE ",)", &call);
		host_report_all(host->sham[0], expect(host->sham[0], RS_CMD_THREADS, 0, 0),
				&result);
		check_threads(&call, "", false);
	}
}

/* A guest that never ends, or that goes back, is not asked again. */
static void test_threads_must_come_in_order(struct host *host)
{
	static const uint32_t back[] = {3, 5, 4, 9};
	uint32_t same[RS_CMD_THREADS_MAX];
	g_autoptr(GString) all = g_string_new(NULL);
	g_autoptr(RsDBusSession1) c = host_connect(host);
	struct call call;

	for (guint i = 0; i < RS_CMD_THREADS_MAX; i++) {
		same[i] = i + 1;
		g_string_append_printf(all, "%s1/%u", i ? " " : "", i + 1);
	}
	host_offer_all(host);
	begin(c, "Threads", "(" ONE ",)", &call);
	give_threads(host->sham[0], 0, back, 4);
	check_threads(&call, "1/3 1/5", false);
	/* The first answer is full, so there may be more; the second one is the first. */
	begin(c, "Threads", "(" ONE ",)", &call);
	give_threads(host->sham[0], 0, same, RS_CMD_THREADS_MAX);
	give_threads(host->sham[0], RS_CMD_THREADS_MAX, same, RS_CMD_THREADS_MAX);
	check_threads(&call, all->str, false);
	/* No thread is 0. */
	memset(same, 0, sizeof(same));
	begin(c, "Threads", "(" ONE ",)", &call);
	give_threads(host->sham[0], 0, same, RS_CMD_THREADS_MAX);
	check_threads(&call, "", false);
}

static void test_a_long_list_is_cut(struct host *host)
{
	g_autoptr(GString) all = g_string_new(NULL);
	g_autoptr(RsDBusSession1) c = host_connect(host);
	uint32_t ids[RS_CMD_THREADS_MAX], id = 0;
	struct call call;

	host_offer_all(host);
	begin(c, "Threads", "(" ONE ",)", &call);
	while (id < 4096) {
		const uint32_t after = id;

		for (guint i = 0; i < RS_CMD_THREADS_MAX; i++)
			ids[i] = ++id;
		give_threads(host->sham[0], after, ids, RS_CMD_THREADS_MAX);
	}
	for (guint i = 1; i <= 4096; i++)
		g_string_append_printf(all, "%s1/%u", i > 1 ? " " : "", i);
	check_threads(&call, all->str, true);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*body)(struct host *host);
	} tests[] = {
#define TEST(name) {"/server/engines/" #name, test_##name}
		TEST(each_action_reaches_the_guest),
		TEST(registers_are_shown_and_set),
		TEST(memory_is_read),
		TEST(memory_is_written),
		TEST(signals_exits_and_events_are_changed),
		TEST(an_os_has_commands_of_its_own),
		TEST(engines_that_follow_are_listed),
		TEST(threads_have_a_stride),
		TEST(a_source_that_fails_is_a_problem_line),
		TEST(wrong_arguments_are_refused),
		TEST(guests_errors_have_names),
		TEST(a_guest_without_a_task_cannot_do_it),
		TEST(the_list_says_what_happens),
		TEST(an_engine_is_its_peers),
		TEST(a_claim_refuses_attach_only),
		TEST(threads_of_a_peer_that_goes_go_on),
		TEST(end_of_the_session_answers_calls),
		TEST(session_may_go_before_the_answer),
		TEST(threads_of_all_sources_are_listed),
		TEST(threads_must_come_in_order),
		TEST(a_long_list_is_cut),
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct host, &tests[i].body, host_set_up, host_run,
			   host_tear_down);
	return g_test_run();
}
