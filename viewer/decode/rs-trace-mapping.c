/* SPDX-License-Identifier: MIT */
#include "rs-trace-mapping.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <signal.h>
#include <sys/mman.h>

#define SLOTS 256u

/*
 * A mapping, as the signal's handler finds it. Whoever changes a slot makes `sequence` odd before,
 * and even after. The slot of the memory that a thread touches does not change meanwhile.
 */
struct slot {
	guint32 sequence;
	guint32 cut;
	guint64 at; /* 0: free */
	guint64 size;
	guint64 writable;
};

/* Never freed, so that the handler needs no lock. */
struct block {
	struct block *next;
	struct slot slots[SLOTS];
};

static GMutex lock; /* of who changes slots and blocks */
static struct block *blocks;
static guint32 cuts;
static struct sigaction before;

static void fill(struct slot *slot, guint64 at, guint64 size, gboolean writable)
{
	guint32 sequence = slot->sequence;

	rs_store(&slot->sequence, sequence + 1);
	rs_wmb();
	rs_store(&slot->at, at);
	rs_store(&slot->size, size);
	rs_store(&slot->writable, (guint64)writable);
	rs_store(&slot->cut, 0u);
	rs_store_release(&slot->sequence, sequence + 2);
}

/* The slot of the mapping that begins there; 0: one that is free. NULL: there is none. */
static struct slot *find(guint64 at)
{
	for (struct block *block = rs_load_acquire(&blocks); block; block = block->next)
		for (guint i = 0; i < SLOTS; i++)
			if (rs_load(&block->slots[i].at) == at)
				return &block->slots[i];
	return NULL;
}

static struct slot *find_free(void)
{
	struct slot *slot = find(0);
	struct block *block;

	if (slot)
		return slot;
	block = g_new0(struct block, 1);
	block->next = blocks;
	rs_store_release(&blocks, block);
	return &block->slots[0];
}

gpointer rs_trace_mapping_new(int fd, guint64 offset, gsize size, gboolean writable)
{
	gpointer map = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			    fd, (off_t)offset);

	if (map == MAP_FAILED)
		return NULL;
	g_mutex_lock(&lock);
	fill(find_free(), (guintptr)map, size, writable);
	g_mutex_unlock(&lock);
	return map;
}

void rs_trace_mapping_free(gpointer map, gsize size)
{
	struct slot *slot;

	if (!map)
		return;
	g_mutex_lock(&lock);
	slot = find((guintptr)map);
	if (slot)
		fill(slot, 0, 0, FALSE);
	g_mutex_unlock(&lock);
	munmap(map, size);
}

gboolean rs_trace_mapping_is_cut(gconstpointer map)
{
	const struct slot *slot = find((guintptr)map);

	return slot && rs_load(&slot->cut);
}

guint rs_trace_mapping_cuts(void)
{
	return rs_load(&cuts);
}

/* ---- in the handler ---- */

static gboolean holds(const struct slot *slot, guint64 address)
{
	guint32 sequence = rs_load_acquire(&slot->sequence);
	guint64 at = rs_load(&slot->at), size = rs_load(&slot->size);

	rs_rmb();
	return !(sequence & 1) && rs_load(&slot->sequence) == sequence && at && address >= at &&
	       address - at < size;
}

static gboolean replace(struct slot *slot)
{
	int protection = rs_load(&slot->writable) ? PROT_READ | PROT_WRITE : PROT_READ;
	gpointer map = (gpointer)(guintptr)rs_load(&slot->at);

	if (mmap(map, (gsize)rs_load(&slot->size), protection,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return FALSE;
	rs_store_release(&slot->cut, 1u);
	rs_shared_add32(&cuts, 1);
	return TRUE;
}

/* Not ours, so what was there before us answers. We stay, unless the process is to end. */
static void answer_others(int number, siginfo_t *info, void *context)
{
	bool sent = info->si_code != BUS_ADRERR && info->si_code != BUS_ADRALN &&
		    info->si_code != BUS_MCEERR_AR;

	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else if (before.sa_handler == SIG_DFL || !sent) {
		/* An access happens again then. */
		sigaction(SIGBUS, &before, NULL);
		if (sent)
			raise(number);
	}
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int code = errno;

	if (info->si_code == BUS_ADRERR)
		for (struct block *block = rs_load_acquire(&blocks); block; block = block->next)
			for (guint i = 0; i < SLOTS; i++)
				if (holds(&block->slots[i], (guintptr)info->si_addr) &&
				    replace(&block->slots[i])) {
					errno = code;
					return;
				}
	answer_others(number, info, context);
	errno = code;
}

void rs_trace_mapping_guard(void)
{
	static gsize done;
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	if (!g_once_init_enter(&done))
		return;
	sigaction(SIGBUS, NULL, &before);
	sigaction(SIGBUS, &action, NULL);
	g_once_init_leave(&done, 1);
}
