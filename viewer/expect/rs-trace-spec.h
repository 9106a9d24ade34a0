/* SPDX-License-Identifier: MIT */
/*
 * A spec of a test run: a key file, with the places of its keys, so that each mistake is told with
 * its line and a caret. docs/testing.md describes the groups and keys.
 *
 * A spec with a [matrix] makes several cases, one for each combination of its values. "${NAME}" in
 * a value is what the case has for NAME, or else who runs it, [parameters] or the environment.
 *
 * Trust: a spec is hostile: its size, keys and cases are bounded. One thread at a time.
 */
#ifndef RS_TRACE_SPEC_H
#define RS_TRACE_SPEC_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_SPEC_MAX (1u << 20) /* bytes */
#define RS_TRACE_SPEC_CASES 1024u

#define RS_TRACE_SPEC_ERROR (rs_trace_spec_error_quark())
GQuark rs_trace_spec_error_quark(void);

typedef enum {
	RS_TRACE_SPEC_ERROR_WRONG, /* it does not say what it must; the message has the place */
} RsTraceSpecError;

typedef struct _RsTraceSpec RsTraceSpec;

/* `path`: of the messages. NULL: RS_TRACE_SPEC_ERROR. */
RsTraceSpec *rs_trace_spec_new(const char *path, const char *text, gsize size, GError **error);
/*
 * `settings`: names to values of who runs it, which "${NAME}" stands for, and which replace those
 * of a matrix; NULL: none. NULL: RS_TRACE_SPEC_ERROR, or as g_file_get_contents().
 */
RsTraceSpec *rs_trace_spec_load(const char *path, GHashTable *settings, GError **error);
/* The same of a fixture: it has one group, "fixture". */
RsTraceSpec *rs_trace_spec_load_fixture(const char *path, GError **error);
/* The same of a profile of settings (docs/profiles.md), which has groups of its own. */
RsTraceSpec *rs_trace_spec_new_profile(const char *path, const char *text, gsize size,
				       GError **error);
RsTraceSpec *rs_trace_spec_load_profile(const char *path, GError **error);
/* Accepts NULL. */
void rs_trace_spec_free(RsTraceSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSpec, rs_trace_spec_free)

const char *rs_trace_spec_path(const RsTraceSpec *spec);

/* ---- cases ---- */

guint rs_trace_spec_n_cases(const RsTraceSpec *spec);
/*
 * The same spec, whose values are those of a case. What was read is shared. To be freed. Without
 * this, it is case 0.
 */
RsTraceSpec *rs_trace_spec_new_case(const RsTraceSpec *spec, guint number);
/* "accel=tcg, cpus=2"; "" without a matrix. The spec's. */
const char *rs_trace_spec_case(const RsTraceSpec *spec);
/* Whether it has such a name in its matrix or parameters, or any value has "${NAME}". */
gboolean rs_trace_spec_uses(const RsTraceSpec *spec, const char *name);
/* What "${NAME}" stands for, if the matrix does not say so. */
void rs_trace_spec_give(RsTraceSpec *spec, const char *name, const char *value);

/* ---- values ---- */

/* Of groups "KIND NAME" the names, in their order; to be freed. */
GStrv rs_trace_spec_named(const RsTraceSpec *spec, const char *kind);

/*
 * The value of a key in this case; to be freed. NULL: there is none, or *error: a
 * "${NAME}" stands for nothing.
 */
char *rs_trace_spec_get(const RsTraceSpec *spec, const char *group, const char *key,
			GError **error);
/* Whether all values can be had in this case. FALSE: as rs_trace_spec_get(). */
gboolean rs_trace_spec_check(const RsTraceSpec *spec, GError **error);
/* The same of a list with semicolons, without what is empty; to be freed. */
GStrv rs_trace_spec_list(const RsTraceSpec *spec, const char *group, const char *key,
			 GError **error);
gboolean rs_trace_spec_has(const RsTraceSpec *spec, const char *group, const char *key);
/* The line of a key, or of a group if `key` is NULL. 0: there is none. */
guint rs_trace_spec_line(const RsTraceSpec *spec, const char *group, const char *key);

/* A number, "2ms", and "N", "N..", "..N" or "N..M". FALSE: it is wrong; *error has the place. */
gboolean rs_trace_spec_number(const RsTraceSpec *spec, const char *group, const char *key,
			      guint64 *out, GError **error);
gboolean rs_trace_spec_duration(const RsTraceSpec *spec, const char *group, const char *key,
				guint64 *ns, GError **error);
gboolean rs_trace_spec_range(const RsTraceSpec *spec, const char *group, const char *key,
			     guint64 *least, guint64 *most, GError **error);

/* "64M" in bytes. */
gboolean rs_trace_spec_size(const RsTraceSpec *spec, const char *group, const char *key,
			    guint64 *bytes, GError **error);
/* One of `choices`, which NULL ends. */
gboolean rs_trace_spec_choice(const RsTraceSpec *spec, const char *group, const char *key,
			      const char *const *choices, guint *which, GError **error);

/* "PATH:LINE: what is wrong", the line, and a caret below the value. */
void rs_trace_spec_blame(const RsTraceSpec *spec, const char *group, const char *key,
			 GError **error, const char *format, ...) G_GNUC_PRINTF(5, 6);
/*
 * The same, with the caret below `length` bytes from byte `at` of `part` on, if the value has that
 * part as it is.
 */
void rs_trace_spec_blame_part(const RsTraceSpec *spec, const char *group, const char *key,
			      const char *part, guint at, guint length, const char *message,
			      GError **error);
/* The same, with the caret below the nth part of a list, if it is there as it is written. */
void rs_trace_spec_blame_nth(const RsTraceSpec *spec, const char *group, const char *key, guint nth,
			     const char *message, GError **error);

G_END_DECLS

#endif
