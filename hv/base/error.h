/* SPDX-License-Identifier: MIT */
/*
 * How hv reports a failure. A function returns 0 or -errno. On failure it does not touch its
 * outputs, and puts one sentence for a person into the error object. NULL is allowed if the caller
 * does not want the message. Any thread; each object by one thread at a time.
 */
#ifndef RS_HV_ERROR_H
#define RS_HV_ERROR_H

#include <glib.h>
#include <stdarg.h>

struct rs_error {
	int code;          /* errno value, positive; 0: none */
	char message[480]; /* NUL-terminated, without a final newline or full stop */
};

/* A text in UTF-8 was cut at any byte: removes what is left of the last character. */
void rs_error_trim(char *text);

/* Records `code` (a positive errno) and the message; returns -code. */
int rs_error_set(struct rs_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "what: " in front of a callee's message; returns its -code. */
int rs_error_prefix(struct rs_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Records `code` with the message of `error`, and frees `error`; returns -code. */
int rs_error_take(struct rs_error *err, int code, GError *error);

#endif
