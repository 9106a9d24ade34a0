/* SPDX-License-Identifier: MIT */
/*
 * Breakpoints that the host puts over sites which it switches while the guest runs. Nothing here
 * takes a lock or meets a site.
 */
#include "arch.h"
#include "core.h"

static uintptr_t code_of(const struct rs_site *site)
{
	return (uintptr_t)&site->code + (uintptr_t)(intptr_t)site->code;
}

/* A linker nearly always lists sites in the order of their addresses. */
static bool finds_in_order(const struct rs_site *from, const struct rs_site *to, uintptr_t at)
{
	while (from < to) {
		const struct rs_site *middle = from + (to - from) / 2;

		if (code_of(middle) == at)
			return true;
		if (code_of(middle) < at)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

static bool finds(const struct rs_site *from, const struct rs_site *to, uintptr_t at)
{
	if (finds_in_order(from, to, at))
		return true;
	while (from < to && code_of(from) != at)
		from++;
	return from < to;
}

static bool is_site(uintptr_t at)
{
	struct rs_crowd_place place = rs_crowd_enter(&rs_core.lookers);
	const struct rs_agent_provider *p = __atomic_load_n(&rs_core.providers, __ATOMIC_SEQ_CST);

	while (p && !finds(p->sites, p->sites_end, at))
		p = __atomic_load_n(&p->next, __ATOMIC_SEQ_CST);
	rs_crowd_leave(place);
	return p;
}

uintptr_t rs_agent_breakpoint(uintptr_t at)
{
	const uint8_t now = rs_load_acquire((const uint8_t *)at);
	const uint32_t *switching;
	uint32_t before;

	/*
	 * It is whole again. Before all else, since its provider may have gone while this CPU was
	 * on its way here. Any other byte is the end of an `int $3` of two bytes.
	 */
	if (now == RS_ARCH_SITE_NOP || now == RS_ARCH_SITE_JUMP)
		return at;
	if (!rs_agent_active() || !is_site(at))
		return 0;
	switching = &rs_core.control->switching;
	before = rs_load_acquire(switching);
	/* Acquire: the byte is looked at between the two looks at the word. */
	if (rs_load_acquire((const uint8_t *)at) != RS_ARCH_BREAKPOINT)
		return at;
	/*
	 * If the word was even at both looks, and is the same, nobody of ours has put a breakpoint
	 * anywhere between them.
	 */
	if (!(before & 1) && rs_load(switching) == before)
		return 0;
	return at + RS_SITE_BYTES;
}
