/* SPDX-License-Identifier: MIT */
/* Which image a provider is part of, and that image's build id. */
#define _GNU_SOURCE
#include "image.h"

#include <link.h>

struct search {
	struct rs_agent_provider *provider;
	uintptr_t inside; /* an address of the image */
};

static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	uintptr_t from = UINTPTR_MAX, to = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		from = at < from ? at : from;
		to = at + header->p_memsz > to ? at + header->p_memsz : to;
	}
	if (search->inside < from || search->inside >= to)
		return 0;
	search->provider->image = (const void *)from;
	search->provider->image_end = (const void *)to;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type == PT_NOTE && !search->provider->build_id)
			rs_provider_find_build_id(search->provider, at, at + header->p_memsz);
	}
	return 1;
}

void rs_hosted_image(struct rs_agent_provider *provider)
{
	struct search search = {.provider = provider, .inside = (uintptr_t)provider};

	dl_iterate_phdr(look_at, &search);
}
