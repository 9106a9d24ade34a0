/* SPDX-License-Identifier: MIT */
/* Self-patching: for guests whose host cannot write their text. */
#include "arch.h"
#include "core.h"

static uintptr_t relative(const int32_t *field)
{
	return (uintptr_t)field + (uintptr_t)(intptr_t)*field;
}

static bool same(const uint8_t *a, const uint8_t *b)
{
	for (uint32_t i = 0; i < RS_SITE_BYTES; i++) {
		if (a[i] != b[i])
			return false;
	}
	return true;
}

/* A site is one poke, so that between two pokes every site is wholly on or off. */
_Static_assert(RS_SITE_BYTES <= RS_TEXT_POKE_MAX,
	       "a longer site needs pokes in an order of its own");

static void write_site(uintptr_t code, const uint8_t next[RS_SITE_BYTES])
{
	if (rs_core.ops.write_kernel_text)
		rs_core.ops.write_kernel_text((void *)code, next, RS_SITE_BYTES);
	else
		rs_arch_site_store(code, next);
}

/* A site lies in one aligned word: one load, and no half of a change. */
static void read_site(uintptr_t code, uint8_t now[RS_SITE_BYTES])
{
	uint64_t word = rs_load((const uint64_t *)(code & ~(uintptr_t)7));

	__builtin_memcpy(now, (const uint8_t *)&word + (code & 7), RS_SITE_BYTES);
}

static bool is_wanted(const struct rs_event *event)
{
	event = event->same ? event->same : event;
	return rs_event_control(event) & RS_EVENT_ENABLED || rs_callbacks_wanted(event);
}

/* What a provider's gates ask. */
static bool any_is_wanted(const struct rs_agent_provider *provider)
{
	rs_core_each_event (event, provider) {
		if (is_wanted(event))
			return true;
	}
	return false;
}

/* Returns 1 when the site's bytes are neither of the two that they may be, and then leaves it
 * alone, and when they could not be changed. */
static uint32_t patch_site(const struct rs_site *site, bool want, uint32_t *on)
{
	uintptr_t code = relative(&site->code);
	uint8_t nop[RS_SITE_BYTES], jump[RS_SITE_BYTES], now[RS_SITE_BYTES];
	bool is_on;

	if ((code & 7) > 8 - RS_SITE_BYTES)
		return 1;
	read_site(code, now);
	rs_arch_site_nop(nop);
	rs_arch_site_jump(jump, code, relative(&site->target));
	is_on = same(now, jump);
	if (!is_on && !same(now, nop))
		return 1;
	if (is_on != want) {
		write_site(code, want ? jump : nop);
		read_site(code, now);
		is_on = same(now, jump);
	}
	*on += is_on;
	return is_on != want;
}

uint32_t rs_patch_provider(const struct rs_agent_provider *provider, bool all_off, uint32_t *on)
{
	uintptr_t from = UINTPTR_MAX, to = 0;
	bool any = !all_off && any_is_wanted(provider);
	uint32_t bad = 0;

	for (const struct rs_site *site = provider->sites; site < provider->sites_end; site++) {
		uintptr_t code = relative(&site->code);

		from = code < from ? code : from;
		to = code + RS_SITE_BYTES > to ? code + RS_SITE_BYTES : to;
	}
	if (!to)
		return 0;
	if (rs_core.ops.text_open)
		rs_core.ops.text_open((void *)from, (void *)to);
	for (const struct rs_site *site = provider->sites; site < provider->sites_end; site++) {
		const struct rs_event *event = rs_core_site_event(site);

		bad += patch_site(site, any && (!event || is_wanted(event)), on);
	}
	if (rs_core.ops.text_close)
		rs_core.ops.text_close((void *)from, (void *)to);
	return bad;
}

const struct rs_control *rs_agent_control(void)
{
	return rs_agent_active() ? rs_core.control : NULL;
}

bool rs_agent_control_due(void)
{
	if (!rs_agent_active() || !(rs_load(&rs_core.info->flags) & RS_GUEST_SELF_PATCH))
		return false;
	return rs_load(&rs_core.sites_due) ||
	       rs_load(&rs_core.control->generation) != rs_load(&rs_core.info->applied_generation);
}

/* Under the lock. */
static uint32_t patch_all(bool all_off)
{
	uint32_t bad = 0, on = 0;

	for (struct rs_agent_provider *p = rs_core.providers; p; p = p->next)
		bad += rs_patch_provider(p, all_off, &on);
	rs_store(&rs_core.info->patch_errors, bad);
	rs_store(&rs_core.info->sites_on, on);
	return bad;
}

int rs_agent_apply_control(void)
{
	uint32_t generation, flags, bad = 0;

	rs_core_lock();
	if (!rs_agent_active()) {
		rs_core_unlock();
		return 0;
	}
	/* Acquire: pairs with the host's release after it has stored the control words. */
	generation = rs_load_acquire(&rs_core.control->generation);
	__atomic_exchange_n(&rs_core.sites_due, 0, __ATOMIC_SEQ_CST);
	flags = rs_load(&rs_core.control->flags);
	if (flags & (RS_CONTROL_SELF_PATCH | RS_CONTROL_STOP))
		bad = patch_all(flags & RS_CONTROL_STOP || rs_load(&rs_core.host_gone));
	rs_store_release(&rs_core.info->applied_generation, generation);
	rs_core_unlock();
	return (int)bad;
}

bool rs_agent_asked_to_leave(void)
{
	return rs_agent_active() && rs_load(&rs_core.control->flags) & RS_CONTROL_LEAVE;
}

void rs_agent_host_gone(void)
{
	rs_store(&rs_core.host_gone, 1);
	rs_core_lock();
	if (rs_agent_active() && rs_load(&rs_core.info->flags) & RS_GUEST_SELF_PATCH)
		patch_all(true);
	rs_core_unlock();
}
