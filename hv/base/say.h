/* SPDX-License-Identifier: MIT */
/* Words on standard error, which somebody may not read. Thread: the session's. */
#ifndef RS_HV_BASE_SAY_H
#define RS_HV_BASE_SAY_H

/*
 * Writes a message, whole or not at all but for a part that was written already. All messages
 * together wait for a reader for 200 ms at most, and for 20 ms of each second after that. One that
 * would wait longer is dropped, and none waits after it until one can be written at once. That one
 * says how many were dropped. `text` ends with a newline.
 */
void rs_say(const char *text);
/* Messages go to this descriptor from now on; it stays open as long. */
void rs_say_to(int fd);

#endif
