/* SPDX-License-Identifier: MIT */
#include "qemu/gdbstub.h"

#include "base/socket.h"
#include "target/patience.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WRITE_MAX 1024u /* bytes of one `M` */
#define WINDOW 64u      /* unanswered writes at most: the socket's buffers bound them */
#define STRAY_MAX 64u   /* give up after this many packets that are no answers */

struct rs_gdb {
	int fd;
	pid_t pid;
	int timeout_ms;
	bool hurried; /* rs_gdb_hurry() */
	bool late;    /* an answer did not come in time: nobody waits for another */
	bool leaving; /* the VM runs now, and any byte would stop it */
	gint64 sent_at;
	size_t in_at, in_size;
	struct rs_gdb_parser parser;
	uint8_t in[4096];
};

static int wait_for(struct rs_gdb *gdb, short events, gint64 deadline, struct rs_error *err)
{
	struct rs_patience patience = gdb->hurried ? rs_patience_new_short(gdb->pid, deadline)
						   : rs_patience_new(gdb->pid, deadline);
	struct pollfd pfd = {.fd = gdb->fd, .events = events};
	int n = 0, ms;

	while (n == 0 && (ms = rs_patience_ms(&patience)) > 0)
		n = poll(&pfd, 1, ms);
	gdb->late |= n == 0;
	if (n == 0)
		return rs_error_set(err, ETIMEDOUT, "QEMU's gdb stub did not answer in time");
	if (n < 0 && errno != EINTR)
		return rs_error_set(err, errno, "poll: %s", g_strerror(errno));
	return 0;
}

static gint64 deadline_of(const struct rs_gdb *gdb)
{
	return g_get_monotonic_time() + (gdb->late ? 0 : (gint64)gdb->timeout_ms * 1000);
}

static int send_all(struct rs_gdb *gdb, const char *bytes, size_t size, struct rs_error *err)
{
	gint64 deadline = deadline_of(gdb);

	gdb->sent_at = g_get_monotonic_time();
	while (size > 0) {
		ssize_t n = send(gdb->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			int rc = wait_for(gdb, POLLOUT, deadline, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (n < 0)
			return rs_error_set(err, EPIPE,
					    "QEMU's gdb stub has closed the connection");
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

static int next_byte(struct rs_gdb *gdb, gint64 deadline, uint8_t *byte, struct rs_error *err)
{
	while (gdb->in_at == gdb->in_size) {
		ssize_t n = recv(gdb->fd, gdb->in, sizeof(gdb->in), MSG_DONTWAIT);
		if (n > 0) {
			gdb->in_at = 0;
			gdb->in_size = (size_t)n;
		} else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			int rc = wait_for(gdb, POLLIN, deadline, err);
			if (rc < 0)
				return rc;
		} else {
			return rs_error_set(err, EPIPE,
					    "QEMU's gdb stub has closed the connection");
		}
	}
	*byte = gdb->in[gdb->in_at++];
	return 0;
}

/*
 * If the VM runs, because somebody else lets it, the first byte that QEMU gets stops it, and is
 * lost. That is one of the acknowledgements, of which it may take one for an earlier answer.
 */
static void append_packet(GString *out, const char *body)
{
	uint8_t sum = 0;

	for (const char *c = body; *c; c++)
		sum = (uint8_t)(sum + (uint8_t)*c);
	g_string_append_printf(out, "++$%s#%02x", body, sum);
}

/* The stub sends stop replies and console output unasked. No answer looks like them. */
static bool is_stray(const struct rs_gdb_parser *parser)
{
	char c = parser->data[0];
	return c == 'T' || c == 'S' || (c == 'O' && strcmp(parser->data, "OK") != 0);
}

/* Waits for the next answer, and leaves it in gdb->parser. `console` (may be NULL) gets output. */
static int receive_with(struct rs_gdb *gdb, GString *console, struct rs_error *err)
{
	gint64 deadline = deadline_of(gdb);
	unsigned strays = 0;

	for (;;) {
		uint8_t byte = 0;
		int rc = next_byte(gdb, deadline, &byte, err);
		if (rc < 0)
			return rc;
		switch (rs_gdb_parser_feed(&gdb->parser, byte)) {
		case RS_GDB_PACKET:
			rc = gdb->leaving ? 0 : send_all(gdb, "+", 1, err);
			if (rc < 0)
				return rc;
			if (!is_stray(&gdb->parser))
				return 0;
			if (console && gdb->parser.data[0] == 'O')
				g_string_append(console, gdb->parser.data + 1);
			if (++strays > STRAY_MAX)
				return rs_error_set(err, EPROTO, "QEMU's gdb stub talks nonsense");
			break;
		case RS_GDB_NAK: /* a unix socket does not corrupt: the stub misunderstood us */
		case RS_GDB_BAD:
			return rs_error_set(err, EPROTO, "QEMU's gdb stub sent a damaged packet");
		default:
			break;
		}
	}
}

static int receive(struct rs_gdb *gdb, struct rs_error *err)
{
	return receive_with(gdb, NULL, err);
}

static int ask(struct rs_gdb *gdb, const char *body, struct rs_error *err)
{
	g_autoptr(GString) out = g_string_new(NULL);
	int rc;

	append_packet(out, body);
	rc = send_all(gdb, out->str, out->len, err);
	return rc < 0 ? rc : receive(gdb, err);
}

static int expect_ok(struct rs_gdb *gdb, const char *what, struct rs_error *err)
{
	if (strcmp(gdb->parser.data, "OK") == 0)
		return 0;
	return rs_error_set(err, EPROTO, "QEMU's gdb stub refused %s", what);
}

int rs_gdb_connect(const char *path, pid_t pid, int timeout_ms, struct rs_gdb **out,
		   struct rs_error *err)
{
	int fd = rs_socket_connect(path, err);
	struct rs_gdb *gdb;
	int rc;

	if (fd < 0) {
		rs_error_prefix(err, "QEMU's gdb stub");
		return fd;
	}
	gdb = g_new0(struct rs_gdb, 1);
	gdb->fd = fd;
	gdb->pid = pid;
	gdb->timeout_ms = timeout_ms;
	rc = ask(gdb, "qAttached", err); /* any answer shows that the VM is stopped */
	if (rc < 0) {
		close(fd);
		g_free(gdb);
		return rc;
	}
	*out = gdb;
	return 0;
}

int rs_gdb_stop(struct rs_gdb *gdb, struct rs_error *err)
{
	return ask(gdb, "qAttached", err);
}

/* The stub acknowledges a packet that it has read. Nothing may be sent after that. */
static int wait_for_ack(struct rs_gdb *gdb, struct rs_error *err)
{
	gint64 deadline = deadline_of(gdb);
	uint8_t byte = 0;

	for (;;) {
		int rc = next_byte(gdb, deadline, &byte, err);

		if (rc < 0)
			return rc;
		switch (rs_gdb_parser_feed(&gdb->parser, byte)) {
		case RS_GDB_ACK:
			return 0;
		case RS_GDB_NOTHING:
			break;
		default:
			return rs_error_set(err, EPROTO, "QEMU's gdb stub talks nonsense");
		}
	}
}

#define QEMU_PACKET_MAX 4000u /* that it reads */

int rs_gdb_run_some(struct rs_gdb *gdb, uint32_t vcpus, const uint64_t *held, struct rs_error *err)
{
	g_autoptr(GString) body = g_string_new("vCont"), out = g_string_new(NULL);
	int rc;

	for (uint32_t i = 0; i < vcpus; i++)
		if (!(held[i / 64] >> i % 64 & 1))
			g_string_append_printf(body, ";c:%x", i + 1);
	if (body->len > QEMU_PACKET_MAX)
		return rs_error_set(err, E2BIG, "QEMU's gdb stub cannot name so many vCPUs");
	append_packet(out, body->str);
	rc = send_all(gdb, out->str, out->len, err);
	return rc < 0 ? rc : wait_for_ack(gdb, err);
}

void rs_gdb_hurry(struct rs_gdb *gdb)
{
	gdb->hurried = true;
}

int rs_gdb_set_physical(struct rs_gdb *gdb, struct rs_error *err)
{
	int rc = ask(gdb, "Qqemu.PhyMemMode:1", err);
	return rc < 0 ? rc : expect_ok(gdb, "physical addresses", err);
}

int rs_gdb_leave(struct rs_gdb *gdb, bool *moved, struct rs_error *err)
{
	g_autoptr(GString) said = g_string_new(NULL), out = g_string_new(NULL);
	int rc;

	append_packet(out, RS_GDB_VIRTUAL);
	append_packet(out, RS_GDB_INFO_STATUS);
	rc = send_all(gdb, out->str, out->len, err);
	if (rc == 0)
		rc = receive(gdb, err);
	if (rc == 0)
		rc = receive_with(gdb, said, err);
	*moved = rc == 0 && strstr(said->str, RS_GDB_SAYS_MOVED);
	return rc;
}

gint64 rs_gdb_sent_at(const struct rs_gdb *gdb)
{
	return gdb->sent_at;
}

static int check_written(struct rs_gdb *gdb, bool *bad, struct rs_error *err)
{
	int rc = receive(gdb, err);

	if (rc < 0)
		return rc;
	*bad = gdb->parser.data[0] == 'E';
	return *bad ? 0 : expect_ok(gdb, "a write", err);
}

static void append_write(GString *out, const struct rs_gdb_write *write)
{
	g_autoptr(GString) body = g_string_new(NULL);
	const uint8_t *bytes = write->bytes;

	g_string_append_printf(body, "M%" PRIx64 ",%x:", write->address, write->size);
	for (uint32_t i = 0; i < write->size; i++)
		g_string_append_printf(body, "%02x", bytes[i]);
	append_packet(out, body->str);
}

/* Questions that are sent before the first is answered. */
struct exchange {
	void (*append)(GString *out, const void *items, size_t index);
	int (*take)(struct rs_gdb *gdb, const void *items, size_t index, bool *bad,
		    struct rs_error *err);
	const void *items;
	size_t count;
};

static int run_exchange(struct rs_gdb *gdb, const struct exchange *exchange, bool *bad,
			struct rs_error *err)
{
	size_t sent = 0;

	for (size_t answered = 0; answered < exchange->count; answered++) {
		int rc = 0;
		if (sent == answered) { /* all are answered: fill the window again */
			g_autoptr(GString) out = g_string_new(NULL);
			for (; sent < exchange->count && sent - answered < WINDOW; sent++)
				exchange->append(out, exchange->items, sent);
			rc = send_all(gdb, out->str, out->len, err);
		}
		if (rc == 0)
			rc = exchange->take(gdb, exchange->items, answered, &bad[answered], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void append_nth_write(GString *out, const void *items, size_t index)
{
	append_write(out, (const struct rs_gdb_write *)items + index);
}

static int take_written(struct rs_gdb *gdb, const void *items, size_t index, bool *bad,
			struct rs_error *err)
{
	return check_written(gdb, bad, err);
}

int rs_gdb_write(struct rs_gdb *gdb, const struct rs_gdb_write *writes, size_t count, bool *bad,
		 struct rs_error *err)
{
	const struct exchange exchange = {append_nth_write, take_written, writes, count};

	for (size_t i = 0; i < count; i++)
		if (writes[i].size == 0 || writes[i].size > WRITE_MAX)
			return rs_error_set(err, EINVAL, "a write of %u bytes", writes[i].size);
	return run_exchange(gdb, &exchange, bad, err);
}

static void append_nth_read(GString *out, const void *items, size_t index)
{
	const struct rs_gdb_read *read = (const struct rs_gdb_read *)items + index;
	g_autofree char *body = g_strdup_printf("m%" PRIx64 ",%x", read->address, read->size);

	append_packet(out, body);
}

static int take_read(struct rs_gdb *gdb, const void *items, size_t index, bool *bad,
		     struct rs_error *err)
{
	const struct rs_gdb_read *read = (const struct rs_gdb_read *)items + index;
	uint8_t *out = read->out;
	int rc = receive(gdb, err);
	const char *data = gdb->parser.data;

	if (rc < 0)
		return rc;
	*bad = data[0] == 'E' && gdb->parser.size == 3;
	if (*bad)
		return 0;
	if (gdb->parser.size != 2 * read->size)
		return rs_error_set(err, EPROTO, "QEMU's gdb stub answers a read with %u bytes",
				    gdb->parser.size / 2);
	for (uint32_t i = 0; i < read->size; i++) {
		int high = g_ascii_xdigit_value(data[2 * i]);
		int low = g_ascii_xdigit_value(data[2 * i + 1]);

		if (high < 0 || low < 0)
			return rs_error_set(err, EPROTO, "QEMU's gdb stub sent no hex digits");
		out[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int read_each(struct rs_gdb *gdb, const struct rs_gdb_read *reads, size_t count, bool *bad,
		     struct rs_error *err)
{
	const struct exchange exchange = {append_nth_read, take_read, reads, count};

	return run_exchange(gdb, &exchange, bad, err);
}

static int by_address(const void *a, const void *b, void *data)
{
	const struct rs_gdb_read *reads = data;
	uint64_t x = reads[*(const size_t *)a].address, y = reads[*(const size_t *)b].address;

	return x < y ? -1 : x > y;
}

/* Reads that lie close to each other: `n` of `order` from `first`. */
struct span {
	size_t first, n;
};

/*
 * Fills `spans` with `wide`, the reads that cover them, whose memory is in `bytes`. Returns their
 * number.
 */
static size_t find_spans(const struct rs_gdb_read *reads, const size_t *order, size_t count,
			 struct span *spans, struct rs_gdb_read *wide, uint8_t *bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct rs_gdb_read *read = &reads[order[i]];
		uint64_t from = n ? wide[n - 1].address : 0;

		if (n && read->address - from <= RS_GDB_READ_MAX - read->size) {
			wide[n - 1].size = MAX(wide[n - 1].size,
					       (uint32_t)(read->address - from) + read->size);
			spans[n - 1].n++;
			continue;
		}
		spans[n] = (struct span){i, 1};
		wide[n] = (struct rs_gdb_read){read->address, bytes + n * RS_GDB_READ_MAX,
					       read->size};
		n++;
	}
	return n;
}

int rs_gdb_read(struct rs_gdb *gdb, const struct rs_gdb_read *reads, size_t count, bool *bad,
		struct rs_error *err)
{
	g_autofree size_t *order = g_new(size_t, count);
	g_autofree struct span *spans = g_new(struct span, count);
	g_autofree struct rs_gdb_read *wide = g_new(struct rs_gdb_read, count);
	g_autofree uint8_t *bytes = g_malloc_n(count, RS_GDB_READ_MAX);
	g_autofree bool *missing = g_new0(bool, count);
	size_t n;
	int rc;

	for (size_t i = 0; i < count; i++) {
		if (reads[i].size == 0 || reads[i].size > RS_GDB_READ_MAX)
			return rs_error_set(err, EINVAL, "a read of %u bytes", reads[i].size);
		order[i] = i;
	}
	g_qsort_with_data(order, (gint)count, sizeof(*order), by_address, (void *)reads);
	n = find_spans(reads, order, count, spans, wide, bytes);
	rc = read_each(gdb, wide, n, missing, err);
	for (size_t i = 0; i < n && rc == 0; i++) {
		for (size_t k = spans[i].first; k < spans[i].first + spans[i].n && rc == 0; k++) {
			const struct rs_gdb_read *read = &reads[order[k]];
			const uint8_t *from = wide[i].out;

			/* Where some of a span is no memory, a part of it may be. */
			bad[order[k]] = missing[i];
			if (missing[i] && spans[i].n > 1)
				rc = read_each(gdb, read, 1, &bad[order[k]], err);
			else if (!missing[i])
				memcpy(read->out, from + (read->address - wide[i].address),
				       read->size);
		}
	}
	return rc;
}

int rs_gdb_close(struct rs_gdb *gdb, bool resume, struct rs_error *err)
{
	int rc = 0;

	if (!gdb)
		return 0;
	if (resume) {
		gdb->leaving = true;
		rc = ask(gdb, "D", err);
		if (rc == 0)
			rc = expect_ok(gdb, "to let the VM run on", err);
	}
	close(gdb->fd);
	g_free(gdb);
	return rc;
}
