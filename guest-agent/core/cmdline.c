/* SPDX-License-Identifier: MIT */
/* Writes the cache that ringside/cmdline.h describes. */
#include "core.h"

#define WORDS (RS_COMM_LEN / 8)
_Static_assert(RS_COMM_LEN % 8 == 0, "a name is whole words");

/* A name as words, NUL-padded from its first NUL on; `comm` may be NULL. */
static void pack(const char *comm, uint64_t out[WORDS])
{
	char text[RS_COMM_LEN] = {0};

	for (uint32_t i = 0; comm && i < RS_COMM_LEN && comm[i]; i++)
		text[i] = comm[i];
	__builtin_memcpy(out, text, sizeof(text));
}

/* Claims an entry that nobody is writing. Its sequence turns from even to odd. */
static bool claim(struct rs_cmdline_entry *entry, uint32_t *sequence)
{
	uint32_t seen = rs_load(&entry->sequence);

	if (seen & 1)
		return false;
	*sequence = seen;
	return __atomic_compare_exchange_n(&entry->sequence, &seen, seen + 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static bool same_task(const struct rs_cmdline_entry *entry, uint32_t tgid,
		      const uint64_t name[WORDS])
{
	const uint64_t *have = (const uint64_t *)entry->comm;

	if (rs_load(&entry->tgid) != tgid)
		return false;
	for (uint32_t i = 0; i < WORDS; i++) {
		if (rs_load(&have[i]) != name[i])
			return false;
	}
	return true;
}

struct age {
	uint32_t boot; /* 0: never used */
	uint32_t chain;
	uint64_t since;
};

static struct age age_of(const struct rs_cmdline_entry *entry)
{
	if (!rs_load(&entry->sequence))
		return (struct age){0};
	return (struct age){rs_load(&entry->boot), rs_load(&entry->chain), rs_load(&entry->since)};
}

static bool older(const struct age *a, const struct age *b)
{
	if (a->boot != b->boot)
		return a->boot < b->boot;
	return a->chain != b->chain ? a->chain < b->chain : a->since < b->since;
}

/* Entries grow as the bucket does. */
static struct rs_cmdline_entry *way_of(const struct rs_names *names, uint32_t bucket, uint32_t way)
{
	return (struct rs_cmdline_entry *)(names->buckets + (uint64_t)bucket * names->stride +
					   (uint64_t)way * (names->stride / RS_CMDLINE_WAYS));
}

void rs_cmdline_note(const struct rs_names *names, uint32_t pid, uint32_t tgid, const char *comm,
		     uint64_t since, uint32_t since_chain)
{
	struct rs_cmdline_entry *newest = NULL;
	struct age oldest_age = {.boot = UINT32_MAX}, newest_age = {0};
	uint64_t name[WORDS];
	uint32_t sequence, oldest = 0, bucket, number = 1;

	if (!names->count)
		return;
	pack(comm, name);
	bucket = rs_cmdline_hash(pid, names->count);
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		struct rs_cmdline_entry *way = way_of(names, bucket, i);
		struct age age = age_of(way);

		if (age.boot == rs_core.rings.boot && rs_load(&way->pid) == pid &&
		    (!newest || !older(&age, &newest_age))) {
			newest = way;
			newest_age = age;
		}
		if (older(&age, &oldest_age)) {
			oldest_age = age;
			oldest = i;
		}
	}
	if (newest && same_task(newest, tgid, name))
		return;
	if (newest && rs_load(&newest->number) != UINT32_MAX)
		number = rs_load(&newest->number) + 1;
	/* If another vCPU writes an entry, try the next. If all are taken, leave it for now. */
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		struct rs_cmdline_entry *way =
			way_of(names, bucket, (oldest + i) % RS_CMDLINE_WAYS);

		if (!claim(way, &sequence))
			continue;
		rs_wmb(); /* pairs with the reader's rs_rmb() before its second look at sequence */
		rs_store(&way->pid, pid);
		rs_store(&way->since, since);
		rs_store(&way->tgid, tgid);
		rs_store(&way->boot, rs_core.rings.boot);
		rs_store(&way->chain, since_chain);
		rs_store(&way->number, number);
		for (uint32_t word = 0; word < WORDS; word++)
			rs_store((uint64_t *)way->comm + word, name[word]);
		rs_store_release(&way->sequence, sequence + 2);
		/* Last: a reader that sees it grow finds the whole entry. */
		if (rs_core.info)
			rs_shared_add32(&rs_core.info->cmdline_changes, 1);
		return;
	}
}

void rs_agent_cmdline(uint32_t pid, uint32_t tgid, const char *comm)
{
	uint32_t chain;
	uint64_t since;

	if (!rs_agent_active())
		return;
	since = rs_core_time_from(&chain);
	rs_cmdline_note(&rs_core.names, pid, tgid, comm, since, chain);
}
