/* SPDX-License-Identifier: MIT */
/*
 * System calls that fail: an engine on each thread stops it at its calls. What is to fail becomes a
 * call that no system has, and at its return gets the error that was asked for. The threads run on
 * otherwise, though slowly.
 *
 *     list      the guest's threads, in parts
 *     attach    to those that were meant, one after the other
 *     tend      what stops goes on, until the fault ends and the engines are detached
 */
#include "session/engines.h"
#include "session/faults_private.h"

#include <errno.h>
#include <rs-trace-glob.h>
#include <ringside/record.h>
#include <ringside/registers.h>
#include <string.h>

#define NO_CALL UINT64_MAX

#define TRIES_MAX 3u /* to let a thread go on that stays where it is */

/* What is done about a stop of a thread: one command after the other. */
enum step { LOOK, ACTING, ACTED, RESUMING };

/* What is known of an engine, by its number. */
struct thread {
	uint64_t stop; /* which is dealt with */
	enum step step;
	unsigned int tries;
	bool failing; /* its call is replaced, and returns next */
};

struct rs_fault_calls {
	struct rs_active_fault *active;
	uint64_t number;     /* of the system call */
	uint64_t done;       /* calls that were made to fail, or are being */
	GArray *ids;         /* of threads that are still to be attached to */
	GHashTable *threads; /* number of an engine → struct thread */
	bool listing;        /* or attaching */
	bool begun;          /* that was told */
	bool over;           /* as many as were asked for have failed */
	bool complained;     /* a call did not fail, and that was told */
};

/* ---- which call ---- */

/* The guest's own events have names of its calls. */
static bool find_in(const RsTraceEvent *event, const char *name, uint64_t *number)
{
	for (guint i = 0; i < event->n_fields; i++) {
		const RsTraceField *field = &event->fields[i];

		for (guint k = 0; k < field->n_symbols; k++) {
			if (strcmp(field->symbols[k].name, name))
				continue;
			*number = field->symbols[k].value;
			return true;
		}
	}
	return false;
}

static int find_number(const struct rs_source *source, const struct rs_fault *fault,
		       uint64_t *number, struct rs_error *err)
{
	if (!*fault->syscall) {
		*number = fault->number;
		return 0;
	}
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, id);

		if (event && rs_event_usable(source, event) && strstr(event->system, "syscall") &&
		    find_in(event, fault->syscall, number))
			return 0;
	}
	return rs_error_set(err, EINVAL,
			    "no event of the guest's names a system call '%s': its number is due",
			    fault->syscall);
}

/* ---- engines ---- */

static struct thread *thread_of(struct rs_fault_calls *calls, uint32_t engine)
{
	struct thread *thread = g_hash_table_lookup(calls->threads, GUINT_TO_POINTER(engine));

	if (!thread) {
		thread = g_new0(struct thread, 1);
		g_hash_table_insert(calls->threads, GUINT_TO_POINTER(engine), thread);
	}
	return thread;
}

static bool is_enough(const struct rs_fault_calls *calls)
{
	return calls->active->what.count && calls->done >= calls->active->what.count;
}

/* Its call was made, or gets another result than it should. */
static void complain(struct rs_fault_calls *calls, const struct rs_engine_info *info,
		     const struct rs_error *err)
{
	/* A thread that is gone makes no calls. */
	if (info->state == RS_ENGINE_GONE || calls->complained)
		return;
	calls->complained = true;
	rs_source_say(calls->active->source, "fault %u: a call of thread %u did not fail so: %s",
		      calls->active->number, info->thread.id, err->message);
}

static void on_replaced(void *data, int ret, const struct rs_engine_info *info,
			const struct rs_command_result *result, const struct rs_error *err)
{
	struct rs_fault_calls *calls = data;
	struct thread *thread = thread_of(calls, info->number);

	thread->step = ACTED;
	thread->failing = !ret;
	if (!ret)
		return;
	calls->done--;
	complain(calls, info, err);
}

static void on_result(void *data, int ret, const struct rs_engine_info *info,
		      const struct rs_command_result *result, const struct rs_error *err)
{
	struct rs_fault_calls *calls = data;

	thread_of(calls, info->number)->step = ACTED;
	if (ret)
		complain(calls, info, err);
	else
		calls->over = is_enough(calls);
}

/* It is stopped no more, or has to be asked again. */
static void on_resumed(void *data, int ret, const struct rs_engine_info *info,
		       const struct rs_command_result *result, const struct rs_error *err)
{
	struct thread *thread = thread_of(data, info->number);

	if (ret && ++thread->tries < TRIES_MAX)
		thread->step = ACTED;
}

static int replace(struct rs_fault_calls *calls, uint32_t engine)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_SYSCALL,
						  .args = {0, NO_CALL}};

	return rs_engine_send(calls->active->source->session, calls, engine, &command, on_replaced,
			      calls, NULL);
}

static int set_result(struct rs_fault_calls *calls, uint32_t engine)
{
	const uint64_t registers[RS_REGISTERS_MAX] = {
		[RS_X86_64_RAX] = (uint64_t) - (int64_t)calls->active->what.error};
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_SET_REGISTERS,
						  .args = {0, 1ull << RS_X86_64_RAX},
						  .data = registers,
						  .size = sizeof(registers)};

	return rs_engine_send(calls->active->source->session, calls, engine, &command, on_result,
			      calls, NULL);
}

static int resume(struct rs_fault_calls *calls, uint32_t engine)
{
	const struct rs_source_command command = {.number = RS_CMD_ENGINE_CONTROL,
						  .args = {0, RS_UTRACE_RESUME}};

	return rs_engine_send(calls->active->source->session, calls, engine, &command, on_resumed,
			      calls, NULL);
}

/* What could not be sent is sent in a later turn. */
static void act(struct rs_fault_calls *calls, struct thread *thread,
		const struct rs_engine_info *info)
{
	if (info->event == RS_UTRACE_EVENT_SYSCALL_EXIT && thread->failing) {
		if (set_result(calls, info->number))
			return;
		thread->failing = false;
		thread->step = ACTING;
	} else if (info->event == RS_UTRACE_EVENT_SYSCALL_ENTRY &&
		   (uint64_t)info->value == calls->number && !is_enough(calls)) {
		if (replace(calls, info->number))
			return;
		calls->done++;
		thread->step = ACTING;
	} else {
		thread->step = ACTED;
	}
}

static void deal_with(struct rs_fault_calls *calls, const struct rs_engine_info *info)
{
	struct thread *thread = thread_of(calls, info->number);

	if (thread->stop != info->stop) {
		thread->stop = info->stop;
		thread->step = LOOK;
		thread->tries = 0;
	}
	if (thread->step == LOOK)
		act(calls, thread, info);
	if (thread->step == ACTED && !resume(calls, info->number))
		thread->step = RESUMING;
}

/* Returns whether any engine is left. */
static bool tend(struct rs_fault_calls *calls)
{
	struct rs_session *session = calls->active->source->session;
	const struct rs_engine_info *info;
	struct rs_engine_iter iter;
	bool any = false;

	rs_engine_iter_init(&iter, session, calls);
	while ((info = rs_engine_iter_next(&iter))) {
		any |= info->state != RS_ENGINE_GONE;
		if (info->state == RS_ENGINE_STOPPED)
			deal_with(calls, info);
	}
	rs_engine_forget_gone(session, calls);
	return any;
}

static bool is_over(struct rs_fault_calls *calls)
{
	return (!tend(calls) && !calls->listing) || calls->over;
}

/* One that is over in each turn: the list may be another one after that. */
void rs_source_tend_faults(struct rs_source *source)
{
	struct rs_active_fault *over = NULL;

	for (GList *l = source->session->faults->active.head; l && !over; l = l->next) {
		struct rs_active_fault *active = l->data;

		if (active->source == source && active->calls && is_over(active->calls))
			over = active;
	}
	if (over)
		rs_fault_over(over);
}

/* ---- threads ---- */

/* Nothing was attached so far. It was accepted, so this is told where people see it. */
static void refuse(struct rs_fault_calls *calls, const struct rs_error *err)
{
	calls->listing = false;
	if (calls->begun)
		return;
	rs_source_say(calls->active->source, "fault %u: %s", calls->active->number, err->message);
}

static void attach_next(struct rs_fault_calls *calls);

static void on_attached(void *data, int ret, const struct rs_engine_info *engine,
			const struct rs_command_result *result, const struct rs_error *err)
{
	struct rs_fault_calls *calls = data;

	/* A thread may have died meanwhile. */
	if (!ret && !calls->begun) {
		calls->begun = true;
		rs_fault_tell_begin(calls->active);
	}
	attach_next(calls);
}

static void attach_next(struct rs_fault_calls *calls)
{
	const struct rs_fault *fault = &calls->active->what;
	const struct rs_engine_wish wish = {.events = RS_UTRACE_EVENT_SYSCALL,
					    .flags = fault->pid || *fault->comm ? 0
										: RS_ENGINE_FOLLOW};
	struct rs_error err = {0};

	while (calls->ids->len) {
		uint32_t id = g_array_index(calls->ids, uint32_t, calls->ids->len - 1);

		g_array_set_size(calls->ids, calls->ids->len - 1);
		if (!rs_engine_attach(calls->active->source, calls, id, &wish, on_attached, calls,
				      &err))
			return;
	}
	if (!calls->begun && !err.code)
		rs_error_set(&err, ESRCH, "there is no such thread");
	refuse(calls, &err);
}

static bool is_meant(const struct rs_fault *fault, const struct rs_cmd_thread *thread)
{
	g_autoptr(RsTraceGlob) glob = *fault->comm ? rs_trace_glob_new(fault->comm) : NULL;
	char comm[sizeof(thread->comm) + 1] = "";

	memcpy(comm, thread->comm, sizeof(thread->comm));
	if (thread->state != RS_THREAD_ALIVE)
		return false;
	if (fault->pid)
		return thread->id == fault->pid || thread->process == fault->pid;
	return !glob || rs_trace_glob_matches(glob, comm);
}

static int list(struct rs_fault_calls *calls, uint32_t after, struct rs_error *err);

static void on_threads(void *data, int ret, const struct rs_command_result *result,
		       const struct rs_error *error)
{
	struct rs_fault_calls *calls = data;
	struct rs_error err = {0};
	struct rs_cmd_thread thread;
	uint32_t n = 0, last = 0;

	if (ret)
		err = *error;
	else if (result->result < 0)
		ret = rs_command_explain(result->result, &err);
	while (!ret && n < RS_CMD_THREADS_MAX && (n + 1) * sizeof(thread) <= result->size) {
		memcpy(&thread, result->data + n++ * sizeof(thread), sizeof(thread));
		/* In order, or it never ends. */
		if (thread.id <= last && n > 1)
			break;
		last = thread.id;
		if (is_meant(&calls->active->what, &thread) && calls->ids->len < RS_ENGINES_MAX)
			g_array_append_val(calls->ids, thread.id);
	}
	if (!ret && n == RS_CMD_THREADS_MAX && calls->ids->len < RS_ENGINES_MAX)
		ret = list(calls, last, &err);
	else if (!ret)
		attach_next(calls);
	if (ret)
		refuse(calls, &err);
}

static int list(struct rs_fault_calls *calls, uint32_t after, struct rs_error *err)
{
	const struct rs_source_command command = {.number = RS_CMD_THREADS, .args = {after}};

	return rs_source_send_command(calls->active->source, &command, on_threads, calls, err);
}

/* ---- begin, end ---- */

static void calls_free(struct rs_fault_calls *calls)
{
	g_array_unref(calls->ids);
	g_hash_table_unref(calls->threads);
	g_free(calls);
}

int rs_fault_fail_calls(struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	struct rs_fault_calls *calls;
	uint64_t number = 0;
	int ret = find_number(source, &active->what, &number, err);

	if (!ret && source->info.arch != RS_ARCH_X86_64)
		ret = rs_error_set(err, ENOTSUP, "the registers of that architecture are unknown");
	if (ret)
		return ret;
	calls = g_new0(struct rs_fault_calls, 1);
	calls->active = active;
	calls->number = number;
	calls->ids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	calls->threads = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	calls->listing = true;
	ret = list(calls, 0, err);
	if (ret)
		calls_free(calls);
	else
		active->calls = calls;
	return ret;
}

bool rs_fault_calls_begun(const struct rs_fault_calls *calls)
{
	return calls->begun;
}

void rs_fault_end_calls(struct rs_active_fault *active)
{
	struct rs_fault_calls *calls = g_steal_pointer(&active->calls);

	rs_source_drop_commands(active->source, calls);
	rs_engine_drop_calls(active->source->session, calls);
	rs_engine_drop_owner(active->source->session, calls);
	calls_free(calls);
}
