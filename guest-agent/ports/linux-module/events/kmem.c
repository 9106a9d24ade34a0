/* SPDX-License-Identifier: MIT */
/* Functions that are not exported, as the kernel has them. */
#define get_pfnblock_flags_mask rs_pageblock_flags
#define ptr_to_hashval rs_hash_pointer
#include "../private.h"
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pageblock-flags.h>
#include <linux/slab.h>

unsigned long rs_pageblock_flags(const struct page *page, unsigned long pfn, unsigned long mask)
{
	const unsigned long *map = section_to_usemap(__pfn_to_section(pfn));
	unsigned long bit =
		((pfn & (PAGES_PER_SECTION - 1)) >> pageblock_order) * NR_PAGEBLOCK_BITS;

	return READ_ONCE(map[bit / BITS_PER_LONG]) >> bit % BITS_PER_LONG & mask;
}

/* The key is the kernel's secret. It prints what it makes of it. */
int rs_hash_pointer(const void *pointer, unsigned long *out)
{
	char text[24];

	snprintf(text, sizeof(text), "%p", pointer);
	return kstrtoul(text, 16, out);
}

/* What only the slab allocator knows, as far as the events read it. */
struct kmem_cache {
	const char *name;
	slab_flags_t flags;
	unsigned int size, object_size;
};

static inline struct kmem_cache *rs_view(const void *cache, struct kmem_cache *out)
{
	*out = (struct kmem_cache){
		.name = rs_private_value(const char *, RS_CACHE_NAME, cache, NULL),
		.flags = rs_private_value(slab_flags_t, RS_CACHE_FLAGS, cache, 0),
		.size = rs_private_value(unsigned int, RS_CACHE_SIZE, cache, 0),
		.object_size = rs_private_value(unsigned int, RS_CACHE_OBJECT_SIZE, cache, 0),
	};
	return out;
}

#define RS_VIEW_kmem_cache_alloc 1
#define RS_SHOW_kmem_cache_alloc                                                                   \
	struct kmem_cache rs_seen;                                                                 \
	s = rs_view(s, &rs_seen);
#define RS_VIEW_kmem_cache_free 1
#define RS_SHOW_kmem_cache_free RS_SHOW_kmem_cache_alloc
#define RS_KERNEL_HEADER <trace/events/kmem.h>
#include "../kernel_stages.h"
