/* SPDX-License-Identifier: MIT */
/* The events of procwatch about its processes. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(proc, fork,
	TP_PROTO(uint32_t parent, uint32_t child, const char *comm),
	TP_ARGS(parent, child, comm),
	TP_STRUCT__entry(
		__chars(comm, 16),
		__field(u32, pid),
		__field(u32, child)),
	TP_fast_assign(
		__assign_chars(comm, comm);
		__entry->pid = parent;
		__entry->child = child;),
	TP_printk("comm=%s pid=%u child=%u", comm, pid, child))

RS_TRACE_EVENT(proc, exec,
	TP_PROTO(uint32_t pid, uint32_t parent, const char *comm, const char *argv),
	TP_ARGS(pid, parent, comm, argv),
	TP_STRUCT__entry(
		__chars(comm, 16),
		__field(u32, pid),
		__field(u32, ppid),
		__string(argv)),
	TP_fast_assign(
		__assign_chars(comm, comm);
		__entry->pid = pid;
		__entry->ppid = parent;
		__assign_str(argv, argv);),
	TP_printk("comm=%s pid=%u ppid=%u argv=%s", comm, pid, ppid, argv))

RS_TRACE_EVENT(proc, exit,
	TP_PROTO(uint32_t pid, uint32_t parent, const char *comm, uint32_t status, uint32_t signal),
	TP_ARGS(pid, parent, comm, status, signal),
	TP_STRUCT__entry(
		__chars(comm, 16),
		__field(u32, pid),
		__field(u32, ppid),
		__field(u32, status),
		__enum(u32, signal, {0, "none"}, {6, "ABRT"}, {9, "KILL"}, {11, "SEGV"},
		       {13, "PIPE"}, {15, "TERM"})),
	TP_fast_assign(
		__assign_chars(comm, comm);
		__entry->pid = pid;
		__entry->ppid = parent;
		__entry->status = status;
		__entry->signal = signal;),
	TP_printk("comm=%s pid=%u ppid=%u status=%u signal=%s", comm, pid, ppid, status, signal))

RS_TRACE_EVENT(io, read,
	TP_PROTO(int32_t fd, uint64_t count, int64_t result),
	TP_ARGS(fd, count, result),
	TP_STRUCT__entry(
		__field(s32, fd),
		__field(u64, count),
		__field(s64, result)),
	TP_fast_assign(
		__entry->fd = fd;
		__entry->count = count;
		__entry->result = result;),
	TP_printk("fd=%d count=%llu result=%lld", fd, count, result))

RS_TRACE_EVENT(io, write,
	TP_PROTO(int32_t fd, uint64_t count, int64_t result),
	TP_ARGS(fd, count, result),
	TP_STRUCT__entry(
		__field(s32, fd),
		__field(u64, count),
		__field(s64, result)),
	TP_fast_assign(
		__entry->fd = fd;
		__entry->count = count;
		__entry->result = result;),
	TP_printk("fd=%d count=%llu result=%lld", fd, count, result))
