/* SPDX-License-Identifier: MIT */
/* Events of other modules: see include/rs_module.h. */
#define pr_fmt(fmt) "ringside: " fmt
#include "module.h"

#include <linux/export.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <ringside/callback.h>
#include <rs_module.h>

struct entry {
	struct list_head link;
	struct rs_agent_provider *provider;
};

static DEFINE_MUTEX(lock);
static LIST_HEAD(entries);
static bool attached; /* there is a region */

static void come(struct rs_agent_provider *provider)
{
	int err = rs_agent_register(provider);

	if (err)
		pr_warn("%s: %s\n", provider->name, rs_agent_strerror(err));
}

void rs_modules_begin(void)
{
	struct entry *entry;

	mutex_lock(&lock);
	attached = true;
	list_for_each_entry(entry, &entries, link) come(entry->provider);
	mutex_unlock(&lock);
}

void rs_modules_end(void)
{
	struct entry *entry;

	mutex_lock(&lock);
	list_for_each_entry(entry, &entries, link) rs_agent_unregister(entry->provider);
	attached = false;
	mutex_unlock(&lock);
}

/* Text of init functions goes away, and what comes in its place must not be touched. */
static bool lies_in(const struct module *owner, const struct rs_agent_provider *provider)
{
	for (const struct rs_site *site = provider->sites; site < provider->sites_end; site++) {
		unsigned long code = (unsigned long)&site->code + (long)site->code;

		if (within_module_core(code, owner))
			continue;
		pr_err("%s: an event fires at %pS, which is no text that stays\n", provider->name,
		       (void *)code);
		return false;
	}
	return true;
}

static struct entry *find(const struct rs_agent_provider *provider)
{
	struct entry *entry;

	list_for_each_entry(entry, &entries, link) if (entry->provider == provider) return entry;
	return NULL;
}

int rs_module_register(struct module *owner, struct rs_agent_provider *provider)
{
	struct entry *entry;
	int err = 0;

	if (!lies_in(owner, provider))
		return -EINVAL;
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->provider = provider;
	mutex_lock(&lock);
	if (find(provider))
		err = -EBUSY;
	else
		list_add_tail(&entry->link, &entries);
	if (!err && attached)
		come(provider);
	mutex_unlock(&lock);
	if (err)
		kfree(entry);
	return err;
}
EXPORT_SYMBOL_GPL(rs_module_register);

void rs_module_unregister(struct rs_agent_provider *provider)
{
	struct entry *entry;

	mutex_lock(&lock);
	entry = find(provider);
	if (entry) {
		list_del(&entry->link);
		if (attached)
			rs_agent_unregister(provider);
	}
	mutex_unlock(&lock);
	kfree(entry);
	/* Events disable preemption. */
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(rs_module_unregister);

/* What <ringside/event.h> makes events of. */
EXPORT_SYMBOL_GPL(rs_event_ctl);
EXPORT_SYMBOL_GPL(rs_event_generation);
EXPORT_SYMBOL_GPL(rs_event_changes);
EXPORT_SYMBOL_GPL(rs_emit_plain);
EXPORT_SYMBOL_GPL(rs_emit_8);
EXPORT_SYMBOL_GPL(rs_emit_16);
EXPORT_SYMBOL_GPL(rs_emit_call);
EXPORT_SYMBOL_GPL(rs_emit_entry);
EXPORT_SYMBOL_GPL(rs_callback_register);
EXPORT_SYMBOL_GPL(rs_callback_unregister);
EXPORT_SYMBOL_GPL(rs_event_enable_callbacks);
