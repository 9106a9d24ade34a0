/* SPDX-License-Identifier: MIT */
#include "session/faults_private.h"

#include "patch/patcher.h"

#include <errno.h>
#include <string.h>

#define AGAIN_US 200000 /* to a target that could not be stopped */

struct rs_faults *rs_faults_new(void)
{
	return g_new0(struct rs_faults, 1);
}

void rs_faults_free(struct rs_faults *faults)
{
	g_free(faults);
}

static void tell(const struct rs_active_fault *active, enum rs_host_fault state)
{
	rs_host_note_fault(active->source, active->number, active->text, state);
}

void rs_fault_tell_begin(const struct rs_active_fault *active)
{
	tell(active, RS_HOST_FAULT_BEGIN);
}

/* ---- vCPUs ---- */

/* Those that some fault holds, as rs_target_ops.hold takes them. False: there is none. */
static bool held_cpus(const struct rs_source *source, uint64_t cpus[RS_MAX_CPUS / 64])
{
	bool any = false;

	memset(cpus, 0, RS_MAX_CPUS / 8);
	for (const GList *l = source->session->faults->active.head; l; l = l->next) {
		const struct rs_active_fault *active = l->data;

		if (active->source != source || !active->what.some_cpus || active->over)
			continue;
		for (size_t i = 0; i < RS_MAX_CPUS / 64; i++)
			cpus[i] |= active->what.cpus[i];
		any = true;
	}
	return any;
}

/*
 * All stop for a moment. Those that are to be held stay where they are then. `changed` begins or
 * ends, which is told meanwhile.
 */
static int hold(const struct rs_active_fault *changed, enum rs_host_fault state,
		struct rs_error *err)
{
	const struct rs_source *source = changed->source;
	struct rs_target *target = source->target;
	uint64_t cpus[RS_MAX_CPUS / 64];
	const bool any = held_cpus(source, cpus);
	int ret, resumed;

	if (source->ended) {
		tell(changed, state);
		return 0;
	}
	ret = rs_target_pause(target, err);
	if (ret)
		return ret;
	ret = target->ops->hold(target, any ? cpus : NULL, err);
	if (!ret)
		tell(changed, state);
	resumed = rs_target_resume(target, NULL, ret ? NULL : err);
	return ret ? ret : resumed;
}

static int check_cpus(const struct rs_source *source, const struct rs_fault *fault,
		      struct rs_error *err)
{
	const struct rs_target *target = source->target;
	uint64_t cpus[RS_MAX_CPUS / 64];
	uint32_t n = 0;

	if (!target->ops->hold)
		return rs_error_set(err, ENOTSUP,
				    "single vCPUs of '%s' cannot be paused: leave cpu out",
				    source->name);
	for (uint32_t i = 0; i < RS_MAX_CPUS; i++) {
		n += rs_fault_has_cpu(fault, i);
		if (rs_fault_has_cpu(fault, i) && i >= target->vcpus)
			return rs_error_set(err, EINVAL, "there is no vCPU %u: there %s %u", i,
					    target->vcpus == 1 ? "is" : "are", target->vcpus);
	}
	if (n == target->vcpus)
		return rs_error_set(err, EINVAL, "these are all vCPUs: leave cpu out");
	/* With those that others hold: it is on the list. */
	held_cpus(source, cpus);
	for (uint32_t i = 0; i < target->vcpus; i++)
		if (!(cpus[i / 64] >> i % 64 & 1))
			return 0;
	return rs_error_set(err, EBUSY, "the other vCPUs stand still already");
}

static int begin_pause(struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	int ret;

	if (rs_source_joined(source))
		return rs_error_set(err, ENOTSUP, "a process that joined cannot be paused");
	if (active->what.some_cpus) {
		ret = check_cpus(source, &active->what, err);
		if (ret)
			return ret;
		ret = hold(active, RS_HOST_FAULT_BEGIN, err);
		/* What the target was told to hold is to be what others hold. */
		active->over = ret != 0;
		if (ret)
			hold(active, RS_HOST_FAULT_END, NULL);
		return ret;
	}
	ret = rs_target_pause(source->target, err);
	if (ret)
		return ret;
	source->stalled++;
	rs_fault_tell_begin(active);
	rs_session_say_changed(source->session);
	return 0;
}

static int end_pause(struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	int ret;

	active->over = true;
	if (active->what.some_cpus)
		return hold(active, RS_HOST_FAULT_END, err);
	source->stalled--;
	tell(active, RS_HOST_FAULT_END);
	ret = source->ended ? 0 : rs_target_resume(source->target, NULL, err);
	rs_session_say_changed(source->session);
	return ret;
}

/* ---- those that last ---- */

static void take_off(struct rs_active_fault *active)
{
	g_queue_unlink(&active->source->session->faults->active, &active->link);
	if (active->timer) {
		g_source_destroy(active->timer);
		g_source_unref(active->timer);
	}
	active->timer = NULL;
}

static void active_free(struct rs_active_fault *active)
{
	g_free(active->text);
	g_free(active);
}

/* The record comes before what ends it, while the guest surely is as the fault has it. */
static int undo(struct rs_active_fault *active, struct rs_error *err)
{
	if (active->what.kind == RS_FAULT_PAUSE)
		return end_pause(active, err);
	/* One that found no thread has not begun, as was said. */
	tell(active, active->calls && !rs_fault_calls_begun(active->calls) ? RS_HOST_FAULT_REFUSED
									   : RS_HOST_FAULT_END);
	if (active->calls) {
		rs_fault_end_calls(active);
		return 0;
	}
	return active->source->ended
		       ? 0
		       : rs_patcher_unpoke(active->source->patcher, active->poke, err);
}

static void complain(const struct rs_active_fault *active, const struct rs_error *err)
{
	rs_source_say(active->source, "fault %u does not end as it should: %s", active->number,
		      err->message);
}

static void end(struct rs_active_fault *active)
{
	struct rs_error err = {0};

	active->busy = true;
	if (undo(active, &err))
		complain(active, &err);
	take_off(active);
	active_free(active);
}

void rs_fault_over(struct rs_active_fault *active)
{
	end(active);
}

static void drop(struct rs_active_fault *active)
{
	take_off(active);
	if (active->what.kind == RS_FAULT_PAUSE && !active->what.some_cpus)
		active->source->stalled--;
	if (active->calls)
		rs_fault_end_calls(active);
	tell(active, RS_HOST_FAULT_END);
	active_free(active);
}

/* Whoever is at work with one takes it off the list himself. NULL: there is none. */
static struct rs_active_fault *first_of(const struct rs_source *source, bool pauses_too)
{
	for (const GList *l = source->session->faults->active.head; l; l = l->next) {
		struct rs_active_fault *active = l->data;

		if (active->source == source && !active->busy &&
		    (pauses_too || active->what.kind != RS_FAULT_PAUSE))
			return active;
	}
	return NULL;
}

/* The target may end meanwhile, and then the others are dropped. */
void rs_source_end_faults(struct rs_source *source)
{
	struct rs_active_fault *active;

	while ((active = first_of(source, true)))
		end(active);
}

void rs_source_drop_faults(struct rs_source *source)
{
	struct rs_active_fault *active;

	while ((active = first_of(source, true)))
		drop(active);
}

void rs_source_forget_text_faults(struct rs_source *source)
{
	struct rs_active_fault *active;

	while ((active = first_of(source, false)))
		drop(active);
}

/* vCPUs that are held stay so, until it is known that they go on. All else ends in any case. */
static gboolean on_time(gpointer data)
{
	struct rs_active_fault *active = data;
	struct rs_error err = {0};

	if (!active->what.some_cpus) {
		end(active);
		return G_SOURCE_CONTINUE;
	}
	active->busy = true;
	if (!undo(active, &err) || active->source->ended) {
		take_off(active);
		active_free(active);
	} else {
		active->busy = false;
		if (!active->late)
			complain(active, &err);
		active->late = true;
		g_source_set_ready_time(active->timer, g_get_monotonic_time() + AGAIN_US);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean dispatch(GSource *timer, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static void start_timer(struct rs_active_fault *active)
{
	static GSourceFuncs funcs = {.dispatch = dispatch};

	if (!active->what.for_ns)
		return;
	active->timer = g_source_new(&funcs, sizeof(GSource));
	g_source_set_priority(active->timer, G_PRIORITY_HIGH);
	g_source_set_callback(active->timer, on_time, active, NULL);
	g_source_set_ready_time(active->timer,
				g_get_monotonic_time() + (gint64)(active->what.for_ns / 1000));
	g_source_attach(active->timer, active->source->session->context);
}

/* ---- all ---- */

static int begin_lasting(struct rs_active_fault *active, struct rs_error *err)
{
	GQueue *all = &active->source->session->faults->active;
	int ret;

	if (all->length >= RS_FAULTS_MAX)
		return rs_error_set(err, ENOSPC, "%u faults last already", RS_FAULTS_MAX);
	active->busy = true;
	active->link = (GList){.data = active};
	g_queue_push_tail_link(all, &active->link);
	if (active->what.kind == RS_FAULT_PAUSE)
		ret = begin_pause(active, err);
	else if (active->what.kind == RS_FAULT_FAIL_FUNCTION)
		ret = rs_fault_fail_function(active, err);
	else
		ret = rs_fault_fail_calls(active, err);
	active->busy = false;
	if (!ret && active->source->ended) {
		undo(active, NULL);
		ret = rs_error_set(err, ESHUTDOWN, "the guest has ended");
	}
	if (ret)
		take_off(active);
	else
		start_timer(active);
	return ret;
}

static int kill_guest(const struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	const struct rs_target_ops *ops = source->target->ops;

	if (ops->borrowed)
		return rs_error_set(err, ENOTSUP,
				    "this guest runs without us, and is not ours to end");
	if (rs_source_joined(source))
		return rs_error_set(err, ENOTSUP, "a process that joined is not ours to end");
	rs_source_end_faults(source);
	rs_fault_tell_begin(active);
	(ops->kill ? ops->kill : ops->stop)(source->target, RS_FAULT_KILL_WHY);
	return 0;
}

static int reboot(const struct rs_active_fault *active, struct rs_error *err)
{
	struct rs_source *source = active->source;
	struct rs_target *target = source->target;

	if (!target->ops->reset)
		return rs_error_set(err, ENOTSUP, "'%s' (%s) cannot be reset", source->name,
				    target->ops->kind);
	/* A vCPU that is held would not boot. */
	rs_source_end_faults(source);
	rs_fault_tell_begin(active);
	return target->ops->reset(target, err);
}

static int nudge(const struct rs_active_fault *active, struct rs_error *err)
{
	const struct rs_source *source = active->source;
	struct rs_target *target = source->target;

	if (!target->ops->nudge || !(target->ops->nudges & RS_GUEST_NUDGE_NMI))
		return rs_error_set(err, ENOTSUP, "'%s' (%s) takes no NMI", source->name,
				    target->ops->kind);
	rs_fault_tell_begin(active);
	return target->ops->nudge(target, 0, err);
}

static int begin(struct rs_active_fault *active, struct rs_error *err)
{
	switch (active->what.kind) {
	case RS_FAULT_FLIP:
		return rs_fault_flip(active, err);
	case RS_FAULT_NMI:
		return nudge(active, err);
	case RS_FAULT_REBOOT:
		return reboot(active, err);
	case RS_FAULT_KILL:
		return kill_guest(active, err);
	default:
		return begin_lasting(active, err);
	}
}

/* Whether it is about what the agent has told, such as where its tables are. */
static bool needs_agent(const struct rs_fault *fault)
{
	return fault->kind == RS_FAULT_FAIL_FUNCTION || fault->kind == RS_FAULT_FAIL_SYSCALL ||
	       (fault->kind == RS_FAULT_FLIP && !fault->place.physical);
}

static int carry_out(struct rs_active_fault *active, struct rs_error *err)
{
	const struct rs_source *source = active->source;

	if (source->ended)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	if (!source->started)
		return rs_error_set(err, EAGAIN, "it has not been started");
	if (rs_source_is_host(source))
		return rs_error_set(err, ENOTSUP, "the host itself has no faults");
	if (needs_agent(&active->what) && !source->hello)
		return rs_error_set(err, EAGAIN, "its agent has not reported");
	return begin(active, err);
}

/* The only one that the session has started. */
static int choose(struct rs_session *session, struct rs_source **out, struct rs_error *err)
{
	struct rs_source *found = NULL;

	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (rs_source_joined(source))
			continue;
		if (found)
			return rs_error_set(err, EINVAL,
					    "a fault of which source? The session has several");
		found = source;
	}
	if (!found)
		return rs_error_set(err, ESHUTDOWN, "the session has no source");
	*out = found;
	return 0;
}

int rs_session_inject(struct rs_session *session, struct rs_source *source, const char *text,
		      uint32_t *number, struct rs_error *err)
{
	struct rs_filter_error why = {0};
	struct rs_active_fault *active;
	struct rs_fault fault;
	int ret;

	*number = 0;
	if (rs_fault_parse(text, &fault, &why))
		return rs_fault_blame(text, &why, err);
	if (session->detached)
		return rs_session_refuse_over(session, err);
	ret = source ? 0 : choose(session, &source, err);
	if (ret)
		return ret;
	active = g_new0(struct rs_active_fault, 1);
	active->source = source;
	active->number = *number = ++session->faults->made;
	active->text = g_strdup(text);
	active->what = fault;
	ret = carry_out(active, err);
	if (ret)
		tell(active, RS_HOST_FAULT_REFUSED);
	if (ret || !rs_fault_lasts(&fault))
		active_free(active);
	return rs_source_result(source, ret, err);
}
