/* SPDX-License-Identifier: MIT */
/*
 * A site that the host switches while CPUs run through it, for spin (hv/vmm/live_x86_64.c,
 * breakpoint.c of the agent's core). A site is its first byte and the rest. A CPU fetches each of
 * them by itself, and may run what it has fetched long ago, until it serializes. With FOREIGN a
 * debugger of the guest puts a breakpoint of its own there at times.
 *
 * The model asserts that no CPU runs the first byte of one instruction with the rest of another,
 * that a breakpoint of the host's is never reported to the guest, and that no CPU takes the jump
 * any more once the host has switched the site off. run.py builds it with each MUTATE_x, which must
 * fail.
 */
#ifndef CPUS
#define CPUS 2
#endif
#ifndef RUNS
#define RUNS 3 /* of each CPU through the site */
#endif
#ifndef SWITCHES
#define SWITCHES 3
#endif
#ifndef FOREIGN
#define FOREIGN 0 /* how often */
#endif

#define NOP 0
#define JMP 1
#define BREAKPOINT 2

/* Memory, and what each CPU has fetched of it. */
byte first, rest;
byte fetched_first[CPUS], fetched_rest[CPUS];
byte switching; /* rs_control.switching */
bool foreign;   /* the breakpoint there is the debugger's */
bool off;       /* the host has said that the site is off */

inline serialize(cpu)
{
	d_step { fetched_first[cpu] = first; fetched_rest[cpu] = rest }
}

inline serialize_all()
{
	i = 0;
	do
	:: i < CPUS -> serialize(i); i++
	:: else -> break
	od
}

proctype host()
{
	byte i, n, from, to;
	bool changed;

again:
	if
	:: n == SWITCHES -> goto over
	:: else -> n++
	fi;
	from = rest;
	to = 1 - from;
#ifndef MUTATE_ODD_LATE
	switching++;
#endif
#ifdef MUTATE_NO_BREAKPOINT
	first = to;
#else
	/* The exchange, which compares. */
	atomic {
		changed = first != from;
		if
		:: !changed -> first = BREAKPOINT
		:: else
		fi
	};
#endif
#ifdef MUTATE_ODD_LATE
	switching++;
#endif
	if
	:: changed -> goto done
	:: else
	fi;
#ifndef MUTATE_NO_FIRST_BARRIER
	serialize_all();
#endif
	off = to == NOP;
	rest = to;
#ifdef MUTATE_EVEN_EARLY
	switching++;
#endif
#ifndef MUTATE_NO_SECOND_BARRIER
	serialize_all();
#endif
	atomic { first = to; off = to == NOP };
done:
#ifndef MUTATE_EVEN_EARLY
	switching++;
#else
	switching = (switching + 1) / 2 * 2;
#endif
	goto again;
over:
	skip
}

proctype debugger()
{
	byte n, saved;

	do
	:: n < FOREIGN ->
		n++;
		atomic { first != BREAKPOINT -> saved = first; first = BREAKPOINT; foreign = true };
		atomic { first = saved; foreign = false }
	:: else -> break
	od
}

proctype cpu(byte me)
{
	byte n, before, now;
	bool theirs;

	do
	:: n == RUNS -> break
	/* It fetches when it likes, and not all at once. */
	:: n < RUNS && fetched_first[me] != first -> fetched_first[me] = first
	:: n < RUNS && fetched_rest[me] != rest -> fetched_rest[me] = rest
	:: atomic {
			n < RUNS && fetched_first[me] != BREAKPOINT;
			assert(fetched_first[me] == fetched_rest[me]);
			assert(!(off && fetched_first[me] == JMP));
			n++
		}
	:: atomic {
			n < RUNS && fetched_first[me] == BREAKPOINT;
			/* An exception serializes. */
			serialize(me)
		};
		before = switching;
		atomic { now = first; theirs = foreign };
		if
		:: now != BREAKPOINT -> skip /* once more from here */
#ifdef MUTATE_ONE_LOOK
		:: now == BREAKPOINT && before % 2 == 0 ->
#else
		:: now == BREAKPOINT && before % 2 == 0 && switching == before ->
#endif
			assert(theirs);
			n++
		:: else -> n++ /* as the NOP */
		fi
	od
}

init {
	byte c = 0;

	atomic {
		run host();
		run debugger();
		do
		:: c < CPUS -> run cpu(c); c++
		:: else -> break
		od
	}
}
