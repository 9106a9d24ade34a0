/* SPDX-License-Identifier: MIT */
#include "cli/engine_do.h"

#include "cli/engine_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN "rs-cli-shown" /* of an engine: the order of the stop that was printed */

static struct rs_cli_engine_bytes bytes_of(GBytes *read, uint64_t address, size_t wanted)
{
	struct rs_cli_engine_bytes bytes = {.address = address, .wanted = wanted};

	bytes.bytes = g_bytes_get_data(read, &bytes.size);
	return bytes;
}

bool rs_cli_engine_is_shown(RsTraceEngine *engine)
{
	const RsTraceEngineStop *stop = rs_trace_engine_get_stop(engine);

	return stop && g_object_get_data(G_OBJECT(engine), SHOWN) == GSIZE_TO_POINTER(stop->order);
}

void rs_cli_engine_show_stop(struct rs_cli_engine_desk *desk, RsTraceEngine *engine,
			     unsigned int insns)
{
	const RsTraceEngineStop *stop = rs_trace_engine_get_stop(engine);
	g_autoptr(RsTraceEngineView) view = NULL;

	g_object_set_data(G_OBJECT(engine), SHOWN, GSIZE_TO_POINTER(stop->order));
	view = rs_cli_engine_look(desk->wait, engine, (gsize)insns * RS_TRACE_INSN_MAX, NULL);
	rs_cli_engine_print_stop(&desk->printer, engine, view, insns);
}

static gboolean evaluate(struct rs_cli_engine_desk *desk,
			 const struct rs_cli_engine_command *command,
			 uint64_t values[RS_TRACE_ENGINE_ARGUMENTS_MAX], GError **error)
{
	const RsTraceEngineView none = {0};
	g_autoptr(RsTraceEngineView) view = NULL;
	bool needed = false;

	for (unsigned int i = 0; i < command->count; i++)
		needed |= command->places[i].uses_registers;
	if (needed && !(view = rs_cli_engine_look(desk->wait, desk->current, 0, error)))
		return FALSE;
	for (unsigned int i = 0; i < command->count; i++)
		values[i] = rs_cli_engine_place_value(&command->places[i],
						      view ? view->values : none.values);
	return TRUE;
}

static gboolean do_regs(struct rs_cli_engine_desk *desk, bool call, GError **error)
{
	g_autoptr(RsTraceEngineView) view = rs_cli_engine_look(desk->wait, desk->current, 0, error);

	if (!view)
		return FALSE;
	if (!call)
		rs_cli_engine_print_registers(&desk->printer, desk->current, view);
	else if (view->has_call)
		rs_cli_engine_print_call(&desk->printer, desk->current, view);
	else
		g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NOT_STOPPED,
			    "thread %u is about to make no system call",
			    rs_trace_engine_get_thread(desk->current));
	return !call || view->has_call;
}

static gboolean do_mem(struct rs_cli_engine_desk *desk, uint64_t address, size_t size,
		       GError **error)
{
	g_autoptr(GBytes) read =
		rs_cli_engine_read(desk->wait, desk->current, address, size, error);
	struct rs_cli_engine_bytes memory;

	if (!read)
		return FALSE;
	memory = bytes_of(read, address, size);
	rs_cli_engine_print_memory(&desk->printer, desk->current, &memory);
	return TRUE;
}

static gboolean do_poke(struct rs_cli_engine_desk *desk,
			const struct rs_cli_engine_command *command, uint64_t address,
			GError **error)
{
	g_autoptr(GBytes) bytes = g_bytes_new(command->bytes, (gsize)command->number);
	gssize written = rs_cli_engine_write(desk->wait, desk->current, address, bytes, error);

	if (written < 0 || (gsize)written >= command->number)
		return written >= 0;
	g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_FAILED,
		    "thread %u cannot write at 0x%" PRIx64 ": %" G_GSSIZE_FORMAT
		    " bytes of %" PRIu64 " were written",
		    rs_trace_engine_get_thread(desk->current), address + (uint64_t)written, written,
		    command->number);
	return FALSE;
}

/* Without an address: at the program counter. */
static gboolean do_dis(struct rs_cli_engine_desk *desk, const struct rs_cli_engine_command *command,
		       uint64_t address, GError **error)
{
	const RsTraceRegisterSet *set = rs_trace_engine_get_registers(desk->current);
	const size_t size = (size_t)command->number * RS_TRACE_INSN_MAX;
	g_autoptr(RsTraceEngineView) view = rs_cli_engine_look(desk->wait, desk->current, 0, error);
	struct rs_cli_engine_bytes code;
	g_autoptr(GBytes) read = NULL;
	uint64_t pc;

	if (!view)
		return FALSE;
	pc = set ? view->values[set->pc] : 0;
	if (!command->count)
		address = pc;
	read = rs_cli_engine_read(desk->wait, desk->current, address, size, error);
	if (!read)
		return FALSE;
	code = bytes_of(read, address, size);
	rs_cli_engine_print_code(&desk->printer, desk->current, &code,
				 (unsigned int)command->number, pc);
	return TRUE;
}

static bool is_named(RsTraceEngine *engine, const struct rs_cli_engine_command *command)
{
	return rs_trace_engine_get_thread(engine) == command->number &&
	       (!*command->source || !strcmp(rs_trace_engine_get_source(engine), command->source));
}

/* The engine that a command names, or the current one. NULL: there is none, or several are. */
static RsTraceEngine *named(struct rs_cli_engine_desk *desk,
			    const struct rs_cli_engine_command *command, GError **error)
{
	GListModel *list = G_LIST_MODEL(desk->engines);
	RsTraceEngine *found = NULL;

	if (!command->number)
		return desk->current;
	for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(list, i);

		if (!is_named(engine, command))
			continue;
		if (found) {
			g_set_error(error, RS_TRACE_SESSION_ERROR,
				    RS_TRACE_SESSION_ERROR_BAD_ARGUMENT,
				    "several sources have a thread %u; one of them is %s/%u",
				    (guint)command->number, rs_trace_engine_get_source(found),
				    (guint)command->number);
			return NULL;
		}
		found = engine; /* the list holds it */
	}
	if (!found)
		g_set_error(
			error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_ENGINE,
			"no thread %s%s%u has an engine of ours; `threads` lists those that have",
			command->source, *command->source ? "/" : "", (guint)command->number);
	return found;
}

static gboolean do_control(struct rs_cli_engine_desk *desk,
			   const struct rs_cli_engine_command *command, GError **error)
{
	static const RsTraceEngineAction actions[] = {
		[RS_CLI_ENGINE_DO_RESUME] = RS_TRACE_ENGINE_RESUME,
		[RS_CLI_ENGINE_DO_STOP] = RS_TRACE_ENGINE_STOP,
		[RS_CLI_ENGINE_DO_INTERRUPT] = RS_TRACE_ENGINE_INTERRUPT,
		[RS_CLI_ENGINE_DO_DETACH] = RS_TRACE_ENGINE_DETACH,
	};
	RsTraceEngine *engine = named(desk, command, error);

	if (command->what == RS_CLI_ENGINE_DO_RESUME)
		desk->kept = false;
	/* It would only be told once more. */
	if (engine && command->what == RS_CLI_ENGINE_DO_STOP && rs_trace_engine_get_stop(engine))
		return TRUE;
	return engine && rs_cli_engine_control(desk->wait, engine, actions[command->what], error);
}

static gboolean do_use(struct rs_cli_engine_desk *desk, const struct rs_cli_engine_command *command,
		       GError **error)
{
	RsTraceEngine *engine = named(desk, command, error);

	if (!engine)
		return FALSE;
	g_set_object(&desk->current, engine);
	desk->kept = true;
	if (rs_cli_engine_is_shown(engine))
		rs_cli_engine_print_again(&desk->printer, engine);
	return TRUE;
}

static void do_help(uint64_t only)
{
	g_autoptr(GString) text = g_string_new(NULL);

	rs_cli_engine_help(text, only);
	fputs(text->str, stdout);
}

static gboolean do_one(struct rs_cli_engine_desk *desk, const struct rs_cli_engine_command *command,
		       GError **error)
{
	uint64_t values[RS_TRACE_ENGINE_ARGUMENTS_MAX] = {0};

	if (!evaluate(desk, command, values, error))
		return FALSE;
	switch (command->what) {
	case RS_CLI_ENGINE_DO_REGS:
		return do_regs(desk, false, error);
	case RS_CLI_ENGINE_DO_CALL:
		return do_regs(desk, true, error);
	case RS_CLI_ENGINE_DO_SET:
		return rs_cli_engine_set(desk->wait, desk->current, (guint)command->number,
					 values[0], error);
	case RS_CLI_ENGINE_DO_MEM:
		return do_mem(desk, values[0], (size_t)command->number, error);
	case RS_CLI_ENGINE_DO_DIS:
		return do_dis(desk, command, values[0], error);
	case RS_CLI_ENGINE_DO_SETCALL:
		return rs_cli_engine_set_call(desk->wait, desk->current, command->number, values,
					      command->count, error);
	case RS_CLI_ENGINE_DO_POKE:
		return do_poke(desk, command, values[0], error);
	case RS_CLI_ENGINE_DO_SIGNAL:
		return rs_cli_engine_set_signal(desk->wait, desk->current, command->fate,
						(guint)command->number, error);
	case RS_CLI_ENGINE_DO_EXIT:
		return rs_cli_engine_set_exit_code(desk->wait, desk->current, (gint64)values[0],
						   error);
	case RS_CLI_ENGINE_DO_EVENTS:
		return rs_cli_engine_set_events(desk->wait, desk->current, (guint32)command->number,
						error);
	case RS_CLI_ENGINE_DO_STEP:
		return rs_cli_engine_step(desk->wait, desk->current, command->number, FALSE, error);
	case RS_CLI_ENGINE_DO_BLOCK:
		return rs_cli_engine_step(desk->wait, desk->current, 1, TRUE, error);
	case RS_CLI_ENGINE_DO_USE:
		return do_use(desk, command, error);
	case RS_CLI_ENGINE_DO_THREADS:
		rs_cli_engine_print_all(&desk->printer, desk->engines, desk->current);
		return TRUE;
	case RS_CLI_ENGINE_DO_HELP:
		do_help(command->number);
		return TRUE;
	default:
		return do_control(desk, command, error);
	}
}

/* Of those that need a certain stop: which one. */
static void explain(enum rs_cli_engine_word what, GError **error)
{
	static const char *const needs[] = {
		[RS_CLI_ENGINE_DO_SETCALL] = "syscall_entry",
		[RS_CLI_ENGINE_DO_SIGNAL] = "a signal",
		[RS_CLI_ENGINE_DO_EXIT] = "exit",
	};

	if (what >= G_N_ELEMENTS(needs) || !needs[what] ||
	    !g_error_matches(*error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NOT_STOPPED))
		return;
	g_clear_error(error);
	g_set_error(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NOT_STOPPED,
		    "the thread has not stopped at %s", needs[what]);
}

gboolean rs_cli_engine_do(struct rs_cli_engine_desk *desk,
			  const struct rs_cli_engine_command *command, GError **error)
{
	if (do_one(desk, command, error))
		return TRUE;
	explain(command->what, error);
	return FALSE;
}
