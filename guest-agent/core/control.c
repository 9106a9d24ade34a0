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

/* What a site's bytes are. */
enum site_state {
	SITE_OFF,
	SITE_ON,
	SITE_OTHER, /* neither: it is left alone */
};

static enum site_state look_at(const struct rs_site *site, uint8_t nop[RS_SITE_BYTES],
			       uint8_t jump[RS_SITE_BYTES])
{
	uintptr_t code = relative(&site->code);
	uint8_t now[RS_SITE_BYTES];

	if ((code & 7) > 8 - RS_SITE_BYTES)
		return SITE_OTHER;
	read_site(code, now);
	rs_arch_site_nop(nop);
	rs_arch_site_jump(jump, code, relative(&site->target));
	return same(now, jump) ? SITE_ON : same(now, nop) ? SITE_OFF : SITE_OTHER;
}

static void switch_site(const struct rs_site *site, bool want)
{
	uint8_t nop[RS_SITE_BYTES], jump[RS_SITE_BYTES];
	enum site_state state = look_at(site, nop, jump);

	if (state != SITE_OTHER && (state == SITE_ON) != want)
		write_site(relative(&site->code), want ? jump : nop);
}

/* Returns 1 when the site is not as it is wanted. */
static uint32_t check_site(const struct rs_site *site, bool want, uint32_t *on)
{
	uint8_t nop[RS_SITE_BYTES], jump[RS_SITE_BYTES];
	enum site_state state = look_at(site, nop, jump);

	*on += state == SITE_ON;
	return state != (want ? SITE_ON : SITE_OFF);
}

/* Switches [site, end), at most 64, and looks what has come of it. Bit i of `wanted`: site i. */
static uint32_t patch_sites(const struct rs_site *site, const struct rs_site *end, uint64_t wanted,
			    uint32_t *on)
{
	uint32_t bad = 0;

	for (const struct rs_site *at = site; at < end; at++)
		switch_site(at, wanted >> (at - site) & 1);
	if (rs_core.ops.text_flush)
		rs_core.ops.text_flush();
	for (const struct rs_site *at = site; at < end; at++)
		bad += check_site(at, wanted >> (at - site) & 1, on);
	return bad;
}

_Static_assert(RS_TEXT_POKES == 64, "a word of wishes");

static uint32_t patch_provider(const struct rs_agent_provider *provider, bool all_off, uint32_t *on)
{
	bool any = !all_off && any_is_wanted(provider);
	const struct rs_site *site = provider->sites, *end;
	uint32_t bad = 0;

	for (; site < provider->sites_end; site = end) {
		uint64_t wanted = 0;

		end = site + RS_TEXT_POKES;
		if (provider->sites_end - site < (ptrdiff_t)RS_TEXT_POKES)
			end = provider->sites_end;
		/* Read once: a control word may change meanwhile. */
		for (const struct rs_site *at = site; any && at < end; at++) {
			const struct rs_event *event = rs_core_site_event(at);

			wanted |= (uint64_t)(!event || is_wanted(event)) << (at - site);
		}
		bad += patch_sites(site, end, wanted, on);
	}
	return bad;
}

uint32_t rs_patch_provider(const struct rs_agent_provider *provider, bool all_off, uint32_t *on)
{
	uintptr_t from = UINTPTR_MAX, to = 0;
	uint32_t bad;

	for (const struct rs_site *site = provider->sites; site < provider->sites_end; site++) {
		uintptr_t code = relative(&site->code);

		from = code < from ? code : from;
		to = code + RS_SITE_BYTES > to ? code + RS_SITE_BYTES : to;
	}
	if (!to)
		return 0;
	if (rs_core.ops.text_open)
		rs_core.ops.text_open((void *)from, (void *)to);
	bad = patch_provider(provider, all_off, on);
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
	if (!(rs_load(&rs_core.info->flags) & RS_GUEST_FOLLOWS))
		rs_store_release(&rs_core.info->applied_generation, generation);
	rs_core_unlock();
	return (int)bad;
}

void rs_agent_follow(uint32_t generation)
{
	if (rs_agent_active() && rs_load(&rs_core.info->applied_generation) != generation)
		rs_store_release(&rs_core.info->applied_generation, generation);
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
