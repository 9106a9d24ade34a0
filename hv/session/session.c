/* SPDX-License-Identifier: MIT */
#include "session/faults_private.h"

#include "base/prompt.h"
#include "base/say.h"
#include <errno.h>
#include <string.h>

/*
 * Time between two looks at what guests have written, in ms. BUSY is for a guest that uses its
 * mailbox now or did so BUSY_US ago. REFRESH is for all that no hypercall reports.
 */
#define POLL_BUSY_MS 1
#define POLL_IDLE_MS 10
#define POLL_REFRESH_MS 100
#define BUSY_US 200000

/* Under TCG, probes for all events of a Linux at work take as long. */
#define FOLLOW_MS 25000

/* ---- the timer: mailboxes, and a look at what the guests have published ---- */

void rs_session_hurry(struct rs_session *session)
{
	if (session->timer)
		g_source_set_ready_time(session->timer, 0);
}

static void look_at(struct rs_source *source, gint64 now)
{
	rs_source_refresh(source);
	rs_session_share_clocks(source);
	rs_clock_check(source->clock);
	rs_source_sites_tend(source);
	rs_source_tend_rings(source, NULL);
	if (now >= source->refresh_at)
		rs_source_retry_natives(source);
	source->refresh_at = now + POLL_REFRESH_MS * 1000;
}

/* Whether it has sites to patch now. */
static bool patches(const struct rs_source *source)
{
	return source->patching && !source->waiting && !source->failed;
}

/* Whether a look at it now would get on. What failed is tried again at the next refresh. */
static bool has_more(const struct rs_source *source)
{
	return (source->unfinished && !(source->held_up && source->failed)) || patches(source);
}

/* Somebody has cut the file short that holds its region. All of that reads as zeros now. */
static void check_memory(struct rs_source *source)
{
	const struct rs_target_end end = {
		.reason = RS_END_FAULT,
		.text = "somebody cut the memory short that it is traced through",
	};
	guint cuts = rs_trace_region_cuts();

	if (source->cuts == cuts)
		return;
	source->cuts = cuts;
	if (!rs_trace_region_is_cut(source->region))
		return;
	rs_source_detach(source, NULL);
	rs_source_set_ended(source, &end);
}

/* Returns after how many ms to look at the source again. */
static gint64 poll_source(struct rs_source *source, gint64 now)
{
	bool mailboxes = source->region->header.hcall_channel == RS_CHANNEL_MAILBOX;

	rs_source_take_waiting_end(source);
	if (!source->ended)
		check_memory(source);
	if (source->ended)
		return POLL_REFRESH_MS;
	if (mailboxes && (rs_source_poll_mailboxes(source) || !source->hello))
		source->mailbox_busy_until = now + BUSY_US;
	if (!source->ended && (has_more(source) || now >= source->refresh_at))
		look_at(source, now);
	if (!source->ended)
		rs_source_ask_on(source);
	if (!source->ended)
		rs_source_tend_natives(source);
	rs_source_tend_commands(source, now);
	rs_source_tend_engines(source);
	rs_source_tend_faults(source);
	if (has_more(source) || rs_source_asks(source) || rs_source_natives_wait(source))
		return 0;
	if (!mailboxes)
		return POLL_REFRESH_MS;
	/* Somebody waits for news of theirs. */
	if (!g_queue_is_empty(&source->engines))
		return POLL_BUSY_MS;
	return now < source->mailbox_busy_until ? POLL_BUSY_MS : POLL_IDLE_MS;
}

/*
 * Looks at one source after the other. What a source causes is bounded only by the turn. So once
 * the turn is over, the next one begins with the source that was not looked at in this one.
 */
static gint64 poll_sources(struct rs_session *session, gint64 now)
{
	const guint n = session->sources->len;
	gint64 next = POLL_REFRESH_MS;

	for (guint i = 0; i < n; i++) {
		guint at = (session->next_source + i) % n;
		struct rs_source *source = nth_source(session, at);

		if (!source->started || source->ended)
			continue;
		if (rs_turn_over(&session->turn)) {
			session->next_source = at;
			return 0;
		}
		next = MIN(next, poll_source(source, now));
	}
	return rs_turn_over(&session->turn) ? 0 : next;
}

/* All sources of a machine have one counter, but not every agent can be asked at any time. */
void rs_session_share_clocks(struct rs_source *source)
{
	const struct rs_session *session = source->session;
	const struct rs_source *machine = source->machine ? source->machine : source;

	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *other = nth_source(session, i);

		if (other != source && !other->ended &&
		    (other->machine ? other->machine : other) == machine)
			rs_clock_learn(source->clock, other->clock);
	}
}

/* Somebody else has ended a pause by hand. */
static void follow_others(struct rs_session *session)
{
	bool paused = false;

	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (source->target->let_run)
			rs_source_resume(source, NULL);
		paused |= source->paused;
	}
	session->stirred |= paused != session->paused;
	session->paused = paused;
}

static gboolean on_timer(gpointer data)
{
	struct rs_session *session = data;
	gint64 now = g_get_monotonic_time();
	gint64 next;
	bool asks;

	rs_turn_begin(&session->turn);
	session->turn.end = RS_TURN_ASKS(&session->turn);
	asks = rs_later_go_on(session);
	rs_triggers_go_on(session);
	session->turn.end = session->turn.length;
	next = poll_sources(session, now);
	if (rs_session_over(session))
		return G_SOURCE_REMOVE;
	if (session->paused)
		follow_others(session);
	if (session->stirred) {
		session->stirred = false;
		rs_session_say_changed(session);
	}
	if (asks)
		next = 0;
	if (rs_session_poll_members(session, now))
		next = MIN(next, POLL_IDLE_MS);
	next = MIN(next, rs_later_poll_ms(session));
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

static void stop_timer(struct rs_session *session)
{
	if (session->timer)
		g_source_destroy(session->timer);
	g_clear_pointer(&session->timer, g_source_unref);
}

/* ---- names ---- */

int rs_session_check_name(const char *name, struct rs_error *err)
{
	size_t length = strlen(name);

	if (length < 1 || length > RS_SESSION_NAME_MAX)
		return rs_error_set(err, EINVAL, "a name has 1 to %d characters",
				    RS_SESSION_NAME_MAX);
	if (*name == '.' || *name == '-')
		return rs_error_set(err, EINVAL, "a name does not start with '%c'", *name);
	for (size_t i = 0; i < length; i++) {
		if (!g_ascii_isalnum(name[i]) && !strchr("._-", name[i]))
			return rs_error_set(err, EINVAL,
					    "a name is made of letters, digits, '.', '_' "
					    "and '-'");
	}
	return 0;
}

char *rs_session_name_for(const char *kernel)
{
	g_autofree char *base = g_path_get_basename(kernel);
	char *from = base;

	if (g_str_has_suffix(base, ".elf") || g_str_has_suffix(base, ".xml"))
		base[strlen(base) - 4] = 0;
	g_strcanon(base, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-", '-');
	/* Room for "-2" or ".2" and the like. */
	if (strlen(base) > RS_SESSION_NAME_MAX - 24)
		base[RS_SESSION_NAME_MAX - 24] = 0;
	while (*from == '.' || *from == '-')
		from++;
	return g_strdup(*from ? from : "guest");
}

/* ---- life ---- */

int rs_session_create(const char *name, struct rs_session **out, struct rs_error *err)
{
	struct rs_session *session;
	int ret = rs_session_check_name(name, err);

	if (ret)
		return ret;
	/* Whoever switches an event on waits for this thread. */
	rs_prompt_thread();
	session = g_new0(struct rs_session, 1);
	session->name = g_strdup(name);
	session->context = g_main_context_ref_thread_default();
	session->sources = g_ptr_array_new();
	session->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	session->owners = rs_owners_new();
	session->engines = rs_engines_new();
	session->faults = rs_faults_new();
	session->memories = g_ptr_array_new_with_free_func(rs_session_free_memory);
	session->listeners = g_ptr_array_new();
	session->laters = rs_laters_new();
	session->turn.length = RS_TURN_WORK;
	session->follow_ms = FOLLOW_MS;
	session->programs.length = RS_PROGRAMS_MAX;
	*out = session;
	return 0;
}

void rs_session_set_turn(struct rs_session *session, uint64_t work)
{
	session->turn.length = work;
}

void rs_session_set_patience(struct rs_session *session, uint32_t ms)
{
	session->follow_ms = ms;
}

void rs_session_set_program_room(struct rs_session *session, uint64_t bytes)
{
	session->programs.length = bytes;
}

int rs_session_add_source(struct rs_session *session, const struct rs_source_config *config,
			  RsTraceRegion *region, struct rs_target *target, struct rs_source **out,
			  struct rs_error *err)
{
	struct rs_source *source;
	int ret = rs_source_create(session, config, NULL, region, target, &source, err);

	if (ret)
		return ret;
	g_ptr_array_add(session->sources, source);
	if (out)
		*out = source;
	return 0;
}

void rs_session_drop_source(struct rs_session *session, struct rs_source *source)
{
	rs_stat_forget(source);
	rs_later_drop_source(session, source);
	g_ptr_array_remove(session->sources, source);
	rs_source_say_gone(source);
	rs_source_destroy(source);
}

int rs_session_start(struct rs_session *session, struct rs_error *err)
{
	int ret = 0;

	session->started = true;
	ret = rs_session_start_host(session, err);
	for (guint i = 0; i < session->sources->len && !ret; i++)
		ret = rs_source_start(nth_source(session, i), err);
	if (!session->timer)
		start_timer(session);
	return ret;
}

int rs_session_detach(struct rs_session *session, struct rs_error *err)
{
	int ret = 0;

	if (session->detached || !session->started)
		return 0;
	for (guint i = 0; i < session->sources->len; i++) {
		int failed = rs_source_detach(nth_source(session, i), ret ? NULL : err);

		ret = ret ? ret : failed;
	}
	session->detached = true;
	rs_session_settle(session);
	return ret;
}

void rs_session_destroy(struct rs_session *session)
{
	struct rs_error err = {0};

	if (!session)
		return;
	if (session->paused)
		rs_session_resume(session, NULL);
	if (rs_session_detach(session, &err)) {
		g_autofree char *line = g_strdup_printf(
			"ringside: the guest's text could not be restored: %s\n", err.message);

		rs_say(line);
	}
	stop_timer(session);
	g_ptr_array_unref(session->laters);
	/* The host is freed last: vCPUs may still tell of their exits. */
	if (session->host) {
		g_ptr_array_remove(session->sources, session->host);
		g_ptr_array_insert(session->sources, 0, session->host);
	}
	/*
	 * Sources that joined are freed before the machine whose clock they use. A source tries
	 * once more to restore its text, which looks at all sources that are left.
	 */
	for (guint i = session->sources->len; i--;) {
		rs_source_destroy(nth_source(session, i));
		g_ptr_array_set_size(session->sources, (gint)i);
	}
	g_ptr_array_unref(session->sources);
	g_ptr_array_unref(session->memories);
	rs_owners_free(session->owners);
	rs_engines_free(session->engines);
	rs_faults_free(session->faults);
	rs_triggers_free(session->triggers);
	g_hash_table_unref(session->names);
	g_ptr_array_unref(session->listeners);
	g_main_context_unref(session->context);
	g_free(session->name);
	g_free(session->core);
	g_free(session);
}

/* ---- all sources ---- */

void rs_session_refresh(struct rs_session *session)
{
	rs_turn_begin(&session->turn);
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (source->started && !source->ended)
			rs_source_refresh(source);
	}
}

static void resume_all(struct rs_session *session, int *ret, struct rs_error *err)
{
	for (guint i = 0; i < session->sources->len; i++) {
		int failed = rs_source_resume(nth_source(session, i), *ret ? NULL : err);

		*ret = *ret ? *ret : failed;
	}
}

int rs_session_pause(struct rs_session *session, struct rs_error *err)
{
	int ret = 0;

	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	if (session->paused)
		return rs_error_set(err, EBUSY, "the guest is paused already");
	for (guint i = 0; i < session->sources->len && !ret; i++)
		ret = rs_source_pause(nth_source(session, i), err);
	session->paused = !ret;
	if (ret)
		resume_all(session, &ret, NULL);
	return ret;
}

static bool is_held(const struct rs_session *session)
{
	for (guint i = 0; i < session->sources->len; i++)
		if (nth_source(session, i)->target->held)
			return true;
	return false;
}

int rs_session_resume(struct rs_session *session, struct rs_error *err)
{
	int ret = 0;

	if (rs_session_over(session))
		return rs_session_refuse_over(session, err);
	if (!session->paused)
		return rs_error_set(err, EBUSY,
				    is_held(session) ? "somebody else has paused the guest, and "
						       "lets it run on"
						     : "the guest is not paused");
	resume_all(session, &ret, err);
	session->paused = ret != 0;
	return ret;
}

void rs_session_stop(struct rs_session *session, const char *why)
{
	struct rs_error err = {0};

	if (session->paused)
		rs_session_resume(session, NULL);
	for (guint i = 0; i < session->sources->len; i++) {
		struct rs_source *source = nth_source(session, i);

		if (!source->started || source->ended)
			continue;
		rs_source_end_faults(source);
		/* It goes on without us. */
		if (source->target->ops->borrowed && rs_source_detach(source, &err))
			rs_session_say(session, "%s", err.message);
		source->target->ops->stop(source->target, why);
	}
}

/* ---- plain questions ---- */

bool rs_session_over(const struct rs_session *session)
{
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (!source->ended && !rs_source_joined(source))
			return false;
	}
	return session->sources->len > 0;
}

int rs_session_refuse_over(const struct rs_session *session, struct rs_error *err)
{
	return rs_error_set(err, ESHUTDOWN, "%s",
			    session->sources->len > 1 ? "all that the session started has ended"
						      : "the guest has ended");
}

const struct rs_source *rs_session_end_source(const struct rs_session *session)
{
	const struct rs_source *found = NULL;

	if (!rs_session_over(session))
		return NULL;
	for (guint i = 0; i < session->sources->len; i++) {
		const struct rs_source *source = nth_source(session, i);

		if (rs_source_joined(source))
			continue;
		found = source;
		if (source->end.reason != RS_END_EXIT || source->end.code)
			break;
	}
	return found;
}

const struct rs_target_end *rs_session_end(const struct rs_session *session)
{
	const struct rs_source *source = rs_session_end_source(session);

	return source ? &source->end : NULL;
}

enum rs_session_state rs_session_state(const struct rs_session *session)
{
	bool paused = session->paused;

	if (rs_session_over(session))
		return RS_SESSION_ENDED;
	for (guint i = 0; i < session->sources->len; i++) {
		enum rs_session_state state = rs_source_state(nth_source(session, i));

		if (rs_source_is_host(nth_source(session, i)))
			continue;
		if (state == RS_SESSION_RUNNING && !session->paused)
			return state;
		paused |= state == RS_SESSION_PAUSED;
	}
	return paused ? RS_SESSION_PAUSED : RS_SESSION_WAITING;
}

const char *rs_session_state_name(enum rs_session_state state)
{
	static const char *const names[] = {"waiting", "running", "paused", "ended"};

	return (unsigned int)state < G_N_ELEMENTS(names) ? names[state] : "unknown";
}

const char *rs_session_name(const struct rs_session *session)
{
	return session->name;
}

uint32_t rs_session_source_changes(const struct rs_session *session)
{
	return session->source_changes;
}

guint rs_session_n_sources(const struct rs_session *session)
{
	return session->sources->len;
}

struct rs_source *rs_session_source(const struct rs_session *session, guint i)
{
	return nth_source(session, i);
}

void rs_session_result_clear(struct rs_session_result *result)
{
	g_clear_pointer(&result->problems, g_ptr_array_unref);
	g_clear_pointer(&result->failed, g_array_unref);
	g_clear_pointer(&result->kept_for, g_ptr_array_unref);
	*result = (struct rs_session_result){0};
}
