/* SPDX-License-Identifier: MIT */
/* What happens to a domain, and how it is told on the thread of the session. */
#include "libvirt/private.h"

#include "libvirt/loop.h"
#include <stdlib.h>

#define RECONNECT_MS 1000 /* between two attempts */
#define EVENTS_MAX 10000u /* that nobody has taken yet: later ones are dropped */

void rs_domain_free_news(void *data)
{
	struct rs_domain_news *news = data;

	g_free(news->name);
	free(news->text);
	g_free(news);
}

/* ---- telling the session ---- */

static void tell(struct rs_domain *domain, const struct rs_domain_news *news)
{
	if (news->kind == ANSWER)
		news->done(news->data, news->text, news->text ? NULL : &news->err);
	else if (news->kind == CHANGED && domain->changed)
		domain->changed(domain->changed_data, news->change, news->text);
	else if (news->kind == MONITOR && domain->monitor)
		domain->monitor(domain->monitor_data, news->name, news->at, news->text);
}

bool rs_domain_take(struct rs_domain *domain)
{
	struct rs_domain_news *news = g_async_queue_try_pop(domain->news);

	if (!news)
		return false;
	tell(domain, news);
	rs_domain_free_news(news);
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
void rs_domain_put(struct rs_domain *domain, const struct rs_domain_news *model)
{
	struct rs_domain_news *news = g_new(struct rs_domain_news, 1);
	GSource *source;

	/* Else rs_domain_wait() may look before the push and wait after the signal. */
	g_assert(!g_mutex_trylock(&domain->lock));
	*news = *model;
	if (news->kind != ANSWER && g_async_queue_length(domain->news) >= (gint)EVENTS_MAX) {
		rs_domain_free_news(news);
		return;
	}
	g_async_queue_push(domain->news, news);
	g_cond_signal(&domain->arrived);
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, deliver, rs_domain_ref(domain), rs_domain_unref);
	g_source_attach(source, domain->context);
	g_source_unref(source);
}

/* Likewise. */
void rs_domain_put_change(struct rs_domain *domain, enum rs_domain_change change,
			  const char *detail)
{
	rs_domain_put(domain, &(struct rs_domain_news){
				      .kind = CHANGED, .change = change, .text = g_strdup(detail)});
}

/* ---- what happens ---- */

static int do_note_run(struct rs_domain *domain, struct rs_domain_job *job)
{
	if (domain->virt && !rs_virt_look(domain->virt, &job->status, NULL))
		domain->run = job->status.id;
	return 0;
}

static void on_changed(void *data, enum rs_domain_change change, const char *detail)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	rs_domain_put_change(domain, change, detail);
	if (!domain->closed && (change == RS_DOMAIN_STARTED || change == RS_DOMAIN_STOPPED))
		rs_domain_start_unwatched(domain, do_note_run);
	g_mutex_unlock(&domain->lock);
}

static void on_monitor(void *data, const char *event, gint64 at, const char *details)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	rs_domain_put(domain, &(struct rs_domain_news){.kind = MONITOR,
						       .name = g_strdup(event),
						       .at = at,
						       .text = g_strdup(details)});
	g_mutex_unlock(&domain->lock);
}

static void plan_reconnect(struct rs_domain *domain);

/* On the thread of the event loop. */
static void on_lost(void *data)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	if (!domain->closed && domain->connected) {
		domain->connected = false;
		rs_domain_put_change(domain, RS_DOMAIN_LOST, "");
		plan_reconnect(domain);
	}
	g_mutex_unlock(&domain->lock);
}

static int listen_now(struct rs_domain *domain, struct rs_error *err)
{
	struct rs_virt_events events = {.data = rs_domain_ref(domain),
					.changed = on_changed,
					.monitor = on_monitor,
					.lost = on_lost,
					.release = rs_domain_unref};

	return rs_virt_listen(domain->virt, &events, err);
}

/* What happened while nobody told it. */
static void catch_up(struct rs_domain *domain)
{
	struct rs_domain_status now;
	bool known = !rs_virt_look(domain->virt, &now, NULL);

	g_mutex_lock(&domain->lock);
	if (known && domain->run >= 0 && now.id != domain->run)
		rs_domain_put_change(domain, RS_DOMAIN_STOPPED, "it stopped");
	if (known && now.id >= 0 && now.id != domain->run)
		rs_domain_put_change(domain, RS_DOMAIN_STARTED, "");
	else if (known && now.id >= 0)
		rs_domain_put_change(domain,
				     now.state == RS_DOMAIN_PAUSED ? RS_DOMAIN_SUSPENDED
								   : RS_DOMAIN_RESUMED,
				     "");
	rs_domain_put_change(domain, RS_DOMAIN_FOUND, "");
	g_mutex_unlock(&domain->lock);
	if (known)
		domain->run = now.id;
}

static int do_reconnect(struct rs_domain *domain, struct rs_domain_job *job)
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

void rs_domain_stop_timer(struct rs_domain *domain)
{
	if (domain->timer)
		rs_loop_remove_timeout(domain->timer);
	domain->timer = 0;
}

static void on_timer(int timer, void *data)
{
	struct rs_domain *domain = data;

	g_mutex_lock(&domain->lock);
	if (!domain->closed && domain->timer == timer) {
		rs_domain_stop_timer(domain);
		rs_domain_start_unwatched(domain, do_reconnect);
	}
	g_mutex_unlock(&domain->lock);
}

/* With the lock held. */
static void plan_reconnect(struct rs_domain *domain)
{
	domain->timer =
		rs_loop_add_timeout(RECONNECT_MS, on_timer, rs_domain_ref(domain), rs_domain_unref);
}

static int do_listen(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

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
	struct rs_domain_job *job = rs_domain_job_new(do_listen, "events", NULL);
	int ret;

	domain->changed = changed;
	domain->changed_data = data;
	ret = rs_domain_call(domain, job, RS_DOMAIN_TIMEOUT_MS, err);
	if (!ret)
		rs_domain_job_unref(job);
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
