/* SPDX-License-Identifier: MIT */
#include "filter/ast.h"

#include <errno.h>
#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <string.h>

struct verifier {
	const guint8 *bytes;
	struct rs_filter_program head;
	unsigned int entry_size, dyn_count;
	struct rs_filter_error *err;
};

static int refuse(struct verifier *v, unsigned int insn, const char *why)
{
	return rs_filter_error_set(v->err, EINVAL, 0, 0, "filter program: instruction %u: %s", insn,
				   why);
}

static bool is_place(const struct verifier *v, unsigned int at, unsigned int place)
{
	return place == RS_FILTER_ACCEPT || place == RS_FILTER_REJECT ||
	       (place > at && place < v->head.insn_count);
}

static bool is_pair(unsigned int op)
{
	return op >= RS_OP_PAIR_EQ && op <= RS_OP_PAIR_GE;
}

static bool is_width(unsigned int width)
{
	return width == 1 || width == 2 || width == 4 || width == 8;
}

/* NULL, or what is wrong with the source of an instruction. */
static const char *bad_source(const struct verifier *v, const struct rs_filter_insn *in)
{
	bool is_text = in->op >= RS_OP_STR_EQ && !is_pair(in->op);
	unsigned int end = in->offset + (in->source == RS_SRC_DYN ? 4u : in->width);

	switch (in->source) {
	case RS_SRC_FIELD:
		if (is_text)
			return "a string operation on a number";
		if (!is_width(in->width))
			return "no such integer width";
		return end > v->entry_size ? "its field lies outside the entry" : NULL;
	case RS_SRC_DYN_INT:
		if (is_text)
			return "a string operation on a number";
		if (!is_width(in->width & 0xff))
			return "no such integer width";
		return in->width >> 8 >= v->dyn_count ? "there is no such dynamic field" : NULL;
	case RS_SRC_STRING:
	case RS_SRC_DYN:
		if (!is_text)
			return "an integer operation on a string";
		if (in->source == RS_SRC_DYN && in->width >= v->dyn_count)
			return "there is no such dynamic field";
		return end > v->entry_size ? "its field lies outside the entry" : NULL;
	case RS_SRC_COMM:
	case RS_SRC_PID:
	case RS_SRC_TGID:
	case RS_SRC_CPU:
		if (is_text != (in->source == RS_SRC_COMM))
			return "its operation does not fit its source";
		if (in->width || in->offset)
			return "its source has neither width nor offset";
		if (in->source != RS_SRC_COMM && in->op >= RS_OP_SLT && in->op <= RS_OP_SNE &&
		    in->op != RS_OP_ANY)
			return "a signed operation on PID, TGID or CPU";
		return NULL;
	default:
		return "no such source";
	}
}

static const char *bad_glob(const guint8 *at, size_t size)
{
	struct rs_filter_glob head;
	uint64_t inside, row;

	if (size < sizeof(head))
		return "its pattern is cut off";
	memcpy(&head, at, sizeof(head));
	if (head.length == 0 || head.length > RS_FILTER_MAX_GLOB || head.classes == 0 ||
	    head.classes > 256 || head.reserved)
		return "its pattern has no valid length";
	if (size != sizeof(head) + head.classes * sizeof(uint64_t))
		return "its pattern has another size than its rows";
	inside = (1ull << head.length) - 1;
	if (head.empty != head.stay || (head.stay & ~inside) || (head.stay & head.stay << 1))
		return "its pattern's stars are not as they must be";
	for (unsigned int c = 0; c < 256; c++) {
		if (head.class_of[c] >= head.classes)
			return "its pattern names a row that is not there";
	}
	for (unsigned int i = 0; i < head.classes; i++) {
		memcpy(&row, at + sizeof(head) + i * sizeof(row), sizeof(row));
		if (row & (~inside | head.stay))
			return "its pattern has a row with bits outside";
	}
	return NULL;
}

static const char *bad_sub(const guint8 *at, size_t size)
{
	size_t length = size / 3;
	uint16_t shorter;

	if (!length || size % 3 || length > RS_FILTER_MAX_STRING)
		return "its text has no valid length";
	for (size_t i = 0; i < length; i++) {
		memcpy(&shorter, at + i * sizeof(shorter), sizeof(shorter));
		if (shorter && shorter >= i)
			return "its table does not lead to a shorter text";
	}
	return memchr(at + 2 * length, 0, length) ? "its text has a NUL inside" : NULL;
}

static const char *bad_text(const struct verifier *v, const struct rs_filter_insn *in)
{
	uint32_t at = (uint32_t)in->imm, length = (uint32_t)(in->imm >> 32);

	if (in->mask)
		return "a string has no mask";
	if (at < v->head.pool || at > v->head.size || length > v->head.size - at)
		return "its text lies outside the pool";
	if (in->op == RS_OP_STR_GLOB)
		return at % 8 ? "its pattern is not aligned" : bad_glob(v->bytes + at, length);
	if (in->op == RS_OP_STR_SUB)
		return at % 2 ? "its table is not aligned" : bad_sub(v->bytes + at, length);
	if (length > RS_FILTER_MAX_STRING)
		return "its text is too long";
	return memchr(v->bytes + at, 0, length) ? "its text has a NUL inside" : NULL;
}

static const char *bad_cpus(const struct verifier *v, const struct rs_filter_insn *in)
{
	uint32_t at = (uint32_t)in->imm, length = (uint32_t)(in->imm >> 32);

	if (in->mask)
		return "a CPU list has no mask";
	if (at < v->head.pool || at > v->head.size || length > v->head.size - at)
		return "its CPU list lies outside the pool";
	return length > RS_MAX_CPUS / 8 ? "its CPU list is too long" : NULL;
}

/* The agent loads more bytes than the field has. The mask must clear the others. */
static const char *bad_integer(const struct rs_filter_insn *in)
{
	bool sized = in->source == RS_SRC_FIELD || in->source == RS_SRC_DYN_INT;
	unsigned int bits = 8 * (sized ? in->width & 0xffu : 4u);

	if (in->op == RS_OP_ANY && in->imm)
		return "a bare mask has no value";
	if ((in->op <= RS_OP_GE || in->op == RS_OP_ANY) && bits < 64 && in->mask >> bits)
		return "its mask is wider than its value";
	return NULL;
}

/* The second integer of a pair stands in `imm` as the first does in the instruction. */
static const char *bad_pair(const struct verifier *v, const struct rs_filter_insn *in)
{
	const struct rs_filter_insn second = {.op = in->op,
					      .source = (uint8_t)(in->imm >> 8),
					      .width = (uint16_t)(in->imm >> 16),
					      .offset = (uint16_t)(in->imm >> 32)};

	if (in->imm & 0xff || in->imm >> 48 || in->mask >> 2)
		return "reserved bits of a pair are set";
	return bad_source(v, &second);
}

static const char *bad_operands(const struct verifier *v, const struct rs_filter_insn *in)
{
	if (is_pair(in->op))
		return bad_pair(v, in);
	if (in->op >= RS_OP_STR_EQ)
		return bad_text(v, in);
	return in->op == RS_OP_CPUSET ? bad_cpus(v, in) : bad_integer(in);
}

static bool is_operation(unsigned int op)
{
	return op <= RS_OP_CPUSET || (op >= RS_OP_STR_EQ && op <= RS_OP_STR_SUB) || is_pair(op);
}

static int verify_insn(struct verifier *v, unsigned int i)
{
	struct rs_filter_insn in;
	const char *why;

	memcpy(&in, v->bytes + sizeof(v->head) + i * sizeof(in), sizeof(in));
	if (!is_operation(in.op))
		return refuse(v, i, "no such operation");
	if (in.reserved0 || in.reserved1)
		return refuse(v, i, "reserved bits are set");
	if (!is_place(v, i, in.on_true) || !is_place(v, i, in.on_false))
		return refuse(v, i, "it leads nowhere, or back");
	why = bad_source(v, &in);
	if (!why)
		why = bad_operands(v, &in);
	return why ? refuse(v, i, why) : 0;
}

int rs_filter_verify(const void *program, size_t size, unsigned int entry_size,
		     unsigned int dyn_count, struct rs_filter_error *err)
{
	struct verifier v = {
		.bytes = program, .entry_size = entry_size, .dyn_count = dyn_count, .err = err};
	struct rs_filter_program *h = &v.head;
	size_t code;
	int ret = 0;

	if (size < sizeof(*h) + sizeof(struct rs_filter_insn) || size > RS_FILTER_MAX_SIZE)
		return rs_filter_error_set(err, EINVAL, 0, 0,
					   "filter program: %zu bytes are no program", size);
	memcpy(h, program, sizeof(*h));
	code = sizeof(*h) + h->insn_count * sizeof(struct rs_filter_insn);
	if (h->size != size || h->size % RS_FILTER_GRAIN)
		return rs_filter_error_set(err, EINVAL, 0, 0, "filter program: its size is not %zu",
					   size);
	if (h->insn_count == 0 || h->insn_count > RS_FILTER_MAX_INSNS || code > size)
		return rs_filter_error_set(err, EINVAL, 0, 0, "filter program: %u instructions",
					   h->insn_count);
	if (h->pool % 8 || h->pool < code || h->pool > size)
		return rs_filter_error_set(err, EINVAL, 0, 0,
					   "filter program: its pool is out of place");
	if (h->reserved0 || h->reserved1 || h->event >= RS_MAX_EVENTS)
		return rs_filter_error_set(err, EINVAL, 0, 0,
					   "filter program: reserved bits are set");
	for (unsigned int i = 0; i < h->insn_count && !ret; i++)
		ret = verify_insn(&v, i);
	if (!ret && rs_filter_steps(program) > RS_FILTER_MAX_STEPS)
		return rs_filter_error_set(err, E2BIG, 0, 0,
					   "filter program: it may take %u steps for one event, "
					   "more than %u",
					   rs_filter_steps(program), RS_FILTER_MAX_STEPS);
	return ret;
}
