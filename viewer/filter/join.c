/* SPDX-License-Identifier: MIT */
/* Joins several programs for one event, see filter.h. */
#include "filter/ast.h"

#include <errno.h>
#include <ringside/control.h>
#include <string.h>

struct part {
	const guint8 *bytes;
	struct rs_filter_program head;
	unsigned int first; /* index of its first instruction in the result */
	uint32_t pool;      /* where its pool lies in the result */
};

static bool same_program(const GByteArray *a, const GByteArray *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* The programs, without duplicates: several owners often want the same. */
static GArray *list_parts(GByteArray *const *programs, size_t count)
{
	GArray *parts = g_array_new(FALSE, TRUE, sizeof(struct part));

	for (size_t i = 0; i < count; i++) {
		struct part part = {.bytes = programs[i]->data};
		size_t k = 0;

		while (k < i && !same_program(programs[k], programs[i]))
			k++;
		if (k < i)
			continue;
		memcpy(&part.head, part.bytes, sizeof(part.head));
		g_array_append_val(parts, part);
	}
	return parts;
}

/* Gives each part its place. -E2BIG: they do not all fit. */
static int place_parts(GArray *parts, struct rs_filter_program *head, struct rs_filter_error *err)
{
	unsigned int insns = 0;
	uint32_t at;

	for (guint i = 0; i < parts->len; i++) {
		struct part *part = &g_array_index(parts, struct part, i);

		part->first = insns;
		insns += part->head.insn_count;
		if (insns > RS_FILTER_MAX_INSNS)
			return rs_filter_error_set(
				err, E2BIG, 0, 0,
				"the filters of all owners together have more than %u "
				"comparisons for this event",
				RS_FILTER_MAX_INSNS);
	}
	at = (uint32_t)(sizeof(*head) + insns * sizeof(struct rs_filter_insn));
	head->insn_count = (uint16_t)insns;
	head->pool = at;
	for (guint i = 0; i < parts->len; i++) {
		struct part *part = &g_array_index(parts, struct part, i);

		part->pool = at;
		at += part->head.size - part->head.pool; /* a multiple of 8 */
	}
	head->size = RS_ALIGN_UP(at, RS_FILTER_GRAIN);
	if (head->size > RS_FILTER_MAX_SIZE)
		return rs_filter_error_set(
			err, E2BIG, 0, 0,
			"the filters of all owners together take %u bytes for this "
			"event, more than %u",
			head->size, RS_FILTER_MAX_SIZE);
	return 0;
}

/* `next`: where the next part begins, or RS_FILTER_REJECT after the last one. */
static uint16_t moved(const struct part *part, uint16_t place, unsigned int next)
{
	if (place == RS_FILTER_ACCEPT)
		return place;
	return (uint16_t)(place == RS_FILTER_REJECT ? next : part->first + place);
}

static void append_code(GByteArray *out, const struct part *part, unsigned int next)
{
	for (unsigned int i = 0; i < part->head.insn_count; i++) {
		struct rs_filter_insn insn;

		memcpy(&insn, part->bytes + sizeof(part->head) + i * sizeof(insn), sizeof(insn));
		insn.on_true = moved(part, insn.on_true, next);
		insn.on_false = moved(part, insn.on_false, next);
		/* The lower half is an offset. The sum must not carry into the upper half. */
		if (rs_filter_is_pooled(insn.op))
			insn.imm = (insn.imm & ~(uint64_t)UINT32_MAX) |
				   ((uint32_t)insn.imm - part->head.pool + part->pool);
		g_byte_array_append(out, (const guint8 *)&insn, sizeof(insn));
	}
}

int rs_filter_join(const RsTraceEvent *event, GByteArray *const *programs, size_t count,
		   GByteArray **joined, struct rs_filter_error *err)
{
	g_autoptr(GArray) parts = list_parts(programs, count);
	struct rs_filter_program head = {.event = event->id};
	g_autoptr(GByteArray) out = g_byte_array_new();
	guint used;
	int ret;

	for (guint i = 0; i < parts->len; i++) {
		if (g_array_index(parts, struct part, i).head.event != event->id)
			return rs_filter_error_set(err, EINVAL, 0, 0,
						   "a filter program of another event");
	}
	ret = place_parts(parts, &head, err);
	if (ret)
		return ret;
	g_byte_array_append(out, (const guint8 *)&head, sizeof(head));
	for (guint i = 0; i < parts->len; i++) {
		const struct part *part = &g_array_index(parts, struct part, i);
		bool last = i + 1 == parts->len;

		append_code(out, part, last ? RS_FILTER_REJECT : part[1].first);
	}
	for (guint i = 0; i < parts->len; i++) {
		const struct part *part = &g_array_index(parts, struct part, i);

		g_byte_array_append(out, part->bytes + part->head.pool,
				    part->head.size - part->head.pool);
	}
	used = out->len;
	g_byte_array_set_size(out, head.size);
	memset(out->data + used, 0, head.size - used);
	ret = rs_filter_verify(out->data, out->len, event->entry_size, rs_filter_dyn_count(event),
			       err);
	if (ret == -E2BIG)
		return rs_filter_error_set(err, E2BIG, 0, 0,
					   "the filters of all owners together may take %u steps "
					   "for this event, more than %u",
					   rs_filter_steps(out->data), RS_FILTER_MAX_STEPS);
	if (!ret)
		*joined = g_steal_pointer(&out);
	return ret;
}
