/* SPDX-License-Identifier: MIT */
/*
 * What D-Bus says around its messages: the lines by which a client says who it is, and the size
 * that each message's header gives. Only so much as the gate needs to refuse what GDBus would take.
 * All of it is hostile.
 */
#ifndef RS_HV_SERVER_WIRE_H
#define RS_HV_SERVER_WIRE_H

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

#define RS_WIRE_HEADER 16u /* bytes of a header that give the size of all */

/*
 * Bytes of the whole message, header and all. Up to 8 GiB are claimed. 0: this is no message, or it
 * has the serial 0, which GDBus takes and cannot answer.
 */
guint64 rs_wire_size(const guint8 header[RS_WIRE_HEADER]);

/* What kind of message it is: a call, or what answers one. */
bool rs_wire_is_call(const guint8 header[RS_WIRE_HEADER]);
bool rs_wire_is_answer(const guint8 header[RS_WIRE_HEADER]);
/* Makes a call ask for an answer. True: it did not want one. */
bool rs_wire_ask_answer(guint8 header[RS_WIRE_HEADER]);

enum rs_wire_answer {
	RS_WIRE_REJECTED,
	RS_WIRE_DATA,
	RS_WIRE_OK,
	RS_WIRE_AGREE_FDS,
	RS_WIRE_ERROR,
	RS_WIRE_BEGIN, /* no answer: messages follow */
};

/* All zero but for `uid`: nothing was said yet. */
struct rs_wire_login {
	uid_t uid; /* who it is, as the kernel says */
	bool asked, known;
	bool takes_fds;
};

/* `line`: `size` bytes, without the end of the line. */
enum rs_wire_answer rs_wire_login(struct rs_wire_login *login, const char *line, gsize size);

#endif
