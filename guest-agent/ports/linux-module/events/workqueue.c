/* SPDX-License-Identifier: MIT */
/* Structures that only kernel/workqueue.c knows, as far as the events read them. */
#include "../private.h"
#include <linux/compiler.h>

struct pool_workqueue {
	struct {
		const char *name;
	} * wq;
	struct {
		int cpu;
	} * pool;
};

struct rs_work_queue {
	struct pool_workqueue pwq;
	typeof(*((struct pool_workqueue *)0)->wq) wq;
	typeof(*((struct pool_workqueue *)0)->pool) pool;
};

static inline struct pool_workqueue *rs_view(const void *pwq, struct rs_work_queue *out)
{
	const void *wq = rs_private_value(const void *, RS_PWQ_WQ, pwq, NULL);
	const void *pool = rs_private_value(const void *, RS_PWQ_POOL, pwq, NULL);

	out->wq.name = rs_private(RS_WQ_NAME, wq);
	out->pool.cpu = rs_private_value(int, RS_POOL_CPU, pool, -1);
	out->pwq.wq = &out->wq;
	out->pwq.pool = &out->pool;
	return &out->pwq;
}

#define RS_VIEW_workqueue_queue_work 1
#define RS_SHOW_workqueue_queue_work                                                               \
	struct rs_work_queue rs_seen;                                                              \
	pwq = rs_view(pwq, &rs_seen);
#define RS_KERNEL_HEADER <trace/events/workqueue.h>
#include "../kernel_stages.h"
