/* SPDX-License-Identifier: MIT */
#include "ktrace_records.h"

#include "kernel_emit.h"
#include "ktrace_calls.h"
#include "ktrace_table.h"

#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <asm/compat.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include <ringside/ktrace.h>

/* The numbers of 32-bit calls have other meanings. This is added to them. */
#define CALL_32BIT 0x10000

/* Records are made one after the other, so that a thread needs no memory of its own. */
#define THREAD(entry)                                                                              \
	(&(struct rs_ktrace_thread){                                                               \
		.proc = &(entry)->proc,                                                            \
	})

static bool wants(const struct rs_ktrace_entry *entry, u32 facility)
{
	return rs_load(&entry->proc.facilities) & facility;
}

static bool fetch(void *to, u64 from, u64 size)
{
	return !copy_from_user_nofault(to, (const void __user *)from, size);
}

/* ---- paths ---- */

/* A page at a time, since the next one need not be there. False: it cannot be read. */
static bool fetch_text(char *to, u32 size, u64 from)
{
	u32 at = 0;

	while (at < size - 1) {
		u32 part = min_t(u32, size - 1 - at, PAGE_SIZE - (from + at) % PAGE_SIZE);

		if (!fetch(to + at, from + at, part))
			return false;
		if (memchr(to + at, '\0', part))
			return true;
		at += part;
	}
	to[at] = '\0';
	return true;
}

/* False: it cannot be read. `entry` NULL: that is all that is to be known. */
static bool record_path(struct rs_ktrace_entry *entry, u64 at)
{
	char *text = rs_kernel_scratch_get(RS_KERNEL_RECORD_MAX);
	bool read;

	if (!text)
		return true;
	read = fetch_text(text, RS_KERNEL_RECORD_MAX, at);
	if (read && entry)
		rs_ktrnamei(THREAD(entry), text);
	rs_kernel_scratch_put();
	return read;
}

/* False: one of them cannot be read, and none is recorded. */
static bool record_paths(struct rs_ktrace_entry *entry, long call, const u64 *args)
{
	u32 first = rs_call_path(call, 0), second = rs_call_path(call, 1);

	if (second && args[second - 1] && !record_path(NULL, args[second - 1]))
		return false;
	if (first && args[first - 1] && !record_path(entry, args[first - 1]))
		return false;
	if (second && args[second - 1])
		record_path(entry, args[second - 1]);
	return true;
}

/* ---- structures ---- */

static u32 size_of(const struct rs_call_struct *what, const u64 *args)
{
	u32 size = what->size;
	int given = 0;

	if (!what->size_arg)
		return size;
	if (!what->leaves)
		given = args[what->size_arg];
	else if (!fetch(&given, args[what->size_arg], sizeof(given)))
		return 0;
	return given < 0 ? 0 : min_t(u32, given, size);
}

static void record_struct(struct rs_ktrace_entry *entry, long call, const u64 *args, bool leaves)
{
	const struct rs_call_struct *what = rs_call_struct(call);
	u8 bytes[256];
	u32 size;

	if (!what || what->leaves != leaves || !args[what->arg])
		return;
	BUILD_BUG_ON(sizeof(bytes) < sizeof(struct sockaddr_storage));
	size = min_t(u32, size_of(what, args), sizeof(bytes));
	if (size && fetch(bytes, args[what->arg], size))
		rs_ktrstruct(THREAD(entry), what->name, bytes, size);
}

/* ---- input and output ---- */

struct transfer {
	struct rs_ktrace_entry *entry;
	int fd;
	enum rs_ktr_rw rw;
	u32 length; /* all of it */
	u32 offset; /* what has been recorded */
	u32 pieces;
	u8 *buffer; /* RS_KTR_DATA_MAX bytes */
};

/* What cannot be read is recorded as a piece without data. */
static void record_part(struct transfer *transfer, u64 at, u64 size)
{
	size = min_t(u64, size, transfer->length - transfer->offset);
	while (size && transfer->pieces < RS_KTR_PIECES_MAX) {
		u32 piece = min_t(u64, size, RS_KTR_DATA_MAX);
		bool read = fetch(transfer->buffer, at, piece);

		rs_ktrgenio_piece(THREAD(transfer->entry), transfer->fd, transfer->rw,
				  transfer->buffer, read ? piece : 0, transfer->offset,
				  transfer->length);
		transfer->pieces++;
		transfer->offset += piece;
		at += piece;
		size -= piece;
	}
}

/* No call takes more parts, but what a message says may change while we read it. */
static void record_parts(struct transfer *transfer, u64 at, u64 count)
{
	struct iovec part;

	count = min_t(u64, count, UIO_MAXIOV);
	for (; count && transfer->offset < transfer->length && transfer->pieces < RS_KTR_PIECES_MAX;
	     count--, at += sizeof(part)) {
		if (!fetch(&part, at, sizeof(part)))
			return;
		record_part(transfer, (u64)part.iov_base, part.iov_len);
	}
}

static void record_message(struct transfer *transfer, u64 at)
{
	struct user_msghdr message;

	if (fetch(&message, at, sizeof(message)))
		record_parts(transfer, (u64)message.msg_iov, message.msg_iovlen);
}

static void record_io(struct rs_ktrace_entry *entry, long call, const u64 *args, u32 length)
{
	struct transfer transfer = {.entry = entry, .fd = args[0], .length = length};
	bool writes = false;
	enum rs_call_io how = rs_call_io(call, &writes);

	if (how == RS_CALL_NO_IO)
		return;
	transfer.rw = writes ? RS_KTR_WRITE : RS_KTR_READ;
	if (!length) {
		rs_ktrgenio(THREAD(entry), transfer.fd, transfer.rw, NULL, 0, 0);
		return;
	}
	transfer.buffer = rs_kernel_scratch_get(RS_KTR_DATA_MAX);
	if (!transfer.buffer)
		return;
	if (how == RS_CALL_BUFFER)
		record_part(&transfer, args[1], length);
	else if (how == RS_CALL_VECTOR)
		record_parts(&transfer, args[1], args[2]);
	else
		record_message(&transfer, args[1]);
	rs_kernel_scratch_put();
}

/* ---- system calls ---- */

static void get_args(struct pt_regs *regs, u64 args[RS_CALL_ARGS])
{
	unsigned long all[RS_CALL_ARGS];

	syscall_get_arguments(current, regs, all);
	for (u32 i = 0; i < RS_CALL_ARGS; i++)
		args[i] = all[i];
}

void rs_ktrace_call(struct rs_ktrace_entry *entry, struct pt_regs *regs, long call)
{
	u64 args[RS_CALL_ARGS];

	get_args(regs, args);
	if (in_ia32_syscall()) {
		rs_ktrsyscall(THREAD(entry), call + CALL_32BIT, sizeof(args), args);
		return;
	}
	rs_ktrsyscall(THREAD(entry), call, rs_call_args(call) * sizeof(*args), args);
	if (call == __NR_rt_sigreturn ||
	    (wants(entry, RS_KTRFAC_NAMEI) && !record_paths(entry, call, args)))
		rs_ktrace_note(entry, current->pid);
	if (wants(entry, RS_KTRFAC_STRUCT))
		record_struct(entry, call, args, false);
}

static void record_result(struct rs_ktrace_entry *entry, long call, long result)
{
	struct rs_ktrace_thread *thread = THREAD(entry);

	switch (result) {
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		rs_ktrsysret(thread, call, RS_KTR_RESTART, -1);
		return;
	default:
		if (IS_ERR_VALUE(result))
			rs_ktrsysret(thread, call, -result, -1);
		else
			rs_ktrsysret(thread, call, 0, result);
	}
}

void rs_ktrace_return(struct rs_ktrace_entry *entry, struct pt_regs *regs, long call, long result)
{
	u64 args[RS_CALL_ARGS];
	bool noted;

	if (in_ia32_syscall()) {
		record_result(entry, call + CALL_32BIT, result);
		return;
	}
	noted = rs_ktrace_was_noted(entry, current->pid);
	/* A signal's handler is over: these are the registers of before. A call may be -1, too. */
	if (call < 0 && noted) {
		rs_ktrsysret(THREAD(entry), __NR_rt_sigreturn, RS_KTR_JUSTRETURN, 0);
		return;
	}
	get_args(regs, args);
	/* The kernel has read it by now, so its pages are there. */
	if (noted && wants(entry, RS_KTRFAC_NAMEI))
		record_paths(entry, call, args);
	if (wants(entry, RS_KTRFAC_STRUCT) && !IS_ERR_VALUE(result))
		record_struct(entry, call, args, true);
	if (wants(entry, RS_KTRFAC_GENIO) && result >= 0)
		record_io(entry, call, args, min_t(u64, result, U32_MAX));
	record_result(entry, call, result);
}

/* ---- signals ---- */

/* What a siginfo holds besides depends on who made it. */
static bool is_of_fault(int number, int code)
{
	return code > 0 && code != SI_KERNEL &&
	       (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
		number == SIGTRAP);
}

static void take_info(struct rs_ktr_siginfo *out, int number, const struct kernel_siginfo *info)
{
	out->code = info->si_code;
	out->error = info->si_errno;
	if (is_of_fault(number, info->si_code)) {
		out->addr = (u64)info->si_addr;
	} else if (number == SIGCHLD && info->si_code > 0) {
		out->pid = info->si_pid;
		out->uid = info->si_uid;
		out->status = info->si_status;
	} else if (info->si_code == SI_TIMER) {
		out->value = (u64)info->si_ptr;
	} else if (info->si_code <= 0) {
		out->pid = info->si_pid;
		out->uid = info->si_uid;
		if (info->si_code != SI_USER && info->si_code != SI_TKILL)
			out->value = (u64)info->si_ptr;
	}
}

/* What ends all threads of a process is delivered as SIGKILL, without a sender. */
static int number_of(int number)
{
	int fatal = READ_ONCE(current->signal->group_exit_code) & 0x7f;

	return number == SIGKILL && fatal ? fatal : number;
}

void rs_ktrace_signal(struct rs_ktrace_entry *entry, int number, const struct kernel_siginfo *info,
		      const struct k_sigaction *action)
{
	struct rs_ktr_siginfo out = {0};
	bool known = info != SEND_SIG_NOINFO && info != SEND_SIG_PRIV;

	if (known)
		take_info(&out, number, info);
	rs_ktrpsig(THREAD(entry), known ? number : number_of(number), (u64)action->sa.sa_handler,
		   current->blocked.sig[0], out.code, known ? &out : NULL);
}

/* ---- exec ---- */

static void record_strings(struct rs_ktrace_entry *entry, u64 from, u64 end,
			   void (*record)(struct rs_ktrace_thread *, const char *, uint64_t))
{
	u32 size = min_t(u64, end - from, RS_KTR_DATA_MAX), at = 0, part;
	char *text = end > from ? rs_kernel_scratch_get(RS_KTR_DATA_MAX) : NULL;

	if (!text)
		return;
	for (; at < size; at += part) {
		part = min_t(u32, size - at, PAGE_SIZE - (from + at) % PAGE_SIZE);
		if (!fetch(text + at, from + at, part))
			break;
	}
	if (at >= size)
		record(THREAD(entry), text, end - from);
	rs_kernel_scratch_put();
}

void rs_ktrace_program(struct rs_ktrace_entry *entry, u32 old_pid, const char *path)
{
	const struct mm_struct *mm = current->mm;

	/* What the call named lay in memory that is gone now. */
	if (rs_ktrace_was_noted(entry, old_pid))
		rs_ktrnamei(THREAD(entry), path);
	if (!mm)
		return;
	if (wants(entry, RS_KTRFAC_EXECARGS))
		record_strings(entry, mm->arg_start, mm->arg_end, rs_ktrexecargs);
	if (wants(entry, RS_KTRFAC_EXECENV))
		record_strings(entry, mm->env_start, mm->env_end, rs_ktrexecenv);
}

/* ---- events ---- */

#define FACILITIES(X)                                                                              \
	X(syscall, RS_KTRFAC_SYSCALL)                                                              \
	X(sysret, RS_KTRFAC_SYSRET)                                                                \
	X(namei, RS_KTRFAC_NAMEI)                                                                  \
	X(genio, RS_KTRFAC_GENIO)                                                                  \
	X(psig, RS_KTRFAC_PSIG)                                                                    \
	X(struct, RS_KTRFAC_STRUCT)                                                                \
	X(execargs, RS_KTRFAC_EXECARGS)                                                            \
	X(execenv, RS_KTRFAC_EXECENV)

static const struct {
	struct rs_event *event;
	u32 facility;
} events[] = {
#define EVENT(name, facility) {&rs_event_ktrace_##name, facility},
	FACILITIES(EVENT)
#undef EVENT
};

u32 rs_ktrace_events_on(void)
{
	u32 on = 0;

	for (u32 i = 0; i < ARRAY_SIZE(events); i++)
		if (rs_event_control(events[i].event) & RS_EVENT_ENABLED)
			on |= events[i].facility;
	return on;
}

void rs_ktrace_events_link(struct rs_event **link)
{
	for (u32 i = 0; i < ARRAY_SIZE(events); i++) {
		rs_store(link, events[i].event);
		link = &events[i].event->next;
	}
}
