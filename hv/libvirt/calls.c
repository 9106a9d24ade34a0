/* SPDX-License-Identifier: MIT */
/* Calls of libvirt, each on the thread of its domain. */
#include "libvirt/private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct rs_domain_job *rs_domain_job_new(int (*run)(struct rs_domain *domain,
						   struct rs_domain_job *job),
					const char *what, const char *text)
{
	struct rs_domain_job *job = g_new0(struct rs_domain_job, 1);

	g_atomic_ref_count_init(&job->refs);
	g_mutex_init(&job->lock);
	g_cond_init(&job->ended);
	job->run = run;
	job->what = what;
	job->fd = -1;
	job->text = g_strdup(text);
	return job;
}

void rs_domain_job_unref(struct rs_domain_job *job)
{
	if (!g_atomic_ref_count_dec(&job->refs))
		return;
	g_mutex_clear(&job->lock);
	g_cond_clear(&job->ended);
	if (job->fd >= 0)
		close(job->fd);
	g_free(job->text);
	g_free(job->name);
	free(job->out);
	g_clear_pointer(&job->list, g_ptr_array_unref);
	g_free(job);
}

static void set_late(struct rs_domain *domain, bool late)
{
	g_mutex_lock(&domain->lock);
	domain->late = late;
	g_mutex_unlock(&domain->lock);
}

static void give_answer(struct rs_domain *domain, struct rs_domain_job *job)
{
	struct rs_domain_news news = {.kind = ANSWER, .done = job->answer, .data = job->data};

	news.err = job->err;
	news.text = job->ret ? NULL : job->out;
	job->out = NULL;
	g_mutex_lock(&domain->lock);
	domain->waiting--;
	rs_domain_put(domain, &news);
	g_mutex_unlock(&domain->lock);
}

/* On the thread of the calls. */
void rs_domain_carry_out(void *data, void *user_data)
{
	struct rs_domain_job *job = data;
	struct rs_domain *domain = user_data;

	job->ret = job->run(domain, job);
	set_late(domain, false);
	if (job->answer)
		give_answer(domain, job);
	g_mutex_lock(&job->lock);
	job->done = true;
	g_cond_signal(&job->ended);
	g_mutex_unlock(&job->lock);
	rs_domain_job_unref(job);
	rs_domain_unref(domain);
}

void rs_domain_push(struct rs_domain *domain, struct rs_domain_job *job)
{
	rs_domain_ref(domain);
	g_atomic_ref_count_inc(&job->refs);
	g_thread_pool_push(domain->calls, job, NULL);
}

/* With the lock held, under which the domain is not closed. Nobody waits for it. */
void rs_domain_start_unwatched(struct rs_domain *domain,
			       int (*run)(struct rs_domain *domain, struct rs_domain_job *job))
{
	struct rs_domain_job *job = rs_domain_job_new(run, "", NULL);

	rs_domain_push(domain, job);
	rs_domain_job_unref(job);
}

bool rs_domain_wait_for(struct rs_domain_job *job, int timeout_ms)
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
int rs_domain_call(struct rs_domain *domain, struct rs_domain_job *job, int timeout_ms,
		   struct rs_error *err)
{
	const char *what = job->what;
	int ret;

	g_mutex_lock(&domain->lock);
	ret = domain->late ? -EAGAIN : 0;
	g_mutex_unlock(&domain->lock);
	if (ret) {
		rs_domain_job_unref(job);
		return rs_error_set(err, EAGAIN, "libvirt: an earlier call has not been answered");
	}
	rs_domain_push(domain, job);
	if (!rs_domain_wait_for(job, timeout_ms)) {
		set_late(domain, true);
		/* It may have ended in between, and then nothing is late. */
		if (rs_domain_wait_for(job, 0))
			set_late(domain, false);
		rs_domain_job_unref(job);
		return rs_error_set(err, ETIMEDOUT, "libvirt: no answer to '%s' for %d s", what,
				    (timeout_ms + 999) / 1000);
	}
	ret = job->ret;
	if (ret) {
		if (err)
			*err = job->err;
		rs_domain_job_unref(job);
	}
	return ret;
}

int rs_domain_check_connected(struct rs_domain *domain, struct rs_domain_job *job)
{
	if (!domain->virt)
		return rs_error_set(&job->err, EPIPE, "libvirt's daemon has gone away");
	return 0;
}
