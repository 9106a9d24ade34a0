/* SPDX-License-Identifier: MIT */
/*
 * Where a QEMU listens for QMP, as its command line says. Any thread. The command line is another
 * process's own, and so are the paths in it.
 */
#ifndef RS_HV_QEMU_CMDLINE_H
#define RS_HV_QEMU_CMDLINE_H

#include "base/error.h"
#include <stddef.h>
#include <sys/types.h>

/*
 * The path of a QMP socket in `text`, `size` bytes of arguments that each end with a NUL. To be
 * freed; NULL: there is none. *passed: there is one without a path, as libvirt makes it.
 */
char *rs_qemu_cmdline_qmp(const char *text, size_t size, gboolean *passed);

/*
 * The path of the QMP socket of a process, to be freed. Errors: -ESRCH no such process; -ENOTSUP it
 * has none that we can reach; the message says why.
 */
int rs_qemu_find_qmp(pid_t pid, char **out, struct rs_error *err);

#endif
