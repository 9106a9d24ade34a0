/* SPDX-License-Identifier: MIT */
/* Writes the cache that ringside/cmdline.h describes. */
#include "core.h"

/* Turns a name into two words, NUL-padded. `comm` may be NULL. */
static void pack(const char *comm, uint64_t out[2])
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

void rs_cmdline_note(struct rs_cmdline_bucket *buckets, uint32_t count, uint32_t pid,
		     const char *comm, uint64_t since)
{
	struct rs_cmdline_entry *ways, *newest = NULL;
	uint64_t oldest_since = UINT64_MAX;
	uint64_t name[2];
	uint32_t sequence, oldest = 0;

	if (!count)
		return;
	pack(comm, name);
	ways = buckets[rs_cmdline_hash(pid, count)].way;
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		struct rs_cmdline_entry *way = &ways[i];
		bool used = rs_load(&way->sequence) != 0;
		uint64_t from = used ? rs_load(&way->since) : 0;

		if (used && rs_load(&way->pid) == pid &&
		    (!newest || from >= rs_load(&newest->since)))
			newest = way;
		if (from < oldest_since) {
			oldest_since = from;
			oldest = i;
		}
	}
	if (newest && rs_load((uint64_t *)newest->comm) == name[0] &&
	    rs_load((uint64_t *)newest->comm + 1) == name[1])
		return;
	/* If another vCPU writes an entry, try the next. If all are taken, leave it for now. */
	for (uint32_t i = 0; i < RS_CMDLINE_WAYS; i++) {
		struct rs_cmdline_entry *way = &ways[(oldest + i) % RS_CMDLINE_WAYS];

		if (!claim(way, &sequence))
			continue;
		rs_wmb(); /* pairs with the reader's rs_rmb() before its second look at sequence */
		rs_store(&way->pid, pid);
		rs_store(&way->since, since);
		rs_store((uint64_t *)way->comm, name[0]);
		rs_store((uint64_t *)way->comm + 1, name[1]);
		rs_store_release(&way->sequence, sequence + 2);
		return;
	}
}

void rs_agent_cmdline(uint32_t pid, const char *comm)
{
	if (rs_agent_active())
		rs_cmdline_note(rs_core.cmdline, rs_core.cmdline_buckets, pid, comm,
				rs_core_time());
}
