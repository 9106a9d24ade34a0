/* SPDX-License-Identifier: MIT */
/*
 * The few x86-64 instructions that a filter is made of, as bytes. Only native_x86_64.c and
 * native_text_x86_64.c.
 *
 * Code is emitted twice. The first time each jump is a long one, and is noted where it and its
 * label lie. The second time those that are near are short: code only moves closer together.
 */
#ifndef RS_HV_NATIVE_ASM_X86_64_PRIVATE_H
#define RS_HV_NATIVE_ASM_X86_64_PRIVATE_H

#include "native/native.h"

enum rs_asm_reg { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, NO_REG = 255 };

/* Conditions, as in the low bits of a jump. */
enum rs_asm_if { IF_B = 2, IF_AE, IF_E, IF_NE, IF_BE, IF_A, IF_S, IF_L = 12, IF_GE, IF_LE, IF_G };

/* Arithmetic, as in the opcode's bits 3 to 5. */
enum rs_asm_alu { ALU_ADD = 0, ALU_OR, ALU_AND = 4, ALU_SUB = 5, ALU_XOR = 6, ALU_CMP = 7 };

struct rs_asm_mem {
	enum rs_asm_reg base, index;
	uint8_t scale; /* shift of the index */
	int32_t disp;
};
#define RS_MEM(base_, disp_) ((struct rs_asm_mem){base_, NO_REG, 0, disp_})

/* Labels: of each instruction of the program, of its ends, then those of a test, and tables. */
#define RS_ASM_ACCEPT RS_FILTER_MAX_INSNS
#define RS_ASM_REJECT (RS_FILTER_MAX_INSNS + 1)
#define RS_ASM_FREE (RS_FILTER_MAX_INSNS + 2)
#define RS_ASM_LABELS 4096u
#define RS_ASM_JUMPS 4096u
#define RS_ASM_TABLES RS_FILTER_MAX_INSNS

struct rs_asm_jump {
	uint32_t end; /* of the instruction */
	uint32_t label;
	bool near;
};

struct rs_asm_table {
	const uint8_t *bytes; /* owned if `made` */
	uint32_t size, label;
	bool made;
};

struct rs_asm {
	uint8_t bytes[RS_NATIVE_MAX];
	uint32_t size;
	bool full; /* it did not fit: what is in `bytes` makes no sense */
	bool second;
	uint32_t labels[RS_ASM_LABELS];
	uint32_t label_count;
	struct rs_asm_jump jumps[RS_ASM_JUMPS];
	uint32_t jump_count;
	struct rs_asm_table tables[RS_ASM_TABLES];
	uint32_t table_count;
	uint32_t next; /* the label of what is emitted next: no jump is needed to get there */
	bool input;    /* the code needs struct rs_filter_input */
};

uint32_t rs_asm_label(struct rs_asm *a);
void rs_asm_here(struct rs_asm *a, uint32_t label);
/* A table behind the code; the label is that of its first byte. `made`: g_free()s the bytes. */
uint32_t rs_asm_table(struct rs_asm *a, const void *bytes, uint32_t size, bool made);
/* Sets the distances of all jumps, once all labels are known. */
void rs_asm_link(struct rs_asm *a);

void rs_asm_bytes(struct rs_asm *a, const void *bytes, uint32_t size);
/* One opcode, of up to three bytes (0x0fb6 has two), with a register and memory or a register. */
void rs_asm_op_mem(struct rs_asm *a, bool wide, uint32_t op, uint8_t reg, struct rs_asm_mem mem);
void rs_asm_op_reg(struct rs_asm *a, bool wide, uint32_t op, uint8_t reg, uint8_t rm);

/* Loads 1, 2, 4 or 8 bytes, with zeroes or the sign above them. */
void rs_asm_load(struct rs_asm *a, unsigned int width, bool sign, uint8_t reg,
		 struct rs_asm_mem mem);
void rs_asm_extend(struct rs_asm *a, unsigned int width, uint8_t reg);
void rs_asm_set(struct rs_asm *a, uint8_t reg, uint64_t value);
void rs_asm_alu_imm(struct rs_asm *a, bool wide, enum rs_asm_alu alu, uint8_t reg, int32_t value);
/* `width` is 1, 4 or 8: of 2, the CPU would take long to decode the value. */
void rs_asm_cmp_mem_imm(struct rs_asm *a, unsigned int width, struct rs_asm_mem mem, int32_t value);
void rs_asm_test_mem_imm(struct rs_asm *a, unsigned int width, struct rs_asm_mem mem,
			 int32_t value);
void rs_asm_lea_label(struct rs_asm *a, uint8_t reg, uint32_t label);
void rs_asm_jump(struct rs_asm *a, uint32_t label);
void rs_asm_jump_if(struct rs_asm *a, enum rs_asm_if condition, uint32_t label);
/* On to `yes` or to `no`: one jump if one of them comes next. */
void rs_asm_branch(struct rs_asm *a, enum rs_asm_if condition, uint32_t yes, uint32_t no);

static inline bool rs_asm_fits(uint64_t value, unsigned int bits)
{
	return (int64_t)value >= -(1ll << (bits - 1)) && (int64_t)value < 1ll << (bits - 1);
}

/* native_text_x86_64.c: the test of a string. */
void rs_native_text(struct rs_asm *a, const uint8_t *program, const struct rs_filter_insn *in,
		    uint32_t yes, uint32_t no);

#endif
