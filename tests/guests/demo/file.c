/* SPDX-License-Identifier: MIT */
/* Files: the console, pipes, and a file system of fixed texts and programs. */
#include "demo.h"
#include "events.h"

#define FILES 48u
#define PIPES 16u
#define PIPE_SIZE 64u

struct pipe {
	uint8_t bytes[PIPE_SIZE];
	uint64_t written, read;
	uint32_t readers, writers;
};

struct file {
	uint32_t refs;
	enum { CONSOLE, TEXT, PIPE_IN, PIPE_OUT } kind;
	const struct node *node;
	uint64_t offset;
	struct pipe *pipe;
};

static struct file files[FILES];
static struct pipe pipes[PIPES];
static struct lock file_lock;

static const struct node texts[] = {
	{.path = "/etc/motd", .text = "Welcome to the ring side.\n"},
	{.path = "/etc/hostname", .text = "demo\n"},
	{.path = NULL},
};

/* ---- names ---- */

static const struct node *find_in(const struct node *nodes, const char *path)
{
	for (; nodes->path; nodes++)
		if (!strcmp(nodes->path, path))
			return nodes;
	return NULL;
}

const struct node *file_find(const char *path)
{
	struct task *task = task_current();
	const struct node *node = find_in(texts, path);

	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_NAMEI))
		rs_ktrnamei(&task->ktrace, path);
	return node ? node : find_in(program_nodes, path);
}

int64_t file_status(const char *path, struct file_status *status)
{
	struct task *task = task_current();
	const struct node *node = file_find(path);

	if (!node)
		return -RS_ENOENT;
	status->size = node->text ? (uint32_t)strlen(node->text) : 0;
	status->is_program = node->run != NULL;
	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_STRUCT))
		rs_ktrstruct(&task->ktrace, "stat", status, sizeof *status);
	return 0;
}

/* ---- descriptors; file_lock held ---- */

static struct file *new_file(int kind)
{
	for (uint32_t i = 0; i < FILES; i++) {
		if (files[i].refs)
			continue;
		memset(&files[i], 0, sizeof files[i]);
		files[i].refs = 1;
		files[i].kind = kind;
		return &files[i];
	}
	return NULL;
}

static int64_t install(struct file *file)
{
	struct task *task = task_current();
	for (int32_t fd = 0; file && fd < MAX_FILES; fd++) {
		if (task->files[fd])
			continue;
		task->files[fd] = file;
		return fd;
	}
	return -EMFILE;
}

static void put(struct file *file)
{
	if (--file->refs || !file->pipe)
		return;
	if (file->kind == PIPE_IN)
		file->pipe->readers--;
	else
		file->pipe->writers--;
}

/* Those who wait for a pipe look again. */
static void wake(const struct pipe *pipe)
{
	bool on;
	if (!pipe)
		return;
	on = lock_irq(&sched_lock);
	sched_wakeup(pipe);
	unlock_irq(&sched_lock, on);
}

static struct file *file_at(uint64_t fd)
{
	return fd < MAX_FILES ? task_current()->files[fd] : NULL;
}

/* ---- calls ---- */

int64_t file_open(const char *path)
{
	const struct node *node = file_find(path);
	struct file *file;
	int64_t fd;
	bool on;

	if (!node)
		return -RS_ENOENT;
	on = lock_irq(&file_lock);
	file = new_file(TEXT);
	fd = install(file);
	if (file) {
		file->node = node;
		file->refs = fd >= 0;
	}
	unlock_irq(&file_lock, on);
	return fd;
}

static struct pipe *free_pipe(void)
{
	for (uint32_t i = 0; i < PIPES; i++)
		if (!pipes[i].readers && !pipes[i].writers)
			return &pipes[i];
	return NULL;
}

int64_t file_pipe(int32_t fds[2])
{
	bool on = lock_irq(&file_lock);
	struct pipe *pipe = free_pipe();
	struct file *ends[2] = {new_file(PIPE_IN), new_file(PIPE_OUT)};
	int64_t got[2] = {-EMFILE, -EMFILE};

	for (uint32_t i = 0; i < 2 && pipe; i++)
		got[i] = install(ends[i]);
	for (uint32_t i = 0; i < 2; i++) {
		if (got[1] >= 0)
			ends[i]->pipe = pipe;
		else if (ends[i])
			ends[i]->refs = 0;
	}
	if (got[1] >= 0) {
		*pipe = (struct pipe){.readers = 1, .writers = 1};
		fds[0] = (int32_t)got[0];
		fds[1] = (int32_t)got[1];
	} else if (got[0] >= 0) {
		task_current()->files[got[0]] = NULL;
	}
	unlock_irq(&file_lock, on);
	return got[1] >= 0 ? 0 : -EMFILE;
}

int64_t file_close(uint64_t fd)
{
	bool on = lock_irq(&file_lock);
	struct file *file = file_at(fd);
	const struct pipe *pipe = file ? file->pipe : NULL;

	if (file) {
		task_current()->files[fd] = NULL;
		put(file);
	}
	unlock_irq(&file_lock, on);
	wake(pipe);
	return file ? 0 : -RS_EBADF;
}

void file_close_all(struct task *task)
{
	for (uint64_t fd = 0; fd < MAX_FILES; fd++)
		if (task->files[fd])
			file_close(fd);
}

void file_inherit(struct task *child)
{
	struct task *self = task_current();
	bool on = lock_irq(&file_lock);

	for (uint32_t fd = 0; fd < MAX_FILES; fd++) {
		struct file *file = self && self->pid ? self->files[fd] : NULL;
		if (!file)
			continue;
		file->refs++;
		child->files[fd] = file;
	}
	for (uint32_t fd = 0; (!self || !self->pid) && fd < 2; fd++)
		child->files[fd] = new_file(CONSOLE);
	unlock_irq(&file_lock, on);
}

/* ---- reading and writing ---- */

/* With file_lock; keeps it. Waits until there is something, or nobody can write. */
static int64_t read_pipe(struct pipe *pipe, uint8_t *to, uint64_t size, bool *on)
{
	uint64_t n = 0;
	while (pipe->read == pipe->written && pipe->writers) {
		bool good = task_wait_for(TASK_WAITING, pipe, 0, &file_lock, *on);
		*on = lock_irq(&file_lock);
		if (!good)
			return -EINTR;
	}
	while (n < size && pipe->read < pipe->written)
		to[n++] = pipe->bytes[pipe->read++ % PIPE_SIZE];
	return (int64_t)n;
}

static int64_t write_pipe(struct pipe *pipe, const uint8_t *from, uint64_t size, bool *on)
{
	uint64_t n = 0;
	while (pipe->written - pipe->read == PIPE_SIZE && pipe->readers) {
		bool good = task_wait_for(TASK_WAITING, pipe, 0, &file_lock, *on);
		*on = lock_irq(&file_lock);
		if (!good)
			return -EINTR;
	}
	if (!pipe->readers)
		return -EPIPE;
	while (n < size && pipe->written - pipe->read < PIPE_SIZE)
		pipe->bytes[pipe->written++ % PIPE_SIZE] = from[n++];
	return (int64_t)n;
}

static int64_t read_text(struct file *file, uint8_t *to, uint64_t size)
{
	uint64_t length = file->node->text ? strlen(file->node->text) : 0;
	uint64_t n = length - file->offset;
	n = n < size ? n : size;
	memcpy(to, file->node->text + file->offset, n);
	file->offset += n;
	return (int64_t)n;
}

/* Without lock, since it may take long. */
static int64_t write_console(const char *from, uint64_t size)
{
	char line[128];
	if (size >= sizeof line)
		size = sizeof line - 1;
	memcpy(line, from, size);
	line[size] = 0;
	rs_puts(line);
	return (int64_t)size;
}

static void trace_io(uint64_t fd, enum rs_ktr_rw rw, const void *data, int64_t result)
{
	struct task *task = task_current();
	const struct rs_ktr_iovec iov = {data, result > 0 ? (uint64_t)result : 0};
	if (RS_KTRPOINT(&task->ktrace, RS_KTRFAC_GENIO))
		rs_ktrgenio(&task->ktrace, (int)fd, rw, &iov, (uint32_t)iov.len,
			    result < 0 ? (int)-result : 0);
}

/* The file stays while the task waits: no other one closes its descriptors. */
int64_t file_read(uint64_t fd, void *to, uint64_t size)
{
	bool on = lock_irq(&file_lock);
	struct file *file = file_at(fd);
	int64_t result = -RS_EBADF;

	if (file && file->kind == PIPE_IN)
		result = read_pipe(file->pipe, to, size, &on);
	else if (file && file->kind == TEXT)
		result = read_text(file, to, size);
	unlock_irq(&file_lock, on);
	if (file)
		wake(file->pipe);
	trace_io(fd, RS_KTR_READ, to, result);
	return result;
}

int64_t file_write(uint64_t fd, const void *from, uint64_t size)
{
	bool on = lock_irq(&file_lock);
	struct file *file = file_at(fd);
	int64_t result = -RS_EBADF;

	if (file && file->kind == PIPE_OUT)
		result = write_pipe(file->pipe, from, size, &on);
	unlock_irq(&file_lock, on);
	if (file && file->kind == CONSOLE)
		result = write_console(from, size);
	else if (file)
		wake(file->pipe);
	trace_io(fd, RS_KTR_WRITE, from, result);
	return result;
}
