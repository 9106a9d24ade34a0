/* SPDX-License-Identifier: MIT */
/*
 * The computation: a byte-wise LZ compressor, on text that is generated from a seed. Each block is
 * decompressed again and compared with its input by hash.
 */
#include "demo.h"
#include "events.h"

#define BLOCK 2048u
#define HASH_BITS 9
#define MIN_MATCH 4u
#define MAX_MATCH 66u
#define SHOWN_MATCHES 8u

struct worker {
	uint8_t text[BLOCK];
	uint8_t packed[BLOCK + BLOCK / 64 + 16];
	uint8_t back[BLOCK];
	uint16_t heads[1u << HASH_BITS];
	uint16_t matches[SHOWN_MATCHES]; /* lengths of the first ones */
	uint32_t match_count;
	uint64_t random;
};
static struct worker workers[COMPUTE_WORKERS];

USER static uint32_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 32);
}

USER static void write_text(struct worker *w)
{
	static const char *const words[] = {"ring",  "page", "the ", "event",  " of ", "guest",
					    "trace", " a ",  "host", "record", "time", ", "};
	uint32_t at = 0;
	while (at < BLOCK) {
		const char *word = words[next_random(w) % (sizeof words / sizeof words[0])];
		while (*word && at < BLOCK)
			w->text[at++] = (uint8_t)*word++;
		if (next_random(w) % 8 == 0 && at < BLOCK)
			w->text[at++] = (uint8_t)('a' + next_random(w) % 26);
	}
}

USER static uint64_t hash(const uint8_t *bytes, uint32_t n, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++)
		seed = (seed ^ bytes[i]) * 0x100000001b3ull;
	return seed;
}

USER static uint32_t head_of(const uint8_t *at)
{
	uint32_t four;
	memcpy(&four, at, 4);
	return four * 0x9e3779b1u >> (32 - HASH_BITS);
}

USER static uint32_t match_length(const struct worker *w, uint32_t at, uint32_t from)
{
	uint32_t n = 0;
	while (at + n < BLOCK && n < MAX_MATCH && w->text[at + n] == w->text[from + n])
		n++;
	return n;
}

/*
 * Literals: 0..127 = count - 1, then bytes. Match: 128 | (length - 4) in 6 bits, 16 bits of
 * distance.
 */
USER static uint32_t flush_literals(struct worker *w, uint32_t out, uint32_t from, uint32_t to)
{
	while (from < to) {
		uint32_t n = to - from > 64 ? 64 : to - from;
		w->packed[out++] = (uint8_t)(n - 1);
		memcpy(w->packed + out, w->text + from, n);
		out += n;
		from += n;
	}
	return out;
}

USER static uint32_t compress(struct worker *w)
{
	uint32_t out = 0, literals = 0, at = 0;
	memset(w->heads, 0, sizeof w->heads);
	w->match_count = 0;
	while (at + MIN_MATCH <= BLOCK) {
		uint32_t h = head_of(w->text + at), from = w->heads[h], n = 0;
		w->heads[h] = (uint16_t)(at + 1);
		if (from)
			n = match_length(w, at, from - 1);
		if (n < MIN_MATCH) {
			at++;
			continue;
		}
		out = flush_literals(w, out, literals, at);
		w->packed[out++] = (uint8_t)(128 | (n - MIN_MATCH));
		w->packed[out++] = (uint8_t)(at - (from - 1));
		w->packed[out++] = (uint8_t)((at - (from - 1)) >> 8);
		if (w->match_count < SHOWN_MATCHES)
			w->matches[w->match_count++] = (uint16_t)n;
		literals = at += n;
	}
	return flush_literals(w, out, literals, BLOCK);
}

USER static bool decompress(struct worker *w, uint32_t size)
{
	uint32_t at = 0, in = 0;
	while (in < size) {
		uint32_t tag = w->packed[in++], distance = 0, n = tag + 1;
		if (tag & 128) {
			n = (tag & 127) + MIN_MATCH;
			distance = w->packed[in] | (uint32_t)w->packed[in + 1] << 8;
			in += 2;
		}
		if (n > BLOCK - at || distance > at)
			return false;
		for (uint32_t i = 0; i < n; i++, at++)
			w->back[at] = distance ? w->back[at - distance] : w->packed[in++];
	}
	return at == BLOCK;
}

USER bool compute_round(uint32_t worker, uint64_t round)
{
	struct worker *w = &workers[worker];
	uint16_t lengths[8] = {0};
	uint64_t before = 0xcbf29ce484222325ull, after = before;
	bool good = true;
	w->random = (round + 1) * 0x9e3779b97f4a7c15ull + worker;
	for (uint32_t block = 0; block < COMPUTE_BLOCKS; block++) {
		write_text(w);
		before = hash(w->text, BLOCK, before);
		uint32_t size = compress(w);
		good = decompress(w, size) && good;
		after = hash(w->back, BLOCK, after);
		lengths[block] = (uint16_t)size;
		trace_compute_block(worker, block, BLOCK, size, w->matches, w->match_count);
		safe_point();
	}
	good = good && before == after;
	trace_compute_round(worker, round, before, lengths, good ? "good" : "BAD");
	return good;
}
