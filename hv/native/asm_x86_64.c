/* SPDX-License-Identifier: MIT */
#include "native/asm_x86_64-private.h"

#include <glib.h>
#include <string.h>

void rs_asm_bytes(struct rs_asm *a, const void *bytes, uint32_t size)
{
	if (a->full || size > sizeof(a->bytes) - a->size) {
		a->full = true;
		return;
	}
	memcpy(a->bytes + a->size, bytes, size);
	a->size += size;
}

static void put(struct rs_asm *a, uint64_t value, uint32_t size)
{
	rs_asm_bytes(a, &value, size); /* little-endian, as all hosts here */
}

uint32_t rs_asm_label(struct rs_asm *a)
{
	if (a->label_count == RS_ASM_LABELS) {
		a->full = true;
		return RS_ASM_FREE;
	}
	return a->label_count++;
}

void rs_asm_here(struct rs_asm *a, uint32_t label)
{
	a->labels[label] = a->size;
}

uint32_t rs_asm_table(struct rs_asm *a, const void *bytes, uint32_t size, bool made)
{
	uint32_t label = rs_asm_label(a);

	if (a->table_count == RS_ASM_TABLES) { /* an instruction has one at most */
		a->full = true;
		return label;
	}
	a->tables[a->table_count++] = (struct rs_asm_table){bytes, size, label, made};
	return label;
}

void rs_asm_link(struct rs_asm *a)
{
	for (uint32_t i = 0; i < a->jump_count && !a->full; i++) {
		struct rs_asm_jump *jump = &a->jumps[i];
		int32_t distance = (int32_t)(a->labels[jump->label] - jump->end);

		if (jump->near)
			a->bytes[jump->end - 1] = (uint8_t)distance;
		else
			memcpy(a->bytes + jump->end - 4, &distance, 4);
		/* For the next time. */
		jump->near = rs_asm_fits((uint64_t)(int64_t)distance, 8);
	}
}

static void put_op(struct rs_asm *a, uint32_t op)
{
	if (op > 0xff)
		put(a, op >> 8, 1);
	put(a, op & 0xff, 1);
}

/* The registers of a byte, beyond the first four, would be others without a prefix. */
static void put_rex(struct rs_asm *a, bool wide, uint8_t reg, uint8_t index, uint8_t base)
{
	uint8_t rex = (uint8_t)(wide << 3 | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 |
				(base >> 3 & 1));

	if (rex)
		put(a, 0x40u | rex, 1);
}

void rs_asm_op_mem(struct rs_asm *a, bool wide, uint32_t op, uint8_t reg, struct rs_asm_mem mem)
{
	bool indexed = mem.index != NO_REG;
	bool near = rs_asm_fits((uint64_t)(int64_t)mem.disp, 8);
	uint8_t mod = !mem.disp ? 0 : near ? 1 : 2;

	put_rex(a, wide, reg, indexed ? mem.index : 0, mem.base);
	put_op(a, op);
	put(a, (uint64_t)(mod << 6 | (reg & 7) << 3 | (indexed ? 4 : mem.base & 7)), 1);
	if (indexed)
		put(a, (uint64_t)(mem.scale << 6 | (mem.index & 7) << 3 | (mem.base & 7)), 1);
	if (mod)
		put(a, (uint32_t)mem.disp, near ? 1 : 4);
}

void rs_asm_op_reg(struct rs_asm *a, bool wide, uint32_t op, uint8_t reg, uint8_t rm)
{
	put_rex(a, wide, reg, 0, rm);
	put_op(a, op);
	put(a, (uint64_t)(3 << 6 | (reg & 7) << 3 | (rm & 7)), 1);
}

void rs_asm_load(struct rs_asm *a, unsigned int width, bool sign, uint8_t reg,
		 struct rs_asm_mem mem)
{
	if (width == 8)
		rs_asm_op_mem(a, true, 0x8b, reg, mem);
	else if (width == 4)
		rs_asm_op_mem(a, sign, sign ? 0x63 : 0x8b, reg, mem);
	else
		rs_asm_op_mem(a, sign, (sign ? 0x0fbe : 0x0fb6) + (width == 2), reg, mem);
}

void rs_asm_extend(struct rs_asm *a, unsigned int width, uint8_t reg)
{
	if (width == 4)
		rs_asm_op_reg(a, true, 0x63, reg, reg);
	else if (width < 4)
		rs_asm_op_reg(a, true, 0x0fbeu + (width == 2), reg, reg);
}

void rs_asm_set(struct rs_asm *a, uint8_t reg, uint64_t value)
{
	if (value <= UINT32_MAX) {
		put_rex(a, false, 0, 0, reg);
		put(a, 0xb8u | (reg & 7), 1);
		put(a, value, 4);
	} else if (rs_asm_fits(value, 32)) {
		rs_asm_op_reg(a, true, 0xc7, 0, reg);
		put(a, value, 4);
	} else {
		put_rex(a, true, 0, 0, reg);
		put(a, 0xb8u | (reg & 7), 1);
		put(a, value, 8);
	}
}

void rs_asm_alu_imm(struct rs_asm *a, bool wide, enum rs_asm_alu alu, uint8_t reg, int32_t value)
{
	bool near = rs_asm_fits((uint64_t)(int64_t)value, 8);

	rs_asm_op_reg(a, wide, near ? 0x83 : 0x81, alu, reg);
	put(a, (uint32_t)value, near ? 1 : 4);
}

void rs_asm_cmp_mem_imm(struct rs_asm *a, unsigned int width, struct rs_asm_mem mem, int32_t value)
{
	bool near = width == 1 || rs_asm_fits((uint64_t)(int64_t)value, 8);

	rs_asm_op_mem(a, width == 8, width == 1 ? 0x80 : near ? 0x83 : 0x81, ALU_CMP, mem);
	put(a, (uint32_t)value, near ? 1 : 4);
}

void rs_asm_test_mem_imm(struct rs_asm *a, unsigned int width, struct rs_asm_mem mem, int32_t value)
{
	rs_asm_op_mem(a, width == 8, width == 1 ? 0xf6 : 0xf7, 0, mem);
	put(a, (uint32_t)value, width == 1 ? 1 : 4);
}

static bool is_near(const struct rs_asm *a)
{
	return a->second && a->jumps[a->jump_count].near;
}

static void note_jump(struct rs_asm *a, uint32_t label, bool near)
{
	struct rs_asm_jump *jump = &a->jumps[a->jump_count];

	put(a, 0, near ? 1 : 4);
	if (a->jump_count + 1 == RS_ASM_JUMPS)
		a->full = true;
	else
		a->jump_count++;
	*jump = (struct rs_asm_jump){a->size, label, near};
}

void rs_asm_lea_label(struct rs_asm *a, uint8_t reg, uint32_t label)
{
	put_rex(a, true, reg, 0, 0);
	put(a, 0x8d, 1);
	put(a, (uint64_t)((reg & 7) << 3 | 5), 1);
	note_jump(a, label, false);
}

void rs_asm_jump(struct rs_asm *a, uint32_t label)
{
	bool near = is_near(a);

	if (label == a->next)
		return;
	put(a, near ? 0xeb : 0xe9, 1);
	note_jump(a, label, near);
}

void rs_asm_jump_if(struct rs_asm *a, enum rs_asm_if condition, uint32_t label)
{
	bool near = is_near(a);

	put_op(a, (near ? 0x70u : 0x0f80u) | condition);
	note_jump(a, label, near);
}

void rs_asm_branch(struct rs_asm *a, enum rs_asm_if condition, uint32_t yes, uint32_t no)
{
	if (yes == no) {
		rs_asm_jump(a, yes);
	} else if (yes == a->next) {
		rs_asm_jump_if(a, condition ^ 1, no);
	} else {
		rs_asm_jump_if(a, condition, yes);
		rs_asm_jump(a, no);
	}
}
