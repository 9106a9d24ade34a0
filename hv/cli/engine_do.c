/* SPDX-License-Identifier: MIT */
#include "cli/engine_do.h"

#include <stdio.h>

static struct rs_cli_engine_bytes bytes_of(const GByteArray *read, uint64_t address, size_t wanted)
{
	return (struct rs_cli_engine_bytes){
		.address = address, .bytes = read->data, .size = read->len, .wanted = wanted};
}

void rs_cli_engine_show_stop(struct rs_cli_engine_desk *desk, struct rs_cli_engine *engine,
			     unsigned int insns)
{
	const uint8_t pc = desk->printer.arch->pc;
	g_autoptr(GByteArray) read = NULL;
	struct rs_cli_engine_bytes code;
	struct rs_cli_engine_view view;
	bool known;

	engine->shown = true;
	known = rs_cli_engine_look(desk->engines, engine, &view, NULL);
	if (known && insns && pc < view.count) {
		read = rs_cli_engine_read(desk->engines, engine, view.values[pc],
					  (size_t)insns * RS_CLI_ENGINE_INSN_MAX, NULL);
		if (read)
			code = bytes_of(read, view.values[pc],
					(size_t)insns * RS_CLI_ENGINE_INSN_MAX);
	}
	rs_cli_engine_print_stop(&desk->printer, engine, known ? &view : NULL, read ? &code : NULL,
				 insns);
}

static gboolean evaluate(struct rs_cli_engine_desk *desk,
			 const struct rs_cli_engine_command *command,
			 uint64_t values[RS_CLI_ENGINE_ARGS_MAX], GError **error)
{
	struct rs_cli_engine_view view = {0};
	bool needed = false;

	for (unsigned int i = 0; i < command->count; i++)
		needed |= command->places[i].uses_registers;
	if (needed && !rs_cli_engine_look(desk->engines, desk->current, &view, error))
		return FALSE;
	for (unsigned int i = 0; i < command->count; i++)
		values[i] = rs_cli_engine_place_value(&command->places[i], view.values);
	return TRUE;
}

static gboolean do_regs(struct rs_cli_engine_desk *desk, bool call, GError **error)
{
	struct rs_cli_engine_view view;

	if (!rs_cli_engine_look(desk->engines, desk->current, &view, error))
		return FALSE;
	if (!call)
		rs_cli_engine_print_registers(&desk->printer, desk->current, &view);
	else if (view.has_call)
		rs_cli_engine_print_call(&desk->printer, desk->current, &view);
	else
		return g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_FAILED,
				   "thread %u is about to make no system call",
				   desk->current->thread),
		       FALSE;
	return TRUE;
}

static gboolean do_mem(struct rs_cli_engine_desk *desk, uint64_t address, size_t size,
		       GError **error)
{
	g_autoptr(GByteArray) read =
		rs_cli_engine_read(desk->engines, desk->current, address, size, error);
	struct rs_cli_engine_bytes memory;

	if (!read)
		return FALSE;
	memory = bytes_of(read, address, size);
	rs_cli_engine_print_memory(&desk->printer, desk->current, &memory);
	return TRUE;
}

/* Without an address: at the program counter. */
static gboolean do_dis(struct rs_cli_engine_desk *desk, const struct rs_cli_engine_command *command,
		       uint64_t address, GError **error)
{
	const size_t size = (size_t)command->number * RS_CLI_ENGINE_INSN_MAX;
	g_autoptr(GByteArray) read = NULL;
	struct rs_cli_engine_bytes code;
	struct rs_cli_engine_view view;
	uint64_t pc;

	if (!rs_cli_engine_look(desk->engines, desk->current, &view, error))
		return FALSE;
	pc = view.values[desk->printer.arch->pc];
	if (!command->count)
		address = pc;
	read = rs_cli_engine_read(desk->engines, desk->current, address, size, error);
	if (!read)
		return FALSE;
	code = bytes_of(read, address, size);
	rs_cli_engine_print_code(&desk->printer, desk->current, &code,
				 (unsigned int)command->number, pc);
	return TRUE;
}

/* The engine that a command names, or the current one. NULL: there is none. */
static struct rs_cli_engine *named(struct rs_cli_engine_desk *desk,
				   const struct rs_cli_engine_command *command, GError **error)
{
	struct rs_cli_engine *engine = desk->current;

	if (command->number)
		engine = rs_cli_engines_find(desk->engines, (guint32)command->number);
	if (!engine)
		g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE,
			    "no engine of ours is on a thread %u", (guint)command->number);
	return engine;
}

static gboolean do_control(struct rs_cli_engine_desk *desk,
			   const struct rs_cli_engine_command *command, GError **error)
{
	static const char *const actions[] = {
		[RS_CLI_ENGINE_DO_RESUME] = "resume",
		[RS_CLI_ENGINE_DO_STOP] = "stop",
		[RS_CLI_ENGINE_DO_INTERRUPT] = "interrupt",
		[RS_CLI_ENGINE_DO_DETACH] = "detach",
	};
	struct rs_cli_engine *engine = named(desk, command, error);

	if (command->what == RS_CLI_ENGINE_DO_RESUME)
		desk->kept = false;
	return engine &&
	       rs_cli_engine_control(desk->engines, engine, actions[command->what], error);
}

static gboolean do_use(struct rs_cli_engine_desk *desk, const struct rs_cli_engine_command *command,
		       GError **error)
{
	struct rs_cli_engine *engine = named(desk, command, error);

	if (!engine)
		return FALSE;
	desk->current = engine;
	desk->kept = true;
	if (engine->stopped && engine->shown)
		rs_cli_engine_print_again(&desk->printer, engine);
	return TRUE;
}

static void do_help(void)
{
	g_autoptr(GString) text = g_string_new(NULL);

	rs_cli_engine_help(text);
	fputs(text->str, stdout);
}

gboolean rs_cli_engine_do(struct rs_cli_engine_desk *desk,
			  const struct rs_cli_engine_command *command, GError **error)
{
	uint64_t values[RS_CLI_ENGINE_ARGS_MAX] = {0};

	if (!evaluate(desk, command, values, error))
		return FALSE;
	switch (command->what) {
	case RS_CLI_ENGINE_DO_REGS:
		return do_regs(desk, false, error);
	case RS_CLI_ENGINE_DO_CALL:
		return do_regs(desk, true, error);
	case RS_CLI_ENGINE_DO_SET:
		return rs_cli_engine_set(desk->engines, desk->current,
					 (unsigned int)command->number, values[0], error);
	case RS_CLI_ENGINE_DO_MEM:
		return do_mem(desk, values[0], (size_t)command->number, error);
	case RS_CLI_ENGINE_DO_DIS:
		return do_dis(desk, command, values[0], error);
	case RS_CLI_ENGINE_DO_SETCALL:
		return rs_cli_engine_set_call(desk->engines, desk->current, command->number, values,
					      command->count, error);
	case RS_CLI_ENGINE_DO_STEP:
		return rs_cli_engine_step(desk->engines, desk->current, command->number, false,
					  error);
	case RS_CLI_ENGINE_DO_BLOCK:
		return rs_cli_engine_step(desk->engines, desk->current, 1, true, error);
	case RS_CLI_ENGINE_DO_USE:
		return do_use(desk, command, error);
	case RS_CLI_ENGINE_DO_THREADS:
		rs_cli_engine_print_all(&desk->printer, desk->engines, desk->current);
		return TRUE;
	case RS_CLI_ENGINE_DO_HELP:
		do_help();
		return TRUE;
	default:
		return do_control(desk, command, error);
	}
}
