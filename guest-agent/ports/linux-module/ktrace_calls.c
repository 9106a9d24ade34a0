/* SPDX-License-Identifier: MIT */
#include "ktrace_calls.h"

#include <linux/kernel.h>
#include <linux/socket.h>
#include <linux/stat.h>
#include <linux/statfs.h>
#include <linux/time_types.h>
#include <asm/unistd.h>

/* In two nibbles. */
static const u8 paths[] = {
	[__NR_open] = 1,
	[__NR_stat] = 1,
	[__NR_lstat] = 1,
	[__NR_access] = 1,
	[__NR_execve] = 1,
	[__NR_truncate] = 1,
	[__NR_chdir] = 1,
	[__NR_rename] = 0x21,
	[__NR_mkdir] = 1,
	[__NR_rmdir] = 1,
	[__NR_creat] = 1,
	[__NR_link] = 0x21,
	[__NR_unlink] = 1,
	[__NR_symlink] = 0x21,
	[__NR_readlink] = 1,
	[__NR_chmod] = 1,
	[__NR_chown] = 1,
	[__NR_lchown] = 1,
	[__NR_utime] = 1,
	[__NR_mknod] = 1,
	[__NR_statfs] = 1,
	[__NR_pivot_root] = 0x21,
	[__NR_chroot] = 1,
	[__NR_acct] = 1,
	[__NR_mount] = 0x21,
	[__NR_umount2] = 1,
	[__NR_swapon] = 1,
	[__NR_swapoff] = 1,
	[__NR_quotactl] = 2,
	[__NR_setxattr] = 1,
	[__NR_lsetxattr] = 1,
	[__NR_getxattr] = 1,
	[__NR_lgetxattr] = 1,
	[__NR_listxattr] = 1,
	[__NR_llistxattr] = 1,
	[__NR_removexattr] = 1,
	[__NR_lremovexattr] = 1,
	[__NR_utimes] = 1,
	[__NR_inotify_add_watch] = 2,
	[__NR_openat] = 2,
	[__NR_mkdirat] = 2,
	[__NR_mknodat] = 2,
	[__NR_fchownat] = 2,
	[__NR_futimesat] = 2,
	[__NR_newfstatat] = 2,
	[__NR_unlinkat] = 2,
	[__NR_renameat] = 0x42,
	[__NR_linkat] = 0x42,
	[__NR_symlinkat] = 0x31,
	[__NR_readlinkat] = 2,
	[__NR_fchmodat] = 2,
	[__NR_faccessat] = 2,
	[__NR_utimensat] = 2,
	[__NR_fanotify_mark] = 5,
	[__NR_name_to_handle_at] = 2,
	[__NR_renameat2] = 0x42,
	[__NR_execveat] = 2,
	[__NR_statx] = 2,
	[__NR_open_tree] = 2,
	[__NR_move_mount] = 0x42,
	[__NR_fspick] = 2,
	[__NR_openat2] = 2,
	[__NR_faccessat2] = 2,
	[__NR_mount_setattr] = 2,
#ifdef __NR_fchmodat2
	[__NR_fchmodat2] = 2,
#endif
};

static const struct {
	u16 call;
	u8 how; /* enum rs_call_io */
	bool writes;
} transfers[] = {
	{__NR_read, RS_CALL_BUFFER, false},     {__NR_write, RS_CALL_BUFFER, true},
	{__NR_pread64, RS_CALL_BUFFER, false},  {__NR_pwrite64, RS_CALL_BUFFER, true},
	{__NR_recvfrom, RS_CALL_BUFFER, false}, {__NR_sendto, RS_CALL_BUFFER, true},
	{__NR_readv, RS_CALL_VECTOR, false},    {__NR_writev, RS_CALL_VECTOR, true},
	{__NR_preadv, RS_CALL_VECTOR, false},   {__NR_pwritev, RS_CALL_VECTOR, true},
	{__NR_preadv2, RS_CALL_VECTOR, false},  {__NR_pwritev2, RS_CALL_VECTOR, true},
	{__NR_recvmsg, RS_CALL_MESSAGE, false}, {__NR_sendmsg, RS_CALL_MESSAGE, true},
};

#define STAT sizeof(struct stat)
#define ADDRESS sizeof(struct sockaddr_storage)
#define TIME sizeof(struct __kernel_timespec)

static const struct rs_call_struct structs[] = {
	{__NR_stat, 1, 1, 0, STAT, "stat"},
	{__NR_fstat, 1, 1, 0, STAT, "stat"},
	{__NR_lstat, 1, 1, 0, STAT, "stat"},
	{__NR_newfstatat, 2, 1, 0, STAT, "stat"},
	{__NR_statx, 4, 1, 0, sizeof(struct statx), "statx"},
	{__NR_statfs, 1, 1, 0, sizeof(struct statfs), "statfs"},
	{__NR_fstatfs, 1, 1, 0, sizeof(struct statfs), "statfs"},
	{__NR_connect, 1, 0, 2, ADDRESS, "sockaddr"},
	{__NR_bind, 1, 0, 2, ADDRESS, "sockaddr"},
	{__NR_sendto, 4, 0, 5, ADDRESS, "sockaddr"},
	{__NR_accept, 1, 1, 2, ADDRESS, "sockaddr"},
	{__NR_accept4, 1, 1, 2, ADDRESS, "sockaddr"},
	{__NR_getsockname, 1, 1, 2, ADDRESS, "sockaddr"},
	{__NR_getpeername, 1, 1, 2, ADDRESS, "sockaddr"},
	{__NR_recvfrom, 4, 1, 5, ADDRESS, "sockaddr"},
	{__NR_nanosleep, 0, 0, 0, TIME, "timespec"},
	{__NR_clock_nanosleep, 2, 0, 0, TIME, "timespec"},
	{__NR_clock_gettime, 1, 1, 0, TIME, "timespec"},
};

u32 rs_call_path(long call, u32 which)
{
	if (call < 0 || call >= (long)ARRAY_SIZE(paths))
		return 0;
	return paths[call] >> 4 * which & 0xf;
}

enum rs_call_io rs_call_io(long call, bool *writes)
{
	for (u32 i = 0; i < ARRAY_SIZE(transfers); i++) {
		if (transfers[i].call == call) {
			*writes = transfers[i].writes;
			return transfers[i].how;
		}
	}
	return RS_CALL_NO_IO;
}

const struct rs_call_struct *rs_call_struct(long call)
{
	for (u32 i = 0; i < ARRAY_SIZE(structs); i++)
		if (structs[i].call == call)
			return &structs[i];
	return NULL;
}
