/* SPDX-License-Identifier: MIT */
#include "cli/symbols.h"

#include <rs-trace-client.h>
#include <rs-trace-live.h>
#include <unistd.h>

int rs_cli_symbols_take(const struct rs_verb *verb, struct rs_cli_symbols *symbols)
{
	g_autoptr(GError) error = NULL;

	if (!symbols->path)
		return RS_CLI_OK;
	if (symbols->none)
		return rs_cli_usage(verb, "--symbols and --no-symbols contradict each other");
	symbols->file = rs_trace_symbol_file_open(symbols->path, &error);
	if (symbols->file)
		return RS_CLI_OK;
	return rs_cli_fail(RS_CLI_FAILED, "--symbols %s: %s", symbols->path, error->message);
}

void rs_cli_symbols_give(const struct rs_cli_symbols *symbols, RsDBusSession1 *session,
			 uint32_t number, RsTraceSource *live)
{
	g_autoptr(RsTraceSymbolFile) file = NULL;

	if (symbols->none)
		return;
	if (symbols->file)
		rs_trace_live_add_symbols(live, symbols->file);
	/* Without names a trace is shown all the same. */
	file = rs_trace_client_open_symbols(session, number, NULL);
	if (file)
		rs_trace_live_add_symbols(live, file);
}

void rs_cli_symbols_give_own(const struct rs_cli_symbols *symbols, const struct rs_source *source,
			     RsTraceSource *live)
{
	g_autoptr(RsTraceSymbolFile) file = NULL;
	int fd;

	if (symbols->none)
		return;
	if (symbols->file)
		rs_trace_live_add_symbols(live, symbols->file);
	if (rs_source_open_program(source, &fd, &(struct rs_error){0}))
		return;
	file = rs_trace_symbol_file_read(fd, rs_source_program(source), NULL);
	close(fd);
	if (file)
		rs_trace_live_add_symbols(live, file);
}

void rs_cli_symbols_clear(struct rs_cli_symbols *symbols)
{
	if (symbols->file && rs_trace_symbol_file_is_foreign(symbols->file))
		rs_cli_fail(0,
			    "--symbols %s: of another program or build than what was traced: not "
			    "used",
			    symbols->path);
	g_free(symbols->path);
	rs_trace_symbol_file_unref(symbols->file);
}
