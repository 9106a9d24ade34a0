/* SPDX-License-Identifier: MIT */
/*
 * How the registers of a guest's architecture are called, and in which order they are shown. Their
 * numbers are those of ringside/registers.h. A port to another architecture brings another set. Any
 * thread.
 */
#ifndef RS_TRACE_REGISTERS_H
#define RS_TRACE_REGISTERS_H

#include <glib.h>
#include <ringside/registers.h>

G_BEGIN_DECLS

typedef struct {
	const char *name;
	const char *alias; /* NULL: none */
	guint8 number;
} RsTraceRegister;

typedef struct {
	guint32 arch;                     /* RS_ARCH_* */
	const RsTraceRegister *registers; /* in the order in which they are shown */
	guint count;
	guint8 pc; /* number of the program counter */
	/* Appends what the flags among all values mean, such as " [ZF IF]". */
	void (*append_flags)(GString *out, const guint64 *values);
} RsTraceRegisterSet;

/* The set of an architecture, RS_ARCH_*. NULL: this library does not know it. */
const RsTraceRegisterSet *rs_trace_register_set(guint32 arch);
/*
 * The register of that name, in any case of letters, or NULL. `size`: bytes of the name. `set`
 * NULL: no register has a name.
 */
const RsTraceRegister *rs_trace_register_find(const RsTraceRegisterSet *set, const char *name,
					      gsize size);

G_END_DECLS

#endif
