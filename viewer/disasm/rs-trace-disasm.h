/* SPDX-License-Identifier: MIT */
/*
 * Instructions as a person reads them. A library of its own, since it brings Capstone, which an
 * observer that shows no code does not need. The patcher has its own reading of instructions.
 *
 * Any thread. Trust: the bytes are a guest's and hostile; texts are safe on a terminal.
 */
#ifndef RS_TRACE_DISASM_H
#define RS_TRACE_DISASM_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_INSN_MAX 15u /* bytes of the longest instruction of any architecture */

/* One instruction, or a byte that begins none. */
typedef struct {
	guint64 address;
	guint8 bytes[RS_TRACE_INSN_MAX];
	guint8 size;
	char *text; /* owned: "mov eax, 1" or ".byte 0x06" */
} RsTraceInsn;

/*
 * The first `count` of them, or fewer if the bytes end before: a GArray of RsTraceInsn, to be
 * unreffed. Each begins where the one before ends; addresses wrap at 2^64. `arch`: RS_ARCH_*; of
 * one that is not known all is bytes.
 */
GArray *rs_trace_disassemble(guint32 arch, guint64 address, const guint8 *bytes, gsize size,
			     guint count);

G_END_DECLS

#endif
