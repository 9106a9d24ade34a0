/* SPDX-License-Identifier: MIT */
/*
 * Maps the memory of the trace regions into the guest. What the host writes (the directory, and the
 * first part of each region) is read-only there. The host has laid the memory out, and the guest
 * has not run. So its content is trusted here, but checked against mistakes by which we would map
 * or write outside the memory.
 */
#include "vmm/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <ringside/directory.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int bad_layout(struct rs_error *err)
{
	return rs_error_set(err, EPROTO, "the trace regions were not laid out, or badly");
}

static bool head_ok(const struct rs_directory *head, uint64_t size)
{
	return head->magic == RS_DIRECTORY_MAGIC && head->abi_major == RS_ABI_MAJOR &&
	       head->size <= size && head->entry_count && head->entry_count <= RS_MAX_REGIONS &&
	       rs_stride_fits(head->entry_stride, RS_DIRECTORY_ENTRY_MIN_SIZE) &&
	       head->entries_offset <= head->claims_offset && head->claims_offset < head->size &&
	       head->claims_offset % RS_PAGE_SIZE == 0 &&
	       (uint64_t)head->entry_count * head->entry_stride <=
		       head->claims_offset - head->entries_offset;
}

static int read_entry(struct rs_vmm *vmm, const struct rs_directory *head, uint32_t index,
		      struct rs_vmm_part *part, struct rs_error *err)
{
	const struct rs_directory_entry *entry =
		(const void *)(vmm->regions + head->entries_offset +
			       (uint64_t)index * head->entry_stride);
	const struct rs_region_header *h = (const void *)(vmm->regions + entry->offset);

	if (entry->offset % RS_PAGE_SIZE || entry->offset <= head->claims_offset ||
	    entry->offset > head->size || entry->size > head->size - entry->offset ||
	    entry->size < RS_REGION_HEADER_MIN_SIZE || h->magic != RS_REGION_MAGIC ||
	    h->region_size != entry->size || h->region_size % RS_PAGE_SIZE || !h->guest_offset ||
	    h->guest_offset % RS_PAGE_SIZE || h->guest_offset >= h->region_size)
		return bad_layout(err);
	*part = (struct rs_vmm_part){entry->offset, h->guest_offset, h->region_size};
#ifdef MADV_POPULATE_WRITE
	/* A first touch from the guest costs ten times what it costs here. Best effort. */
	if (entry->kind == RS_SOURCE_KERNEL)
		(void)madvise(vmm->regions + entry->offset, h->region_size, MADV_POPULATE_WRITE);
#endif
	return 0;
}

static int read_directory(struct rs_vmm *vmm, struct rs_error *err)
{
	struct rs_directory head;
	int ret = 0;

	if (!rs_directory_take_head(&head, vmm->regions, vmm->regions_size) ||
	    !head_ok(&head, vmm->regions_size))
		return bad_layout(err);
	vmm->parts = g_new0(struct rs_vmm_part, head.entry_count + 1);
	/* The first part is the directory. The guest can write its claims. */
	vmm->parts[vmm->n_parts++] = (struct rs_vmm_part){0, head.claims_offset, 0};
	for (uint32_t i = 0; i < head.entry_count && !ret; i++)
		ret = read_entry(vmm, &head, i, &vmm->parts[vmm->n_parts++], err);
	/* It ends where the first region begins. */
	if (!ret)
		vmm->parts[0].size = vmm->parts[1].at;
	return ret;
}

int rs_vmm_map_regions(struct rs_vmm *vmm, int fd, struct rs_error *err)
{
	struct stat st;
	void *map;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || st.st_size < (off_t)RS_PAGE_SIZE || st.st_size % RS_PAGE_SIZE ||
	    st.st_size > 1ll << 40)
		return rs_error_set(err, EINVAL, "the trace regions cannot be %lld bytes",
				    (long long)st.st_size);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return rs_error_set(err, errno, "cannot map the trace regions: %s",
				    strerror(errno));
	vmm->regions = map;
	vmm->regions_size = (uint64_t)st.st_size;
	return read_directory(vmm, err);
}

int rs_vmm_add_regions(struct rs_vmm *vmm, uint32_t slot, struct rs_error *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < vmm->n_parts && !ret; i++) {
		const struct rs_vmm_part *part = &vmm->parts[i];
		uint64_t middle = part->at + part->guest_offset;

		ret = rs_vmm_add_slot(vmm, slot++, RS_VMM_REGION_GPA + part->at, part->guest_offset,
				      vmm->regions + part->at, KVM_MEM_READONLY, err);
		if (!ret)
			ret = rs_vmm_add_slot(vmm, slot++, RS_VMM_REGION_GPA + middle,
					      part->size - part->guest_offset,
					      vmm->regions + middle, 0, err);
	}
	return ret;
}
