/* SPDX-License-Identifier: MIT */
/* Options of verbs that show or keep names of addresses. Thread: main. */
#ifndef RS_HV_CLI_SYMBOLS_H
#define RS_HV_CLI_SYMBOLS_H

#include "cli/verb.h"
#include "session/session.h"

#include <rs-session-dbus.h>
#include <rs-trace-source.h>
#include <rs-trace-symbol-file.h>

struct rs_cli_symbols {
	char *path;              /* --symbols; NULL: not given */
	gboolean none;           /* --no-symbols */
	RsTraceSymbolFile *file; /* what is at the path */
};
typedef struct rs_cli_symbols RsCliSymbols; /* for g_auto() */

#define RS_CLI_SYMBOLS_FILE(s)                                                                     \
	{                                                                                          \
		"symbols", 0, 0, G_OPTION_ARG_FILENAME, &(s).path,                                 \
			"Names of addresses, from an ELF file or a list as /proc/kallsyms", "FILE" \
	}
#define RS_CLI_SYMBOLS_NONE(s)                                                                     \
	{                                                                                          \
		"no-symbols", 0, 0, G_OPTION_ARG_NONE, &(s).none,                                  \
			"Addresses as numbers, not as names of functions", NULL                    \
	}

/* Reads the file. RS_CLI_OK, or an exit code after a message. */
int rs_cli_symbols_take(const struct rs_verb *verb, struct rs_cli_symbols *symbols);
/* For a live source of a session: the file that was given, then what the session hands over. */
void rs_cli_symbols_give(const struct rs_cli_symbols *symbols, RsDBusSession1 *session,
			 uint32_t number, RsTraceSource *live);
/* The same in the session's own process. */
void rs_cli_symbols_give_own(const struct rs_cli_symbols *symbols, const struct rs_source *source,
			     RsTraceSource *live);
/* At the verb's end. Says if the file was of something else. */
void rs_cli_symbols_clear(struct rs_cli_symbols *symbols);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsCliSymbols, rs_cli_symbols_clear)

#endif
