/* SPDX-License-Identifier: MIT */
/* How two texts differ, line by line. Any thread. */
#ifndef RS_HV_CLI_LINE_DIFF_H
#define RS_HV_CLI_LINE_DIFF_H

/*
 * Lines of `after` that are new have "+" before them, lines of `before` that are gone "-", and one
 * line of context before each group " ". Texts that differ in very many lines may be told as wholly
 * different there. Returns a text to be freed, empty if they are equal.
 */
char *rs_line_diff(const char *before, const char *after);

#endif
