/* SPDX-License-Identifier: MIT */
/* Records: the check of mask and guard, bounded arguments, one event each. */
#include <ringside/ktrace.h>

#define RS_CREATE_TRACE_POINTS
#include "events.h"

/* The most that a record holds beside its data fits into a page of 4 KiB with it. */
_Static_assert(RS_KTR_DATA_MAX + RS_KTR_NAME_MAX + sizeof(struct rs_entry_ktrace_struct) <= 3072 &&
		       RS_KTR_ARGS_MAX * 8 + sizeof(struct rs_entry_ktrace_syscall) <= 3072 &&
		       RS_KTR_USER_MAX <= RS_KTR_DATA_MAX,
	       "a record must fit into the smallest page");

bool rs_ktrace_wanted(struct rs_ktrace_thread *t, uint32_t facility)
{
	if (!(rs_load(&t->proc->facilities) & facility))
		return false;
	if (rs_likely(!rs_load(&t->inside)))
		return true;
	rs_store(&t->left_out, rs_load(&t->left_out) + 1);
	return false;
}

/*
 * Only the thread itself and what interrupts it use the guard. An interrupt between the look and
 * the store writes its record and leaves before we go on.
 */
static bool enter(struct rs_ktrace_thread *t, uint32_t facility)
{
	if (!rs_ktrace_wanted(t, facility))
		return false;
	rs_store(&t->inside, 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return true;
}

static void leave(struct rs_ktrace_thread *t)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rs_store(&t->inside, 0);
}

/* A text, read once: the bytes that a record takes of it, and how many there are. */
struct text {
	const char *at;
	uint32_t size;
	uint64_t length;
};

static struct text text_of(const char *at, uint32_t most)
{
	struct text text = {.at = at ? at : "(null)"};

	while (text.at[text.length])
		text.length++;
	text.size = (uint32_t)(text.length < most ? text.length : most);
	return text;
}

static uint32_t bounded(const void *data, uint64_t len)
{
	return data ? (uint32_t)(len < RS_KTR_DATA_MAX ? len : RS_KTR_DATA_MAX) : 0;
}

void rs_ktrcsw(struct rs_ktrace_thread *t, bool out, bool user)
{
	if (!enter(t, RS_KTRFAC_CSW))
		return;
	trace_ktrace_csw(out, user);
	leave(t);
}

void rs_ktremul(struct rs_ktrace_thread *t, const char *emul)
{
	struct text name;

	if (!enter(t, RS_KTRFAC_EMUL))
		return;
	name = text_of(emul, RS_KTR_PATH_MAX);
	trace_ktrace_emul(name.at, name.size, name.length);
	leave(t);
}

/* Writes the pieces. A part of no bytes is passed over. */
static void put_pieces(int fd, enum rs_ktr_rw rw, const struct rs_ktr_iovec *iov, uint32_t len)
{
	uint32_t offset = 0, pieces = 0;
	uint64_t at = 0;

	while (offset < len && pieces < RS_KTR_PIECES_MAX) {
		uint64_t rest = iov->len - at;
		uint32_t size = len - offset;

		if (!rest) {
			iov++;
			at = 0;
			continue;
		}
		if (size > RS_KTR_DATA_MAX)
			size = RS_KTR_DATA_MAX;
		if (size > rest)
			size = (uint32_t)rest;
		trace_ktrace_genio(fd, (uint8_t)rw, len, offset, 0, (const char *)iov->base + at,
				   size);
		at += size;
		offset += size;
		pieces++;
	}
}

void rs_ktrgenio(struct rs_ktrace_thread *t, int fd, enum rs_ktr_rw rw,
		 const struct rs_ktr_iovec *iov, uint32_t len, int error)
{
	if (!enter(t, RS_KTRFAC_GENIO))
		return;
	if (error || !len || !iov)
		trace_ktrace_genio(fd, (uint8_t)rw, len, 0, error, NULL, 0);
	else
		put_pieces(fd, rw, iov, len);
	leave(t);
}

void rs_ktrgenio_piece(struct rs_ktrace_thread *t, int fd, enum rs_ktr_rw rw, const void *data,
		       uint32_t size, uint32_t offset, uint32_t len)
{
	if (!enter(t, RS_KTRFAC_GENIO))
		return;
	trace_ktrace_genio(fd, (uint8_t)rw, len, offset, 0, data, bounded(data, size));
	leave(t);
}

void rs_ktrnamei(struct rs_ktrace_thread *t, const char *path)
{
	struct text text;

	if (!enter(t, RS_KTRFAC_NAMEI))
		return;
	text = text_of(path, RS_KTR_PATH_MAX);
	trace_ktrace_namei(text.at, text.size, text.length);
	leave(t);
}

void rs_ktrpsig(struct rs_ktrace_thread *t, int sig, uint64_t action, uint64_t mask, int code,
		const struct rs_ktr_siginfo *info)
{
	if (!enter(t, RS_KTRFAC_PSIG))
		return;
	trace_ktrace_psig(sig, action, mask, code, info);
	leave(t);
}

void rs_ktrsyscall(struct rs_ktrace_thread *t, int64_t code, uint64_t argsize, const uint64_t *args)
{
	uint64_t count = argsize / sizeof(*args);

	if (!enter(t, RS_KTRFAC_SYSCALL))
		return;
	trace_ktrace_syscall(code, argsize, args,
			     (uint32_t)(count < RS_KTR_ARGS_MAX ? count : RS_KTR_ARGS_MAX));
	leave(t);
}

void rs_ktrsysret(struct rs_ktrace_thread *t, int64_t code, int error, int64_t retval)
{
	if (!enter(t, RS_KTRFAC_SYSRET))
		return;
	trace_ktrace_sysret(code, error, retval);
	leave(t);
}

void rs_ktrstruct(struct rs_ktrace_thread *t, const char *name, const void *data, uint64_t len)
{
	struct text text;

	if (!enter(t, RS_KTRFAC_STRUCT))
		return;
	text = text_of(name, RS_KTR_NAME_MAX);
	trace_ktrace_struct(text.at, text.size, data, bounded(data, len), len);
	leave(t);
}

void rs_ktrexecargs(struct rs_ktrace_thread *t, const char *strings, uint64_t len)
{
	if (!enter(t, RS_KTRFAC_EXECARGS))
		return;
	trace_ktrace_execargs(strings, bounded(strings, len), len);
	leave(t);
}

void rs_ktrexecenv(struct rs_ktrace_thread *t, const char *strings, uint64_t len)
{
	if (!enter(t, RS_KTRFAC_EXECENV))
		return;
	trace_ktrace_execenv(strings, bounded(strings, len), len);
	leave(t);
}

/* The label is copied: what is judged is what is written. */
int rs_ktruser(struct rs_ktrace_thread *t, const char *label, const void *data, uint64_t len)
{
	char copy[RS_KTR_USER_LABEL];
	uint32_t n = 0;

	do {
		if (n == sizeof(copy))
			return -RS_ENAMETOOLONG;
		copy[n] = label[n];
	} while (copy[n++]);
	if (len > RS_KTR_USER_MAX)
		return -RS_EINVAL;
	if (!enter(t, RS_KTRFAC_USER))
		return 0;
	trace_ktrace_user(copy, data, bounded(data, len), len);
	leave(t);
	return 0;
}
