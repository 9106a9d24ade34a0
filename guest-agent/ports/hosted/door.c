/* SPDX-License-Identifier: MIT */
/* See door.h. */
#define _GNU_SOURCE
#include "door.h"

#include "self_patch.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <ringside/door.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define KEPT_FD 100       /* or higher */
#define AGAIN_NS 10000000 /* until a host that has begun is ready, or has gone */

static struct {
	const struct rs_door_calls *calls;
	bool running, joined;
	uint32_t stop;
	pthread_t thread;
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
	const uint32_t *word; /* of the file: 0 until a host has made regions */
} door = {.fd = -1};

/* The program may have closed the descriptor, and its number may mean another file now. */
static bool is_ours(void)
{
	struct stat st;

	return door.fd >= 0 && !fstat(door.fd, &st) && st.st_dev == door.device &&
	       st.st_ino == door.inode;
}

static void drop_door(void)
{
	if (is_ours())
		close(door.fd);
	if (door.word)
		munmap((void *)(uintptr_t)door.word, PAGE);
	door.fd = -1;
	door.word = NULL;
}

static bool make_door(void)
{
	int fd = (int)syscall(SYS_memfd_create, RS_DOOR_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page = MAP_FAILED;
	struct stat st;

	/* Kept where a program that chooses numbers itself does not choose. */
	door.fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, KEPT_FD) : -1;
	if (fd >= 0)
		close(fd);
	if (door.fd >= 0 && !ftruncate(door.fd, PAGE) && !fstat(door.fd, &st))
		page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, door.fd, 0);
	if (page == MAP_FAILED) {
		if (door.fd >= 0)
			close(door.fd);
		door.fd = -1;
		return false;
	}
	door.device = st.st_dev;
	door.inode = st.st_ino;
	door.word = page;
	return true;
}

/* Whether a host holds its lock there. */
static bool host_has_it(void)
{
	struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

	return is_ours() && !fcntl(door.fd, F_OFD_GETLK, &range) && range.l_type != F_UNLCK;
}

/*
 * What the host has made is taken by way of another descriptor. False: this process has no region.
 */
static bool enter(void)
{
	int fd = is_ours() ? fcntl(door.fd, F_DUPFD_CLOEXEC, KEPT_FD) : -1;

	return fd >= 0 && !door.calls->join(fd);
}

/* Sleeps until there is a host. False: the thread is to end. */
static bool wait_at_door(void)
{
	struct timespec moment = {.tv_nsec = AGAIN_NS};

	while (!rs_load_acquire(&door.stop)) {
		if (!door.word && !make_door())
			return false;
		if (!rs_load_acquire(door.word)) {
			syscall(SYS_futex, door.word, FUTEX_WAIT, 0, NULL, NULL, 0);
			continue;
		}
		if (enter()) {
			drop_door();
			return true;
		}
		if (!host_has_it())
			drop_door();
		nanosleep(&moment, NULL);
	}
	return false;
}

static void *serve(void *data)
{
	bool joined = door.joined;

	while (!rs_load_acquire(&door.stop)) {
		if (joined && !rs_self_patch_follow(door.calls->host_lives, &door.stop))
			break;
		if (joined)
			door.calls->host_gone();
		joined = wait_at_door();
		if (!joined)
			break;
	}
	return NULL;
}

const char *rs_door_start(const struct rs_door_calls *calls, bool joined)
{
	sigset_t all, before;

	/* Whoever has more rights than who started it waits for nobody. */
	if (!joined && getauxval(AT_SECURE))
		return "it has more rights than who started it";
	if (!joined && !make_door())
		return "it has no free file descriptor from 100 on (ulimit -n), or no memory";
	door.calls = calls;
	door.joined = joined;
	rs_store(&door.stop, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	door.running = !pthread_create(&door.thread, NULL, serve, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (door.running)
		pthread_setname_np(door.thread, joined ? "rs-patch" : "rs-wait");
	else
		drop_door();
	return door.running ? NULL : "it can start no thread";
}

void rs_door_stop(void)
{
	if (!door.running)
		return;
	door.running = false;
	rs_store_release(&door.stop, 1);
	/* It may be about to sleep: the word that it sleeps on does not change. */
	while (pthread_tryjoin_np(door.thread, NULL)) {
		const struct timespec moment = {.tv_nsec = 1000000};
		const uint32_t *word = __atomic_load_n(&door.word, __ATOMIC_ACQUIRE);

		if (word)
			syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		nanosleep(&moment, NULL);
	}
	drop_door();
}

void rs_door_forget(void)
{
	if (is_ours())
		close(door.fd);
	door.fd = -1;
	door.running = false;
}
