/* SPDX-License-Identifier: MIT */
/*
 * libtracecmd maps all records of a CPU at once, so a process that has read a large file seems to
 * hold it in memory. This knows its maps, since it calls our mmap() and munmap() in place of the C
 * library's. Internal to ringside-import. One thread.
 */
#ifndef RS_TRACE_DAT_MAPS_PRIVATE_H
#define RS_TRACE_DAT_MAPS_PRIVATE_H

/* Gives back the memory of what was read of the file. It is read anew if somebody looks at it. */
void rs_trace_dat_maps_forget(void);

#endif
