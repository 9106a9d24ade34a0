/* SPDX-License-Identifier: MIT */
/*
 * Rows of cells as text, each column as wide as its widest cell. Texts are escaped, and widths are
 * those on a terminal. Thread: one at a time.
 */
#ifndef RS_HV_CLI_TABLE_H
#define RS_HV_CLI_TABLE_H

#include <glib.h>
#include <stdbool.h>

struct rs_cli_table;

/*
 * `heads`: one for each column, NULL-terminated, and not copied. Before a head '>' says that the
 * column is aligned to the right. The last column is never filled up. `color`: there are colours.
 */
struct rs_cli_table *rs_cli_table_new(const char *const *heads, bool color);
/* NULL is accepted. */
void rs_cli_table_free(struct rs_cli_table *table);
typedef struct rs_cli_table rs_cli_table; /* for g_autoptr() */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(rs_cli_table, rs_cli_table_free)

/* The next cell of a row. `sgr`: its colour, RS_COLOR_* (color.h); NULL: none. */
void rs_cli_table_add(struct rs_cli_table *table, const char *text, const char *sgr);
void rs_cli_table_addf(struct rs_cli_table *table, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A line of its own below the row that is now full. It is escaped, but has no columns. */
void rs_cli_table_line(struct rs_cli_table *table, const char *text);
/*
 * Appends the head and all rows. `width`: columns of a terminal, longer lines are cut; 0: none are.
 */
void rs_cli_table_append(const struct rs_cli_table *table, unsigned width, GString *out);
/* The same on standard output, uncut. */
void rs_cli_table_print(const struct rs_cli_table *table);

/* A line of its own, escaped, cut to `width` columns as above. `sgr` NULL: without a colour. */
void rs_cli_append_line(GString *out, const char *text, unsigned width, bool color,
			const char *sgr);
/* Columns of a terminal that the text takes, which is valid UTF-8 and escaped. */
unsigned rs_cli_text_width(const char *text);

#endif
