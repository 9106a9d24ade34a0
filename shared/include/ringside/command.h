/* SPDX-License-Identifier: MIT */
/*
 * Commands: what the host asks of a guest, beside switching its events.
 *
 * A task of the guest offers itself by RS_HCALL_COMMAND. The answer, often late, is one command.
 * The task carries it out and says with its next RS_HCALL_COMMAND what came of it. So commands run
 * where the guest's OS may take locks and go through its threads, one after the other.
 *
 *	request   args[0]  the id of the command that was carried out; 0: none
 *	          args[1]  its result: 0 or more, or negative, of ringside/error.h
 *	          args[2..5], data: what it yields
 *	answer    values[0]  the id of a command; its upper half is the session's, the lower half
 *	                     is RS_CMD_NONE's or grows. 0 in the lower half: there is no command,
 *	                     ask again. At least one answer comes every RS_CMD_BEAT_MS
 *	          values[1]  its number, RS_CMD_*
 *	          values[2..5], data: its arguments
 *
 * A guest that hears nothing for RS_CMD_SILENCE_MS of its own running time takes the session for
 * dead, and so it does when it hears another session.
 */
#ifndef RINGSIDE_COMMAND_H
#define RINGSIDE_COMMAND_H

#include <ringside/hypercall.h>

#define RS_CMD_BEAT_MS 1000u
#define RS_CMD_SILENCE_MS 5000u
#define RS_CMD_ARGS 4u
#define RS_CMD_DATA RS_HCALL_DATA

#define RS_CMD_ID(session, count) ((uint64_t)(session) << 32 | (uint32_t)(count))
#define RS_CMD_SESSION(id) ((uint32_t)((id) >> 32))
#define RS_CMD_COUNT(id) ((uint32_t)(id))

/*
 * Which processes are traced, after ktrace(2). args: RS_KTROP_*; facilities, a mask as in
 * ringside/ktrace.h; a process id, or a negative one of a group, as a signed number; RS_KTROP_*
 * flags. Result: how many processes were changed.
 */
#define RS_CMD_KTRACE 1u
#define RS_KTROP_SET 0u
#define RS_KTROP_CLEAR 1u
#define RS_KTROP_CLEARALL 2u
#define RS_KTROP_DESCEND 1u /* flag: present descendants, too */

#endif
