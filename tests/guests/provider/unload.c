/* SPDX-License-Identifier: MIT */
/*
 * unload ROUNDS LIBRARY: opens a library with a provider, writes its events, and closes it, again
 * and again. Where it lay, it puts memory of another use, and looks whether somebody touches it:
 * who does so inside of the program ends it, and who writes from outside is seen.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <rs_hosted.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK 0xa5

struct range {
	unsigned char *from, *to;
};

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return at;
}

/* Finds the range of pages of the library in which the address lies. */
static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	struct range *range = data;
	uintptr_t from = UINTPTR_MAX, to = 0, inside = (uintptr_t)range->from;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		from = at < from ? at : from;
		to = at + header->p_memsz > to ? at + header->p_memsz : to;
	}
	if (inside < from || inside >= to)
		return 0;
	range->from = (unsigned char *)(from & ~4095ul);
	range->to = (unsigned char *)((to + 4095) & ~4095ul);
	return 1;
}

/* Others than the library's pages lie there now. */
static void take(const struct range *range)
{
	size_t size = (size_t)(range->to - range->from);

	if (mmap(range->from, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != range->from) {
		perror("the library was not unmapped");
		exit(1);
	}
	memset(range->from, MARK, size);
	mprotect(range->from, size, PROT_NONE);
}

static void give_back(const struct range *range)
{
	mprotect(range->from, (size_t)(range->to - range->from), PROT_READ);
	for (const unsigned char *at = range->from; at < range->to; at++) {
		if (*at != MARK) {
			fprintf(stderr, "touched at %#tx\n", at - range->from);
			exit(1);
		}
	}
	munmap(range->from, (size_t)(range->to - range->from));
}

static void once(const char *path, unsigned int round)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct range range;
	int (*enter)(int), (*write)(unsigned int);
	int ret;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	enter = (int (*)(int))symbol(library, "unload_enter");
	write = (int (*)(unsigned int))symbol(library, "unload_write");
	range.from = (unsigned char *)symbol(library, "unload_write");
	dl_iterate_phdr(find, &range);
	ret = enter(1);
	/* One of its events cannot be registered. */
	if (ret != -RS_EILSEQ) {
		fprintf(stderr, "round %u: %s\n", round, rs_agent_strerror(ret));
		exit(1);
	}
	for (unsigned int i = 0; i < 20; i++) {
		write(round);
		usleep(50);
	}
	enter(0);
	dlclose(library);
	take(&range);
	usleep(2000);
	give_back(&range);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc == 3 ? (unsigned int)atoi(argv[1]) : 0;

	if (!rounds || rs_hosted_init("unload"))
		return 1;
	for (unsigned int i = 0; i < rounds; i++)
		once(argv[2], i);
	printf("%u rounds\n", rounds);
	return 0;
}
