/* SPDX-License-Identifier: MIT */
/*
 * libtracecmd reads the kernel's symbols out of a trace.dat and gives them to libtraceevent, which
 * has no list of them for others. This sees the text on its way, since libtracecmd calls our
 * tep_parse_kallsyms(), which calls libtraceevent's. Internal to ringside-import. One thread.
 */
#ifndef RS_TRACE_DAT_KALLSYMS_PRIVATE_H
#define RS_TRACE_DAT_KALLSYMS_PRIVATE_H

/* The text, to be freed. NULL: the file has none, or it was taken. */
char *rs_trace_dat_kallsyms_take(void);

#endif
