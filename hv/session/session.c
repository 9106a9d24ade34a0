/* SPDX-License-Identifier: MIT */
#include "session/private.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <rs-trace-ring-info.h>
#include <stdio.h>
#include <string.h>

/* How often the region is looked at where nothing tells us: often while a guest is talking. */
#define POLL_BUSY_MS 1
#define POLL_IDLE_MS 10
#define POLL_REFRESH_MS 100
#define BUSY_US 200000
/* A guest can make us talk: so many lines at once, and so many a second from then on. */
#define SAY_BURST 200
#define SAY_PER_SECOND 50

/* ---- listeners ---- */

void rs_session_add_listener(struct rs_session *session, const struct rs_session_listener *listener)
{
	g_ptr_array_add(session->listeners, (gpointer)listener);
}

void rs_session_remove_listener(struct rs_session *session,
				const struct rs_session_listener *listener)
{
	g_ptr_array_remove(session->listeners, (gpointer)listener);
}

static void tell(struct rs_session *session, const char *text)
{
	for (guint i = 0; i < session->listeners->len; i++) {
		const struct rs_session_listener *l = session->listeners->pdata[i];

		if (l->message)
			l->message(l->data, text);
	}
}

static void tell_unsaid(struct rs_session *session)
{
	g_autofree char *text = NULL;

	if (!session->unsaid)
		return;
	text = g_strdup_printf("%" G_GUINT64_FORMAT " messages were left out", session->unsaid);
	session->unsaid = 0;
	tell(session, text);
}

static bool may_say(struct rs_session *session)
{
	gint64 now = g_get_monotonic_time();
	gint64 earned = (now - session->said_at) * SAY_PER_SECOND / G_USEC_PER_SEC;

	if (earned > 0) {
		session->say_credit = (uint32_t)MIN(session->say_credit + earned, SAY_BURST);
		session->said_at = now;
	}
	/* Once silenced, silent for a moment: not a line now and then with a count between them. */
	if (session->say_credit < (session->unsaid ? SAY_PER_SECOND : 1)) {
		session->unsaid++;
		return false;
	}
	session->say_credit--;
	return true;
}

void rs_session_say(struct rs_session *session, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	if (!may_say(session))
		return;
	tell_unsaid(session);
	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	tell(session, text);
}

void rs_session_say_failed(struct rs_session *session, const struct rs_error *err)
{
	for (guint i = 0; i < session->listeners->len; i++) {
		const struct rs_session_listener *l = session->listeners->pdata[i];

		if (l->failed)
			l->failed(l->data, err);
	}
}

void rs_session_say_changed(struct rs_session *session)
{
	for (guint i = 0; i < session->listeners->len; i++) {
		const struct rs_session_listener *l = session->listeners->pdata[i];

		if (l->changed)
			l->changed(l->data, rs_publisher_generation(session->publisher));
	}
}

/* ---- from the target ---- */

static void on_doorbell(void *data)
{
	struct rs_session *session = data;

	for (guint i = 0; i < session->listeners->len; i++) {
		const struct rs_session_listener *l = session->listeners->pdata[i];

		if (l->doorbell)
			l->doorbell(l->data);
	}
}

void rs_session_set_ended(struct rs_session *session, const struct rs_target_end *end)
{
	if (session->ended)
		return;
	/* The last word of a guest that was never polled since. */
	rs_session_refresh(session);
	tell_unsaid(session);
	session->ended = true;
	session->end = *end;
	session->end.text[sizeof(session->end.text) - 1] = 0;
	rs_publisher_set_flags(session->publisher, RS_CONTROL_STOP, 0);
	for (guint i = 0; i < session->listeners->len; i++) {
		const struct rs_session_listener *l = session->listeners->pdata[i];

		if (l->ended)
			l->ended(l->data, &session->end);
	}
}

static void on_target_ended(void *data, const struct rs_target_end *end)
{
	struct rs_session *session = data;

	/* A request to exit may still lie in its mailbox. */
	if (!session->ended && session->region->header.hcall_channel == RS_CHANNEL_MAILBOX)
		rs_session_poll_mailboxes(session);
	rs_session_set_ended(session, end);
}

/* ---- the timer: mailboxes, and a look at what the guest has published ---- */

static gboolean on_timer(gpointer data)
{
	struct rs_session *session = data;
	gint64 now = g_get_monotonic_time();
	gint64 next = POLL_REFRESH_MS;

	if (session->ended)
		return G_SOURCE_REMOVE;
	if (session->region->header.hcall_channel == RS_CHANNEL_MAILBOX) {
		if (rs_session_poll_mailboxes(session) || !session->hello)
			session->mailbox_busy_until = now + BUSY_US;
		next = now < session->mailbox_busy_until ? POLL_BUSY_MS : POLL_IDLE_MS;
	}
	if (session->ended)
		return G_SOURCE_REMOVE;
	if (now >= session->refresh_at) {
		rs_session_refresh(session);
		session->refresh_at = now + POLL_REFRESH_MS * 1000;
	}
	g_source_set_ready_time(session->timer, now + next * 1000);
	return G_SOURCE_CONTINUE;
}

static gboolean dispatch_timer(GSource *source, GSourceFunc callback, gpointer data)
{
	return callback(data);
}

static GSourceFuncs timer_funcs = {.dispatch = dispatch_timer};

static void start_timer(struct rs_session *session)
{
	session->timer = g_source_new(&timer_funcs, sizeof(GSource));
	g_source_set_callback(session->timer, on_timer, session, NULL);
	g_source_set_ready_time(session->timer, 0);
	g_source_attach(session->timer, session->context);
}

/* ---- life ---- */

int rs_session_check_name(const char *name, struct rs_error *err)
{
	size_t length = strlen(name);

	if (length < 1 || length > RS_SESSION_NAME_MAX)
		return rs_error_set(err, EINVAL, "a session name has 1 to %d characters",
				    RS_SESSION_NAME_MAX);
	if (*name == '.' || *name == '-')
		return rs_error_set(err, EINVAL, "a session name does not start with '%c'", *name);
	for (size_t i = 0; i < length; i++) {
		if (!g_ascii_isalnum(name[i]) && !strchr("._-", name[i]))
			return rs_error_set(err, EINVAL,
					    "a session name is made of letters, digits, '.', '_' "
					    "and '-'");
	}
	return 0;
}

static struct rs_publisher *make_publisher(RsTraceRegion *region)
{
	struct rs_publisher_map map = {.event_capacity = region->header.event_capacity};

	map.control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	map.event_ctl = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	map.filters = rs_trace_region_section(region, RS_SEC_FILTERS, &map.filters_size);
	map.epochs = rs_trace_region_section(region, RS_SEC_CLOCK, NULL);
	map.epoch_capacity = region->header.section[RS_SEC_CLOCK].count;
	return rs_publisher_create(&map);
}

/* What an earlier session has answered is not answered again. */
static uint32_t *last_answers(const RsTraceRegion *region)
{
	uint32_t slots = region->header.section[RS_SEC_RESPONSE].count;
	uint32_t *answered = g_new0(uint32_t, slots);

	for (uint32_t i = 0; i < slots; i++) {
		const struct rs_hcall_response *response =
			rs_trace_region_element(region, RS_SEC_RESPONSE, i);

		answered[i] = rs_load(&response->sequence);
	}
	return answered;
}

int rs_session_create(const struct rs_session_config *config, RsTraceRegion *region,
		      struct rs_target *target, struct rs_session **out, struct rs_error *err)
{
	struct rs_session *session;
	int ret = rs_session_check_name(config->name, err);

	if (ret)
		return ret;
	session = g_new0(struct rs_session, 1);
	session->say_credit = SAY_BURST;
	session->name = g_strdup(config->name);
	session->kernel = g_strdup(config->kernel);
	session->journal = g_strdup(config->journal);
	session->region = region;
	session->target = target;
	session->schema = rs_trace_schema_new();
	session->context = g_main_context_ref_thread_default();
	session->listeners = g_ptr_array_new();
	session->publisher = make_publisher(region);
	session->events = g_new0(struct event_state, region->header.event_capacity);
	session->providers =
		g_new0(struct rs_provider, region->header.section[RS_SEC_PROVIDERS].count);
	session->answered = last_answers(region);
	ret = rs_session_sites_init(session, config->report, err);
	if (ret) {
		session->region = NULL;
		session->target = NULL;
		rs_session_destroy(session);
		return ret;
	}
	target->events = (struct rs_target_events){.data = session,
						   .hypercall = rs_session_hypercall,
						   .doorbell = on_doorbell,
						   .ended = on_target_ended};
	*out = session;
	return 0;
}

int rs_session_detach(struct rs_session *session, struct rs_error *err)
{
	int ret = 0;

	if (session->detached || !session->started)
		return 0;
	if (!session->ended) {
		ret = rs_session_all_off(session, err);
		rs_publisher_set_flags(session->publisher, RS_CONTROL_STOP, 0);
		rs_publisher_commit(session->publisher);
	}
	session->detached = true;
	return ret;
}

void rs_session_destroy(struct rs_session *session)
{
	if (!session)
		return;
	if (session->region) {
		struct rs_error err = {0};

		if (session->paused && !session->ended)
			rs_session_resume(session, NULL);
		if (rs_session_detach(session, &err))
			g_printerr("ringside: the guest's text could not be restored: %s\n",
				   err.message);
	}
	if (session->timer) {
		g_source_destroy(session->timer);
		g_source_unref(session->timer);
	}
	rs_session_sites_fini(session);
	if (session->target)
		session->target->ops->destroy(session->target);
	rs_publisher_destroy(session->publisher);
	if (session->events && session->region) {
		for (uint32_t id = 0; id < session->region->header.event_capacity; id++) {
			g_free(session->events[id].filter);
			g_free(session->events[id].note);
		}
	}
	rs_trace_region_free(session->region);
	g_free(session->events);
	g_free(session->providers);
	g_free(session->answered);
	rs_trace_schema_free(session->schema);
	g_clear_pointer(&session->rules, g_ptr_array_unref);
	g_ptr_array_unref(session->listeners);
	g_main_context_unref(session->context);
	g_free(session->name);
	g_free(session->kernel);
	g_free(session->journal);
	g_free(session);
}

void rs_session_begin_clock(struct rs_session *session, uint64_t hz, uint64_t ticks)
{
	struct rs_epoch_start start = {
		.hz = hz,
		.ticks = ticks,
		.ns = (uint64_t)g_get_monotonic_time() * 1000 - session->region->header.origin_ns,
		.wall_ns = (uint64_t)g_get_real_time() * 1000,
	};

	rs_publisher_begin_epoch(session->publisher, &start);
}

int rs_session_start(struct rs_session *session, struct rs_error *err)
{
	struct rs_target *target = session->target;
	int ret;

	session->started = true;
	if (target->ops->clock_hz)
		rs_session_begin_clock(session, target->ops->clock_hz(target),
				       target->ops->clock_now ? target->ops->clock_now(target) : 0);
	ret = target->ops->start(target, err);
	if (ret) {
		session->started = false;
		return ret;
	}
	start_timer(session);
	return 0;
}

void rs_session_ask_self_patch(struct rs_session *session)
{
	rs_publisher_set_flags(session->publisher, RS_CONTROL_SELF_PATCH, 0);
	rs_publisher_commit(session->publisher);
}

int rs_session_pause(struct rs_session *session, struct rs_error *err)
{
	int ret;

	if (session->ended)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	if (session->paused)
		return rs_error_set(err, EBUSY, "the guest is paused already");
	ret = session->target->ops->pause(session->target, err);
	if (!ret)
		session->paused = true;
	return ret;
}

int rs_session_resume(struct rs_session *session, struct rs_error *err)
{
	int ret;

	if (session->ended)
		return rs_error_set(err, ESHUTDOWN, "the guest has ended");
	if (!session->paused)
		return rs_error_set(err, EBUSY, "the guest is not paused");
	ret = session->target->ops->resume(session->target, err);
	if (!ret)
		session->paused = false;
	return ret;
}

void rs_session_stop(struct rs_session *session, const char *why)
{
	if (session->ended)
		return;
	if (session->paused)
		rs_session_resume(session, NULL);
	session->target->ops->stop(session->target, why);
}

/* ---- figures ---- */

void rs_session_stat_cpu(const struct rs_session *session, const struct rs_session_stat *stat,
			 uint32_t cpu, struct rs_session_cpu_stat *out)
{
	RsTraceRingInfo info = {0};

	rs_trace_ring_info(session->region, cpu, &info);
	*out = (struct rs_session_cpu_stat){
		.entries = info.entries,
		.overrun = info.overrun,
		.dropped = info.dropped,
		.too_large = info.too_large,
		.skipped = info.skipped,
		.bytes = info.bytes,
		.written = info.records,
		.oldest_ts = info.oldest_ts,
		.newest_ts = info.newest_ts,
		.oldest_ns = rs_publisher_ns(session->publisher, info.oldest_ts),
		.now_ns = rs_publisher_ns(session->publisher,
					  stat->now_ts ? stat->now_ts : info.newest_ts),
	};
}

void rs_session_stat(struct rs_session *session, struct rs_session_stat *out)
{
	struct rs_target *target = session->target;

	memset(out, 0, sizeof(*out));
	out->now_ts = target->ops->clock_now ? target->ops->clock_now(target) : 0;
	if (session->started && !session->ended)
		rs_session_refresh(session);
	out->state = rs_session_state(session);
	out->clock_hz = rs_publisher_clock_hz(session->publisher);
	for (guint i = 0; i < rs_trace_schema_n_events(session->schema); i++) {
		const RsTraceEvent *event = rs_trace_schema_nth(session->schema, i);

		if (event->id >= session->region->header.event_capacity)
			continue;
		out->events++;
		out->events_on += session->events[event->id].on;
	}
	rs_session_sites_stat(session, out);
	out->bad_descriptors = session->bad_descriptors;
	if (session->hello) {
		out->lost_nested = session->info.lost_nested;
		out->lost_no_ring = session->info.lost_no_ring;
		out->self_patch = session->info.flags & RS_GUEST_SELF_PATCH;
		out->applied_generation = session->info.applied_generation;
		if (out->self_patch) {
			out->sites_on = session->info.sites_on;
			out->sites_refused = session->info.patch_errors;
		}
	}
	out->generation = rs_publisher_generation(session->publisher);
	if (target->ops->stats)
		target->ops->stats(target, &out->target);
	out->target.hypercalls += session->hypercalls;
	out->target.bad_hypercalls += session->bad_hypercalls;
	out->cpus = session->region->header.ring_count;
	for (uint32_t i = 0; i < out->cpus; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(session->region, i, &info);
		out->written += info.records;
		out->dropped += info.dropped;
		out->overrun += info.overrun;
	}
}

/* ---- plain questions ---- */

enum rs_session_state rs_session_state(const struct rs_session *session)
{
	if (session->ended)
		return RS_SESSION_ENDED;
	if (session->paused)
		return RS_SESSION_PAUSED;
	return session->hello ? RS_SESSION_RUNNING : RS_SESSION_WAITING;
}

const char *rs_session_state_name(enum rs_session_state state)
{
	static const char *const names[] = {"waiting", "running", "paused", "ended"};

	return (unsigned int)state < G_N_ELEMENTS(names) ? names[state] : "unknown";
}

const char *rs_end_reason_name(enum rs_end_reason reason)
{
	static const char *const names[] = {
		[RS_END_EXIT] = "exit",
		[RS_END_PANIC] = "panic",
		[RS_END_TRIPLE_FAULT] = "triple-fault",
		[RS_END_RESET] = "reset",
		[RS_END_KILLED] = "killed",
		[RS_END_GONE] = "gone",
		[RS_END_FAULT] = "fault",
	};

	return (unsigned int)reason < G_N_ELEMENTS(names) ? names[reason] : "unknown";
}

const char *rs_session_name(const struct rs_session *session)
{
	return session->name;
}

const char *rs_session_kind(const struct rs_session *session)
{
	return session->target->ops->kind;
}

const char *rs_session_kernel(const struct rs_session *session)
{
	return session->kernel;
}

const RsTraceRegion *rs_session_region(const struct rs_session *session)
{
	return session->region;
}

const struct rs_target *rs_session_target(const struct rs_session *session)
{
	return session->target;
}

const struct rs_target_end *rs_session_end(const struct rs_session *session)
{
	return session->ended ? &session->end : NULL;
}

void rs_session_result_clear(struct rs_session_result *result)
{
	g_clear_pointer(&result->problems, g_ptr_array_unref);
	*result = (struct rs_session_result){0};
}
