/* SPDX-License-Identifier: MIT */
/* Which processes are traced. Each change of a mask is one atomic step, so nothing is locked. */
#include <ringside/ktrace.h>

#define FLAGS (RS_KTRFAC_INHERIT | RS_KTRFAC_ROOT)

/* Stores `next` if the mask still is *seen, else loads it into *seen. */
static bool change(struct rs_ktrace_proc *proc, uint32_t *seen, uint32_t next)
{
	return __atomic_compare_exchange_n(&proc->facilities, seen, next, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static bool allowed(const struct rs_ktrace_caller *caller, const struct rs_ktrace_proc *proc,
		    uint32_t facilities)
{
	if (caller->root)
		return true;
	return !(facilities & RS_KTRFAC_ROOT) && (!caller->may || caller->may(caller, proc));
}

/* False: the caller may not. */
static bool set_one(const struct rs_ktrace_caller *caller, struct rs_ktrace_proc *proc,
		    uint32_t facilities)
{
	uint32_t seen = rs_load(&proc->facilities);

	if (caller->root)
		facilities |= RS_KTRFAC_ROOT;
	do
		if (!allowed(caller, proc, seen))
			return false;
	while (!change(proc, &seen, seen | facilities));
	return true;
}

static bool clear_one(const struct rs_ktrace_caller *caller, struct rs_ktrace_proc *proc,
		      uint32_t facilities)
{
	uint32_t seen = rs_load(&proc->facilities), next;

	do {
		if (!allowed(caller, proc, seen))
			return false;
		next = seen & ~facilities;
		if (!(next & RS_KTRFAC_POINTS))
			next = 0;
	} while (!change(proc, &seen, next));
	return true;
}

static bool is_meant(const struct rs_ktrace_proc *proc, int32_t pid)
{
	if (pid < 0)
		return proc->pgid == 0u - (uint32_t)pid;
	return pid && proc->pid == (uint32_t)pid;
}

/* Whether the process, or with `descend` one of those that it comes from, is meant. */
static bool is_chosen(const struct rs_ktrace_caller *caller, const struct rs_ktrace_proc *proc,
		      int32_t pid)
{
	for (; proc; proc = caller->parent(caller, proc)) {
		if (is_meant(proc, pid))
			return true;
		if (!caller->descend)
			return false;
	}
	return false;
}

static int for_each(const struct rs_ktrace_caller *caller, int32_t pid, uint32_t facilities,
		    bool (*change_one)(const struct rs_ktrace_caller *, struct rs_ktrace_proc *,
				       uint32_t))
{
	int changed = 0, refused = 0;

	for (struct rs_ktrace_proc *proc = caller->next(caller, NULL); proc;
	     proc = caller->next(caller, proc)) {
		if (!is_chosen(caller, proc, pid))
			continue;
		if (change_one(caller, proc, facilities))
			changed++;
		else
			refused++;
	}
	if (changed)
		return changed;
	return refused ? -RS_EPERM : -RS_ESRCH;
}

int rs_ktrace_set(const struct rs_ktrace_caller *caller, int32_t pid, uint32_t facilities)
{
	if (!(facilities & RS_KTRFAC_POINTS) ||
	    facilities & ~(RS_KTRFAC_POINTS | RS_KTRFAC_INHERIT))
		return -RS_EINVAL;
	return for_each(caller, pid, facilities, set_one);
}

int rs_ktrace_clear(const struct rs_ktrace_caller *caller, int32_t pid, uint32_t facilities)
{
	if (!facilities || facilities & ~(RS_KTRFAC_POINTS | RS_KTRFAC_INHERIT))
		return -RS_EINVAL;
	return for_each(caller, pid, facilities, clear_one);
}

int rs_ktrace_clearall(const struct rs_ktrace_caller *caller)
{
	int changed = 0;
	bool refused = false;

	for (struct rs_ktrace_proc *proc = caller->next(caller, NULL); proc;
	     proc = caller->next(caller, proc)) {
		if (!rs_load(&proc->facilities))
			continue;
		if (clear_one(caller, proc, RS_KTRFAC_POINTS | FLAGS))
			changed++;
		else
			refused = true;
	}
	return refused ? -RS_EPERM : changed;
}

void rs_ktrace_fork(const struct rs_ktrace_proc *parent, struct rs_ktrace_proc *child)
{
	uint32_t facilities = rs_load(&parent->facilities);

	rs_store(&child->facilities, facilities & RS_KTRFAC_INHERIT ? facilities : 0);
}

void rs_ktrace_exec(struct rs_ktrace_proc *proc, bool new_credentials)
{
	uint32_t seen = rs_load(&proc->facilities);

	if (!new_credentials)
		return;
	while (!(seen & RS_KTRFAC_ROOT) && !change(proc, &seen, 0))
		;
}

void rs_ktrace_exit(struct rs_ktrace_proc *proc)
{
	rs_store(&proc->facilities, 0);
}
