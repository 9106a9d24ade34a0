/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "qemu/process.h"

#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX 65536       /* bytes of stderr or log that we read */
#define TRIM_ABOVE (1 << 20) /* bytes of memory that each of them may take */
#define HIGH_FD 64           /* or higher: above those that the child's own are copied to */

static void arg(GPtrArray *argv, const char *text)
{
	g_ptr_array_add(argv, g_strdup(text));
}

static void G_GNUC_PRINTF(2, 3) argf(GPtrArray *argv, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	g_ptr_array_add(argv, g_strdup_vprintf(format, ap));
	va_end(ap);
}

static void add_memory(GPtrArray *argv, const struct rs_qemu_config *config)
{
	arg(argv, "-m");
	argf(argv, "%" PRIu64 "M", config->memory >> 20);
	arg(argv, "-object");
	argf(argv,
	     "memory-backend-file,id=ram,share=on,mem-path=/proc/self/fd/%d,size=%" PRIu64 "B",
	     RS_QEMU_FD_RAM, config->memory);
	arg(argv, "-object");
	argf(argv,
	     "memory-backend-file,id=region,share=on,mem-path=/proc/self/fd/%d,size=%" PRIu64 "B",
	     RS_QEMU_FD_REGION, config->region_size);
	arg(argv, "-device");
	arg(argv, "ivshmem-plain,memdev=region,addr=02.0");
}

/* A file in which each writer has its own place, unless they share a description; or a device. */
static bool has_places(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)) &&
	       !(fcntl(fd, F_GETFL) & O_APPEND);
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool rs_qemu_process_may_have(int fd)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
	int again;

	if (is_socket(fd)) /* which QEMU takes as it is */
		return true;
	if (isatty(fd) || has_places(fd))
		return false;
	again = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (again < 0)
		return false;
	close(again);
	return true;
}

static void add_channels(GPtrArray *argv, const struct rs_qemu_config *config)
{
	arg(argv, "-chardev");
	argf(argv, "socket,id=qmp,fd=%d,server=on,wait=off", RS_QEMU_FD_QMP);
	arg(argv, "-mon");
	arg(argv, "chardev=qmp,mode=control");
	arg(argv, "-chardev");
	argf(argv, "socket,id=gdb,fd=%d,server=on,wait=off", RS_QEMU_FD_GDB);
	arg(argv, "-gdb");
	arg(argv, "chardev:gdb");
	arg(argv, "-chardev");
	if (config->serial_fd < 0)
		arg(argv, "null,id=serial");
	else if (is_socket(config->serial_fd)) /* which cannot be opened anew */
		argf(argv, "socket,id=serial,fd=%d", RS_QEMU_FD_SERIAL);
	else /* opened anew: the caller's stays blocking; nothing is cut off */
		argf(argv, "file,id=serial,path=/proc/self/fd/%d,append=on", RS_QEMU_FD_SERIAL);
	arg(argv, "-serial");
	arg(argv, "chardev:serial");
}

static GPtrArray *command_line(const struct rs_qemu_config *config, const char *uuid)
{
	GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
	g_auto(GStrv) parts = g_strsplit(config->name, ",", -1);
	g_autofree char *name = g_strjoinv(",,", parts); /* QEMU's way of quoting a comma */

	arg(argv, config->binary ? config->binary : "qemu-system-x86_64");
	arg(argv, "-name");
	argf(argv, "ringside-%s", name);
	arg(argv, "-uuid");
	arg(argv, uuid);
	arg(argv, "-machine");
	argf(argv, "pc,accel=%s,memory-backend=ram", config->accel == RS_QEMU_KVM ? "kvm" : "tcg");
	if (config->accel == RS_QEMU_TCG) { /* an agent in user space needs RDTSCP for its clock */
		arg(argv, "-cpu");
		arg(argv, "qemu64,+rdtscp");
	}
	arg(argv, "-smp");
	argf(argv, "%u", config->vcpus);
	for (const char *const *fixed =
		     (const char *const[]){"-nodefaults", "-no-user-config", "-no-reboot",
					   "-display", "none", "-S", NULL};
	     *fixed; fixed++)
		arg(argv, *fixed);
	add_memory(argv, config);
	add_channels(argv, config);
	arg(argv, "-device");
	argf(argv, "isa-debug-exit,iobase=0x%x,iosize=0x04", RS_QEMU_EXIT_PORT);
	arg(argv, "-d");
	arg(argv, "cpu_reset"); /* only this log tells a triple fault from a reset */
	arg(argv, "-D");
	argf(argv, "/proc/self/fd/%d", RS_QEMU_FD_LOG);
	arg(argv, "-kernel");
	arg(argv, config->kernel);
	if (config->initrd) {
		arg(argv, "-initrd");
		arg(argv, config->initrd);
	}
	if (config->append) {
		arg(argv, "-append");
		arg(argv, config->append);
	}
	for (const char *const *extra = config->extra; extra && *extra; extra++)
		arg(argv, *extra);
	g_ptr_array_add(argv, NULL);
	return argv;
}

static int memory_file(const char *name, uint64_t size, struct rs_error *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0) {
		int code = errno;
		if (fd >= 0)
			close(fd);
		return rs_error_set(err, code, "cannot make %s of %" PRIu64 " bytes: %s", name,
				    size, g_strerror(code));
	}
	return fd;
}

static void leave_session(gpointer data)
{
	setsid(); /* so that neither Ctrl-C nor our end reaches QEMU */
}

static int spawn(const struct rs_qemu_config *config, const char *uuid, const int *fds,
		 int stderr_fd, pid_t *pid, struct rs_error *err)
{
	int targets[RS_QEMU_FD_END - RS_QEMU_FD_RAM];
	g_autoptr(GPtrArray) argv = command_line(config, uuid);
	g_autoptr(GError) error = NULL;
	size_t count = G_N_ELEMENTS(targets) - (config->serial_fd < 0 ? 1 : 0);

	for (size_t i = 0; i < G_N_ELEMENTS(targets); i++)
		targets[i] = RS_QEMU_FD_RAM + (int)i;
	if (g_spawn_async_with_pipes_and_fds(NULL, (const char *const *)argv->pdata, NULL,
					     G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
					     leave_session, NULL, -1, stderr_fd, stderr_fd, fds,
					     targets, count, pid, NULL, NULL, NULL, &error))
		return 0;
	if (g_error_matches(error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
		return rs_error_set(err, ENOENT,
				    "%s is not installed (Debian package qemu-system-x86)",
				    (const char *)argv->pdata[0]);
	return rs_error_set(err, EIO, "cannot start %s: %s", (const char *)argv->pdata[0],
			    error->message);
}

static int open_process(pid_t pid, struct rs_error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd >= 0 ? fd
		       : rs_error_set(err, errno, "cannot watch QEMU (process %d): %s", (int)pid,
				      g_strerror(errno));
}

int rs_qemu_process_spawn(const struct rs_qemu_config *config, const char *uuid,
			  const char *qmp_path, const char *gdb_path, struct rs_qemu_process *out,
			  struct rs_error *err)
{
	int ram = -1, said = -1, log = -1, qmp = -1, gdb = -1, serial = -1, rc;
	int pid_fd = -1;
	pid_t pid = 0;

	/* A copy: the console may be our standard error, whose number QEMU's own words get. */
	if (config->serial_fd >= 0 &&
	    (serial = fcntl(config->serial_fd, F_DUPFD_CLOEXEC, HIGH_FD)) < 0)
		return rs_error_set(err, errno, "cannot hand over the console: %s",
				    g_strerror(errno));
	if ((rc = ram = memory_file("guest RAM", config->memory, err)) < 0 ||
	    (rc = said = memory_file("qemu stderr", 0, err)) < 0 ||
	    (rc = log = memory_file("qemu log", 0, err)) < 0 ||
	    (rc = qmp = rs_socket_listen(qmp_path, 1, true, err)) < 0 ||
	    (rc = gdb = rs_socket_listen(gdb_path, 1, true, err)) < 0)
		goto out;
	rc = spawn(config, uuid, (const int[]){ram, config->region_fd, qmp, gdb, log, serial}, said,
		   &pid, err);
	if (rc == 0)
		rc = pid_fd = open_process(pid, err);
	if (rc < 0 && pid > 0) {
		kill(pid, SIGKILL); /* our child, so its pid is not another's yet */
		waitpid(pid, NULL, 0);
	}
out:
	if (qmp >= 0)
		close(qmp);
	if (gdb >= 0)
		close(gdb);
	if (serial >= 0)
		close(serial);
	if (rc < 0) {
		for (int i = 0; i < 3; i++)
			if ((const int[]){ram, said, log}[i] >= 0)
				close((const int[]){ram, said, log}[i]);
		return rc;
	}
	*out = (struct rs_qemu_process){.pid = pid,
					.pid_fd = pid_fd,
					.child = true,
					.ram_fd = ram,
					.stderr_fd = said,
					.log_fd = log};
	return 0;
}

static bool runs_with(pid_t pid, const char *uuid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/cmdline", (int)pid);
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!g_file_get_contents(path, &text, &size, NULL))
		return false;
	for (gsize at = 0; at < size; at += strlen(text + at) + 1)
		if (strcmp(text + at, uuid) == 0)
			return true;
	return false;
}

static bool ends(const struct rs_qemu_process *process, int timeout_ms)
{
	struct pollfd fd = {.fd = process->pid_fd, .events = POLLIN};

	return poll(&fd, 1, timeout_ms) > 0;
}

static int open_of(pid_t pid, int number, int flags)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/fd/%d", (int)pid, number);
	return open(path, flags | O_CLOEXEC);
}

int rs_qemu_process_watch(pid_t pid, struct rs_qemu_process *out, struct rs_error *err)
{
	int fd = open_process(pid, err);

	if (fd < 0)
		return fd;
	*out = (struct rs_qemu_process){
		.pid = pid, .pid_fd = fd, .ram_fd = -1, .stderr_fd = -1, .log_fd = -1};
	return 0;
}

int rs_qemu_process_find(pid_t pid, const char *uuid, struct rs_qemu_process *out,
			 struct rs_error *err)
{
	struct rs_qemu_process found = {.pid = pid};
	int code;

	found.pid_fd = open_process(pid, err);
	if (found.pid_fd < 0 && found.pid_fd != -ESRCH)
		return found.pid_fd;
	found.log_fd = open_of(pid, RS_QEMU_FD_LOG, O_RDWR);
	found.stderr_fd = open_of(pid, STDERR_FILENO, O_RDWR);
	found.ram_fd = open_of(pid, RS_QEMU_FD_RAM, O_RDWR);
	code = errno;
	/* If it lives even now, all of this was its own. */
	if (found.ram_fd >= 0 && runs_with(pid, uuid) && !ends(&found, 0)) {
		*out = found;
		return 0;
	}
	rs_qemu_process_clear(&found);
	if (!runs_with(pid, uuid))
		return rs_error_set(err, ESRCH, "the QEMU of this session (process %d) is gone",
				    (int)pid);
	return rs_error_set(err, code, "cannot open the guest's memory: %s", g_strerror(code));
}

bool rs_qemu_process_wait(struct rs_qemu_process *process, int timeout_ms)
{
	if (!ends(process, timeout_ms))
		return false;
	if (process->child && !process->reaped)
		process->reaped = waitpid(process->pid, &process->status, 0) == process->pid;
	return true;
}

void rs_qemu_process_signal(const struct rs_qemu_process *process, int signal)
{
	syscall(SYS_pidfd_send_signal, process->pid_fd, signal, NULL, 0);
}

static char *read_text(int fd, off_t from)
{
	g_autofree char *text = g_malloc(TEXT_MAX + 1);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, TEXT_MAX, from);

	text[n > 0 ? n : 0] = '\0';
	return g_steal_pointer(&text);
}

char *rs_qemu_process_complaint(const struct rs_qemu_process *process, off_t from)
{
	g_autofree char *text = read_text(process->stderr_fd, from);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line; line++) {
		const char *colon;
		if (!**line || strstr(*line, "warning:"))
			continue;
		colon = g_str_has_prefix(*line, "qemu") ? strstr(*line, ": ") : NULL;
		return g_strdup(colon ? colon + 2 : *line);
	}
	return NULL;
}

bool rs_qemu_process_triple_fault(const struct rs_qemu_process *process)
{
	off_t end = process->log_fd < 0 ? 0 : lseek(process->log_fd, 0, SEEK_END);
	g_autofree char *text = read_text(process->log_fd, end > TEXT_MAX ? end - TEXT_MAX : 0);
	return strstr(text, "Triple fault") != NULL;
}

void rs_qemu_process_trim(const struct rs_qemu_process *process)
{
	const int fds[] = {process->stderr_fd, process->log_fd};

	for (size_t i = 0; i < G_N_ELEMENTS(fds); i++) {
		struct stat st;

		/* What QEMU writes next goes where it wrote last, so the file keeps its size. */
		if (fds[i] >= 0 && fstat(fds[i], &st) == 0 && st.st_blocks > TRIM_ABOVE / 512 &&
		    st.st_size > TEXT_MAX)
			fallocate(fds[i], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				  st.st_size - TEXT_MAX);
	}
}

void rs_qemu_process_clear(struct rs_qemu_process *process)
{
	int *fds[] = {&process->pid_fd, &process->ram_fd, &process->stderr_fd, &process->log_fd};

	for (size_t i = 0; i < G_N_ELEMENTS(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}
