/* SPDX-License-Identifier: MIT */
/*
 * One piece of shared memory (a memory slot, a BAR, a memfd) holds this directory and a number of
 * regions, one for each agent: a kernel, and processes beside it. So each agent has its own rings,
 * ids and requests. An agent maps only its own region and the directory, if its system lets it map
 * a part. There is a directory even if there is only one region.
 *
 *     offset 0        struct rs_directory                     H
 *     entries_offset  struct rs_directory_entry[entry_count]  H
 *     claims_offset   uint64_t[entry_count + 1]               G, by compare-and-swap: see below
 *     then            the regions
 *
 * A region is free if the upper half of its claim word is not entry.generation. An agent takes the
 * region by a compare-and-swap of the claim word to
 *     entry.generation << 32 | owner
 * `owner` is the process id. A region of kind RS_SOURCE_GIVEN is never free. The
 * host writes its claim for one process, and that process takes the region again after it has
 * executed another program. A process never takes any other region by a claim with its own id,
 * since an earlier process may have had that id.
 *
 * A kernel takes the entry of kind RS_SOURCE_KERNEL whatever its claim word is, since that word may
 * be its own claim of an earlier boot. So two guests whose devices have one memory by mistake take
 * it from each other. For the first to notice, `owner` is a random number there, another one each
 * time that an agent starts. RS_CLAIM_KERNEL is set in it, but not if a program takes the region
 * for its kernel. An agent that finds another owner with RS_CLAIM_KERNEL leaves at once without a
 * write, and takes the region again only when it is free, left or laid out anew.
 *
 * An owner that leaves replaces its id in the word by RS_CLAIM_LEFT. Anyone who finds that an owner
 * is gone may do the same. The host then lays the region out anew and raises the entry's
 * generation. Until then nobody can take the region.
 *
 * The word after the last claim counts agents that found no region to take. They add 1 to it, and
 * run untraced.
 */
#ifndef RINGSIDE_DIRECTORY_H
#define RINGSIDE_DIRECTORY_H

#include <ringside/grow.h>

#define RS_DIRECTORY_MAGIC 0x5249444753474e52ull /* "RNGSGDIR" */
#define RS_MAX_REGIONS 256u                      /* entries at most, by a host of this version */

/* rs_directory_entry.kind: who may take the region. */
#define RS_SOURCE_NONE 0u   /* nobody now */
#define RS_SOURCE_KERNEL 1u /* the guest's kernel */
#define RS_SOURCE_USER 2u   /* a process */
#define RS_SOURCE_GIVEN 3u  /* the process whose id the host has written into the claim */

#define RS_CLAIM_LEFT 0u /* owner in a claim word: the region waits to be laid out anew */
#define RS_CLAIM_KERNEL 0x80000000u /* set in an owner: it is a kernel itself */

struct rs_directory {   /* H */
	uint64_t magic; /* RS_DIRECTORY_MAGIC, written last */
	uint16_t abi_major;
	uint16_t abi_minor;
	uint32_t header_size; /* bytes of this structure */
	uint64_t size;        /* bytes of the whole piece of memory */
	uint64_t session_id;  /* random; a new one each time that the memory is laid out */
	uint64_t entries_offset;
	uint64_t claims_offset; /* multiple of RS_REGION_ALIGN */
	uint32_t entry_count;   /* 1.. */
	uint32_t entry_stride;  /* bytes, at least RS_DIRECTORY_ENTRY_MIN_SIZE */
	uint64_t reserved[1];
};
RS_ASSERT_SIZE(struct rs_directory, 64);
#define RS_DIRECTORY_MIN_SIZE 64u
RS_ASSERT_GROWS(struct rs_directory, RS_DIRECTORY_MIN_SIZE);

struct rs_directory_entry {  /* H */
	uint64_t offset;     /* of the region; multiple of RS_REGION_ALIGN */
	uint64_t size;       /* bytes of the region */
	uint32_t kind;       /* RS_SOURCE_* */
	uint32_t generation; /* 1.. (release: the region is laid out) */
	uint64_t reserved[5];
	char name[RS_LABEL_LEN]; /* of the source, for people; empty: the agent gives it */
};
RS_ASSERT_SIZE(struct rs_directory_entry, 128);
#define RS_DIRECTORY_ENTRY_MIN_SIZE 128u
RS_ASSERT_GROWS(struct rs_directory_entry, RS_DIRECTORY_ENTRY_MIN_SIZE);

/*
 * Takes a private copy of the head, which lies at the start of `size` bytes of memory. False: the
 * head does not fit, or is shorter than in 1.0. `out` holds the magic and the version even then if
 * the memory is large enough for them. The caller checks these first.
 */
static inline bool rs_directory_take_head(struct rs_directory *out, const void *memory,
					  uint64_t size)
{
	return rs_take_sized_record(out, sizeof(*out), memory, size, RS_DIRECTORY_MIN_SIZE,
				    offsetof(struct rs_directory, header_size));
}

static inline uint64_t rs_directory_claim_word(uint32_t generation, uint32_t owner)
{
	return (uint64_t)generation << 32 | owner;
}

static inline uint32_t rs_directory_claim_generation(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

static inline uint32_t rs_directory_claim_owner(uint64_t word)
{
	return (uint32_t)word;
}

#endif
