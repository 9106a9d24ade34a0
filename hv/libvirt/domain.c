/* SPDX-License-Identifier: MIT */
/*
 * Three threads meet here: the session's, which asks and is told; the domain's own, which waits for
 * libvirt; and that of the event loop, which brings what happened. The domain lives until the last
 * of them has let it go.
 */
#include "libvirt/private.h"

#include "libvirt/loop.h"
#include <errno.h>
#include <stdlib.h>

#define CLOSE_MS 500      /* for a daemon that is to be told that we go */
#define RECONNECT_MS 1000 /* between two attempts */
#define WAITING_MAX 64u   /* calls without a wait that may be under way */
#define EVENTS_MAX 10000u /* that nobody has taken yet: later ones are dropped */

struct rs_domain {
	gatomicrefcount refs;
	GThreadPool *calls;   /* one thread */
	struct rs_virt *virt; /* only there; NULL: no connection */
	struct rs_virt_id id; /* does not change once it is open */
	int run;              /* only on the calls' thread: the id of the run last seen */

	GMutex lock; /* of what follows up to `context` */
	GCond arrived;
	bool closed;
	bool connected;
	bool late; /* a call took too long, and is still at work */
	guint waiting;
	int timer; /* of the next attempt to connect; 0: none */

	/* The session's thread. */
	GMainContext *context;
	GAsyncQueue *news; /* of struct news */
	rs_domain_changed_fn changed;
	void *changed_data;
	rs_domain_monitor_fn monitor;
	void *monitor_data;
};

/* Something to be told on the session's thread. */
struct news {
	enum { CHANGED, MONITOR, ANSWER } kind;
	enum rs_domain_change change;
	char *name, *text; /* of an event; an answer is `text` */
	rs_domain_answer_fn done;
	void *data;
	struct rs_error err;
};

/* One call of libvirt. */
struct job {
	gatomicrefcount refs; /* who waits, and the thread that carries it out */
	int (*run)(struct rs_domain *domain, struct job *job);
	const char *what; /* for messages */
	char *text;       /* what it needs: a URI, XML, JSON */
	char *name;
	bool inactive, attach;

	GMutex lock;
	GCond ended;
	bool done;
	int ret;
	struct rs_error err;
	char *out;
	struct rs_domain_status status;
	rs_domain_answer_fn answer; /* nobody waits for it */
	void *data;
};

/* ---- the life of a domain ---- */

static void free_news(void *data)
{
	struct news *news = data;

	g_free(news->name);
	free(news->text);
	g_free(news);
}

static struct rs_domain *ref(struct rs_domain *domain)
{
	g_atomic_ref_count_inc(&domain->refs);
	return domain;
}

static void unref(void *data)
{
	struct rs_domain *domain = data;
	struct news *news;

	if (!g_atomic_ref_count_dec(&domain->refs))
		return;
	while ((news = g_async_queue_try_pop(domain->news))) {
		if (news->kind == ANSWER)
			news->done(news->data, NULL, &news->err);
		free_news(news);
	}
	g_async_queue_unref(domain->news);
	g_main_context_unref(domain->context);
	g_mutex_clear(&domain->lock);
	g_cond_clear(&domain->arrived);
	free(domain->id.name);
	free(domain->id.uuid);
	free(domain->id.uri);
	g_free(domain);
}

/* ---- telling the session ---- */

static void tell(struct rs_domain *domain, const struct news *news)
{
	if (news->kind == ANSWER)
		news->done(news->data, news->text, news->text ? NULL : &news->err);
	else if (news->kind == CHANGED && domain->changed)
		domain->changed(domain->changed_data, news->change, news->text);
	else if (news->kind == MONITOR && domain->monitor)
		domain->monitor(domain->monitor_data, news->name, news->text);
}

bool rs_domain_take(struct rs_domain *domain)
{
	struct news *news = g_async_queue_try_pop(domain->news);

	if (!news)
		return false;
	tell(domain, news);
	free_news(news);
	return true;
}

bool rs_domain_wait(struct rs_domain *domain, int timeout_ms)
{
	gint64 end = g_get_monotonic_time() + timeout_ms * G_TIME_SPAN_MILLISECOND;
	bool arrived;

	g_mutex_lock(&domain->lock);
	while (g_async_queue_length(domain->news) <= 0 &&
	       g_cond_wait_until(&domain->arrived, &domain->lock, end))
		;
	arrived = g_async_queue_length(domain->news) > 0;
	g_mutex_unlock(&domain->lock);
	return arrived;
}

static bool is_closed(struct rs_domain *domain)
{
	bool closed;

	g_mutex_lock(&domain->lock);
	closed = domain->closed;
	g_mutex_unlock(&domain->lock);
	return closed;
}

static gboolean deliver(void *data)
{
	struct rs_domain *domain = data;

	/* There is one such call for each of the news. */
	if (!is_closed(domain))
		rs_domain_take(domain);
	return G_SOURCE_REMOVE;
}

/* With the lock held. */
static void put(struct rs_domain *domain, const struct news *model)
{
	struct news *news = g_new(struct news, 1);
	GSource *source;

	*news = *model;
	if (news->kind != ANSWER && g_async_queue_length(domain->news) >= (gint)EVENTS_MAX) {
		free_news(news);
		return;
	}
	g_async_queue_push(domain->news, news);
	g_cond_signal(&domain->arrived);
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, deliver, ref(domain), unref);
	g_source_attach(source, domain->context);
	g_source_unref(source);
}

/* Likewise. */
static void put_change(struct rs_domain *domain, enum rs_domain_change change, const char *detail)
{
	put(domain, &(struct news){.kind = CHANGED, .change = change, .text = g_strdup(detail)});
}

/* ---- calls ---- */

static struct job *job_new(int (*run)(struct rs_domain *domain, struct job *job), const char *what,
			   const char *text)
{
	struct job *job = g_new0(struct job, 1);

	g_atomic_ref_count_init(&job->refs);
	g_mutex_init(&job->lock);
	g_cond_init(&job->ended);
	job->run = run;
	job->what = what;
	job->text = g_strdup(text);
	return job;
}

static void job_unref(struct job *job)
{
	if (!g_atomic_ref_count_dec(&job->refs))
		return;
	g_mutex_clear(&job->lock);
	g_cond_clear(&job->ended);
	g_free(job->text);
	g_free(job->name);
	free(job->out);
	g_free(job);
}

static void set_late(struct rs_domain *domain, bool late)
{
	g_mutex_lock(&domain->lock);
	domain->late = late;
	g_mutex_unlock(&domain->lock);
}

static void give_answer(struct rs_domain *domain, struct job *job)
{
	struct news news = {.kind = ANSWER, .done = job->answer, .data = job->data};

	news.err = job->err;
	news.text = job->ret ? NULL : job->out;
	job->out = NULL;
	g_mutex_lock(&domain->lock);
	domain->waiting--;
	put(domain, &news);
	g_mutex_unlock(&domain->lock);
}

/* On the thread of the calls. */
static void carry_out(void *data, void *user_data)
{
	struct job *job = data;
	struct rs_domain *domain = user_data;

	job->ret = job->run(domain, job);
	set_late(domain, false);
	if (job->answer)
		give_answer(domain, job);
	g_mutex_lock(&job->lock);
	job->done = true;
	g_cond_signal(&job->ended);
	g_mutex_unlock(&job->lock);
	job_unref(job);
	unref(domain);
}

static void start(struct rs_domain *domain, struct job *job)
{
	ref(domain);
	g_atomic_ref_count_inc(&job->refs);
	g_thread_pool_push(domain->calls, job, NULL);
}

/* With the lock held, under which the domain is not closed. Nobody waits for it. */
static void start_unwatched(struct rs_domain *domain,
			    int (*run)(struct rs_domain *domain, struct job *job))
{
	struct job *job = job_new(run, "", NULL);

	start(domain, job);
	job_unref(job);
}

static bool wait_for(struct job *job, int timeout_ms)
{
	gint64 end = g_get_monotonic_time() + timeout_ms * G_TIME_SPAN_MILLISECOND;
	bool done;

	g_mutex_lock(&job->lock);
	while (!job->done && g_cond_wait_until(&job->ended, &job->lock, end))
		;
	done = job->done;
	g_mutex_unlock(&job->lock);
	return done;
}

/* Frees the job, unless it succeeded. */
static int call(struct rs_domain *domain, struct job *job, int timeout_ms, struct rs_error *err)
{
	const char *what = job->what;
	int ret;

	g_mutex_lock(&domain->lock);
	ret = domain->late ? -EAGAIN : 0;
	g_mutex_unlock(&domain->lock);
	if (ret) {
		job_unref(job);
		return rs_error_set(err, EAGAIN, "libvirt: an earlier call has not been answered");
	}
	start(domain, job);
	if (!wait_for(job, timeout_ms)) {
		set_late(domain, true);
		/* It may have ended in between, and then nothing is late. */
		if (wait_for(job, 0))
			set_late(domain, false);
		job_unref(job);
		return rs_error_set(err, ETIMEDOUT, "libvirt: no answer to '%s' for %d s", what,
				    (timeout_ms + 999) / 1000);
	}
	ret = job->ret;
	if (ret) {
		if (err)
			*err = job->err;
		job_unref(job);
	}
	return ret;
}

static int check_connected(struct rs_domain *domain, struct job *job)
{
	if (!domain->virt)
		return rs_error_set(&job->err, EPIPE, "libvirt's daemon has gone away");
	return 0;
}

/* ---- open and close ---- */

static int do_open(struct rs_domain *domain, struct job *job)
{
	int ret = rs_virt_open(job->text, job->name, &domain->virt, &domain->id, &job->err);

	domain->connected = !ret;
	return ret;
}

static int do_close(struct rs_domain *domain, struct job *job)
{
	if (domain->virt)
		rs_virt_close(domain->virt);
	domain->virt = NULL;
	return 0;
}

int rs_domain_open(const char *uri, const char *name, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err)
{
	struct rs_domain *domain = g_new0(struct rs_domain, 1);
	struct job *job = job_new(do_open, "connect", uri);
	int ret;

	g_atomic_ref_count_init(&domain->refs);
	g_mutex_init(&domain->lock);
	g_cond_init(&domain->arrived);
	domain->context = g_main_context_ref(context ? context : g_main_context_default());
	domain->news = g_async_queue_new_full(free_news);
	domain->calls = g_thread_pool_new(carry_out, domain, 1, FALSE, NULL);
	domain->run = -1;
	job->name = g_strdup(name);
	ret = call(domain, job, timeout_ms, err);
	if (ret) {
		rs_domain_close(domain);
		return ret;
	}
	job_unref(job);
	*out = domain;
	return 0;
}

static void stop_timer(struct rs_domain *domain)
{
	if (domain->timer)
		rs_loop_remove_timeout(domain->timer);
	domain->timer = 0;
}

void rs_domain_close(struct rs_domain *domain)
{
	struct job *job;

	if (!domain)
		return;
	g_mutex_lock(&domain->lock);
	domain->closed = true;
	stop_timer(domain);
	g_mutex_unlock(&domain->lock);
	job = job_new(do_close, "close", NULL);
	start(domain, job);
	wait_for(job, CLOSE_MS);
	job_unref(job);
	/* What waits is carried out, and its thread ends, whenever libvirt lets it. */
	g_thread_pool_free(domain->calls, FALSE, FALSE);
	unref(domain);
}

const char *rs_domain_name(const struct rs_domain *domain)
{
	return domain->id.name;
}

const char *rs_domain_uuid(const struct rs_domain *domain)
{
	return domain->id.uuid;
}

const char *rs_domain_uri(const struct rs_domain *domain)
{
	return domain->id.uri;
}

bool rs_domain_is_qemu(const struct rs_domain *domain)
{
	return domain->id.is_qemu;
}

/* ---- questions ---- */

static int do_look(struct rs_domain *domain, struct job *job)
{
	int ret = check_connected(domain, job);

	return ret ? ret : rs_virt_look(domain->virt, &job->status, &job->err);
}

int rs_domain_look(struct rs_domain *domain, struct rs_domain_status *out, struct rs_error *err)
{
	struct job *job = job_new(do_look, "state", NULL);
	int ret = call(domain, job, RS_DOMAIN_TIMEOUT_MS, err);

	if (ret)
		return ret;
	*out = job->status;
	job_unref(job);
	return 0;
}

/* What the call has returned as text. */
static int call_for_text(struct rs_domain *domain, struct job *job, int timeout_ms, char **out,
			 struct rs_error *err)
{
	int ret = call(domain, job, timeout_ms, err);

	if (ret)
		return ret;
	*out = g_steal_pointer(&job->out);
	job_unref(job);
	return 0;
}

static int do_read_xml(struct rs_domain *domain, struct job *job)
{
	int ret = check_connected(domain, job);

	return ret ? ret : rs_virt_read_xml(domain->virt, job->inactive, &job->out, &job->err);
}

int rs_domain_read_xml(struct rs_domain *domain, bool inactive, char **out, struct rs_error *err)
{
	struct job *job = job_new(do_read_xml, "dumpxml", NULL);

	job->inactive = inactive;
	return call_for_text(domain, job, RS_DOMAIN_TIMEOUT_MS, out, err);
}

static int do_change_device(struct rs_domain *domain, struct job *job)
{
	int ret = check_connected(domain, job);

	return ret ? ret
		   : rs_virt_change_device(domain->virt, job->text, job->attach, job->inactive,
					   &job->err);
}

static int change_device(struct rs_domain *domain, const char *xml, bool attach, bool inactive,
			 struct rs_error *err)
{
	struct job *job =
		job_new(do_change_device, attach ? "attach-device" : "detach-device", xml);
	int ret;

	job->attach = attach;
	job->inactive = inactive;
	ret = call(domain, job, RS_DOMAIN_TIMEOUT_MS, err);
	if (!ret)
		job_unref(job);
	return ret;
}

int rs_domain_attach_device(struct rs_domain *domain, const char *xml, bool inactive,
			    struct rs_error *err)
{
	return change_device(domain, xml, true, inactive, err);
}

int rs_domain_detach_device(struct rs_domain *domain, const char *xml, bool inactive,
			    struct rs_error *err)
{
	return change_device(domain, xml, false, inactive, err);
}

static int do_command(struct rs_domain *domain, struct job *job)
{
	int ret = check_connected(domain, job);

	return ret ? ret : rs_virt_command(domain->virt, job->text, &job->out, &job->err);
}

int rs_domain_command(struct rs_domain *domain, const char *json, int timeout_ms, char **reply,
		      struct rs_error *err)
{
	return call_for_text(domain, job_new(do_command, "qemu-monitor-command", json), timeout_ms,
			     reply, err);
}

int rs_domain_command_async(struct rs_domain *domain, const char *json, rs_domain_answer_fn done,
			    void *data, struct rs_error *err)
{
	struct job *job;
	bool full;

	g_mutex_lock(&domain->lock);
	full = domain->waiting >= WAITING_MAX;
	if (!full)
		domain->waiting++;
	g_mutex_unlock(&domain->lock);
	if (full)
		return rs_error_set(err, EAGAIN, "libvirt: %u calls have not been answered",
				    WAITING_MAX);
	job = job_new(do_command, "qemu-monitor-command", json);
	job->answer = done;
	job->data = data;
	start(domain, job);
	job_unref(job);
	return 0;
}

/* ---- what happens ---- */

static int do_note_run(struct rs_domain *domain, struct job *job)
{
	if (domain->virt && !rs_virt_look(domain->virt, &job->status, NULL))
		domain->run = job->status.id;
	return 0;
}

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	put_change(domain, change, detail);
	if (!domain->closed && (change == RS_DOMAIN_STARTED || change == RS_DOMAIN_STOPPED))
		start_unwatched(domain, do_note_run);
	g_mutex_unlock(&domain->lock);
}

static void on_monitor(void *data, const char *event, const char *details)
{
	put(data,
	    &(struct news){.kind = MONITOR, .name = g_strdup(event), .text = g_strdup(details)});
}

static void plan_reconnect(struct rs_domain *domain);

/* On the thread of the event loop. */
static void on_lost(void *data)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	if (!domain->closed && domain->connected) {
		domain->connected = false;
		put_change(domain, RS_DOMAIN_LOST, "");
		plan_reconnect(domain);
	}
	g_mutex_unlock(&domain->lock);
}

static int listen_now(struct rs_domain *domain, struct rs_error *err)
{
	struct rs_virt_events events = {.data = ref(domain),
					.changed = on_changed,
					.monitor = on_monitor,
					.lost = on_lost,
					.release = unref};

	return rs_virt_listen(domain->virt, &events, err);
}

/* What happened while nobody told it. */
static void catch_up(struct rs_domain *domain)
{
	struct rs_domain_status now;
	bool known = !rs_virt_look(domain->virt, &now, NULL);

	g_mutex_lock(&domain->lock);
	if (known && domain->run >= 0 && now.id != domain->run)
		put_change(domain, RS_DOMAIN_STOPPED, "it stopped");
	if (known && now.id >= 0 && now.id != domain->run)
		put_change(domain, RS_DOMAIN_STARTED, "");
	else if (known && now.id >= 0)
		put_change(domain,
			   now.state == RS_DOMAIN_PAUSED ? RS_DOMAIN_SUSPENDED : RS_DOMAIN_RESUMED,
			   "");
	put_change(domain, RS_DOMAIN_FOUND, "");
	g_mutex_unlock(&domain->lock);
	if (known)
		domain->run = now.id;
}

static int do_reconnect(struct rs_domain *domain, struct job *job)
{
	struct rs_virt_id id;
	int ret;

	/* What is left of the old connection waits for nobody. */
	if (domain->virt)
		rs_virt_close(domain->virt);
	domain->virt = NULL;
	ret = rs_virt_open(domain->id.uri, domain->id.uuid, &domain->virt, &id, &job->err);
	if (!ret) {
		free(id.name);
		free(id.uuid);
		free(id.uri);
		ret = listen_now(domain, &job->err);
	}
	g_mutex_lock(&domain->lock);
	if (!ret)
		domain->connected = true;
	else if (!domain->closed)
		plan_reconnect(domain);
	g_mutex_unlock(&domain->lock);
	if (ret)
		return ret;
	catch_up(domain);
	return 0;
}

static void on_timer(int timer, void *data)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	if (!domain->closed && domain->timer == timer) {
		stop_timer(domain);
		start_unwatched(domain, do_reconnect);
	}
	g_mutex_unlock(&domain->lock);
}

/* With the lock held. */
static void plan_reconnect(struct rs_domain *domain)
{
	domain->timer = rs_loop_add_timeout(RECONNECT_MS, on_timer, ref(domain), unref);
}

static int do_listen(struct rs_domain *domain, struct job *job)
{
	int ret = check_connected(domain, job);

	if (!ret)
		ret = listen_now(domain, &job->err);
	if (!ret)
		ret = rs_virt_look(domain->virt, &job->status, &job->err);
	if (!ret)
		domain->run = job->status.id;
	return ret;
}

int rs_domain_listen(struct rs_domain *domain, rs_domain_changed_fn changed, void *data,
		     struct rs_error *err)
{
	struct job *job = job_new(do_listen, "events", NULL);
	int ret;

	domain->changed = changed;
	domain->changed_data = data;
	ret = call(domain, job, RS_DOMAIN_TIMEOUT_MS, err);
	if (!ret)
		job_unref(job);
	return ret;
}

void rs_domain_unlisten(struct rs_domain *domain)
{
	domain->changed = NULL;
}

void rs_domain_set_monitor(struct rs_domain *domain, rs_domain_monitor_fn monitor, void *data)
{
	domain->monitor = monitor;
	domain->monitor_data = data;
}

bool rs_domain_connected(const struct rs_domain *domain)
{
	struct rs_domain *mutable = (struct rs_domain *)domain;
	bool connected;

	g_mutex_lock(&mutable->lock);
	connected = domain->connected;
	g_mutex_unlock(&mutable->lock);
	return connected;
}
