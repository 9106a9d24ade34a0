/* SPDX-License-Identifier: MIT */
/*
 * What ringside-import gives away before it reads a byte that another one chose. libtracecmd and
 * libtraceevent trust what they read, so who writes it may come to run code here. One thread; for
 * main() only, since what is given away never comes back.
 */
#ifndef RS_TRACE_RIGHTS_H
#define RS_TRACE_RIGHTS_H

#include <glib.h>

G_BEGIN_DECLS

/*
 * Root becomes nobody. Nobody gains rights by a program that is started; files cannot grow, memory
 * is bounded; the process ends with its parent. What is open stays open. FALSE: root stays root,
 * since there is no nobody here, as in some containers. The rest is done.
 */
gboolean rs_trace_rights_reduce(void);
/*
 * From now on it may read and write what is open, and allocate memory. A system call for anything
 * else ends it with SIGSYS. FALSE: there is no filter of system calls in this kernel, on this
 * architecture or with a sanitizer, and nothing has changed.
 */
gboolean rs_trace_rights_confine(void);

G_END_DECLS

#endif
