/* SPDX-License-Identifier: MIT */
/*
 * Compiles the parsed expression into a decision graph. Code is made from its end to its start. So
 * both targets of a term are known when the term is compiled: no jump needs a later correction, and
 * every jump goes forward. `!` only swaps the two targets. A constant needs no code.
 */
#include "filter/predicate.h"

#include <errno.h>
#include <ringside/control.h>
#include <string.h>

struct compiler {
	const struct rs_filter_ast *ast;
	const RsTraceEvent *event;
	bool strict;
	struct rs_filter_predicate *predicates;           /* by node */
	bool *unknown;                                    /* by node */
	struct rs_filter_insn insns[RS_FILTER_MAX_INSNS]; /* last one first */
	uint16_t node[RS_FILTER_MAX_INSNS];               /* of which term each one is */
	unsigned int count;
	GByteArray *pool;
	struct rs_filter_error *err;
};

/* A place in the program while it grows backwards: ACCEPT, REJECT or an index into insns. */
typedef uint16_t place_t;

/* Resolves all terms below a node, and notes the nodes of which the event knows nothing. */
static int resolve_tree(struct compiler *c, unsigned int index)
{
	const struct rs_filter_node *node = rs_filter_node(c->ast, index);
	bool unknown = true;

	if (node->kind == RS_FILTER_TERM) {
		int ret = rs_filter_resolve(c->ast, node, c->event, c->strict,
					    &c->predicates[index], c->err);

		c->unknown[index] = !ret && c->predicates[index].verdict == RS_PRED_UNKNOWN;
		return ret;
	}
	for (unsigned int i = node->child; i != RS_FILTER_NONE;
	     i = rs_filter_node(c->ast, i)->next) {
		int ret = resolve_tree(c, i);

		if (ret)
			return ret;
		unknown = unknown && c->unknown[i];
	}
	c->unknown[index] = unknown;
	return 0;
}

static guint map_size(const uint8_t cpus[RS_MAX_CPUS / 8])
{
	guint size = RS_MAX_CPUS / 8;

	while (size && !cpus[size - 1])
		size--;
	return size;
}

/* Strings, globs and CPU maps go to the pool, each at a multiple of 8. */
static uint64_t pool_add(struct compiler *c, const struct rs_filter_predicate *p)
{
	static const guint8 zero[8];
	guint at = c->pool->len, size;

	if (p->verdict == RS_PRED_CPUS)
		g_byte_array_append(c->pool, p->cpus, map_size(p->cpus));
	else if (p->op == RS_OP_STR_GLOB)
		rs_glob_emit(&p->glob, c->pool);
	else if (p->op == RS_OP_STR_SUB)
		rs_glob_emit_inside(&p->glob, c->pool);
	else
		g_byte_array_append(c->pool, (const guint8 *)p->glob.literal->str,
				    (guint)p->glob.literal->len);
	size = c->pool->len - at;
	g_byte_array_append(c->pool, zero, -c->pool->len & 7);
	return at | (uint64_t)size << 32;
}

/* Puts an instruction in front of those that there are. */
static int add(struct compiler *c, unsigned int index, struct rs_filter_insn insn, place_t yes,
	       place_t no, place_t *out)
{
	const struct rs_filter_word *word = &rs_filter_node(c->ast, index)->field;

	if (c->count == RS_FILTER_MAX_INSNS)
		return rs_filter_error_set(c->err, E2BIG, word->at, word->length,
					   "the expression has more than %u comparisons",
					   RS_FILTER_MAX_INSNS);
	insn.on_true = yes;
	insn.on_false = no;
	c->insns[c->count] = insn;
	c->node[c->count] = (uint16_t)index;
	*out = (place_t)c->count++;
	return 0;
}

static uint64_t bits_of(const struct rs_filter_predicate *p, unsigned int at, unsigned int width)
{
	uint64_t bits = 0;

	for (unsigned int i = at; i < at + width && i < sizeof(p->cpus); i++)
		bits |= (uint64_t)p->cpus[i] << 8 * (i - at);
	return bits;
}

/*
 * An array of bits against a list: one integer of it after the other, the last one first. Where the
 * list has nothing, equality asks that there is no bit, and not for a 0, since a dynamic array may
 * end before.
 */
static int gen_bits(struct compiler *c, unsigned int index, place_t yes, place_t no, place_t *out)
{
	const struct rs_filter_predicate *p = &c->predicates[index];
	bool any = p->op == RS_OP_ANY;
	place_t next = any ? no : yes;
	int ret = 0;

	for (unsigned int at = p->size; at && !ret;) {
		unsigned int width = MIN(at & -at, 8u);
		struct rs_filter_insn insn = {.op = RS_OP_ANY, .source = p->source};
		uint64_t all = UINT64_MAX >> (64 - 8 * width), bits;

		at -= width;
		bits = bits_of(p, at, width);
		insn.width = (uint16_t)(p->width | width);
		insn.offset = (uint16_t)(p->offset + at);
		insn.mask = any ? bits : all;
		if (any) {
			if (bits)
				ret = add(c, index, insn, yes, next, &next);
		} else if (!bits) {
			ret = add(c, index, insn, no, next, &next);
		} else {
			insn.op = RS_OP_EQ;
			insn.imm = bits;
			ret = add(c, index, insn, next, no, &next);
		}
	}
	*out = next;
	return ret;
}

/* From one number up to another. */
static int gen_range(struct compiler *c, unsigned int index, place_t yes, place_t no, place_t *out)
{
	const struct rs_filter_predicate *p = &c->predicates[index];
	struct rs_filter_insn insn = {.op = RS_OP_LT,
				      .source = p->source,
				      .width = p->width,
				      .offset = p->offset,
				      .imm = p->end,
				      .mask = p->mask};
	int ret = add(c, index, insn, yes, no, out);

	insn.op = RS_OP_GE;
	insn.imm = p->imm;
	return ret ? ret : add(c, index, insn, *out, no, out);
}

static int gen_term(struct compiler *c, unsigned int index, place_t yes, place_t no, place_t *out)
{
	const struct rs_filter_predicate *p = &c->predicates[index];
	const struct rs_filter_word *word = &rs_filter_node(c->ast, index)->field;
	struct rs_filter_insn insn = {.op = p->op,
				      .source = p->source,
				      .width = p->width,
				      .offset = p->offset,
				      .imm = p->imm,
				      .mask = p->mask};

	if (p->verdict == RS_PRED_ALWAYS || p->verdict == RS_PRED_NEVER) {
		*out = p->verdict == RS_PRED_ALWAYS ? yes : no;
		return 0;
	}
	if (yes == no) { /* the result does not matter */
		*out = yes;
		return 0;
	}
	if (p->negate) {
		place_t other = yes;

		yes = no;
		no = other;
	}
	if (p->verdict == RS_PRED_BITS)
		return gen_bits(c, index, yes, no, out);
	if (p->verdict == RS_PRED_RANGE)
		return gen_range(c, index, yes, no, out);
	if (p->verdict == RS_PRED_TEXT || p->verdict == RS_PRED_CPUS)
		insn.imm = pool_add(c, p);
	if (c->pool->len > RS_FILTER_MAX_SIZE)
		return rs_filter_error_set(c->err, E2BIG, word->at, word->length,
					   "the strings and patterns of the expression take more "
					   "than %u bytes",
					   RS_FILTER_MAX_SIZE);
	return add(c, index, insn, yes, no, out);
}

static int gen(struct compiler *c, unsigned int index, place_t yes, place_t no, place_t *out);

/* Children of && or ||, the last one first. Leaves out the unknown ones. */
static int gen_list(struct compiler *c, const struct rs_filter_node *node, place_t yes, place_t no,
		    place_t *out)
{
	g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(unsigned int));
	bool is_and = node->kind == RS_FILTER_AND;
	place_t next = is_and ? yes : no;
	int ret = 0;

	for (unsigned int i = node->child; i != RS_FILTER_NONE;
	     i = rs_filter_node(c->ast, i)->next) {
		if (!c->unknown[i])
			g_array_append_val(children, i);
	}
	for (unsigned int k = children->len; k-- > 0 && !ret;) {
		unsigned int i = g_array_index(children, unsigned int, k);

		ret = is_and ? gen(c, i, next, no, &next) : gen(c, i, yes, next, &next);
	}
	*out = next;
	return ret;
}

static int gen(struct compiler *c, unsigned int index, place_t yes, place_t no, place_t *out)
{
	const struct rs_filter_node *node = rs_filter_node(c->ast, index);

	if (node->kind == RS_FILTER_TERM)
		return gen_term(c, index, yes, no, out);
	if (node->kind == RS_FILTER_NOT)
		return gen(c, node->child, no, yes, out);
	return gen_list(c, node, yes, no, out);
}

/* A program needs at least one instruction: this one leads to `place` in either case. */
static void gen_constant(struct compiler *c, place_t place)
{
	c->insns[0] = (struct rs_filter_insn){
		.op = RS_OP_ANY, .source = RS_SRC_CPU, .on_true = place, .on_false = place};
	c->count = 1;
}

/* Says which term costs most, and how many others cost as much. */
static int too_slow(struct compiler *c, unsigned int steps)
{
	unsigned int most = 0, which = 0, others = 0;
	struct rs_filter_word term;

	for (unsigned int i = 0; i < c->count; i++) {
		unsigned int own = rs_filter_insn_steps(&c->insns[i]);

		others = own > most ? 0 : others + (own == most);
		which = own >= most ? i : which; /* the last one stands first in the expression */
		most = MAX(own, most);
	}
	term = rs_filter_extent(rs_filter_node(c->ast, c->node[which]));
	return rs_filter_error_set(c->err, E2BIG, term.at, term.length,
				   "this filter may take %u steps for one event, and %u are "
				   "allowed: this term takes %u, and %u more take as many (a "
				   "pattern takes one for each byte that its string may have)",
				   steps, RS_FILTER_MAX_STEPS, most, others);
}

/* What an instruction leads to was made before it. */
static int check_steps(struct compiler *c, place_t entry)
{
	unsigned int steps[RS_FILTER_MAX_INSNS];

	for (unsigned int i = 0; i <= entry; i++) {
		const struct rs_filter_insn *insn = &c->insns[i];
		unsigned int yes = insn->on_true < i ? steps[insn->on_true] : 0;
		unsigned int no = insn->on_false < i ? steps[insn->on_false] : 0;

		steps[i] = rs_filter_insn_steps(insn) + MAX(yes, no);
	}
	return steps[entry] > RS_FILTER_MAX_STEPS ? too_slow(c, steps[entry]) : 0;
}

static place_t final_place(unsigned int entry, place_t place)
{
	return place >= RS_FILTER_REJECT ? place : (place_t)(entry - place);
}

/*
 * Reverses the code so that it starts with its entry. Drops instructions that were made after the
 * entry: a constant made them unreachable.
 */
static int assemble(struct compiler *c, place_t entry, GByteArray **program)
{
	struct rs_filter_program head = {.insn_count = (uint16_t)(entry + 1),
					 .event = c->event->id};
	GByteArray *out;

	head.pool = (uint32_t)(sizeof(head) + head.insn_count * sizeof(struct rs_filter_insn));
	head.size = RS_ALIGN_UP(head.pool + c->pool->len, RS_FILTER_GRAIN);
	if (head.size > RS_FILTER_MAX_SIZE)
		return rs_filter_error_set(c->err, E2BIG, 0, 0,
					   "the compiled expression takes %u bytes, more than %u: "
					   "use fewer or shorter strings and patterns",
					   head.size, RS_FILTER_MAX_SIZE);
	out = g_byte_array_sized_new(head.size);
	g_byte_array_append(out, (const guint8 *)&head, sizeof(head));
	for (unsigned int i = 0; i < head.insn_count; i++) {
		struct rs_filter_insn insn = c->insns[entry - i];

		insn.on_true = final_place(entry, insn.on_true);
		insn.on_false = final_place(entry, insn.on_false);
		if (rs_filter_is_pooled(insn.op))
			insn.imm += head.pool;
		g_byte_array_append(out, (const guint8 *)&insn, sizeof(insn));
	}
	g_byte_array_append(out, c->pool->data, c->pool->len);
	g_byte_array_set_size(out, head.size);
	memset(out->data + head.pool + c->pool->len, 0, head.size - head.pool - c->pool->len);
	*program = out;
	return 0;
}

unsigned int rs_filter_dyn_count(const RsTraceEvent *event)
{
	unsigned int n = 0;

	for (guint i = 0; i < event->n_fields; i++)
		n += event->fields[i].kind == RS_KIND_DYN_STRING ||
		     event->fields[i].kind == RS_KIND_DYN_ARRAY;
	return n;
}

/* Verifies our own program, so that a mistake of the compiler is never published. */
static int check_own_work(struct compiler *c, GByteArray **program)
{
	struct rs_filter_error why = {0};

	if (!rs_filter_verify((*program)->data, (*program)->len, c->event->entry_size,
			      rs_filter_dyn_count(c->event), &why))
		return 0;
	g_clear_pointer(program, g_byte_array_unref);
	return rs_filter_error_set(c->err, EINVAL, 0, 0,
				   "the event's fields make no valid program (%s)", why.message);
}

int rs_filter_compile_one(const struct rs_filter_ast *ast, const RsTraceEvent *event, bool strict,
			  GByteArray **program, struct rs_filter_error *err)
{
	struct compiler *c = g_new0(struct compiler, 1);
	GByteArray *result = NULL;
	place_t entry;
	int ret;

	*c = (struct compiler){.ast = ast, .event = event, .strict = strict, .err = err};
	c->predicates = g_new0(struct rs_filter_predicate, ast->nodes->len);
	c->unknown = g_new0(bool, ast->nodes->len);
	c->pool = g_byte_array_new();
	ret = resolve_tree(c, ast->root);
	if (!ret && !c->unknown[ast->root]) {
		ret = gen(c, ast->root, RS_FILTER_ACCEPT, RS_FILTER_REJECT, &entry);
		if (!ret && entry >= RS_FILTER_REJECT) {
			gen_constant(c, entry);
			entry = 0;
		}
		if (!ret)
			ret = check_steps(c, entry);
		if (!ret)
			ret = assemble(c, entry, &result);
		if (!ret)
			ret = check_own_work(c, &result);
	}
	if (!ret)
		*program = result;
	for (unsigned int i = 0; i < ast->nodes->len; i++)
		rs_filter_predicate_clear(&c->predicates[i]);
	g_byte_array_unref(c->pool);
	g_free(c->unknown);
	g_free(c->predicates);
	g_free(c);
	return ret;
}
