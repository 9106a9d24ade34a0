/* SPDX-License-Identifier: MIT */
/*
 * Reads the rows of a session's answers, dictionaries (a{sv}) that are hostile. Any thread.
 */
#ifndef RS_HV_CLI_LIST_ROWS_H
#define RS_HV_CLI_LIST_ROWS_H

#include <glib.h>

/* A key that a row may have. */
struct rs_cli_key {
	const char *key;
	const char *format; /* of g_variant_get(), for one value: "&s", "u" */
	gsize offset;       /* of the value in what is filled */
};

/*
 * Fills `row`, in which a key that is missing, or has another type, changes nothing. Of a key that
 * comes twice, the first counts. There are 64 keys at most. Goes through the dictionary once: there
 * may be thousands of rows, and each lookup would go through it again.
 */
void rs_cli_read_row(GVariant *dict, const struct rs_cli_key *keys, gsize n, void *row);

#endif
