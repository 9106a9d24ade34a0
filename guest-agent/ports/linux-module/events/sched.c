/* SPDX-License-Identifier: MIT */
/* The kernel's own function of this purpose is not exported. */
#ifdef CONFIG_NUMA_BALANCING
#define task_numa_group_id rs_numa_group_id
#include "../private.h"
#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/numa_balancing.h>

pid_t rs_numa_group_id(struct task_struct *task)
{
	pid_t id;

	rcu_read_lock();
	id = rs_private_value(pid_t, RS_NUMA_GROUP_GID, rcu_dereference(task->numa_group), 0);
	rcu_read_unlock();
	return id;
}
#endif

#define RS_KERNEL_HEADER <trace/events/sched.h>
#include "../kernel_stages.h"
