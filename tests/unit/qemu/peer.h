/* SPDX-License-Identifier: MIT */
/*
 * The other end of a unix socket, which says what a test wants: hostile answers, as no real QEMU
 * gives them. A thread accepts one client, sends the bytes, then swallows what comes until the
 * client goes. A byte 1 among them is not sent: the thread waits there until the client has said
 * something.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct peer {
	char *path;
	int fd;
	GThread *thread;
	const char *bytes;
	size_t size;
	bool hang_up; /* after the bytes */
	int deaf;     /* atomic: it reads nothing more after the bytes */
};

static void *peer_run(void *data)
{
	struct peer *peer = data;
	int fd = accept(peer->fd, NULL, NULL);
	char buffer[4096];

	for (size_t at = 0; at < peer->size;) {
		const char *stop = memchr(peer->bytes + at, 1, peer->size - at);
		size_t part = stop ? (size_t)(stop - peer->bytes) - at : peer->size - at;
		ssize_t n = part ? send(fd, peer->bytes + at, part, MSG_NOSIGNAL) : 0;
		if (n < 0 || (n == 0 && read(fd, buffer, sizeof(buffer)) <= 0))
			break;
		at += n ? (size_t)n : 1;
	}
	do {
		while (g_atomic_int_get(&peer->deaf))
			g_usleep(1000);
	} while (!peer->hang_up && read(fd, buffer, sizeof(buffer)) > 0);
	close(fd);
	return NULL;
}

static void peer_start(struct peer *peer, const char *bytes, size_t size, bool hang_up)
{
	static int count;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*peer = (struct peer){.bytes = bytes, .size = size, .hang_up = hang_up};
	peer->path = g_strdup_printf("%s/rs-peer-%d-%d", g_get_tmp_dir(), (int)getpid(), count++);
	g_strlcpy(address.sun_path, peer->path, sizeof(address.sun_path));
	peer->fd = socket(AF_UNIX, SOCK_STREAM, 0);
	g_unlink(peer->path);
	g_assert_cmpint(bind(peer->fd, (struct sockaddr *)&address, sizeof(address)), ==, 0);
	g_assert_cmpint(listen(peer->fd, 1), ==, 0);
	peer->thread = g_thread_new("peer", peer_run, peer);
}

static void peer_stop(struct peer *peer)
{
	g_thread_join(peer->thread);
	close(peer->fd);
	g_unlink(peer->path);
	g_free(peer->path);
}
