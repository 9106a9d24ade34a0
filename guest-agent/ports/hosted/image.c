/* SPDX-License-Identifier: MIT */
/* Which image a provider is part of, that image's build id and name. */
#define _GNU_SOURCE
#include "image.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct search {
	struct rs_agent_provider *provider; /* NULL: only the name is wanted */
	uintptr_t inside;                   /* an address of the image */
	const char *name;                   /* out, as the dynamic linker has it; "": the program */
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
	search->name = info->dlpi_name;
	if (!search->provider)
		return 1;
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

void rs_hosted_image_name(const void *inside, char *out, size_t size)
{
	struct search search = {.inside = (uintptr_t)inside, .name = ""};
	const char *slash;

	dl_iterate_phdr(look_at, &search);
	slash = strrchr(search.name, '/');
	snprintf(out, size, "%s",
		 !*search.name ? program_invocation_short_name
		 : slash       ? slash + 1
			       : search.name);
}

void rs_hosted_keep_image(const void *inside)
{
	struct search search = {.inside = (uintptr_t)inside, .name = ""};
	void *(*opener)(const char *, int);

	dl_iterate_phdr(look_at, &search);
	if (!*search.name)
		return; /* the program */
	/* By its name, since a static program, which needs none, should not link it. */
	*(void **)&opener = dlsym(RTLD_DEFAULT, "dlopen");
	/* One more reference, which nobody gives back. */
	if (opener)
		opener(search.name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}
