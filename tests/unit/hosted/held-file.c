/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "held-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/fuse.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2u

static void reply(int fd, uint64_t unique, int code, const void *body, size_t size)
{
	const struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + size), .error = -code, .unique = unique};
	const struct iovec parts[] = {{(void *)&head, sizeof(head)}, {(void *)body, size}};

	/* Who asked may have gone. */
	g_assert_true(writev(fd, parts, 2) > 0 || errno == ENOENT || errno == ENODEV);
}

static struct fuse_attr attributes(uint64_t node)
{
	const bool file = node == FILE_NODE;

	return (struct fuse_attr){.ino = node,
				  .size = file ? 8192 : 0,
				  .mode = file ? S_IFREG | 0755 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

static void answer(struct held_file *file, const struct fuse_in_header *in)
{
	const int fd = file->fd;
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = 31,
					   .max_readahead = 4096,
					   .max_background = 8,
					   .congestion_threshold = 6,
					   .max_write = 4096};
	const struct fuse_entry_out entry = {
		.nodeid = FILE_NODE, .entry_valid = 600, .attr = attributes(FILE_NODE)};
	const struct fuse_attr_out attr = {.attr_valid = 600, .attr = attributes(in->nodeid)};
	const struct fuse_open_out opened = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(fd, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ: /* this is it */
		g_atomic_int_inc(&file->reads);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, ENOSYS, NULL, 0);
	}
}

static gpointer serve(gpointer data)
{
	struct held_file *file = data;
	const int fd = file->fd;
	g_autofree uint8_t *room = g_malloc(1 << 17);
	ssize_t got;

	/* It ends with the mount. */
	while ((got = read(fd, room, 1 << 17)) > 0 || errno == EINTR || errno == ENOENT)
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer(file, (const struct fuse_in_header *)room);
	return NULL;
}

bool held_file_make(struct held_file *file)
{
	g_autofree char *options = NULL;

	*file = (struct held_file){.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC)};
	file->dir = g_dir_make_tmp("rs-held-XXXXXX", NULL);
	file->path = g_build_filename(file->dir, "file", NULL);
	options = g_strdup_printf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", file->fd,
				  (int)getuid(), (int)getgid());
	if (file->fd >= 0 && !unshare(CLONE_NEWNS) &&
	    !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	    !mount("held", file->dir, "fuse", 0, options))
		file->state = g_thread_new("held", serve, file);
	if (!file->state)
		held_file_end(file);
	return file->state;
}

void held_file_end(struct held_file *file)
{
	if (file->state) {
		g_assert_cmpint(umount2(file->dir, MNT_FORCE | MNT_DETACH), ==, 0);
		g_thread_join(file->state);
	}
	if (file->fd >= 0)
		close(file->fd);
	g_rmdir(file->dir);
	g_free(file->path);
	g_free(file->dir);
	*file = (struct held_file){.fd = -1};
}
