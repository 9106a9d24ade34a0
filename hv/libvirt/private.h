/* SPDX-License-Identifier: MIT */
/*
 * What domain.c asks of libvirt, in terms that need no header of libvirt. Each function waits for
 * the daemon as long as that takes, so only the domain's own thread calls them. The callbacks of
 * struct rs_virt_events come on the thread of the event loop (loop.h), and must not wait.
 */
#ifndef RS_HV_LIBVIRT_PRIVATE_H
#define RS_HV_LIBVIRT_PRIVATE_H

#include "libvirt/domain.h"

struct rs_virt; /* a connection and a domain */

struct rs_virt_events {
	void *data;
	void (*changed)(void *data, enum rs_domain_change change, const char *detail);
	void (*monitor)(void *data, const char *event, gint64 at, const char *details);
	void (*lost)(void *data);
	/* Called once after the last of the others, when nothing uses `data` any more. */
	void (*release)(void *data);
};

struct rs_virt_id {
	char *name, *uuid, *uri; /* to be freed */
	bool is_qemu;
};

/*
 * QEMU's own events, told as struct rs_domain's changes are, and in one order with them and with
 * answers. `at`: when it was, see rs_monitor_moment(). `details`: its data as JSON; NULL: none. The
 * monitor (monitor.c) alone.
 */
typedef void (*rs_domain_monitor_fn)(void *data, const char *event, gint64 at, const char *details);
void rs_domain_set_monitor(struct rs_domain *domain, rs_domain_monitor_fn call, void *data);

int rs_virt_open(const char *uri, const char *name, struct rs_virt **out, struct rs_virt_id *id,
		 struct rs_error *err);
/* A domain of `xml`, made as rs_domain_make() has it. */
int rs_virt_make(const char *uri, const char *xml, struct rs_virt **out, struct rs_virt_id *id,
		 struct rs_error *err);
/* As rs_domain_start() and rs_domain_destroy() have it. */
int rs_virt_start(struct rs_virt *virt, struct rs_error *err);
int rs_virt_destroy(struct rs_virt *virt, struct rs_error *err);
int rs_virt_dump(struct rs_virt *virt, const char *path, struct rs_error *err);
void rs_virt_close(struct rs_virt *virt);
/*
 * Calls `add` for each domain that QEMU runs, as long as there is one. `xml`: of its run, or of its
 * next start if it is off; NULL: not known. *real_uri is to be freed by free().
 */
int rs_virt_list(const char *uri,
		 void (*add)(void *data, const char *name, const char *uuid,
			     enum rs_domain_state state, const char *xml),
		 void *data, char **real_uri, struct rs_error *err);
int rs_virt_look(struct rs_virt *virt, struct rs_domain_status *out, struct rs_error *err);
int rs_virt_read_xml(struct rs_virt *virt, bool inactive, char **out, struct rs_error *err);
int rs_virt_change_device(struct rs_virt *virt, const char *xml, bool attach, bool inactive,
			  struct rs_error *err);
/* `fd`: -1: none goes with it. */
int rs_virt_command(struct rs_virt *virt, const char *json, int fd, char **reply,
		    struct rs_error *err);
int rs_virt_ask_agent(struct rs_virt *virt, const char *json, int timeout_s, char **answer,
		      struct rs_error *err);
/* Each callback holds `events` and its data until it is released. */
int rs_virt_listen(struct rs_virt *virt, const struct rs_virt_events *events, struct rs_error *err);

/* ---- a domain, and what its files share ---- */

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
	GAsyncQueue *news; /* of struct rs_domain_news */
	rs_domain_changed_fn changed;
	void *changed_data;
	rs_domain_monitor_fn monitor;
	void *monitor_data;
};

/* Something to be told on the session's thread. */
struct rs_domain_news {
	enum { CHANGED, MONITOR, ANSWER } kind;
	enum rs_domain_change change;
	char *name, *text; /* of an event; an answer is `text` */
	gint64 at;         /* of an event */
	rs_domain_answer_fn done;
	void *data;
	struct rs_error err;
};

/* One call of libvirt. */
struct rs_domain_job {
	gatomicrefcount refs; /* who waits, and the thread that carries it out */
	int (*run)(struct rs_domain *domain, struct rs_domain_job *job);
	const char *what; /* for messages */
	char *text;       /* what it needs: a URI, XML, JSON */
	char *name;
	bool inactive, attach;
	int fd;        /* ours; -1: none */
	int timeout_s; /* for the guest's agent */

	GMutex lock;
	GCond ended;
	bool done;
	int ret;
	struct rs_error err;
	char *out;       /* of malloc() */
	GPtrArray *list; /* NULL: none */
	struct rs_domain_status status;
	rs_domain_answer_fn answer; /* nobody waits for it */
	void *data;
};

/* ---- domain.c ---- */

/* Without a connection. `context`: as rs_domain_open() has it. */
struct rs_domain *rs_domain_new(GMainContext *context);
struct rs_domain *rs_domain_ref(struct rs_domain *domain);
void rs_domain_unref(void *domain);

/* ---- calls.c ---- */

struct rs_domain_job *rs_domain_job_new(int (*run)(struct rs_domain *domain,
						   struct rs_domain_job *job),
					const char *what, const char *text);
void rs_domain_job_unref(struct rs_domain_job *job);
/* The pool's function: on the thread of the calls. */
void rs_domain_carry_out(void *job, void *domain);
void rs_domain_push(struct rs_domain *domain, struct rs_domain_job *job);
/* With the lock held, under which the domain is not closed. Nobody waits for it. */
void rs_domain_start_unwatched(struct rs_domain *domain,
			       int (*run)(struct rs_domain *domain, struct rs_domain_job *job));
/* Whether it has ended. */
bool rs_domain_wait_for(struct rs_domain_job *job, int timeout_ms);
/* Frees the job, unless it succeeded. Errors: as libvirt/domain.h has them. */
int rs_domain_call(struct rs_domain *domain, struct rs_domain_job *job, int timeout_ms,
		   struct rs_error *err);
/* For a job: -EPIPE if there is no connection. */
int rs_domain_check_connected(struct rs_domain *domain, struct rs_domain_job *job);

/* ---- news.c ---- */

void rs_domain_free_news(void *news);
/* All with the lock held. `model` is copied, and its texts are taken over. */
void rs_domain_put(struct rs_domain *domain, const struct rs_domain_news *model);
void rs_domain_put_change(struct rs_domain *domain, enum rs_domain_change change,
			  const char *detail);
/* No connection is tried any more. */
void rs_domain_stop_timer(struct rs_domain *domain);

#endif
