/* SPDX-License-Identifier: MIT */
/*
 * device-hostile STEP…: what no program may do with /dev/ringside, and what none can break. Each
 * step says what went wrong, and the program ends with 1.
 *     rules      which mappings are refused, who may read and map
 *     many N     N children ask at once: says how many regions there were
 *     space N    likewise, each in a user namespace of its own
 *     scribble   writes noise all over its region, for ever
 *     storm      threads map, unmap, fork and open, for ever; it ends well if the memory goes away
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <ringside/device.h>
#include <ringside/region.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ull
#define THREADS 4

static bool failed;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	printf("hostile: %s: %s\n", what, strerror(errno));
	failed = true;
}

static int open_device(void)
{
	int fd = open(RS_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	check(fd >= 0, "the device can be opened");
	return fd;
}

static bool refuses(int fd, uint64_t size, int protection, int flags, uint64_t at, int error)
{
	void *map = mmap(NULL, size, protection, flags, fd, (off_t)at);

	if (map == MAP_FAILED)
		return errno == error;
	munmap(map, size);
	return false;
}

static bool refuses_read(int fd, int error)
{
	struct rs_device_region region;

	return read(fd, &region, sizeof(region)) < 0 && errno == error;
}

/* ---- rules ---- */

static void check_offsets(int fd, uint64_t size)
{
	const int both = PROT_READ | PROT_WRITE;

	check(refuses(fd, size + PAGE, PROT_READ, MAP_SHARED, 0, EINVAL), "a page too many");
	check(refuses(fd, PAGE, both, MAP_SHARED, size, EINVAL), "the page behind it");
	check(refuses(fd, 2 * PAGE, both, MAP_SHARED, size - PAGE, EINVAL), "a page behind it");
	for (uint64_t at = PAGE; at <= 1ull << 62; at <<= 1) {
		if (at >= size)
			check(refuses(fd, PAGE, both, MAP_SHARED, at, EINVAL), "far behind it");
	}
	check(refuses(fd, PAGE, both, MAP_SHARED, -PAGE, EOVERFLOW) ||
		      refuses(fd, PAGE, both, MAP_SHARED, -PAGE, EINVAL),
	      "before it");
}

static void check_rights(int fd, const struct rs_device_region *region)
{
	uint64_t guest = region->guest_offset;
	int read_only = open(RS_DEVICE_PATH, O_RDONLY | O_CLOEXEC);

	check(refuses(fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EACCES), "the host's part");
	check(refuses(fd, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, 0, EACCES), "both");
	check(refuses(fd, 2 * PAGE, PROT_WRITE, MAP_SHARED, guest - PAGE, EACCES), "the border");
	check(refuses(fd, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, guest, EACCES), "as code");
	check(refuses(fd, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, guest, EINVAL), "as a copy");
	check(refuses(fd, PAGE, PROT_READ, MAP_PRIVATE, 0, EINVAL), "as a copy to read");
	check(refuses_read(fd, EEXIST), "a second read");
	check(refuses_read(read_only, EEXIST), "a second file");
	check(refuses(read_only, PAGE, PROT_READ, MAP_SHARED, 0, EPERM),
	      "of a file without a region");
	close(read_only);
}

static void check_changes(int fd, const struct rs_device_region *region)
{
	uint64_t size = region->size, guest = region->guest_offset;
	uint8_t *host = mmap(NULL, guest, PROT_READ, MAP_SHARED, fd, 0);
	uint8_t *ours =
		mmap(NULL, size - guest, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)guest);
	uint8_t byte = 0;
	struct iovec to = {&byte, 1}, from = {host, 1};

	check(host != MAP_FAILED && ours != MAP_FAILED, "its region");
	check(mprotect(host, PAGE, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect");
	check(mprotect(ours, PAGE, PROT_READ | PROT_EXEC) && errno == EACCES, "mprotect to code");
	check(mremap(host, guest, guest + PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "mremap grows");
	check(mremap(ours, size - guest, size - guest + PAGE, MREMAP_MAYMOVE) == MAP_FAILED,
	      "mremap grows at the end");
	check(mremap(ours, 0, size, MREMAP_MAYMOVE) == MAP_FAILED, "mremap doubles");
	check(process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0, "process_vm_readv");
	check(write(fd, &byte, 1) < 0, "write");
	check(lseek(fd, 0, SEEK_END) < 0, "seek");
	host = mremap(host, guest, guest - PAGE, MREMAP_MAYMOVE);
	check(host != MAP_FAILED && *(volatile uint64_t *)host == RS_REGION_MAGIC, "it shrinks");
	close(fd);
	ours[size - guest - 1] = 1;
	check(((volatile uint8_t *)ours)[size - guest - 1] == 1, "it stays without the file");
	munmap(host, guest - PAGE);
	munmap(ours, size - guest);
}

static void check_child(int fd)
{
	pid_t child = fork();
	int status;

	if (!child) {
		check(refuses(fd, PAGE, PROT_READ, MAP_SHARED, 0, EPERM), "a child maps");
		check(refuses_read(fd, EEXIST), "a child reads its parent's file");
		_exit(failed);
	}
	check(waitpid(child, &status, 0) == child && !status, "the child");
}

static void *read_at_once(void *data)
{
	struct rs_device_region region;
	int fd = *(int *)data;

	return (void *)(uintptr_t)(read(fd, &region, sizeof(region)) == sizeof(region));
}

static void check_race(void)
{
	int fd = open_device();
	pthread_t threads[THREADS];
	uintptr_t won = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, read_at_once, &fd);
	for (int i = 0; i < THREADS; i++) {
		void *got;

		pthread_join(threads[i], &got);
		won += (uintptr_t)got;
	}
	check(won == 1, "one of many readers gets a region");
	close(fd);
}

static void rules(void)
{
	struct rs_device_region region = {0};
	void *volatile nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open_device();
	char small[8];

	check(refuses(fd, PAGE, PROT_READ, MAP_SHARED, 0, EPERM), "no region, no mapping");
	check(read(fd, small, sizeof(small)) < 0 && errno == EINVAL, "a short read");
	check(read(fd, nowhere, sizeof(region)) < 0 && errno == EFAULT, "a wild read");
	close(fd);
	fd = open_device();
	if (read(fd, &region, sizeof(region)) != sizeof(region)) {
		check(false, "a region");
		return;
	}
	check_offsets(fd, region.size);
	check_rights(fd, &region);
	check_child(fd);
	check_changes(fd, &region);
	check_race();
}

/* ---- more than one may have ---- */

static bool ask_once(bool space)
{
	struct rs_device_region region;

	if (space && unshare(CLONE_NEWUSER))
		perror("hostile: unshare");
	return read(open_device(), &region, sizeof(region)) == sizeof(region);
}

static void many(int count, bool space)
{
	int go[2], asked[2], status, got = 0;
	char byte;

	if (pipe(go) || pipe(asked))
		abort();
	for (int i = 0; i < count; i++) {
		if (fork())
			continue;
		close(go[1]);
		byte = ask_once(space);
		/* Nobody ends before all have asked. */
		status = write(asked[1], &byte, 1) != 1 || read(go[0], &byte, 1) < 0;
		_exit(byte ? 7 : status);
	}
	for (int i = 0; i < count; i++)
		status = read(asked[0], &byte, 1) == 1;
	close(go[0]);
	close(go[1]);
	while (wait(&status) > 0)
		got += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	printf("hostile: %d of %d have regions\n", got, count);
}

/* ---- for ever ---- */

static uint8_t *map_guest_part(uint64_t *size)
{
	struct rs_device_region region;
	int fd = open_device();
	uint8_t *at = MAP_FAILED;

	if (read(fd, &region, sizeof(region)) == sizeof(region)) {
		*size = region.size - region.guest_offset;
		at = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)region.guest_offset);
	}
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static void scribble(void)
{
	uint64_t size, x = 88172645463325252ull;
	uint8_t *at = map_guest_part(&size);

	check(at, "a region");
	printf("hostile: scribbles\n");
	while (at) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Noise, small numbers, and all bits. */
		((volatile uint64_t *)at)[(x >> 20) % (size / 8)] = x & 3   ? x
								    : x & 4 ? x >> 58
									    : ~0ull;
	}
}

static struct {
	int fd;
	uint64_t size, guest;
} shared;

static void *map_and_unmap(void *data)
{
	unsigned int seed = (unsigned int)(uintptr_t)data;

	for (;;) {
		uint64_t pages = (shared.size - shared.guest) / PAGE,
			 at = (uint64_t)rand_r(&seed) % pages;
		uint64_t count = 1 + (uint64_t)rand_r(&seed) % (pages - at);
		volatile uint8_t *map = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
					     shared.fd, (off_t)(shared.guest + at * PAGE));

		if (map == MAP_FAILED)
			continue;
		for (uint64_t i = 0; i < count && i < 64; i++)
			map[i * PAGE] = (uint8_t)i;
		munmap((void *)map, count * PAGE);
	}
	return NULL;
}

static void *fork_and_open(void *data)
{
	for (;;) {
		pid_t child = fork();

		if (!child) {
			int fd = open(RS_DEVICE_PATH, O_RDWR);
			struct rs_device_region region;

			if (fd >= 0 && read(fd, &region, sizeof(region)) > 0)
				mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return NULL;
}

static void storm(void)
{
	struct rs_device_region region;
	pthread_t thread;
	volatile uint64_t *host;

	shared.fd = open_device();
	if (read(shared.fd, &region, sizeof(region)) != sizeof(region))
		return check(false, "a region");
	shared.size = region.size;
	shared.guest = region.guest_offset;
	host = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, shared.fd, 0);
	if (host == MAP_FAILED)
		return check(false, "its first page");
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, i ? map_and_unmap : fork_and_open, (void *)i);
	printf("hostile: storms\n");
	while (*host == RS_REGION_MAGIC)
		usleep(1000);
	usleep(100000); /* on pages that stand for it */
	printf("hostile: the memory is gone: %llx\n", (unsigned long long)*host);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (char **at = argv + 1; *at; at++) {
		if (!strcmp(*at, "rules"))
			rules();
		else if (!strcmp(*at, "scribble"))
			scribble();
		else if (!strcmp(*at, "storm"))
			storm();
		else if (at[1] && (!strcmp(*at, "many") || !strcmp(*at, "space")))
			many(atoi(at[1]), **at == 's'), at++;
		else
			return 2;
	}
	printf("hostile: %s\n", failed ? "BROKEN" : "all was refused");
	return failed;
}
