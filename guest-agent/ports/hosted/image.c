/* SPDX-License-Identifier: MIT */
/* Which image a provider is part of, and that image's build id. */
#define _GNU_SOURCE
#include "image.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct search {
	struct rs_agent_provider *provider;
	uintptr_t inside; /* an address of the image */
};

/* The NT_GNU_BUILD_ID among the notes in [at, end), which the loader has mapped. */
static void find_build_id(struct rs_agent_provider *provider, const uint8_t *at, const uint8_t *end)
{
	while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		size_t name = (note->n_namesz + 3u) & ~3u, size = (note->n_descsz + 3u) & ~3u;
		const uint8_t *text = at + sizeof(*note);

		if (name + size > (size_t)(end - text))
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    !memcmp(text, "GNU", 4)) {
			provider->build_id = text + name;
			provider->build_id_size = note->n_descsz;
			return;
		}
		at = text + name + size;
	}
}

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
			find_build_id(search->provider, at, at + header->p_memsz);
	}
	return 1;
}

void rs_hosted_image(struct rs_agent_provider *provider)
{
	struct search search = {.provider = provider, .inside = (uintptr_t)provider};

	dl_iterate_phdr(look_at, &search);
}
