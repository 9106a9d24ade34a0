/* SPDX-License-Identifier: MIT */
/*
 * Rare requests from the guest to the host.
 *
 * The guest writes request slots, and the host writes as many response slots. The guest shares the
 * slots out among its tasks as it likes. It fills a request, raises `sequence` (release) and calls
 * the host: with RS_CHANNEL_PORT or _MMIO by a 32-bit store of the slot's number, with
 * RS_CHANNEL_MAILBOX by nothing more. The answer is complete when the response's `sequence` equals
 * the request's. Most answers are complete when the store returns. The host may answer later: it
 * then says so in `accepted`. The guest waits as long as it takes, or goes on and looks later.
 * The host copies the request once, checks the copy, and counts a bad one.
 */
#ifndef RINGSIDE_HYPERCALL_H
#define RINGSIDE_HYPERCALL_H

#include <ringside/error.h>
#include <ringside/grow.h>

/* Where our VMM listens, unless the region header says otherwise. */
#define RS_HCALL_PORT 0x5270u    /* request */
#define RS_DOORBELL_PORT 0x5274u /* wake a reader: an ioeventfd, no exit to the VMM */
#define RS_HCALL_MMIO 0xd0000000ull
#define RS_DOORBELL_MMIO 0xd0000008ull

#define RS_HCALL_HELLO 1u      /* agent is up: rs_guest_info is complete */
#define RS_HCALL_REGISTER 2u   /* args: provider slot, from 0; its entry is complete */
#define RS_HCALL_UNREGISTER 3u /* args: provider slot */
/*
 * ENABLE, DISABLE and SET_FILTER say what the guest wants. The host and others have wishes and
 * filters of their own: an event is on while any of them wants it, and is recorded if it passes for
 * any who wants it. QUERY tells what is in force.
 */
#define RS_HCALL_ENABLE 4u     /* data: event glob, "system:name". values: events that match */
#define RS_HCALL_DISABLE 5u    /* likewise */
#define RS_HCALL_SET_FILTER 6u /* data: "glob: expression"; an empty expression clears */
/* args: event id. values: enabled, hits unknown (0), has filter; data: the filters in force, cut */
#define RS_HCALL_QUERY 7u
#define RS_HCALL_LOG 8u   /* data: one line of text for the session's log */
#define RS_HCALL_PANIC 9u /* data: why. Does not return */
#define RS_HCALL_EXIT 10u /* args: exit code 0..255. Does not return */
/* args: a generation. Answered, usually late, once rs_control.generation differs. values: that */
#define RS_HCALL_WAIT 11u

/*
 * The guest's own callbacks of an event need its sites, whoever records it. args: event id, a
 * number that grows (16 bits, it wraps), 1: there are some now, or 0. A number older than the last
 * one changes nothing. Answered once the sites are as asked.
 */
#define RS_HCALL_CALLBACKS 12u
/* A task of the guest carries out what the host asks: see ringside/command.h */
#define RS_HCALL_COMMAND 13u
#define RS_HCALL_NEWS 14u /* what such a task tells without being asked: see there */

#define RS_HCALL_DATA 3968u

/*
 * A result is 0 or more, or a negative number of error.h:
 *     -RS_ENOSYS  no such hypercall
 *     -RS_EINVAL  an argument makes no sense
 *     -RS_ENOENT  no such event or provider
 *     -RS_EACCES  the host refuses
 *     -RS_E2BIG   data_size is above RS_HCALL_DATA, or there is no room for that filter or another
 *                 glob
 * The agent's own: -RS_EHOSTUNREACH  no channel, or no answer in time
 */

struct rs_hcall_request { /* G, one page */
	uint32_t sequence;
	uint32_t number; /* RS_HCALL_* */
	uint64_t args[6];
	uint32_t data_size; /* 0..RS_HCALL_DATA */
	uint32_t pid;       /* task that asks */
	uint32_t reserved[16];
	uint8_t data[RS_HCALL_DATA];
};
RS_ASSERT_SIZE(struct rs_hcall_request, 4096);
RS_ASSERT_OFFSET(struct rs_hcall_request, data, 128);
#define RS_HCALL_REQUEST_MIN_SIZE 4096u
RS_ASSERT_GROWS(struct rs_hcall_request, RS_HCALL_REQUEST_MIN_SIZE);

struct rs_hcall_response { /* H, one page */
	uint32_t sequence; /* of the request that it answers (release) */
	int32_t result;
	uint64_t values[6];
	uint32_t data_size;
	uint32_t accepted; /* sequence of a request that will be answered, however late (release) */
	uint32_t reserved[16];
	uint8_t data[RS_HCALL_DATA]; /* text of an error, NUL-terminated */
};
RS_ASSERT_SIZE(struct rs_hcall_response, 4096);
#define RS_HCALL_RESPONSE_MIN_SIZE 4096u
RS_ASSERT_GROWS(struct rs_hcall_response, RS_HCALL_RESPONSE_MIN_SIZE);

#endif
