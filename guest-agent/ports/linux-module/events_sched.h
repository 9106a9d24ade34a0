/* SPDX-License-Identifier: MIT */
/* The scheduler's events, as ftrace has them. */
#include <ringside/event.h>

/* clang-format off */

RS_TRACE_EVENT(sched, sched_switch,
	TP_PROTO(const char *prev_comm, int32_t prev_pid, int32_t prev_prio, int64_t prev_state,
		 const char *next_comm, int32_t next_pid, int32_t next_prio),
	TP_ARGS(prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio),
	TP_STRUCT__entry(
		__chars(prev_comm, 16),
		__field(s32, prev_pid),
		__field(s32, prev_prio),
		__enum(s64, prev_state, {0, "R"}, {1, "S"}, {2, "D"}, {4, "T"}, {8, "t"},
		       {0x10, "X"}, {0x20, "Z"}, {0x40, "P"}, {0x80, "I"}, {0x100, "R+"}),
		__chars(next_comm, 16),
		__field(s32, next_pid),
		__field(s32, next_prio)),
	TP_fast_assign(
		__assign_chars(prev_comm, prev_comm);
		__entry->prev_pid = prev_pid;
		__entry->prev_prio = prev_prio;
		__entry->prev_state = prev_state;
		__assign_chars(next_comm, next_comm);
		__entry->next_pid = next_pid;
		__entry->next_prio = next_prio;),
	TP_printk("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d",
		  prev_comm, prev_pid, prev_prio, prev_state, next_comm, next_pid, next_prio))

RS_TRACE_EVENT(sched, sched_process_exec,
	TP_PROTO(const char *filename, int32_t pid, int32_t old_pid),
	TP_ARGS(filename, pid, old_pid),
	TP_STRUCT__entry(
		__string(filename),
		__field(s32, pid),
		__field(s32, old_pid)),
	TP_fast_assign(
		__assign_str(filename, filename);
		__entry->pid = pid;
		__entry->old_pid = old_pid;),
	TP_printk("filename=%s pid=%d old_pid=%d", filename, pid, old_pid))

RS_TRACE_EVENT(sched, sched_process_exit,
	TP_PROTO(const char *comm, int32_t pid, int32_t prio),
	TP_ARGS(comm, pid, prio),
	TP_STRUCT__entry(
		__chars(comm, 16),
		__field(s32, pid),
		__field(s32, prio)),
	TP_fast_assign(
		__assign_chars(comm, comm);
		__entry->pid = pid;
		__entry->prio = prio;),
	TP_printk("comm=%s pid=%d prio=%d", comm, pid, prio))
