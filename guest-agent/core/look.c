/* SPDX-License-Identifier: MIT */
/* What the host asks of an agent that runs: to look, and to say what its clock shows. */
#include "core.h"

#include "rs_port.h"

#define PONGS_MAX 64u   /* answered in one call */
#define SPINS_MAX 2000u /* looks for the next ping after one was answered */

/*
 * Answers pings. The host sends some in a row and keeps the one that came back fastest: from the
 * time in between it learns how the guest's clock stands to its own.
 */
static void answer_pings(void)
{
	struct rs_guest_info *info = rs_core.info;
	uint32_t seen = rs_load(&info->clock_pong), spins = 0;

	for (uint32_t pongs = 0; pongs < PONGS_MAX && spins < SPINS_MAX;) {
		/* Acquire: the clock is read after the ping was seen. */
		uint32_t ping = rs_load_acquire(&rs_core.control->clock_ping);

		if (ping == seen) {
			spins++;
			continue;
		}
		rs_store(&info->clock_ts, rs_core_time());
		/* Release: pairs with the host's acquire of the pong. */
		rs_store_release(&info->clock_pong, ping);
		seen = ping;
		spins = 0;
		pongs++;
	}
}

void rs_agent_look(void)
{
	static uint32_t answering;

	if (!rs_agent_active())
		return;
	if (rs_load(&rs_core.control->clock_ping) == rs_load(&rs_core.info->clock_pong))
		return;
	/* One at a time: another CPU's answer, come late, would lie over a newer one. */
	if (__atomic_exchange_n(&answering, 1, __ATOMIC_ACQUIRE))
		return;
	answer_pings();
	__atomic_store_n(&answering, 0, __ATOMIC_RELEASE);
}
