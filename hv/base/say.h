/* SPDX-License-Identifier: MIT */
/* Words on standard error, which somebody may not read. Thread: the session's. */
#ifndef RS_HV_BASE_SAY_H
#define RS_HV_BASE_SAY_H

/*
 * Writes a message, whole or not at all but for a part that was written already. Waits for a reader
 * for 200 ms at most, and not at all after a message that was dropped. The next one that is read
 * says how many were. `text` ends with a newline.
 */
void rs_say(const char *text);

#endif
