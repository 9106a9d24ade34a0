/* SPDX-License-Identifier: MIT */
#include "rs-trace-dat-maps-private.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_MAX 4096u /* others keep their memory */

static struct {
	void *at;
	size_t size;
} maps[MAPS_MAX];
static unsigned n_maps;

#if !RS_SANITIZED /* which has mmap() of its own */
/* Only maps of files that nobody writes to: their bytes are in the file. */
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *map = (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);

	if (map != MAP_FAILED && fd >= 0 && prot == PROT_READ && n_maps < MAPS_MAX) {
		maps[n_maps].at = map;
		maps[n_maps++].size = size;
	}
	return map;
}

int munmap(void *at, size_t size)
{
	for (unsigned i = 0; i < n_maps; i++)
		if (maps[i].at == at) {
			maps[i] = maps[--n_maps];
			break;
		}
	return (int)syscall(SYS_munmap, at, size);
}
#endif

void rs_trace_dat_maps_forget(void)
{
	for (unsigned i = 0; i < n_maps; i++)
		madvise(maps[i].at, maps[i].size, MADV_DONTNEED);
}
