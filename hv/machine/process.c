/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine/process.h"

#include "hosted/hosted.h"
#include "region/fit.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <ringside/atomic.h>
#include <ringside/control.h>
#include <ringside/directory.h>
#include <ringside/hypercall.h>
#include <ringside/door.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_RING (1ull << 20)
#define TABLES (4ull << 20)       /* beside the rings … */
#define RING_TABLES (64ull << 10) /* … and for each of them */
#define MEMFD "/memfd:"
#define PATIENCE_US (5 * G_USEC_PER_SEC)
#define LOOK_US 20000
#define CANDIDATES_MAX 64u /* a process has one or two files of ours, and may open them often */

struct process {
	pid_t pid;
	uint64_t start;
	int fd;    /* the memory */
	bool door; /* the agent has made it for us */
	bool left; /* it has such a file, in which a session was: it will make another at once */
	unsigned int candidates; /* files that were looked at in this search */
	unsigned int open;       /* of them, memory of ours that it has open */
	uint32_t owner;
	uid_t user;
};

/* ---- who it is ---- */

static bool parse(const char *via, struct process *out)
{
	const char *text = via + strlen(RS_VIA_PROCESS);
	char *end;

	if (!rs_machine_is_process(via))
		return false;
	*out = (struct process){.fd = -1};
	out->pid = (pid_t)g_ascii_strtoll(text, &end, 10);
	if (end == text || *end != ':')
		return false;
	out->start = g_ascii_strtoull(end + 1, &end, 10);
	return !*end && out->pid > 0 && out->start;
}

char *rs_machine_process_via(pid_t pid)
{
	uint64_t start = pid > 0 ? rs_process_start_time(pid) : 0;

	return start ? g_strdup_printf(RS_VIA_PROCESS "%d:%" PRIu64, (int)pid, start) : NULL;
}

bool rs_machine_is_process(const char *via)
{
	return via && g_str_has_prefix(via, RS_VIA_PROCESS);
}

pid_t rs_machine_process_pid(const char *via)
{
	struct process process;

	return parse(via, &process) ? process.pid : 0;
}

bool rs_machine_process_lives(const char *via)
{
	struct process process;

	return parse(via, &process) && rs_process_start_time(process.pid) == process.start &&
	       rs_process_living_task(process.pid);
}

char *rs_machine_process_name(const char *via)
{
	struct process process = {0};
	g_autofree char *path = NULL, *file = NULL;

	parse(via, &process);
	path = g_strdup_printf("/proc/%d/exe", (int)process.pid);
	file = g_file_read_link(path, NULL);
	return file ? g_path_get_basename(file) : g_strdup("program");
}

/* Its id as it sees it: the last of those that it has in nested namespaces. */
static uint32_t own_id(pid_t pid)
{
	static const char key[] = "\nNSpid:";
	g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid), *text = NULL;
	const char *at, *end;
	uint32_t id = (uint32_t)pid;

	if (!g_file_get_contents(path, &text, NULL, NULL) || !(at = strstr(text, key)))
		return id;
	at += strlen(key);
	end = strchrnul(at, '\n');
	while (at < end) {
		char *next;
		uint64_t number = g_ascii_strtoull(at, &next, 10);

		if (next == at || next > end)
			break;
		id = (uint32_t)number;
		at = next;
	}
	return id;
}

/* Nobody's, if it has ended. */
static uid_t user_of(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d", (int)pid);
	struct stat st;

	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}

/* ---- its memory ---- */

/* Whether the regions are those of this process: a session has given one to it. */
static bool is_given(int fd, uint32_t owner)
{
	struct rs_regions *regions = NULL;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	bool given = false;
	uint32_t who;

	if (own < 0)
		return false;
	if (rs_regions_open(own, &regions, NULL)) {
		close(own);
		return false;
	}
	given = rs_regions_count(regions) && rs_regions_kind(regions, 0) == RS_SOURCE_GIVEN &&
		rs_regions_owner(regions, 0, &who) && who == owner;
	rs_regions_free(regions);
	return given;
}

/* Nobody has made regions in it. */
static bool is_new(int fd)
{
	uint64_t word = 1;

	return pread(fd, &word, sizeof(word), 0) == (ssize_t)sizeof(word) && !word;
}

/* The agent sleeps on the directory's first word. */
static void wake(int fd)
{
	void *map = mmap(NULL, RS_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return;
	syscall(SYS_futex, map, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	munmap(map, RS_PAGE_SIZE);
}

/* The device of all files that memfd_create() makes, and of no others; 0: not known. */
static dev_t memfd_device(void)
{
	int fd = memfd_create("ringside", MFD_CLOEXEC);
	struct stat st = {0};

	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		st.st_dev = 0;
	close(fd);
	return st.st_dev;
}

/*
 * What a link of a process means, and what it is called, is the process's to choose, also that it
 * is a file that it may not open itself. So it is opened for nothing but a look at first. Ours is
 * what memfd_create() has made, for the user whose process it is.
 */
static int open_memfd(const char *path, const char *wanted, uid_t owner)
{
	int look = open(path, O_PATH | O_CLOEXEC), fd = -1;
	g_autofree char *self = g_strdup_printf("/proc/self/fd/%d", look), *means = NULL;
	const dev_t device = memfd_device();
	struct stat st;

	if (look < 0)
		return -1;
	means = g_file_read_link(self, NULL);
	if (means && g_str_has_prefix(means, wanted) && !fstat(look, &st) && S_ISREG(st.st_mode) &&
	    device && st.st_dev == device && st.st_uid == owner)
		fd = open(self, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	close(look);
	return fd;
}

/* Whether `path`, a link that means `name`, is the memory that is looked for; then it is open. */
static bool take_file(struct process *process, const char *path, const char *name)
{
	const char *wanted = process->door ? MEMFD RS_DOOR_NAME " " : MEMFD RS_REGIONS_NAME " ";

	if (!g_str_has_prefix(name, wanted))
		return false;
	process->fd = open_memfd(path, wanted, process->user);
	if (process->fd < 0)
		return false;
	if (process->door ? is_new(process->fd) : is_given(process->fd, process->owner))
		return true;
	process->left |= process->door;
	/* A host may have died before it woke the agent, which is to make another. */
	if (process->door)
		wake(process->fd);
	close(process->fd);
	process->fd = -1;
	return false;
}

/* In a folder of links: /proc/PID/fd, or /proc/PID/map_files. */
static int search(struct process *process, const char *folder)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)process->pid, folder);
	g_autoptr(GError) error = NULL;
	const char *name;
	bool found = false;
	GDir *dir = g_dir_open(path, 0, &error);

	if (!dir)
		return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ACCES) ? -EACCES : -ESRCH;
	process->candidates = 0;
	while (!found && process->candidates < CANDIDATES_MAX && (name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		g_autofree char *means = g_file_read_link(file, NULL);

		if (!means || !g_str_has_prefix(means, MEMFD "ringside"))
			continue;
		process->candidates++;
		found = take_file(process, file, means);
	}
	g_dir_close(dir);
	return found ? 0 : -ENOENT;
}

/*
 * Whether an agent may be about to make its door: memory of ours is mapped there, and none is open.
 * An agent whose session has ended closes the memory, and keeps the mapping. A host has both.
 */
static bool is_between_doors(const struct process *process)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", (int)process->pid), *text = NULL;

	return !process->open && g_file_get_contents(path, &text, NULL, NULL) &&
	       strstr(text, MEMFD "ringside");
}

/*
 * Its agent's own file first: the agent waits there, and needs it open. The memory of a session may
 * have been closed by a program that does not know it. It has that mapped all the same, but only
 * root may open it there.
 */
static int find_memory(struct process *process, struct rs_error *err)
{
	int ret, first;

	process->owner = own_id(process->pid);
	process->user = user_of(process->pid);
	process->door = true;
	ret = first = search(process, "fd");
	process->door = ret == 0;
	if (ret == -ENOENT)
		ret = search(process, "fd");
	process->open = process->candidates;
	if (ret == -ENOENT)
		ret = search(process, "map_files");
	if (!ret)
		return 0;
	if (process->left || (ret == -ENOENT && is_between_doors(process)))
		return rs_error_set(err, EAGAIN, "the agent of process %d does not answer",
				    (int)process->pid);
	if (first == -EACCES)
		return rs_error_set(err, EACCES, "process %d belongs to somebody else",
				    (int)process->pid);
	if (first == -ESRCH)
		return rs_error_set(err, ESRCH, "there is no process %d", (int)process->pid);
	return rs_error_set(err, ENOENT, "process %d holds no agent that waits", (int)process->pid);
}

int rs_machine_process_has_agent(pid_t pid, struct rs_error *err)
{
	struct process process = {.pid = pid, .fd = -1};
	int ret = find_memory(&process, err);

	if (!ret)
		close(process.fd);
	return ret == -EAGAIN ? 0 : ret;
}

/* An agent looks ten times a second whether its session is still there. */
static int await_memory(struct process *process, struct rs_error *err)
{
	gint64 until = g_get_monotonic_time() + PATIENCE_US;
	int ret;

	while ((ret = find_memory(process, err)) == -EAGAIN && g_get_monotonic_time() < until) {
		process->left = false;
		g_usleep(LOOK_US);
	}
	return ret;
}

bool rs_machine_process_waits(const char *via)
{
	struct process process;

	return rs_machine_process_lives(via) && parse(via, &process) &&
	       !rs_machine_process_has_agent(process.pid, NULL);
}

/* ---- laying it out ---- */

/* What rings may become. Pages that nobody has written take no memory. */
static uint64_t ring_max(const struct rs_machine_memory_wish *memory)
{
	uint64_t ring = memory->ring_bytes ? memory->ring_bytes : DEFAULT_RING;
	uint64_t max = MIN(8 * ring, (uint64_t)RS_RING_PAGES_MAX * RS_RING_PAGE_MIN);

	return rs_region_round_up(MAX(ring, memory->ring_max ? memory->ring_max : max));
}

static uint64_t size_for(const struct rs_machine_memory_wish *memory, uint32_t cpus)
{
	uint64_t size = TABLES + cpus * (3 * ring_max(memory) + RING_TABLES);

	return size - size % RS_REGION_ALIGN;
}

/* The regions' file gets its size, which nobody can change after that. */
static int give_size(const struct process *process, uint64_t wanted, uint64_t *size,
		     struct rs_error *err)
{
	struct stat st;

	const int fixed = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals;

	if (!ftruncate(process->fd, (off_t)wanted))
		fcntl(process->fd, F_ADD_SEALS, fixed | F_SEAL_SEAL);
	seals = fcntl(process->fd, F_GET_SEALS);
	if (seals < 0 || (seals & fixed) != fixed)
		return rs_error_set(err, EPERM,
				    "process %d: the size of its memory cannot be fixed",
				    (int)process->pid);
	/* A session that has died right here may have given it another. */
	if (fstat(process->fd, &st))
		return rs_error_set(err, errno, "process %d: its memory: %s", (int)process->pid,
				    g_strerror(errno));
	*size = (uint64_t)st.st_size - (uint64_t)st.st_size % RS_REGION_ALIGN;
	return 0;
}

static int plan(const struct process *process, const struct rs_machine_memory_wish *memory,
		uint64_t *size, struct rs_fit *fit, struct rs_error *err)
{
	long here = sysconf(_SC_NPROCESSORS_CONF);
	struct rs_fit_wish wish = {
		.vcpus = memory->cpus ? memory->cpus : (uint32_t)CLAMP(here, 1, (long)RS_MAX_CPUS),
		.ring_bytes = memory->ring_bytes,
		.ring_max = ring_max(memory),
	};
	int ret = give_size(process, size_for(memory, wish.vcpus), size, err);

	wish.size = *size;
	if (!ret)
		ret = rs_region_fit(&wish, fit, err);
	if (ret)
		return ret;
	fit->main.ring_mode = memory->ring_mode == RS_MACHINE_MODE_DEFAULT ? RS_MODE_OVERWRITE
									   : memory->ring_mode;
	fit->main.hcall_channel = RS_CHANNEL_MAILBOX;
	fit->main.doorbell_channel = RS_CHANNEL_NONE;
	fit->main.origin_ns = memory->origin_ns;
	fit->main.control_flags = RS_CONTROL_SELF_PATCH | RS_CONTROL_HELD;
	return 0;
}

/* Makes a region in the agent's own file. */
static int open_door(struct process *process, const struct rs_machine_memory_wish *memory,
		     struct rs_regions **out, struct rs_error *err)
{
	struct rs_fit fit;
	uint64_t size = 0;
	int ret = plan(process, memory, &size, &fit, err);
	const struct rs_regions_run run = {&fit.main, RS_SOURCE_GIVEN, 1};

	if (!ret)
		ret = rs_regions_create_in(process->fd, size, &run, 1, out, err);
	if (ret)
		return ret;
	rs_store_release(rs_regions_claim_word(*out, 0), rs_regions_claim(*out, 0, process->owner));
	wake(process->fd);
	return 0;
}

static int take_memory(struct process *process, const struct rs_machine_memory_wish *memory,
		       struct rs_machine *machine, struct rs_error *err)
{
	int lock = rs_regions_lock(process->fd, err), ret;

	if (lock < 0)
		return rs_error_prefix(err, "process %d", (int)process->pid);
	/* Another session may have come and gone since we looked: the agent may be in there. */
	if (process->door && !is_new(process->fd))
		ret = rs_error_set(err, EAGAIN, "process %d had another session just now",
				   (int)process->pid);
	else if (process->door)
		ret = open_door(process, memory, &machine->regions, err);
	else
		ret = rs_regions_open(process->fd, &machine->regions, err);
	if (ret) {
		close(lock);
		return ret;
	}
	process->fd = -1;
	rs_regions_keep_lock(machine->regions, lock);
	return rs_regions_map(machine->regions, 0, &machine->region, err);
}

/* ---- its doorbell ---- */

/* A number in the environment that it was started with; -1: there is none. */
static int inherited(pid_t pid, const char *key)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/environ", (int)pid), *text = NULL;
	gsize size;

	if (!g_file_get_contents(path, &text, &size, NULL))
		return -1;
	for (const char *at = text; at < text + size; at += strlen(at) + 1) {
		if (g_str_has_prefix(at, key) && g_ascii_isdigit(at[strlen(key)]))
			return (int)g_ascii_strtoll(at + strlen(key), NULL, 10);
	}
	return -1;
}

/* The number may mean another file by now. -1: there is none, and its rings are looked at. */
static int find_doorbell(const struct process *process, const RsTraceRegion *region)
{
	int number = inherited(process->pid, "RINGSIDE_DOORBELL_FD="), pidfd, fd;
	g_autofree char *path = NULL, *means = NULL;

	if (number < 0 || region->header.doorbell_channel != RS_CHANNEL_EVENTFD)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (pidfd < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	close(pidfd);
	path = g_strdup_printf("/proc/self/fd/%d", fd);
	means = fd >= 0 ? g_file_read_link(path, NULL) : NULL;
	if (fd < 0 || g_strcmp0(means, "anon_inode:[eventfd]") == 0)
		return fd;
	close(fd);
	return -1;
}

/* ---- all of it ---- */

static int make_target(const struct process *process, struct rs_machine *machine,
		       struct rs_error *err)
{
	int bell = find_doorbell(process, machine->region);
	int ret = rs_hosted_attach(process->pid, process->start, bell, &machine->target, err);

	if (ret && bell >= 0)
		close(bell);
	return ret;
}

int rs_machine_reach_process(const struct rs_machine_reach *wish, struct rs_machine *out,
			     struct rs_error *err)
{
	struct rs_machine machine = {.same_host = true};
	struct process process;
	int ret;

	if (!parse(wish->via, &process))
		return rs_error_set(err, EINVAL, "no way is known to '%s'", wish->via);
	if (!rs_machine_process_lives(wish->via))
		return rs_error_set(err, ESRCH, "process %d has ended", (int)process.pid);
	ret = await_memory(&process, err);
	if (!ret)
		ret = take_memory(&process, &wish->memory, &machine, err);
	if (!ret)
		ret = make_target(&process, &machine, err);
	if (ret) {
		if (process.fd >= 0)
			close(process.fd);
		rs_machine_clear(&machine);
		return ret;
	}
	machine.self_patch = process.door || !rs_machine_can_patch(machine.target);
	g_snprintf(machine.program, sizeof(machine.program), "/proc/%d/exe", (int)process.pid);
	*out = machine;
	return 0;
}
