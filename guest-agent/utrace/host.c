/* SPDX-License-Identifier: MIT */
/*
 * Engines of the host. Callbacks stop their thread and leave word of it; the task that serves tells
 * the host, and does what it asks.
 */
#include <ringside/utrace_host.h>

/* The OS's `wait` lets others run for so often before a thread that was told as stopped is. */
#define TRIES 200
#define STOPS_AT (RS_UTRACE_EVENT_ALL & ~RS_UTRACE_EVENT_NO_STOPS)
#define STEP_SIGNAL 5 /* SIGTRAP, as nearly all number it */

/* ---- callbacks: on the thread ---- */

static struct rs_utrace_host_engine *of(struct rs_utrace_engine *engine)
{
	return (void *)((char *)engine - offsetof(struct rs_utrace_host_engine, engine));
}

static void leave_word(struct rs_utrace_host_engine *e, uint32_t kind, uint32_t event,
		       int64_t value)
{
	uint32_t seen = rs_load(&e->news);

	/* Nothing follows a death. */
	if (seen == RS_NEWS_GONE)
		return;
	rs_store(&e->event, event);
	rs_store(&e->value, value);
	/* Release: pairs with the acquire of the task that serves. */
	while (seen != RS_NEWS_GONE &&
	       !__atomic_compare_exchange_n(&e->news, &seen, kind, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Whether the thread is to stop at this event. If so, the host will hear of it. */
static bool stops(struct rs_utrace_host_engine *e, uint32_t event, int64_t value)
{
	if (!(rs_load(&e->events) & 1u << event) &&
	    !__atomic_exchange_n(&e->stop, 0, __ATOMIC_ACQ_REL))
		return false;
	leave_word(e, RS_NEWS_STOPPED, event, value);
	return true;
}

static uint32_t wish(struct rs_utrace_host_engine *e, uint32_t event, int64_t value)
{
	uint32_t step = rs_load(&e->step);

	if (stops(e, event, value))
		return RS_UTRACE_STOP;
	return step ? step : RS_UTRACE_RESUME;
}

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	struct rs_utrace_host_engine *e = of(engine);

	/* The event's own callback follows. */
	if (event & (rs_load(&e->events) | RS_UTRACE_EVENT_SIGNAL_ALL))
		return RS_UTRACE_RESUME;
	return wish(e, event ? (uint32_t)__builtin_ctz(event) : RS_UTRACE_EVENT_QUIESCE, 0);
}

static uint32_t on_signal(uint32_t action, struct rs_utrace_engine *engine, void *regs,
			  struct rs_utrace_signal *signal)
{
	struct rs_utrace_host_engine *e = of(engine);
	const uint32_t fate = RS_UTRACE_SIGNAL_ACTION(action);
	const uint32_t event = RS_UTRACE_EVENT_SIGNAL + (fate >> 4);

	/* The host sends none. What it has asked for follows in on_quiesce(). */
	if (fate == RS_UTRACE_SIGNAL_REPORT)
		return RS_UTRACE_INTERRUPT | fate;

	/* The step's own signal is no signal of the program. */
	if (__atomic_exchange_n(&e->step, 0, __ATOMIC_SEQ_CST)) {
		const uint32_t after = __atomic_load_n(&e->after, __ATOMIC_SEQ_CST);
		const uint32_t own = signal->number == STEP_SIGNAL ? RS_UTRACE_SIGNAL_IGN : fate;

		if (after)
			return after | own;
		leave_word(e, RS_NEWS_STOPPED, event, signal->number);
		return RS_UTRACE_STOP | own;
	}
	return wish(e, event, signal->number) | fate;
}

static uint32_t on_clone(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
			 struct rs_utrace_thread *child)
{
	return wish(of(engine), RS_UTRACE_EVENT_CLONE, child->id);
}

static uint32_t on_jctl(uint32_t action, struct rs_utrace_engine *engine, enum rs_utrace_jctl type,
			bool notify)
{
	return wish(of(engine), RS_UTRACE_EVENT_JCTL, type);
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	return wish(of(engine), RS_UTRACE_EVENT_EXEC, 0);
}

static int64_t call_number(struct rs_utrace_engine *engine)
{
	struct rs_utrace_syscall call;

	return rs_utrace_get_syscall(engine, &call) ? 0 : (int64_t)call.number;
}

static uint32_t on_syscall_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	const uint32_t verdict = action & RS_UTRACE_SYSCALL_ABORT;
	struct rs_utrace_host_engine *e = of(engine);

	/* The host has seen this call. Who has changed it meanwhile may be another engine. */
	if (action & RS_UTRACE_SYSCALL_RESUMED && !rs_load(&e->stop))
		return (rs_load(&e->step) ? rs_load(&e->step) : RS_UTRACE_RESUME) | verdict;
	return wish(e, RS_UTRACE_EVENT_SYSCALL_ENTRY, call_number(engine)) | verdict;
}

static uint32_t on_syscall_exit(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return wish(of(engine), RS_UTRACE_EVENT_SYSCALL_EXIT, 0);
}

static uint32_t on_exit(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
			int64_t *code)
{
	return wish(of(engine), RS_UTRACE_EVENT_EXIT, *code);
}

static uint32_t on_death(struct rs_utrace_engine *engine, bool group_dead, int32_t signal)
{
	leave_word(of(engine), RS_NEWS_GONE, RS_UTRACE_EVENT_DEATH, signal);
	return RS_UTRACE_DETACH;
}

static void on_release(struct rs_utrace_engine *engine)
{
	/* Release: pairs with the acquire of find_free(). */
	rs_store_release(&of(engine)->handle, 0);
}

static const struct rs_utrace_ops ops = {
	.report_quiesce = on_quiesce,
	.report_signal = on_signal,
	.report_clone = on_clone,
	.report_jctl = on_jctl,
	.report_exec = on_exec,
	.report_syscall_entry = on_syscall_entry,
	.report_syscall_exit = on_syscall_exit,
	.report_exit = on_exit,
	.report_death = on_death,
	.release = on_release,
};

/* ---- commands: in the task that serves ---- */

/* Writes a struct rs_cmd_thread; returns its size. */
static uint32_t describe(struct rs_utrace_thread *thread, uint8_t *to)
{
	struct rs_utrace_identity who;
	struct rs_cmd_thread out;

	rs_utrace_identify(thread, &who);
	__builtin_memset(&out, 0, sizeof(out));
	out.id = who.id;
	out.process = who.process;
	out.parent = who.parent;
	__builtin_memcpy(out.comm, who.comm, sizeof(out.comm));
	__builtin_memcpy(to, &out, sizeof(out));
	return sizeof(out);
}

static int32_t list(struct rs_utrace_host *host, uint32_t after, struct rs_command_reply *reply)
{
	struct rs_utrace_thread *thread;
	uint32_t n = 0;
	int err = 0;

	for (; n < RS_CMD_THREADS_MAX; n++) {
		err = rs_utrace_next(host->os, after, &thread);
		if (err)
			break;
		after = thread->id;
		reply->size += describe(thread, reply->data + reply->size);
		rs_utrace_thread_put(thread);
	}
	return err && err != -RS_ESRCH ? err : (int32_t)n;
}

/* The host has heard the last of this engine. Its thread may still be about to. */
static void let_go(struct rs_utrace_host_engine *e)
{
	e->held = false;
	rs_utrace_engine_put(&e->engine);
}

static struct rs_utrace_host_engine *find_free(struct rs_utrace_host *host)
{
	for (uint32_t i = 0; i < host->count; i++)
		if (!rs_load_acquire(&host->engines[i].handle))
			return &host->engines[i];
	return NULL;
}

static uint32_t with_ours(uint32_t events)
{
	return events | RS_UTRACE_EVENT(QUIESCE) | RS_UTRACE_EVENT(DEATH) |
	       RS_UTRACE_EVENT_SIGNAL_ALL;
}

static int attach_to(struct rs_utrace_host *host, struct rs_utrace_host_engine *e,
		     struct rs_utrace_thread *thread, uint32_t events)
{
	struct rs_utrace_engine *engine;
	int err;

	__builtin_memset(e, 0, sizeof(*e));
	e->host = host;
	e->events = events;
	e->handle = (uint64_t)++host->lives << 32 | (uint32_t)(e - host->engines + 1);
	err = rs_utrace_attach(thread, RS_UTRACE_ATTACH_CREATE, &ops, host, &e->engine, &engine);
	if (err) {
		rs_store(&e->handle, 0);
		return err;
	}
	e->held = true;
	err = rs_utrace_set_events(engine, with_ours(events));
	if (!err)
		return 0;
	rs_utrace_control(engine, RS_UTRACE_DETACH);
	let_go(e);
	return err == -RS_EALREADY ? -RS_ESRCH : err;
}

static int32_t attach(struct rs_utrace_host *host, const struct rs_command *command,
		      struct rs_command_reply *reply)
{
	struct rs_utrace_host_engine *e = find_free(host);
	struct rs_utrace_thread *thread;
	int err;

	if (command->args[0] > UINT32_MAX || command->args[1] & ~(uint64_t)STOPS_AT)
		return -RS_EINVAL;
	if (!e)
		return -RS_ENOSPC;
	err = rs_utrace_find(host->os, (uint32_t)command->args[0], &thread);
	if (err)
		return err;
	err = attach_to(host, e, thread, (uint32_t)command->args[1]);
	if (!err) {
		reply->values[0] = e->handle;
		reply->size = describe(thread, reply->data);
	}
	rs_utrace_thread_put(thread);
	return err;
}

/* A stop that no callback of the engine has told. `known` is its value, if it was told before. */
static void tell_stop(struct rs_utrace_host_engine *e, uint32_t at, int64_t known)
{
	leave_word(e, RS_NEWS_STOPPED, at,
		   at == RS_UTRACE_EVENT_SYSCALL_ENTRY ? call_number(&e->engine) : known);
}

static int32_t stop(struct rs_utrace_host_engine *e, enum rs_utrace_action how)
{
	int err, at = rs_utrace_stopped_at(&e->engine);

	if (at >= 0) { /* for us already */
		tell_stop(e, (uint32_t)at,
			  rs_load(&e->event) == (uint32_t)at ? rs_load(&e->value) : 0);
		return 0;
	}
	rs_store_release(&e->stop, 1);
	err = rs_utrace_control(&e->engine, how);
	if (!err && how == RS_UTRACE_STOP) {
		/* Another engine holds it, and now we do, too. */
		rs_store(&e->stop, 0);
		at = rs_utrace_stopped_at(&e->engine);
		tell_stop(e, at < 0 ? RS_UTRACE_EVENT_QUIESCE : (uint32_t)at, 0);
	}
	return err == -RS_EINPROGRESS ? 0 : err;
}

/*
 * Whether a step is under way. Its signal would kill a thread that nobody steps any more. So the
 * step goes on, and the thread does `after` at its end. One that has stopped meanwhile goes on.
 * Sequentially consistent, with on_signal(): one of both sees what the other has stored.
 */
static bool let_step_end(struct rs_utrace_host_engine *e, enum rs_utrace_action after)
{
	uint32_t step;

	__atomic_store_n(&e->after, (uint32_t)after, __ATOMIC_SEQ_CST);
	step = __atomic_load_n(&e->step, __ATOMIC_SEQ_CST);
	return step && !rs_utrace_control(&e->engine, (enum rs_utrace_action)step);
}

static int32_t go_on(struct rs_utrace_host_engine *e, enum rs_utrace_action how)
{
	uint32_t stopped = RS_NEWS_STOPPED;

	rs_store(&e->stop, 0);
	/* What was not told yet is over; but not that the thread is gone. */
	__atomic_compare_exchange_n(&e->news, &stopped, 0, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	if (how == RS_UTRACE_RESUME)
		return let_step_end(e, how) ? 0 : rs_utrace_control(&e->engine, how);
	rs_store(&e->after, 0);
	rs_store(&e->step, how);
	return rs_utrace_control(&e->engine, how);
}

static int32_t control(struct rs_utrace_host_engine *e, uint64_t how)
{
	int32_t err;

	switch (how) {
	case RS_UTRACE_STOP:
	case RS_UTRACE_INTERRUPT:
		return stop(e, (enum rs_utrace_action)how);
	case RS_UTRACE_RESUME:
	case RS_UTRACE_SINGLESTEP:
	case RS_UTRACE_BLOCKSTEP:
		err = go_on(e, (enum rs_utrace_action)how);
		if (err && how != RS_UTRACE_RESUME)
			rs_store(&e->step, 0);
		return err;
	case RS_UTRACE_DETACH:
		rs_store(&e->events, 0);
		rs_store(&e->stop, 0);
		if (!let_step_end(e, RS_UTRACE_DETACH))
			rs_utrace_control(&e->engine, RS_UTRACE_DETACH);
		let_go(e);
		return 0;
	default:
		return -RS_EINVAL;
	}
}

/* A callback that has left word returns soon, and then the thread stops. */
static int32_t get_registers(struct rs_utrace_host_engine *e, uint64_t values[RS_REGISTERS_MAX])
{
	int32_t count = rs_utrace_get_registers(&e->engine, values);

	for (int i = 0; i < TRIES && count == -RS_EAGAIN && e->host->os->wait(); i++)
		count = rs_utrace_get_registers(&e->engine, values);
	return count;
}

static int32_t registers(struct rs_utrace_host_engine *e, struct rs_command_reply *reply)
{
	uint64_t values[RS_REGISTERS_MAX];
	struct rs_utrace_syscall call;
	int32_t count = get_registers(e, values);
	int at;

	if (count < 0)
		return count;
	at = rs_utrace_stopped_at(&e->engine);
	if (at < 0)
		return at;
	reply->values[0] = (uint64_t)at;
	reply->size = (uint32_t)count * 8;
	__builtin_memcpy(reply->data, values, reply->size);
	if (rs_utrace_get_syscall(&e->engine, &call))
		return count;
	reply->values[1] = 1;
	reply->values[2] = call.number;
	reply->values[3] = call.count;
	__builtin_memcpy(reply->data + reply->size, call.args, call.count * 8);
	reply->size += call.count * 8;
	return count;
}

static int32_t set_registers(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	uint64_t values[RS_REGISTERS_MAX];

	if (command->size != sizeof(values))
		return -RS_EINVAL;
	__builtin_memcpy(values, command->data, sizeof(values));
	return rs_utrace_set_registers(&e->engine, values, command->args[1]);
}

static int32_t set_syscall(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	struct rs_utrace_syscall call;

	if (command->args[2] > RS_UTRACE_ARGS_MAX || command->size != command->args[2] * 8)
		return -RS_EINVAL;
	__builtin_memset(&call, 0, sizeof(call));
	call.number = command->args[1];
	call.count = (uint32_t)command->args[2];
	__builtin_memcpy(call.args, command->data, command->size);
	return rs_utrace_set_syscall(&e->engine, &call);
}

static int32_t read_memory(struct rs_utrace_host_engine *e, const struct rs_command *command,
			   struct rs_command_reply *reply)
{
	uint64_t size = command->args[2] < RS_CMD_DATA ? command->args[2] : RS_CMD_DATA;
	int32_t got =
		rs_utrace_read_memory(&e->engine, command->args[1], reply->data, (uint32_t)size);

	if (got > 0)
		reply->size = (uint32_t)got;
	return got;
}

static struct rs_utrace_host_engine *by_handle(struct rs_utrace_host *host, uint64_t handle)
{
	const uint32_t index = (uint32_t)handle - 1;

	if (index >= host->count || !handle || !host->engines[index].held ||
	    host->engines[index].handle != handle)
		return NULL;
	return &host->engines[index];
}

/* utrace's -RS_EINVAL for a thread that we have not stopped. */
static int32_t error_of_thread(int32_t err)
{
	return err == -RS_EINVAL ? -RS_EAGAIN : err;
}

static int32_t change(struct rs_utrace_host_engine *e, const struct rs_command *command)
{
	int32_t err = rs_utrace_stopped_at(&e->engine);

	if (err < 0)
		return error_of_thread(err);
	err = command->number == RS_CMD_ENGINE_SET_REGISTERS ? set_registers(e, command)
							     : set_syscall(e, command);
	/* An argument is wrong, unless the thread was killed meanwhile. */
	return rs_utrace_stopped_at(&e->engine) < 0 ? error_of_thread(err) : err;
}

static int32_t run(struct rs_serve_handler *handler, const struct rs_command *command,
		   struct rs_command_reply *reply)
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));
	struct rs_utrace_host_engine *e;

	if (command->number == RS_CMD_THREADS)
		return list(host, (uint32_t)command->args[0], reply);
	if (command->number == RS_CMD_ENGINE_ATTACH)
		return attach(host, command, reply);
	e = by_handle(host, command->args[0]);
	if (!e)
		return -RS_EBADF;
	switch (command->number) {
	case RS_CMD_ENGINE_CONTROL:
		return control(e, command->args[1]);
	case RS_CMD_ENGINE_REGISTERS:
		return error_of_thread(registers(e, reply));
	case RS_CMD_ENGINE_MEMORY:
		return error_of_thread(read_memory(e, command, reply));
	default:
		return change(e, command);
	}
}

/* ---- the host hears, or is gone ---- */

/*
 * What the thread has left word of; 0: nothing, or nothing yet. A thread whose callback still runs
 * may stop. If the stop was taken back while the callback ran, it is none, and the word stays until
 * the next one replaces it: to take it away could take away that one.
 */
static uint32_t take_word(struct rs_utrace_host_engine *e)
{
	const uint32_t kind = rs_load_acquire(&e->news);
	const int at = kind == RS_NEWS_STOPPED ? rs_utrace_stopped_at(&e->engine) : 0;

	if (!kind || (at < 0 && at != -RS_EAGAIN))
		return 0;
	return __atomic_exchange_n(&e->news, 0, __ATOMIC_ACQUIRE);
}

static bool news(struct rs_serve_handler *handler, uint64_t args[6])
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));

	for (uint32_t i = 0; i < host->count; i++) {
		struct rs_utrace_host_engine *e =
			&host->engines[(host->next_news + i) % host->count];
		uint32_t kind = e->held ? take_word(e) : 0;

		if (!kind)
			continue;
		args[0] = kind;
		args[1] = e->handle;
		args[2] = rs_load(&e->event);
		args[3] = (uint64_t)rs_load(&e->value);
		args[4] = args[5] = 0;
		if (kind == RS_NEWS_GONE)
			let_go(e);
		host->next_news += i + 1;
		return true;
	}
	return false;
}

static void gone(struct rs_serve_handler *handler)
{
	struct rs_utrace_host *host =
		(void *)((char *)handler - offsetof(struct rs_utrace_host, handler));

	for (uint32_t i = 0; i < host->count; i++)
		if (host->engines[i].held)
			control(&host->engines[i], RS_UTRACE_DETACH);
}

void rs_utrace_serve(struct rs_utrace_host *host, struct rs_serve *serve,
		     const struct rs_utrace_os *os, struct rs_utrace_host_engine *engines,
		     uint32_t count)
{
	host->os = os;
	host->engines = engines;
	host->count = count;
	host->handler.first = RS_CMD_THREADS;
	host->handler.last = RS_CMD_ENGINE_MEMORY;
	host->handler.run = run;
	host->handler.gone = gone;
	host->handler.news = news;
	rs_serve_add(serve, &host->handler);
}
