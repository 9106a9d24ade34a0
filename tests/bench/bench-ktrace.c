/* SPDX-License-Identifier: MIT */
/* The cost of RS_KTRPOINT() where nothing is recorded: "NAME VALUE UNIT" lines. */
#define _GNU_SOURCE
#include "bench.h"
#include "room.h"

static struct room room;

int main(void)
{
	struct rs_ktrace_thread *t = &room.thread;
	double empty, off, several, untraced;

	room_set_up(&room, NULL);
	room_switch(&room, NULL, false);
	BENCH(empty, (void)0);
	BENCH(off, if (RS_KTRPOINT(t, RS_KTRFAC_SYSCALL)) rs_ktrsyscall(t, i, 0, NULL));
	BENCH(several, if (RS_KTRPOINT(t, RS_KTRFAC_SYSCALL | RS_KTRFAC_SYSRET | RS_KTRFAC_NAMEI))
			       rs_ktrsyscall(t, i, 0, NULL));
	room_switch(&room, NULL, true);
	BENCH(untraced, if (RS_KTRPOINT(t, RS_KTRFAC_SYSCALL)) rs_ktrsyscall(t, i, 0, NULL));
	bench_print("empty", empty, "ns");
	bench_print("ktrpoint-off", off, "ns");
	bench_print("ktrpoint-3-off", several, "ns");
	bench_print("ktrpoint-untraced", untraced, "ns");
	room_tear_down(&room, NULL);
	return 0;
}
