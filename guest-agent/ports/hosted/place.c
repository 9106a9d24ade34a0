/* SPDX-License-Identifier: MIT */
/* See place.h. */
#define _GNU_SOURCE
#include "place.h"

#include "device.h"

#include <fcntl.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/device.h>
#include <ringside/directory.h>
#include <ringside/region.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * How often to look for a region. A region that was left is laid out anew within some milliseconds.
 */
#define LOOKS 100u
/*
 * Give up after this many looks in a row that find no region that will become free. One is not
 * enough, since another process may hold a lock for a moment while it looks.
 */
#define VAIN_LOOKS 2u
#define LOOK_NS 5000000
#define KEPT_FD 100     /* or higher */
#define PATIENCE_MS 200 /* with a region that nobody has told us to use */
#define PCI_DEVICES "/sys/bus/pci/devices"

int rs_hosted_number(const char *variable)
{
	const char *text = secure_getenv(variable);
	char *end;
	long value;

	if (!text || !*text)
		return -1;
	value = strtol(text, &end, 10);
	return *end || value < 0 || value > 0x7fffffff ? -1 : (int)value;
}

uint32_t rs_hosted_patience(const struct rs_hosted_place *place)
{
	int wanted = rs_hosted_number("RINGSIDE_WAIT");

	if (wanted >= 0)
		return wanted ? (uint32_t)wanted : RS_NO_PATIENCE;
	return place->found ? PATIENCE_MS : 0;
}

/*
 * Opens the memory anew, since the lock belongs to the open file description. -1: the environment
 * names no memory. -2: it cannot be opened.
 */
static int open_memory(void)
{
	const char *path = secure_getenv("RINGSIDE_REGION");
	int inherited = rs_hosted_number("RINGSIDE_REGION_FD"), fd = -1;
	char name[32];

	if (inherited >= 0) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", inherited);
		fd = open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd >= 0)
		return fd;
	if (!path || !*path)
		return inherited >= 0 ? -2 : -1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : -2;
}

/* Bytes of the memory: [0, size) holds the directory, and in it [from, to) the claims. */
struct extent {
	uint64_t size, from, to;
};

static bool add(uint64_t from, uint64_t count, uint64_t stride, uint64_t *end)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(count, stride, &bytes) &&
	       !__builtin_add_overflow(from, bytes, end);
}

static bool find_extent(const struct rs_directory *head, uint64_t size, struct extent *out)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), entries;

	if (!add(head->entries_offset, head->entry_count, head->entry_stride, &entries) ||
	    !add(head->claims_offset, head->entry_count + 1ull, sizeof(uint64_t), &out->to) ||
	    entries > size || out->to > size || head->claims_offset % page)
		return false;
	out->from = head->claims_offset;
	out->size = entries > out->to ? entries : out->to;
	return true;
}

static bool read_extent(int fd, uint64_t size, struct extent *out)
{
	void *at = MAP_FAILED;
	struct rs_directory head;
	bool found;

	if (size >= RS_DIRECTORY_MIN_SIZE)
		at = mmap(NULL, RS_DIRECTORY_MIN_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return false;
	found = rs_load_acquire((const uint64_t *)at) == RS_DIRECTORY_MAGIC;
	memcpy(&head, at, RS_DIRECTORY_MIN_SIZE);
	munmap(at, RS_DIRECTORY_MIN_SIZE);
	return found && find_extent(&head, size, out);
}

/* Only the claims can be written, so that a wild store does not reach what the host has written. */
static int map_directory(int fd, struct rs_hosted_place *place)
{
	struct extent extent;
	struct stat st;
	void *at;

	/* The file of a PCI BAR in sysfs has the BAR's size. */
	if (fstat(fd, &st) || st.st_size < 0)
		return -RS_ENODEV;
	place->device = st.st_dev;
	place->inode = st.st_ino;
	place->memory_size = (uint64_t)st.st_size;
	if (!read_extent(fd, place->memory_size, &extent))
		return -RS_ENODEV;
	at = mmap(NULL, extent.size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -RS_ENODEV;
	place->memory = at;
	place->directory_size = extent.size;
	if (mprotect(place->memory + extent.from, extent.to - extent.from, PROT_READ | PROT_WRITE))
		return -RS_ENODEV;
	return 0;
}

/* Locks the region, or unlocks it if `on` is false. False: another process has the region. */
static bool lock(int fd, const struct rs_place *at, bool on)
{
	struct flock range = {.l_type = on ? F_WRLCK : F_UNLCK,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)at->offset,
			      .l_len = 1};

	return !fcntl(fd, F_OFD_SETLK, &range);
}

/* A kernel's region is taken whatever its claim is: the one who had it has to see that. */
static uint32_t owner_of(const struct rs_hosted_place *place, const struct rs_place *at)
{
	uint32_t number = 0;

	if (at->kind != RS_SOURCE_KERNEL)
		return place->owner;
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
		number = (uint32_t)getpid();
	number &= ~RS_CLAIM_KERNEL;
	return number ? number : 1;
}

/*
 * Takes entry `at` if this process may have it. Then its region is locked. *hope: the region was
 * left, by an owner that said so or that is dead, so the host will lay it out anew. That owner may
 * have had our process id: ids are used again, and a traced program may have executed us.
 */
static bool take(int fd, struct rs_hosted_place *place, const struct rs_place *at, bool *hope)
{
	void *memory = place->memory;
	uint64_t size = place->directory_size;
	uint32_t owner = owner_of(place, at);

	if (!at->free && at->owner == RS_CLAIM_LEFT && at->kind != RS_SOURCE_KERNEL) {
		*hope = true;
		return false;
	}
	if (!lock(fd, at, true))
		return false;
	if ((at->free || at->kind == RS_SOURCE_GIVEN || at->kind == RS_SOURCE_KERNEL) &&
	    !rs_directory_claim(memory, size, at->index, owner)) {
		place->owner = owner;
		return true;
	}
	if (!at->free && !rs_directory_leave(memory, size, at->index, at->owner))
		*hope = true;
	lock(fd, at, false);
	return false;
}

/*
 * Looks at all entries once, first for the kernel's if we stand for it, then for one that is kept
 * for this process. Returns 0, -RS_EADDRINUSE
 * or another error.
 */
static int look(int fd, struct rs_hosted_place *place, struct rs_place *found, bool *hope)
{
	static const uint32_t kinds[] = {RS_SOURCE_KERNEL, RS_SOURCE_GIVEN, RS_SOURCE_USER};

	for (int pass = place->for_kernel ? 0 : 1; pass < 3; pass++) {
		for (uint32_t i = 0;; i++) {
			struct rs_place at;
			int err = rs_directory_look(place->memory, place->directory_size, i, &at);

			if (err == -RS_EADDRINUSE)
				break; /* there are no more entries */
			if (err)
				return err;
			if (at.offset > place->memory_size ||
			    at.size > place->memory_size - at.offset)
				return -RS_EBADMSG;
			if (at.kind != kinds[pass] ||
			    (at.kind == RS_SOURCE_GIVEN && at.owner != place->owner))
				continue;
			if (take(fd, place, &at, hope)) {
				*found = at;
				return 0;
			}
		}
	}
	return -RS_EADDRINUSE;
}

static int wait_for_place(int fd, struct rs_hosted_place *place, struct rs_place *found)
{
	struct timespec moment = {.tv_nsec = LOOK_NS};
	uint32_t vain = 0;

	for (uint32_t looks = 0; looks < LOOKS && vain < VAIN_LOOKS; looks++) {
		bool hope = false;
		int err = look(fd, place, found, &hope);

		if (err != -RS_EADDRINUSE)
			return err;
		vain = hope ? 0 : vain + 1;
		nanosleep(&moment, NULL);
	}
	return -RS_EADDRINUSE;
}

static int map_place(int fd, struct rs_hosted_place *place)
{
	struct rs_place at;
	void *map;
	int err = wait_for_place(fd, place, &at);

	if (err == -RS_EADDRINUSE)
		rs_directory_turn_away(place->memory, place->directory_size);
	if (err)
		return err;
	place->index = at.index;
	place->given = at.kind == RS_SOURCE_GIVEN;
	/* The mapping keeps the open file description, and so the lock. */
	map = mmap(NULL, at.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at.offset);
	if (map == MAP_FAILED) {
		rs_directory_leave(place->memory, place->directory_size, at.index, place->owner);
		return -RS_ENODEV;
	}
	place->region = map;
	place->region_size = at.size;
	return 0;
}

/*
 * Whether the module shall be asked before any memory is opened. It gives out what a BAR holds, and
 * others would take the regions that it gives for those of dead processes.
 */
static bool module_first(void)
{
	const char *path = secure_getenv("RINGSIDE_REGION");

	return rs_hosted_number("RINGSIDE_REGION_FD") < 0 &&
	       (!path || strncmp(path, "/sys/", 5) == 0);
}

static int take_in(int fd, struct rs_hosted_place *place, bool for_kernel)
{
	int err;

	*place = (struct rs_hosted_place){
		.owner = (uint32_t)getpid(), .for_kernel = for_kernel, .fd = -1};
	err = map_directory(fd, place);
	if (!err)
		err = map_place(fd, place);
	/* Kept where a program that chooses numbers itself does not choose. */
	if (!err)
		place->fd = fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD);
	close(fd);
	if (err)
		rs_hosted_drop_place(place);
	return err;
}

/* Nobody has named a memory. Returns a descriptor, or -1 and tells why. */
static int search_memory(const char **why)
{
	int fd = -1;

	if (secure_getenv("RINGSIDE_REGION"))
		*why = "RINGSIDE_REGION is empty";
	else if (geteuid() == 0)
		fd = rs_hosted_open_bar(PCI_DEVICES);
	else if (!*why && rs_hosted_number("RINGSIDE_DEBUG") > 0 && rs_hosted_has_bar(PCI_DEVICES))
		*why = "without the kernel's module only root may use the device's memory";
	return fd;
}

int rs_hosted_find_place(struct rs_hosted_place *place)
{
	bool named;
	int fd, err = module_first() ? rs_hosted_take_device(RS_DEVICE_PATH, place) : 1;

	if (err != 1) {
		place->found = !err;
		return err;
	}
	fd = open_memory();
	named = fd != -1;
	if (!named)
		fd = search_memory(&place->why);
	if (fd < 0)
		return fd == -1 ? 1 : -RS_ENODEV;
	err = take_in(fd, place, false);
	place->found = !named && !err;
	return err;
}

int rs_hosted_take_door(int fd, struct rs_hosted_place *place)
{
	return take_in(fd, place, false);
}

/* What lay there is freed, and late stores go to memory that nobody reads. */
static void replace_by_nothing(uint8_t *at, uint64_t size)
{
	if (at)
		mmap(at, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void rs_hosted_retire_place(struct rs_hosted_place *place)
{
	static struct rs_hosted_place last;

	rs_hosted_leave_place(place);
	rs_hosted_forget_host(place);
	replace_by_nothing(last.region, last.region_size);
	if (place->memory)
		munmap(place->memory, place->directory_size);
	last = *place;
	*place = (struct rs_hosted_place){.fd = -1};
}

int rs_hosted_find_kernel_place(struct rs_hosted_place *place)
{
	int fd = open_memory();

	if (fd == -1)
		fd = search_memory(&place->why);
	if (fd < 0)
		return fd == -1 ? 1 : -RS_ENODEV;
	return take_in(fd, place, true);
}

bool rs_hosted_has_place(const struct rs_hosted_place *place)
{
	struct rs_place now;

	return !rs_directory_look(place->memory, place->directory_size, place->index, &now) &&
	       !now.free && now.owner == place->owner;
}

static bool is_ours(const struct rs_hosted_place *place)
{
	struct stat st;

	return place->fd >= 0 && !fstat(place->fd, &st) && st.st_dev == place->device &&
	       st.st_ino == place->inode;
}

bool rs_hosted_host_lives(const struct rs_hosted_place *place)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

	if (place->by_module)
		return rs_load(&((const struct rs_region_header *)(const void *)place->region)
					->magic) == RS_REGION_MAGIC;
	return !is_ours(place) || fcntl(place->fd, F_OFD_GETLK, &range) || range.l_type != F_UNLCK;
}

void rs_hosted_forget_host(struct rs_hosted_place *place)
{
	if (is_ours(place))
		close(place->fd);
	place->fd = -1;
}

void rs_hosted_leave_place(const struct rs_hosted_place *place)
{
	if (place->memory && place->region && !place->given)
		rs_directory_leave(place->memory, place->directory_size, place->index,
				   place->owner);
}

void rs_hosted_drop_place(struct rs_hosted_place *place)
{
	rs_hosted_leave_place(place);
	rs_hosted_forget_host(place);
	if (place->region)
		munmap(place->region, place->region_size);
	if (place->memory)
		munmap(place->memory, place->directory_size);
	*place = (struct rs_hosted_place){.fd = -1};
}
