/* SPDX-License-Identifier: MIT */
/* The events of hosted-demo: a pool of workers that count words and look for primes. */
#ifndef HOSTED_DEMO_EVENTS_H
#define HOSTED_DEMO_EVENTS_H

#include <ringside/event.h>

RS_TRACE_EVENT(pool, start, TP_PROTO(uint32_t worker, uint32_t jobs), TP_ARGS(worker, jobs),
	       TP_STRUCT__entry(__field(u32, worker), __field(u32, jobs)),
	       TP_fast_assign(__entry->worker = worker; __entry->jobs = jobs;),
	       TP_printk("worker=%u jobs=%u", worker, jobs))

RS_TRACE_EVENT(pool, take, TP_PROTO(uint32_t worker, uint32_t job, uint32_t kind, uint32_t size),
	       TP_ARGS(worker, job, kind, size),
	       TP_STRUCT__entry(__field(u32, worker), __field(u32, job),
				__enum(u32, kind, {0, "WORDS"}, {1, "PRIMES"}, {2, "SORT"}),
				__field(u32, size)),
	       TP_fast_assign(__entry->worker = worker; __entry->job = job; __entry->kind = kind;
			      __entry->size = size;),
	       TP_printk("worker=%u job=%u kind=%s size=%u", worker, job, kind, size))

RS_TRACE_EVENT(pool, done, TP_PROTO(uint32_t worker, uint32_t job, uint64_t result),
	       TP_ARGS(worker, job, result),
	       TP_STRUCT__entry(__field(u32, worker), __field(u32, job), __field(u64, result)),
	       TP_fast_assign(__entry->worker = worker; __entry->job = job;
			      __entry->result = result;),
	       TP_printk("worker=%u job=%u result=%llu", worker, job, result))

RS_TRACE_EVENT(words, longest, TP_PROTO(const char *word, uint32_t length, uint32_t at),
	       TP_ARGS(word, length, at),
	       TP_STRUCT__entry(__field(u32, length), __field(u32, at), __string(word)),
	       TP_fast_assign(__entry->length = length; __entry->at = at;
			      __assign_str(word, word);),
	       TP_printk("word=%s length=%u at=%u", word, length, at))

RS_TRACE_EVENT(primes, found, TP_PROTO(uint32_t prime, uint32_t gap), TP_ARGS(prime, gap),
	       TP_STRUCT__entry(__field(u32, prime), __field(u32, gap)),
	       TP_fast_assign(__entry->prime = prime; __entry->gap = gap;),
	       TP_printk("prime=%u gap=%u", prime, gap))

RS_TRACE_EVENT(sort, partition,
	       TP_PROTO(uint32_t depth, uint32_t left, uint32_t right, int32_t pivot),
	       TP_ARGS(depth, left, right, pivot),
	       TP_STRUCT__entry(__field(u32, depth), __field(u32, left), __field(u32, right),
				__field(s32, pivot)),
	       TP_fast_assign(__entry->depth = depth; __entry->left = left; __entry->right = right;
			      __entry->pivot = pivot;),
	       TP_printk("depth=%u left=%u right=%u pivot=%d", depth, left, right, pivot))

#endif
