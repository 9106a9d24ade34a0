/* SPDX-License-Identifier: MIT */
/*
 * A client of the gate, and GDBus: the target plays both, and their steps come in any order.
 * Whatever the client sends, GDBus has one whole call at a time, which wants an answer. The client
 * gets all that GDBus writes, but for the answers that it does not want.
 */
#define _GNU_SOURCE
#include "input.h"
#include "seed.h"

#include "server/gate_private.h"
#include "server/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#define STEPS 40
#define SILENT 1u       /* in the serial of a call: its sender wants no answer */
#define BODY 8u         /* of what GDBus writes: the serial that it answers, and a number */
#define WRITTEN_MAX 64u /* messages of GDBus, which all fit into a socket */
#define MESSAGE_MAX 2064u

enum { CALL = 1, ANSWER, FAILURE, SIGNAL };
/* Flags of the client. */
enum {
	TAKES_FDS = 1,
	NARROW = 2,   /* it can be sent little at a time */
	STRANGER = 4, /* it does not log in by itself */
	FULL = 8,
};
enum { CALLS, SAYS, GIVES, READS, GOES, BUS_READS, BUS_ANSWERS, BUS_TELLS, BUS_GOES, OPS };

static struct {
	struct rs_gate_client *gate; /* NULL: it has let the client go */
	int client, bus;             /* -1: not there */
	bool full;                   /* GDBus cannot serve it */
	bool stranger;  /* it does not log in by itself, so it may hear more than messages */
	bool raw;       /* the client has sent what is not our call */
	guint32 serial; /* of the client's last call */
	guint32 asked;  /* of the call that GDBus has; 0: none */
	guint32 written, seen;
	bool unwanted[WRITTEN_MAX + 1]; /* by its number: the client does not want that answer */
	GByteArray *heard, *got;        /* what GDBus and the client have read of messages */
} run;

/* ---- what the client takes for its gate ---- */

const char *rs_gate_guid(const struct rs_gate *gate)
{
	return "0123456789abcdef0123456789abcdef";
}

gint64 rs_gate_call_us(const struct rs_gate *gate)
{
	return G_USEC_PER_SEC * (gint64)3600;
}

/* GDBus has got the login of a client that it can trust, and answers it. */
bool rs_gate_admit(struct rs_gate *gate, struct rs_gate_client *client, int fd)
{
	static const char answer[] = "OK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n";
	static const char asks[] = "NEGOTIATE_UNIX_FD\r\n", ends[] = "BEGIN\r\n";
	char login[256] = "";
	gsize size = sizeof(answer) - 1;

	if (run.full)
		return false;
	/* It begins with a NUL byte. */
	if (recv(fd, login, sizeof(login) - 1, MSG_DONTWAIT) <= 0 ||
	    !g_str_has_suffix(login + 1, ends))
		abort();
	if (!strstr(login + 1, asks))
		size -= strlen("AGREE_UNIX_FD\r\n");
	run.bus = fd;
	if (send(fd, answer, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (gssize)size)
		abort();
	return true;
}

void rs_gate_leave(struct rs_gate *gate, struct rs_gate_client *client)
{
	rs_gate_client_free(client);
	run.gate = NULL;
}

/* ---- both ---- */

static void turn(void)
{
	for (guint i = 0; i < 1000 && g_main_context_iteration(NULL, FALSE); i++)
		;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* With one descriptor or none. */
static bool write_to(int fd, const void *data, gsize size, bool gives)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct iovec part = {(void *)data, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (gives) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (gssize)size;
}

/* Descriptors are closed as they come, since there is no room for them. */
static void read_all(int fd, GByteArray *bytes)
{
	guint8 part[65536];
	gssize n;

	while ((n = recv(fd, part, sizeof(part), MSG_DONTWAIT)) > 0)
		g_byte_array_append(bytes, part, (guint)n);
}

/* Bytes of the message at the start; 0: it is not whole. */
static guint whole(const GByteArray *bytes)
{
	guint64 size = bytes->len < RS_WIRE_HEADER ? 0 : rs_wire_size(bytes->data);

	if (bytes->len >= RS_WIRE_HEADER && !size)
		abort();
	return size && size <= bytes->len ? (guint)size : 0;
}

static guint32 word(const GByteArray *bytes, gsize at)
{
	guint32 value;

	memcpy(&value, bytes->data + at, sizeof(value));
	return value;
}

static void fill_header(guint8 *header, guint8 type, guint32 serial, guint32 body)
{
	memset(header, 0, RS_WIRE_HEADER);
	header[0] = 'l';
	header[1] = type;
	header[3] = 1;
	memcpy(header + 4, &body, sizeof(body));
	memcpy(header + 8, &serial, sizeof(serial));
}

/* ---- GDBus ---- */

static void bus_reads(void)
{
	if (run.bus < 0)
		return;
	read_all(run.bus, run.heard);
	if (!run.heard->len)
		return;
	/* A whole call, and nothing else before that is answered. */
	if (run.asked || whole(run.heard) != run.heard->len || run.heard->len > RS_GATE_CALL_MAX ||
	    run.heard->data[1] != CALL || run.heard->data[2] & 1)
		abort();
	run.asked = run.heard->data[0] == 'l' ? word(run.heard, 8) : 1;
	g_byte_array_set_size(run.heard, 0);
}

static void bus_writes(guint8 type, guint8 how)
{
	guint8 bytes[MESSAGE_MAX] = {0};
	guint32 body = BODY + how % 128u * 16u, asked = type == SIGNAL ? 0 : run.asked;

	if (run.bus < 0 || run.written == WRITTEN_MAX || (type != SIGNAL && !asked))
		return;
	run.written++;
	run.unwanted[run.written] = asked & SILENT;
	fill_header(bytes, type, run.written, body);
	memcpy(bytes + RS_WIRE_HEADER, &asked, sizeof(asked));
	memcpy(bytes + RS_WIRE_HEADER + 4, &run.written, sizeof(run.written));
	if (!write_to(run.bus, bytes, RS_WIRE_HEADER + body, how & 128))
		shut(&run.bus);
	if (type != SIGNAL)
		run.asked = 0;
}

/* ---- the client ---- */

/* `how`: a type or flags that may be wrong, a size. */
static void client_calls(uint8_t how, uint8_t size)
{
	guint8 bytes[RS_WIRE_HEADER + 255 * 33] = {0};
	guint32 body = how & 4 ? size * 33u : size;

	run.serial += 2;
	fill_header(bytes, CALL, run.serial | (how & 1 ? SILENT : 0), body);
	bytes[2] = (guint8)((how & 1) | (how >> 4 << 1));
	if ((how & 10) == 10)
		bytes[how & 4 ? 1 : 8] = how >> 4; /* the type or the serial */
	run.raw |= (how & 10) == 10;
	run.raw |= !write_to(run.client, bytes, RS_WIRE_HEADER + body, false);
}

static void client_says(struct rs_fuzz_input *in, bool gives)
{
	uint8_t bytes[256], size = rs_fuzz_u8(in);

	rs_fuzz_take(in, bytes, size);
	run.raw = true;
	write_to(run.client, bytes, size, gives);
}

static void check_got(guint32 asked, guint32 number)
{
	if (number <= run.seen || number > run.written)
		abort();
	if (run.raw) {
		run.seen = number;
		return;
	}
	for (run.seen++; run.seen < number; run.seen++)
		if (!run.unwanted[run.seen])
			abort();
	if (run.unwanted[number] || asked & SILENT)
		abort();
}

static void client_reads(void)
{
	guint size;

	if (run.client < 0)
		return;
	read_all(run.client, run.got);
	if (run.stranger)
		g_byte_array_set_size(run.got, 0);
	while ((size = whole(run.got)) > 0) {
		check_got(word(run.got, RS_WIRE_HEADER), word(run.got, RS_WIRE_HEADER + 4));
		g_byte_array_remove_range(run.got, 0, size);
	}
}

/* ---- life ---- */

/* What the client says in the end, and what it hears. */
static void log_in(bool takes_fds)
{
	static const char login[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
	static const char plain[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
	static const char heard[] =
		"DATA\r\nOK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n";
	gsize size = takes_fds ? sizeof(heard) - 1 : sizeof(heard) - sizeof("AGREE_UNIX_FD\r\n");

	if (!write_to(run.client, takes_fds ? login : plain,
		      takes_fds ? sizeof(login) - 1 : sizeof(plain) - 1, false))
		abort();
	turn();
	read_all(run.client, run.got);
	if (run.got->len != size || memcmp(run.got->data, heard, size) || (run.bus < 0) != run.full)
		abort();
	g_byte_array_set_size(run.got, 0);
}

static void begin(uint8_t flags)
{
	const struct ucred who = {.uid = getuid()};
	const int room = 4096;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		abort();
	memset(&run, 0, sizeof(run));
	run.bus = -1;
	run.client = ends[0];
	run.heard = g_byte_array_new();
	run.got = g_byte_array_new();
	run.full = flags & FULL;
	if (flags & NARROW && setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)))
		abort();
	run.gate = rs_gate_client_new(NULL, NULL, ends[1], &who, 3600000);
	run.raw = run.stranger = flags & STRANGER;
	if (!run.stranger)
		log_in(flags & TAKES_FDS);
}

/* What is there to be read must be right, too. */
static void end(void)
{
	turn();
	bus_reads();
	client_reads();
	if (run.gate)
		rs_gate_client_free(run.gate);
	shut(&run.client);
	shut(&run.bus);
	g_byte_array_unref(run.heard);
	g_byte_array_unref(run.got);
}

static void play(struct rs_fuzz_input *in)
{
	uint8_t op = rs_fuzz_u8(in) % OPS, how;

	if (op >= BUS_READS)
		bus_reads();
	else if (run.client < 0)
		return;
	switch (op) {
	case CALLS:
		how = rs_fuzz_u8(in);
		client_calls(how, rs_fuzz_u8(in));
		break;
	case SAYS:
	case GIVES:
		client_says(in, op == GIVES);
		break;
	case READS:
		client_reads();
		break;
	case GOES:
		shut(&run.client);
		break;
	case BUS_ANSWERS:
		how = rs_fuzz_u8(in);
		bus_writes(how & 1 ? FAILURE : ANSWER, how);
		break;
	case BUS_TELLS:
		bus_writes(SIGNAL, rs_fuzz_u8(in));
		break;
	case BUS_GOES:
		shut(&run.bus);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};

	begin(rs_fuzz_u8(&in));
	for (int i = 0; i < STEPS && in.left; i++) {
		play(&in);
		turn();
	}
	end();
	return 0;
}

static void rs_fuzz_seeds(void)
{
	static const uint8_t seeds[][24] = {
		/* Calls at once, silent ones among them; answers with and without descriptors. */
		{1,           CALLS, 0,     9,           CALLS, 1,         200,
		 CALLS,       5,     200,   BUS_ANSWERS, 9,     BUS_TELLS, 130,
		 BUS_ANSWERS, 200,   READS, BUS_ANSWERS, 129,   READS},
		{0, CALLS, 4, 247, CALLS, 4, 248, BUS_READS, BUS_ANSWERS, 127, READS, CALLS, 4,
		 255},
		/* A serial of 0, types that are no calls, all flags. */
		{1, CALLS, 10, 9, BUS_READS},
		{1, CALLS, 0x0e, 9},
		{1, CALLS, 0x2e, 9},
		{1, CALLS, 0x4e, 9},
		{1, CALLS, 0xfe, 9},
		{1, CALLS, 0xf1, 9, BUS_ANSWERS, 9, CALLS, 0xf0, 9, BUS_ANSWERS, 9, READS},
		{1, CALLS, 0, 9, CALLS, 0, 9, GOES, BUS_READS},
		{1, CALLS, 0, 9, CALLS, 0, 9, BUS_TELLS, 9, BUS_GOES, READS},
		{1, SAYS, 16, 'B', 1, 1, 1, 0, 0,           0, 0,
		 0, 0,    0,  1,   0, 0, 0, 0, BUS_ANSWERS, 9, READS},
		{1, GIVES, 4, 'l', 1, 0, 1},
		{FULL, CALLS, 0, 9},
		/* The client reads nothing. Then GDBus goes, while a call waits or none does. */
		{NARROW, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS, 127, BUS_GOES,
		 READS, READS},
		{NARROW, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS, 127, CALLS, 0,
		 9, BUS_GOES, CALLS, 0, 9, READS, READS},
		{NARROW, CALLS, 0, 9, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS, 127, BUS_TELLS,
		 127, CALLS, 0, 9, BUS_READS, GOES},
		{STRANGER, SAYS, 3, 'A', 'U', 'T'},
		{STRANGER, SAYS, 4, 0, 'A', '\r', '\n', SAYS, 1, '\n'},
	};
	static const char lines[] =
		"\0AUTH\r\nAUTH EXTERNAL 78\r\nCANCEL\r\nAUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
	guint8 stranger[sizeof(lines) + 6] = {STRANGER, SAYS, sizeof(lines) - 1};
	char name[16];

	memcpy(stranger + 3, lines, sizeof(lines) - 1);
	memcpy(stranger + sizeof(lines) + 2, (guint8[]){CALLS, 0, 9, BUS_READS}, 4);
	rs_fuzz_seed("stranger", stranger, sizeof(stranger));

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
