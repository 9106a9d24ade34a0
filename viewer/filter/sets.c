/* SPDX-License-Identifier: MIT */
/* Terms that ask for CPUs: of a field that is the number of one, and of an array of bits. */
#include "filter/cpus.h"
#include "filter/resolve.h"

#include <string.h>

/* A negative value is read as a large one, and no CPU has its number. */
#define TINY_CPUS 128u

static unsigned int first_cpu(const struct rs_filter_cpus *cpus)
{
	unsigned int cpu = 0;

	while (!(cpus->map[cpu / 8] >> cpu % 8 & 1))
		cpu++;
	return cpu;
}

static unsigned int last_cpu(const struct rs_filter_cpus *cpus)
{
	unsigned int cpu = RS_MAX_CPUS - 1;

	while (!(cpus->map[cpu / 8] >> cpu % 8 & 1))
		cpu--;
	return cpu;
}

/* CPU == CPUS{3}, which Linux takes, too. */
static int compare_one(struct rs_resolver *r, unsigned int cpu, bool tiny)
{
	if (tiny && cpu >= TINY_CPUS) {
		r->out->verdict = r->term->cmp == RS_CMP_EQ ? RS_PRED_NEVER : RS_PRED_ALWAYS;
		return 0;
	}
	r->out->verdict = RS_PRED_INTEGER;
	rs_resolve_compare(r, false, ((rs_wide_t)1 << r->subject.bits) - 1, cpu);
	return 0;
}

static int number_in(struct rs_resolver *r, struct rs_filter_cpus *cpus)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	bool tiny = r->subject.is_signed && r->subject.bits == 8;

	if (r->out->source == RS_SRC_PID || r->out->source == RS_SRC_TGID)
		return rs_resolve_error(r, word,
					"a CPU list goes with CPU and with fields that are CPUs");
	if (cmp != RS_CMP_ANY && cpus->count == 1)
		return compare_one(r, first_cpu(cpus), tiny);
	if (cmp == RS_CMP_EQ)
		return rs_resolve_error(r, word,
					"one CPU is never several of them: a list is asked with &, "
					"as CPU & CPUS{0-2,5}");
	if (cmp == RS_CMP_NE && r->out->source == RS_SRC_DYN_INT)
		return rs_resolve_error(r, word, "of an element a list is asked with &");
	if (tiny)
		memset(cpus->map + TINY_CPUS / 8, 0, sizeof(cpus->map) - TINY_CPUS / 8);
	memcpy(r->out->cpus, cpus->map, sizeof(cpus->map));
	r->out->verdict = RS_PRED_CPUS;
	r->out->op = RS_OP_CPUSET;
	r->out->negate = cmp == RS_CMP_NE;
	return 0;
}

/* The bits of the array are CPUs. A dynamic one may have any number of them. */
static int bits_in(struct rs_resolver *r, const struct rs_filter_cpus *cpus)
{
	const struct rs_filter_word *word = &r->term->value;
	unsigned int there = r->subject.bits ? r->subject.bits : RS_MAX_CPUS;
	bool any = r->term->cmp == RS_CMP_ANY;

	if (!any && cpus->open)
		return rs_resolve_error(r, word,
					"how many CPUs there are is not known: 'all' and 'N' go "
					"with & only");
	if ((any ? first_cpu(cpus) : last_cpu(cpus)) >= there) {
		if (r->strict)
			return rs_resolve_error(r, word, "'%s' (%s) has bits of the CPUs 0 to %u",
						r->subject.name, r->subject.type, there - 1);
		r->out->verdict = r->term->cmp == RS_CMP_NE ? RS_PRED_ALWAYS : RS_PRED_NEVER;
		return 0;
	}
	memcpy(r->out->cpus, cpus->map, sizeof(cpus->map));
	r->out->verdict = RS_PRED_BITS;
	r->out->op = any ? RS_OP_ANY : RS_OP_EQ;
	r->out->negate = r->term->cmp == RS_CMP_NE;
	r->out->size = (uint16_t)(there / 8);
	return 0;
}

int rs_resolve_cpus(struct rs_resolver *r)
{
	const struct rs_filter_word *word = &r->term->value;
	enum rs_filter_cmp cmp = r->term->cmp;
	struct rs_filter_cpus cpus;
	int ret = rs_filter_cpus(r->ast, word, &cpus, r->err);

	if (ret)
		return ret;
	if (r->term->has_mask || (cmp != RS_CMP_ANY && cmp != RS_CMP_EQ && cmp != RS_CMP_NE))
		return rs_resolve_error(r, word, "a CPU list is asked with &: CPU & CPUS{0-2,5}");
	return r->subject.is_array ? bits_in(r, &cpus) : number_in(r, &cpus);
}
