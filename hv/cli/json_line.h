/* SPDX-License-Identifier: MIT */
/* Objects on one line each, member by member. Any thread. */
#ifndef RS_HV_CLI_JSON_LINE_H
#define RS_HV_CLI_JSON_LINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Opens an object. Members may follow. */
void rs_json_begin(GString *out);
/* Closes it, with a newline. */
void rs_json_end(GString *out);
/* Keys are plain. `text` is any bytes; NULL: null. */
void rs_json_text(GString *out, const char *key, const char *text);
void rs_json_number(GString *out, const char *key, uint64_t value);
void rs_json_signed(GString *out, const char *key, int64_t value);
/* At most nine digits. What is not finite is null. */
void rs_json_real(GString *out, const char *key, double value);
void rs_json_true(GString *out, const char *key);

#endif
