/* SPDX-License-Identifier: MIT */
/* See device.h. */
#define _GNU_SOURCE
#include "device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/device.h>
#include <ringside/directory.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IVSHMEM_VENDOR "0x1af4\n"
#define IVSHMEM_DEVICE "0x1110\n"

/* ---- the module ---- */

static int error_of(int number, const char **why)
{
	switch (number) {
	case EDQUOT:
		*why = "this user has all the trace regions that one user may have";
		return -RS_EADDRINUSE;
	case EEXIST:
		*why = "another agent in this process has a trace region already";
		return -RS_EADDRINUSE;
	case EUSERS:
		return -RS_EADDRINUSE;
	case EPROTO:
		return -RS_EPROTO;
	case EBADMSG:
		return -RS_EBADMSG;
	case ENODEV:
		*why = "the kernel's module has no memory for traces (yet)";
		return 1;
	default:
		return -RS_ENODEV;
	}
}

static bool is_character_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode);
}

static int ask(int fd, struct rs_device_region *region, const char **why)
{
	ssize_t got;

	if (!is_character_device(fd))
		return 1;
	do
		got = read(fd, region, sizeof(*region));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_of(errno, why);
	if (got != sizeof(*region) || region->size > SIZE_MAX ||
	    region->guest_offset >= region->size)
		return -RS_EBADMSG;
	return 0;
}

/* The two parts lie side by side, and differ in whether they can be written. */
static int map(int fd, const struct rs_device_region *region, struct rs_hosted_place *place)
{
	size_t size = region->size, host = region->guest_offset;
	uint8_t *at =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -RS_ENODEV;
	if ((host && mmap(at, host, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) ||
	    mmap(at + host, size - host, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)host) == MAP_FAILED) {
		munmap(at, size);
		return -RS_ENODEV;
	}
	*place = (struct rs_hosted_place){.region = at,
					  .region_size = size,
					  .index = region->index,
					  .owner = region->owner,
					  .by_module = true,
					  .fd = -1};
	return 0;
}

int rs_hosted_take_device(const char *path, struct rs_hosted_place *place)
{
	struct rs_device_region region;
	int fd = open(path, O_RDWR | O_CLOEXEC), err;

	if (fd < 0) {
		if (errno == EACCES)
			place->why = "this user may not open " RS_DEVICE_PATH;
		return 1;
	}
	err = ask(fd, &region, &place->why);
	if (!err)
		err = map(fd, &region, place);
	close(fd); /* the mappings keep the region */
	return err;
}

/* ---- the device's memory ---- */

static int open_of(int device, const char *name, int flags)
{
	return openat(device, name, flags | O_CLOEXEC | O_NONBLOCK);
}

static bool holds(int device, const char *name, const char *wanted)
{
	char text[16];
	int fd = open_of(device, name, O_RDONLY);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)strlen(wanted) && memcmp(text, wanted, strlen(wanted)) == 0;
}

static bool enable(int device, bool on)
{
	int fd = open_of(device, "enable", O_WRONLY);
	bool done = fd >= 0 && write(fd, on ? "1" : "0", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool has_directory(int device)
{
	int fd = open_of(device, "resource2", O_RDONLY);
	struct stat st;
	void *head = MAP_FAILED;
	bool yes;

	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)RS_DIRECTORY_MIN_SIZE)
		head = mmap(NULL, RS_DIRECTORY_MIN_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (head == MAP_FAILED)
		return false;
	yes = rs_load_acquire((const uint64_t *)head) == RS_DIRECTORY_MAGIC;
	munmap(head, RS_DIRECTORY_MIN_SIZE);
	return yes;
}

/* A device that is off shows no memory. If it turns out not to be ours, it is off again. */
static int open_memory(int device)
{
	bool off;

	off = holds(device, "enable", "0\n");
	if (off && !enable(device, true))
		return -1;
	if (has_directory(device))
		return open_of(device, "resource2", O_RDWR);
	if (off)
		enable(device, false);
	return -1;
}

/* Of an ivshmem device that no driver has. */
static bool is_free_ivshmem(int device)
{
	return holds(device, "vendor", IVSHMEM_VENDOR) && holds(device, "device", IVSHMEM_DEVICE) &&
	       faccessat(device, "driver", F_OK, 0);
}

/* What `look` returns for the first free ivshmem device for which it is not -1. */
static int search(const char *folder, int (*look)(int device))
{
	DIR *devices = opendir(folder);
	const struct dirent *entry;
	int found = -1;

	while (devices && found < 0 && (entry = readdir(devices))) {
		int device = entry->d_name[0] == '.' ? -1
						     : openat(dirfd(devices), entry->d_name,
							      O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (device < 0)
			continue;
		if (is_free_ivshmem(device))
			found = look(device);
		close(device);
	}
	if (devices)
		closedir(devices);
	return found;
}

int rs_hosted_open_bar(const char *folder)
{
	return search(folder, open_memory);
}

static int say_yes(int device)
{
	return 0;
}

bool rs_hosted_has_bar(const char *folder)
{
	return search(folder, say_yes) == 0;
}
