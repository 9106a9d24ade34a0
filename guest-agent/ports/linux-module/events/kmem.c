/* SPDX-License-Identifier: MIT */
/* Their fields lie in a structure that only the slab allocator knows … */
#define RS_SKIP_kmem_cache_alloc 1
#define RS_SKIP_kmem_cache_free 1
/* … and these call functions that are not exported. */
#define RS_SKIP_mm_page_alloc_extfrag 1
#define RS_SKIP_rss_stat 1
#define RS_KERNEL_HEADER <trace/events/kmem.h>
#include "../kernel_stages.h"
