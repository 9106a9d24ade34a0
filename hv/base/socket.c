/* SPDX-License-Identifier: MIT */
#include "base/socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Makes a socket, and the address of the path. */
static int make(const char *path, int flags, struct sockaddr_un *address, struct rs_error *err)
{
	int fd;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (g_strlcpy(address->sun_path, path, sizeof(address->sun_path)) >=
	    sizeof(address->sun_path))
		return rs_error_set(err, ENAMETOOLONG, "socket path is too long: %s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	if (fd < 0)
		return rs_error_set(err, errno, "cannot make a socket: %s", g_strerror(errno));
	return fd;
}

int rs_socket_listen(const char *path, int waiting, bool is_blocking, struct rs_error *err)
{
	struct sockaddr_un address;
	int fd = make(path, is_blocking ? 0 : SOCK_NONBLOCK, &address, err);

	if (fd < 0)
		return fd;
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, waiting) < 0) {
		int code = errno;

		close(fd);
		return rs_error_set(err, code, "cannot listen at %s: %s", path, g_strerror(code));
	}
	return fd;
}

int rs_socket_connect(const char *path, struct rs_error *err)
{
	struct sockaddr_un address;
	int fd = make(path, SOCK_NONBLOCK, &address, err);

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int code = errno == EAGAIN ? ETIMEDOUT : errno;

		close(fd);
		return rs_error_set(err, code, "cannot reach %s: %s", path, g_strerror(code));
	}
	return fd;
}
