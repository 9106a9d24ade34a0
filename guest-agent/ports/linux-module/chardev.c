/* SPDX-License-Identifier: MIT */
/*
 * /dev/ringside: gives each process that asks a region of its own (ringside/device.h). The claim in
 * the directory is taken and left here, so it is left however the process ends.
 *
 * Faults wait for `lock` under mmap_lock, and so does the agent's thread. So nothing that holds
 * `lock` touches user memory, or allocates.
 */
#define pr_fmt(fmt) "ringside: " fmt
#include "module.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <ringside/atomic.h>
#include <ringside/control.h>
#include <ringside/device.h>
#include <ringside/directory.h>
#include <ringside/region.h>

#define LOOKS 100u /* for a region that was left, and is laid out anew soon */
#define LOOK_MS 5
#define FOLLOW_MS 20 /* between two looks for what the host wants back */

static ushort mode = 0666;
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "who may have regions: the permissions of /dev/ringside, 0666");

/* An open file that has a region. */
struct seat {
	struct list_head list;
	struct file *file;    /* holds the seat */
	struct mm_struct *mm; /* who may map; its memory need not be there any more */
	struct rs_place place;
	u64 guest_offset;
	kuid_t user;    /* who it is counted for */
	bool unlimited; /* but not against the share */
	u32 owner;
	bool revoked;         /* the region is not ours any more, and never will be again */
	struct xarray ghosts; /* pages that stand for the region then */
};

static DEFINE_MUTEX(lock);
static LIST_HEAD(seats);
static void *memory;
static resource_size_t bar;
static u64 memory_size;

/* ---- taking ---- */

static bool is_seated(const struct mm_struct *mm)
{
	struct seat *seat;

	list_for_each_entry(seat, &seats, list)
	{
		if (seat->mm == mm)
			return true;
	}
	return false;
}

/*
 * The user who has opened the file. For a user of a name space, whoever has made that: else one
 * user would have many.
 */
static kuid_t user_of(const struct file *file)
{
	const struct user_namespace *space = file->f_cred->user_ns;

	if (space == &init_user_ns)
		return file->f_cred->euid;
	while (space->parent != &init_user_ns)
		space = space->parent;
	return space->owner;
}

/* One user leaves a quarter of all regions to others. */
static bool has_share(const struct seat *seat)
{
	const struct seat *other;
	u32 all = 0, taken = 0;
	struct rs_place at;

	if (seat->unlimited)
		return false;
	for (u32 i = 0; !rs_directory_look(memory, memory_size, i, &at); i++)
		all += at.kind == RS_SOURCE_USER;
	list_for_each_entry(other, &seats, list) taken +=
		!other->revoked && !other->unlimited && uid_eq(other->user, seat->user);
	return taken && taken >= all - DIV_ROUND_UP(all, 4);
}

static int to_errno(int err)
{
	switch (err) {
	case -RS_EPROTO:
		return -EPROTO;
	case -RS_EBADMSG:
		return -EBADMSG;
	default:
		return -ENODEV;
	}
}

/* The region has just become ours, so the host does not change its header. */
static int measure(struct seat *seat)
{
	const struct rs_region_header *header = memory + seat->place.offset;
	u32 flags;
	int err = rs_agent_region_flags(header, seat->place.size, &flags);

	if (err)
		return to_errno(err);
	seat->guest_offset = rs_load(&header->guest_offset);
	if (!IS_ALIGNED(bar + seat->place.offset, PAGE_SIZE) ||
	    !IS_ALIGNED(seat->place.size, PAGE_SIZE) ||
	    !IS_ALIGNED(seat->guest_offset, PAGE_SIZE) || seat->guest_offset >= seat->place.size)
		return -EBADMSG;
	return 0;
}

/* -EAGAIN: none is free, but one will be. */
static int find(struct seat *seat)
{
	bool hope = false;
	int err;

	if (has_share(seat))
		return -EDQUOT;
	for (u32 i = 0;; i++) {
		struct rs_place *at = &seat->place;

		err = rs_directory_look(memory, memory_size, i, at);
		if (err == -RS_EADDRINUSE)
			return hope ? -EAGAIN : -EUSERS;
		if (err)
			return to_errno(err);
		if (at->offset > memory_size || at->size > memory_size - at->offset)
			return -EBADMSG;
		if (at->kind != RS_SOURCE_USER)
			continue;
		hope |= !at->free && at->owner == RS_CLAIM_LEFT;
		if (at->free && !rs_directory_claim(memory, memory_size, i, seat->owner))
			break;
	}
	err = measure(seat);
	if (err)
		rs_directory_leave(memory, memory_size, seat->place.index, seat->owner);
	return err;
}

static int try_take(struct seat *seat, bool last)
{
	int err = -ENODEV;

	mutex_lock(&lock);
	if (seat->file->private_data || is_seated(seat->mm))
		err = -EEXIST;
	else if (memory)
		err = find(seat);
	if (err == -EAGAIN && last)
		err = -EUSERS;
	if (err == -EUSERS || err == -EDQUOT)
		rs_directory_turn_away(memory, memory_size);
	if (!err) {
		mmgrab(seat->mm);
		list_add(&seat->list, &seats);
		smp_store_release(&seat->file->private_data, seat);
	}
	mutex_unlock(&lock);
	return err;
}

static int wait_to_take(struct seat *seat)
{
	int err;

	for (u32 looks = 1;; looks++) {
		err = try_take(seat, looks == LOOKS);
		if (err != -EAGAIN)
			return err;
		if (msleep_interruptible(LOOK_MS) && signal_pending(current))
			return -ERESTARTSYS;
	}
}

static ssize_t take(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct rs_device_region out = {};
	struct seat *seat;
	int err;

	if (size < sizeof(out) || !current->mm)
		return -EINVAL;
	seat = kzalloc(sizeof(*seat), GFP_KERNEL_ACCOUNT);
	if (!seat)
		return -ENOMEM;
	seat->file = file;
	seat->mm = current->mm;
	seat->user = user_of(file);
	seat->unlimited = file_ns_capable(file, &init_user_ns, CAP_SYS_RESOURCE);
	seat->owner = task_tgid_nr(current);
	xa_init(&seat->ghosts);
	err = wait_to_take(seat);
	if (err) {
		kfree(seat);
		return err;
	}
	out.size = seat->place.size;
	out.guest_offset = seat->guest_offset;
	out.index = seat->place.index;
	out.owner = seat->owner;
	/* If this fails, closing the file leaves the region. */
	return copy_to_user(to, &out, sizeof(out)) ? -EFAULT : sizeof(out);
}

/* ---- mapping ---- */

/*
 * The page that stands for a page of a region that is gone. It is the file's. Threads and forks may
 * ask for it at the same time.
 */
static struct page *ghost(struct seat *seat, pgoff_t at)
{
	struct page *page = xa_load(&seat->ghosts, at), *before;

	if (page)
		return page;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return NULL;
	before = xa_cmpxchg(&seat->ghosts, at, NULL, page, GFP_KERNEL_ACCOUNT);
	if (!before)
		return page;
	__free_page(page);
	return xa_is_err(before) ? NULL : before;
}

/* 0: the region is gone. */
static vm_fault_t insert(struct seat *seat, struct vm_fault *vmf)
{
	vm_fault_t result = 0;

	mutex_lock(&lock);
	if (!seat->revoked)
		result = vmf_insert_pfn(vmf->vma, vmf->address,
					PHYS_PFN(bar + seat->place.offset) + vmf->pgoff);
	mutex_unlock(&lock);
	return result;
}

static vm_fault_t fault(struct vm_fault *vmf)
{
	struct seat *seat = vmf->vma->vm_file->private_data;
	struct page *page;
	vm_fault_t result;

	if (vmf->pgoff >= seat->place.size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	result = insert(seat, vmf);
	if (result)
		return result;
	page = ghost(seat, vmf->pgoff);
	return page ? vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page)) : VM_FAULT_OOM;
}

static const struct vm_operations_struct mapping = {.fault = fault};

static void change_flags(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#else
	vm_flags_mod(vma, set, clear);
#endif
}

static int map(struct file *file, struct vm_area_struct *vma)
{
	struct seat *seat = smp_load_acquire(&file->private_data);
	unsigned long never = VM_MAYEXEC;
	u64 pages;

	if (!seat || seat->mm != current->mm)
		return -EPERM;
	pages = seat->place.size >> PAGE_SHIFT;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff > pages ||
	    vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	if (vma->vm_pgoff < seat->guest_offset >> PAGE_SHIFT)
		never |= VM_MAYWRITE;
	if (vma->vm_flags & (never >> 4)) /* VM_EXEC, VM_WRITE */
		return -EACCES;
	change_flags(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, never);
	vma->vm_ops = &mapping;
	return 0;
}

/* ---- leaving ---- */

static int open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

/* The file and all its mappings are gone. */
static int leave(struct inode *inode, struct file *file)
{
	struct seat *seat = file->private_data;
	struct page *page;
	unsigned long i;

	if (!seat)
		return 0;
	mutex_lock(&lock);
	list_del(&seat->list);
	if (!seat->revoked)
		rs_directory_leave(memory, memory_size, seat->place.index, seat->owner);
	mutex_unlock(&lock);
	xa_for_each(&seat->ghosts, i, page) __free_page(page);
	xa_destroy(&seat->ghosts);
	mmdrop(seat->mm);
	kfree(seat);
	return 0;
}

/* Its faults find ghosts from now on. */
static void revoke(struct seat *seat)
{
	seat->revoked = true;
	unmap_mapping_range(seat->file->f_mapping, 0, 0, 1);
}

/* Whether the region is another's now, or laid out in another place. */
static bool is_lost(const struct seat *seat)
{
	struct rs_place now;

	return rs_directory_look(memory, memory_size, seat->place.index, &now) || now.free ||
	       now.owner != seat->owner || now.offset != seat->place.offset ||
	       now.size != seat->place.size;
}

/* Whether the host wants it back, to lay out the memory anew. */
static bool is_wanted(const struct seat *seat)
{
	u32 flags = 0;

	rs_agent_region_flags(memory + seat->place.offset, seat->place.size, &flags);
	return flags & RS_CONTROL_LEAVE;
}

void rs_chardev_follow(void)
{
	static unsigned long next; /* jiffies; 0: at once */
	struct seat *seat;

	if (next && time_before(jiffies, next))
		return;
	next = jiffies + msecs_to_jiffies(FOLLOW_MS);
	mutex_lock(&lock);
	list_for_each_entry(seat, &seats, list)
	{
		if (!memory || seat->revoked)
			continue;
		if (is_lost(seat)) {
			revoke(seat);
		} else if (is_wanted(seat)) {
			revoke(seat);
			rs_directory_leave(memory, memory_size, seat->place.index, seat->owner);
		}
	}
	mutex_unlock(&lock);
}

void rs_chardev_set_memory(void *at, resource_size_t address, u64 size)
{
	mutex_lock(&lock);
	memory = at;
	bar = address;
	memory_size = size;
	mutex_unlock(&lock);
}

void rs_chardev_take_memory(bool gone)
{
	struct seat *seat;

	mutex_lock(&lock);
	list_for_each_entry(seat, &seats, list)
	{
		if (seat->revoked)
			continue;
		revoke(seat);
		if (!gone)
			rs_directory_leave(memory, memory_size, seat->place.index, seat->owner);
	}
	memory = NULL;
	mutex_unlock(&lock);
}

static const struct file_operations operations = {
	.owner = THIS_MODULE, /* the module stays while a process has a region */
	.open = open,
	.read = take,
	.mmap = map,
	.release = leave,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ringside",
	.fops = &operations,
};

int rs_chardev_begin(void)
{
	device.mode = mode & 0666;
	return misc_register(&device);
}

void rs_chardev_end(void)
{
	misc_deregister(&device);
}
