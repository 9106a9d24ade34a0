/* SPDX-License-Identifier: MIT */
/* Finds threads, and looks at what a stopped one has in user mode. See utrace_examine.h. */
#include "utrace-private.h"

#include <ringside/utrace_examine.h>

int rs_utrace_next(const struct rs_utrace_os *os, uint32_t after, struct rs_utrace_thread **thread)
{
	struct rs_utrace_thread *next;

	if (!os->next)
		return -RS_ENOSYS;
	next = os->next(after);
	if (!next)
		return -RS_ESRCH;
	*thread = next;
	return 0;
}

int rs_utrace_find(const struct rs_utrace_os *os, uint32_t id, struct rs_utrace_thread **thread)
{
	struct rs_utrace_thread *found;
	int err = id ? rs_utrace_next(os, id - 1, &found) : -RS_ESRCH;

	if (err)
		return err;
	if (found->id != id) {
		rs_utrace_thread_put(found);
		return -RS_ESRCH;
	}
	*thread = found;
	return 0;
}

int rs_utrace_identify(struct rs_utrace_thread *thread, struct rs_utrace_identity *identity)
{
	__builtin_memset(identity, 0, sizeof(*identity));
	identity->id = identity->process = thread->id;
	if (thread->os->identify)
		thread->os->identify(thread, identity);
	rs_utrace_lock(thread);
	identity->dead = thread->life != RS_UTRACE_LIVE;
	rs_utrace_unlock(thread);
	return thread->os->identify ? 0 : -RS_ENOSYS;
}

/*
 * Holds the thread where it is until leave(). In the engine's own callback it stays by itself. On
 * success `*at` is the event.
 */
static int enter(struct rs_utrace_engine *engine, bool *held, uint32_t *at)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	int err = 0;

	*held = false;
	rs_utrace_lock(thread);
	err = rs_utrace_examinable(engine, me);
	if (!err && !rs_utrace_calls_itself(engine, me)) {
		thread->holds++;
		*held = true;
	}
	*at = thread->at;
	rs_utrace_unlock(thread);
	return err;
}

static void leave(struct rs_utrace_engine *engine, bool held)
{
	struct rs_utrace_thread *thread = engine->thread;
	bool wake;

	if (!held)
		return;
	rs_utrace_lock(thread);
	wake = --thread->holds == 0 && !thread->stopped;
	rs_utrace_unlock(thread);
	if (wake)
		thread->os->unblock(thread);
}

int rs_utrace_stopped_at(struct rs_utrace_engine *engine)
{
	uint32_t at;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	leave(engine, held);
	return (int)at;
}

int rs_utrace_get_registers(struct rs_utrace_engine *engine, uint64_t values[RS_REGISTERS_MAX])
{
	struct rs_utrace_thread *thread = engine->thread;
	uint32_t at;
	bool held;
	int count = enter(engine, &held, &at);

	if (count)
		return count;
	__builtin_memset(values, 0, RS_REGISTERS_MAX * sizeof(*values));
	count = thread->os->get_registers ? thread->os->get_registers(thread, values) : -RS_ENOSYS;
	leave(engine, held);
	return count;
}

int rs_utrace_set_registers(struct rs_utrace_engine *engine, const uint64_t *values, uint64_t mask)
{
	struct rs_utrace_thread *thread = engine->thread;
	uint32_t at;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	if (!thread->os->set_registers)
		err = -RS_ENOSYS;
	else if (mask >> RS_REGISTERS_MAX)
		err = -RS_EINVAL;
	else if (mask)
		err = thread->os->set_registers(thread, values, mask);
	leave(engine, held);
	return err;
}

int rs_utrace_read_memory(struct rs_utrace_engine *engine, uint64_t address, void *to,
			  uint32_t size)
{
	struct rs_utrace_thread *thread = engine->thread;
	uint32_t at, got = 0;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	if (size > RS_UTRACE_MEMORY_MAX)
		size = RS_UTRACE_MEMORY_MAX;
	if (!thread->os->read_memory)
		err = -RS_ENOSYS;
	else
		got = thread->os->read_memory(thread, address, to, size);
	leave(engine, held);
	return err ? err : (int)(got < size ? got : size);
}

int rs_utrace_write_memory(struct rs_utrace_engine *engine, uint64_t address, const void *from,
			   uint32_t size)
{
	struct rs_utrace_thread *thread = engine->thread;
	uint32_t at, put = 0;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	if (size > RS_UTRACE_MEMORY_MAX)
		size = RS_UTRACE_MEMORY_MAX;
	if (!thread->os->write_memory)
		err = -RS_ENOSYS;
	else
		put = thread->os->write_memory(thread, address, from, size);
	leave(engine, held);
	return err ? err : (int)(put < size ? put : size);
}

static int enter_syscall(struct rs_utrace_engine *engine, bool *held)
{
	uint32_t at;
	int err = enter(engine, held, &at);

	if (err || at == RS_UTRACE_EVENT_SYSCALL_ENTRY)
		return err;
	leave(engine, *held);
	return -RS_ENOENT;
}

int rs_utrace_get_syscall(struct rs_utrace_engine *engine, struct rs_utrace_syscall *call)
{
	struct rs_utrace_thread *thread = engine->thread;
	bool held;
	int err = enter_syscall(engine, &held);

	if (err)
		return err;
	__builtin_memset(call, 0, sizeof(*call));
	if (thread->os->get_syscall)
		thread->os->get_syscall(thread, call);
	else
		err = -RS_ENOSYS;
	leave(engine, held);
	return err;
}

int rs_utrace_set_syscall(struct rs_utrace_engine *engine, const struct rs_utrace_syscall *call)
{
	struct rs_utrace_thread *thread = engine->thread;
	bool held;
	int err = enter_syscall(engine, &held);

	if (err)
		return err;
	if (!thread->os->set_syscall)
		err = -RS_ENOSYS;
	else if (call->count > RS_UTRACE_ARGS_MAX)
		err = -RS_EINVAL;
	else
		err = thread->os->set_syscall(thread, call);
	leave(engine, held);
	return err;
}

/* The report at which the thread has stopped, one of `events`; NULL: it has stopped elsewhere. */
static struct rs_utrace_report *stopped_report(const struct rs_utrace_thread *thread,
					       uint32_t events)
{
	struct rs_utrace_report *report = thread->report;

	return report && 1u << report->number & events ? report : NULL;
}

int rs_utrace_set_signal(struct rs_utrace_engine *engine, int32_t number, uint32_t fate)
{
	struct rs_utrace_report *report;
	uint32_t at;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	report = stopped_report(engine->thread, RS_UTRACE_EVENT_SIGNAL_ALL);
	if (!report) {
		err = -RS_ENOENT;
	} else if (number < 0 || fate & ~RS_UTRACE_SIGNAL_MASK || fate > RS_UTRACE_SIGNAL_CORE) {
		err = -RS_EINVAL;
	} else {
		report->signal->number = number ? number : report->signal->number;
		report->result = fate;
	}
	leave(engine, held);
	return err;
}

int rs_utrace_set_exit(struct rs_utrace_engine *engine, int64_t code)
{
	struct rs_utrace_report *report;
	uint32_t at;
	bool held;
	int err = enter(engine, &held, &at);

	if (err)
		return err;
	report = stopped_report(engine->thread, RS_UTRACE_EVENT(EXIT));
	if (report)
		*report->code = code;
	else
		err = -RS_ENOENT;
	leave(engine, held);
	return err;
}
