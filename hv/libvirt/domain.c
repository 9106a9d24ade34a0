/* SPDX-License-Identifier: MIT */
/*
 * Three threads meet here: the session's, which asks and is told; the domain's own, which waits for
 * libvirt; and that of the event loop, which brings what happened. The domain lives until the last
 * of them has let it go.
 */
#include "libvirt/private.h"

#include "libvirt/loop.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSE_MS 500    /* for a daemon that is to be told that we go */
#define WAITING_MAX 64u /* calls without a wait that may be under way */

/* ---- the life of a domain ---- */

struct rs_domain *rs_domain_ref(struct rs_domain *domain)
{
	g_atomic_ref_count_inc(&domain->refs);
	return domain;
}

void rs_domain_unref(void *data)
{
	struct rs_domain *domain = data;
	struct rs_domain_news *news;

	if (!g_atomic_ref_count_dec(&domain->refs))
		return;
	while ((news = g_async_queue_try_pop(domain->news))) {
		if (news->kind == ANSWER)
			news->done(news->data, NULL, &news->err);
		rs_domain_free_news(news);
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

/* ---- open and close ---- */

static int do_open(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_virt_open(job->text, job->name, &domain->virt, &domain->id, &job->err);

	domain->connected = !ret;
	return ret;
}

static int do_close(struct rs_domain *domain, struct rs_domain_job *job)
{
	if (domain->virt)
		rs_virt_close(domain->virt);
	domain->virt = NULL;
	return 0;
}

struct rs_domain *rs_domain_new(GMainContext *context)
{
	struct rs_domain *domain = g_new0(struct rs_domain, 1);

	g_atomic_ref_count_init(&domain->refs);
	g_mutex_init(&domain->lock);
	g_cond_init(&domain->arrived);
	domain->context =
		context ? g_main_context_ref(context) : g_main_context_ref_thread_default();
	domain->news = g_async_queue_new_full(rs_domain_free_news);
	domain->calls = g_thread_pool_new(rs_domain_carry_out, domain, 1, FALSE, NULL);
	domain->run = -1;
	return domain;
}

static int open_by(struct rs_domain_job *job, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err)
{
	struct rs_domain *domain = rs_domain_new(context);
	int ret = rs_domain_call(domain, job, timeout_ms, err);

	if (ret) {
		rs_domain_close(domain);
		return ret;
	}
	rs_domain_job_unref(job);
	*out = domain;
	return 0;
}

int rs_domain_open(const char *uri, const char *name, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_open, "connect", uri);

	job->name = g_strdup(name);
	return open_by(job, context, timeout_ms, out, err);
}

static int do_make(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_virt_make(job->text, job->name, &domain->virt, &domain->id, &job->err);

	domain->connected = !ret;
	return ret;
}

int rs_domain_make(const char *uri, const char *xml, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_make, "create", uri);

	job->name = g_strdup(xml);
	return open_by(job, context, timeout_ms, out, err);
}

void rs_domain_close(struct rs_domain *domain)
{
	struct rs_domain_job *job;

	if (!domain)
		return;
	g_mutex_lock(&domain->lock);
	domain->closed = true;
	rs_domain_stop_timer(domain);
	g_mutex_unlock(&domain->lock);
	job = rs_domain_job_new(do_close, "close", NULL);
	rs_domain_push(domain, job);
	rs_domain_wait_for(job, CLOSE_MS);
	rs_domain_job_unref(job);
	/* What waits is carried out, and its thread ends, whenever libvirt lets it. */
	g_thread_pool_free(domain->calls, FALSE, FALSE);
	rs_domain_unref(domain);
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

/* ---- its start and end ---- */

static int do_start(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_start(domain->virt, &job->err);
}

static int do_destroy(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_destroy(domain->virt, &job->err);
}

static int call_only(struct rs_domain *domain, struct rs_domain_job *job, int timeout_ms,
		     struct rs_error *err)
{
	int ret = rs_domain_call(domain, job, timeout_ms, err);

	if (!ret)
		rs_domain_job_unref(job);
	return ret;
}

int rs_domain_start(struct rs_domain *domain, int timeout_ms, struct rs_error *err)
{
	return call_only(domain, rs_domain_job_new(do_start, "start", NULL), timeout_ms, err);
}

int rs_domain_destroy(struct rs_domain *domain, int timeout_ms, struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_destroy, "destroy", NULL);

	if (timeout_ms)
		return call_only(domain, job, timeout_ms, err);
	rs_domain_push(domain, job);
	rs_domain_job_unref(job);
	return 0;
}

static int do_dump(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_dump(domain->virt, job->text, &job->err);
}

int rs_domain_dump(struct rs_domain *domain, const char *path, int timeout_ms, struct rs_error *err)
{
	return call_only(domain, rs_domain_job_new(do_dump, "dump", path), timeout_ms, err);
}

/* ---- questions ---- */

static int do_look(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_look(domain->virt, &job->status, &job->err);
}

int rs_domain_look(struct rs_domain *domain, struct rs_domain_status *out, struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_look, "state", NULL);
	int ret = rs_domain_call(domain, job, RS_DOMAIN_TIMEOUT_MS, err);

	if (ret)
		return ret;
	*out = job->status;
	rs_domain_job_unref(job);
	return 0;
}

/* What the call has returned as text. */
static int call_for_text(struct rs_domain *domain, struct rs_domain_job *job, int timeout_ms,
			 char **out, struct rs_error *err)
{
	int ret = rs_domain_call(domain, job, timeout_ms, err);

	if (ret)
		return ret;
	*out = g_steal_pointer(&job->out);
	rs_domain_job_unref(job);
	return 0;
}

static int do_read_xml(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_read_xml(domain->virt, job->inactive, &job->out, &job->err);
}

int rs_domain_read_xml(struct rs_domain *domain, bool inactive, char **out, struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_read_xml, "dumpxml", NULL);

	job->inactive = inactive;
	return call_for_text(domain, job, RS_DOMAIN_TIMEOUT_MS, out, err);
}

static int do_change_device(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret
		   : rs_virt_change_device(domain->virt, job->text, job->attach, job->inactive,
					   &job->err);
}

static int change_device(struct rs_domain *domain, const char *xml, bool attach, bool inactive,
			 struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(
		do_change_device, attach ? "attach-device" : "detach-device", xml);

	job->attach = attach;
	job->inactive = inactive;
	return call_only(domain, job, RS_DOMAIN_TIMEOUT_MS, err);
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

static int do_command(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret : rs_virt_command(domain->virt, job->text, job->fd, &job->out, &job->err);
}

int rs_domain_command(struct rs_domain *domain, const char *json, int timeout_ms, char **reply,
		      struct rs_error *err)
{
	return call_for_text(domain, rs_domain_job_new(do_command, "qemu-monitor-command", json),
			     timeout_ms, reply, err);
}

int rs_domain_command_async(struct rs_domain *domain, const char *json, int fd,
			    rs_domain_answer_fn done, void *data, struct rs_error *err)
{
	struct rs_domain_job *job;
	bool full;
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd >= 0 && copy < 0)
		return rs_error_set(err, errno, "a descriptor: %s", g_strerror(errno));
	g_mutex_lock(&domain->lock);
	full = domain->waiting >= WAITING_MAX;
	if (!full)
		domain->waiting++;
	g_mutex_unlock(&domain->lock);
	if (full) {
		if (copy >= 0)
			close(copy);
		return rs_error_set(err, EAGAIN, "libvirt: %u calls have not been answered",
				    WAITING_MAX);
	}
	job = rs_domain_job_new(do_command, "qemu-monitor-command", json);
	job->fd = copy;
	job->answer = done;
	job->data = data;
	rs_domain_push(domain, job);
	rs_domain_job_unref(job);
	return 0;
}

/* ---- the guest's agent ---- */

#define AGENT_MORE_MS 5000 /* for libvirt, which syncs with it first */

static int do_ask_agent(struct rs_domain *domain, struct rs_domain_job *job)
{
	int ret = rs_domain_check_connected(domain, job);

	return ret ? ret
		   : rs_virt_ask_agent(domain->virt, job->text, job->timeout_s, &job->out,
				       &job->err);
}

int rs_domain_ask_agent(struct rs_domain *domain, const char *json, int timeout_s, char **answer,
			struct rs_error *err)
{
	struct rs_domain_job *job = rs_domain_job_new(do_ask_agent, "qemu-agent-command", json);

	job->timeout_s = timeout_s;
	return call_for_text(domain, job, timeout_s * 1000 + AGENT_MORE_MS, answer, err);
}
