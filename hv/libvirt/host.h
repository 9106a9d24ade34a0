/* SPDX-License-Identifier: MIT */
/* What a domain of this host has outside of libvirt: its QEMU's process, and shared memory. */
#ifndef RS_HV_LIBVIRT_HOST_H
#define RS_HV_LIBVIRT_HOST_H

#include "base/error.h"
#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * The processes that were started with this UUID, as their command lines say: an array of pid_t,
 * to be freed. What a command line says is no proof: another user may write there what he likes.
 * Which one it is, QEMU's own answers tell (rs_qemu_adopt()).
 */
GArray *rs_host_find_qemus(const char *uuid);

/*
 * The name of a domain's memory of so many MiB: /dev/shm/NAME, to be freed. Each size has a name of
 * its own, since QEMU does not start with a file of another size. The UUID tells apart domains of
 * one name, as two users may have.
 */
char *rs_host_shmem_name(const char *domain, const char *uuid, guint64 mib);
/* What the names of a domain's memory begin with, to be freed. */
char *rs_host_shmem_stem(const char *domain, const char *uuid);
/* Whether it is such a name with this stem. Anybody may have made a file of this name. */
bool rs_host_is_shmem(const char *name, const char *stem);
/*
 * A copy of a domain has its devices, with the names of the memory: both guests would write to one.
 * -EEXIST: the name was made for a domain with another UUID. Other names are their user's choice.
 */
int rs_host_check_shmem(const char *name, const char *domain, const char *uuid,
			struct rs_error *err);

/*
 * Removes /dev/shm/NAME. -ENOENT there is none; -EBUSY somebody has it open for writing; -EACCES we
 * may not; -EINVAL it is no plain file, or no name.
 */
int rs_host_remove_shmem(const char *name, struct rs_error *err);

#endif
