/* SPDX-License-Identifier: MIT */
/*
 * A client of QEMU's gdb stub. It is the only way to write guest text that also updates TCG's
 * translation cache.
 *
 * Connecting stops the VM. Closing lets it go on only if asked to, so the caller must know whether
 * it ran before. One client at a time.
 *
 * Caller: hv/qemu. One thread. Every function waits, at most for the given timeout. Trust: the peer
 * may send anything. Packets are bounded and checked, and never shown on a terminal.
 *
 * Errors: -ENOENT/-ECONNREFUSED nobody listens; -ETIMEDOUT no answer in time; -EPIPE the peer has
 * closed; -EPROTO the answer is invalid; -EFAULT no memory at that address.
 */
#ifndef RS_HV_QEMU_GDBSTUB_H
#define RS_HV_QEMU_GDBSTUB_H

#include "base/error.h"
#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The packet layer. It takes one byte and gives at most one token. The input is hostile: the parser
 * drops a bad packet and goes on with the next. */
#define RS_GDB_PACKET_MAX 8192u

enum rs_gdb_token {
	RS_GDB_NOTHING, /* more bytes are needed */
	RS_GDB_ACK,
	RS_GDB_NAK,
	RS_GDB_PACKET, /* `data`, `size`: valid until the next byte */
	RS_GDB_BAD,    /* wrong checksum, too long, a bad escape */
};

struct rs_gdb_parser {
	uint8_t state; /* zero: between packets */
	uint8_t sum, want;
	bool bad;
	uint32_t size;
	char data[RS_GDB_PACKET_MAX + 1]; /* unescaped, runs expanded, NUL-terminated */
};

enum rs_gdb_token rs_gdb_parser_feed(struct rs_gdb_parser *parser, uint8_t byte);

/*
 * "info status" for the monitor, as a packet's body and with its frame. The answer has this in it
 * if the VM was migrated or written to a file ("paused (postmigrate)").
 */
#define RS_GDB_INFO_STATUS "qRcmd,696e666f20737461747573"
#define RS_GDB_INFO_STATUS_PACKET "$" RS_GDB_INFO_STATUS "#14"
#define RS_GDB_SAYS_MOVED "6d696772617465"
/* Makes addresses virtual again: see rs_gdb_set_physical(). */
#define RS_GDB_VIRTUAL "Qqemu.PhyMemMode:0"
#define RS_GDB_VIRTUAL_PACKET "$" RS_GDB_VIRTUAL "#76"

struct rs_gdb;

struct rs_gdb_write {
	uint64_t address;
	const void *bytes;
	uint32_t size; /* 1..1024 */
};

/*
 * Connects, which stops the VM, and waits until the stub answers. Each answer may take that long,
 * but once one did not come in time, nobody waits for another. `pid`: QEMU's, which is not waited
 * for that long if it has been stopped; 0: unknown. After -ETIMEDOUT here the VM may
 * still stop later.
 */
int rs_gdb_connect(const char *path, pid_t pid, int timeout_ms, struct rs_gdb **out,
		   struct rs_error *err);

/* Stops a VM that rs_gdb_run_some() has let run, and waits until the stub answers. */
int rs_gdb_stop(struct rs_gdb *gdb, struct rs_error *err);
/*
 * Lets those of `vcpus` vCPUs run whose bits in `held` are not set, and keeps the connection:
 * whatever is sent then stops them again. The stub has read that; whether the VM runs, QMP says.
 * -E2BIG: these are too many for the stub.
 */
int rs_gdb_run_some(struct rs_gdb *gdb, uint32_t vcpus, const uint64_t *held, struct rs_error *err);

/* It has not shown that it answers: from now on it gets a short time (patience.h). */
void rs_gdb_hurry(struct rs_gdb *gdb);

/* Makes addresses guest-physical, until rs_gdb_leave(): that outlasts the connection. */
int rs_gdb_set_physical(struct rs_gdb *gdb, struct rs_error *err);

/*
 * Does all writes in order, without a wait for each answer. bad[i] (cleared by the caller) becomes
 * true if the stub refused write i, and the others go on. On failure some may have been done.
 */
int rs_gdb_write(struct rs_gdb *gdb, const struct rs_gdb_write *writes, size_t count, bool *bad,
		 struct rs_error *err);

#define RS_GDB_READ_MAX 1024u

struct rs_gdb_read {
	uint64_t address;
	void *out;
	uint32_t size; /* 1..RS_GDB_READ_MAX */
};

/*
 * The same for reads, in any order. Those that lie close to each other travel as one. What is read
 * where bad[i] is true is undefined.
 */
int rs_gdb_read(struct rs_gdb *gdb, const struct rs_gdb_read *reads, size_t count, bool *bad,
		struct rs_error *err);

/*
 * Makes addresses virtual again, before the connection is closed. *moved: QEMU has migrated the VM
 * or written it to a file, so it is not to be let run on here.
 */
int rs_gdb_leave(struct rs_gdb *gdb, bool *moved, struct rs_error *err);

/* When anything was sent last (g_get_monotonic_time()). It may have stopped a VM that ran. */
gint64 rs_gdb_sent_at(const struct rs_gdb *gdb);

/*
 * Closes the connection and frees `gdb`, also on failure. `resume`: the VM runs on. NULL is
 * allowed.
 */
int rs_gdb_close(struct rs_gdb *gdb, bool resume, struct rs_error *err);

#endif
