/* SPDX-License-Identifier: MIT */
/*
 * Threads that others wait for: they have little to do, and are to have a CPU at once when they
 * wake, also where others use all CPUs.
 */
#ifndef RS_HV_PROMPT_H
#define RS_HV_PROMPT_H

/*
 * Asks for short turns for the calling thread. It gets no larger share of a CPU. But whoever has
 * longer turns, as everybody has by default, is interrupted when it wakes. That needs no right. A
 * kernel before 6.12 ignores it. Threads and processes that it makes from now on have turns of the
 * usual length, and no nice value below 0 either. So nothing changes for a thread that has one, or
 * that is not scheduled in the usual way. May be called after fork in a process with threads.
 */
void rs_prompt_thread(void);

#endif
