/* SPDX-License-Identifier: MIT */
/*
 * Filters as programs and as machine code, for spin (shared/include/ringside/native.h and filter.h,
 * hv/region/publish.c, hv/session/natives.c, guest-agent/core/judge.c). A host changes an event's
 * filter again and again, while agents judge records. Each access to shared memory is a step of its
 * own.
 *
 * The model asserts that a filter judges which was in force at some moment while it judged, that
 * code is run only where it is whole, and never that of another event, whoever writes the words.
 * run.py builds it with each MUTATE_x, which must fail.
 */
#ifndef AGENTS
#define AGENTS 1 /* they only read, so one sees what any sees */
#endif
#ifndef CHANGES
#define CHANGES 5
#endif
#ifndef FORKS
#define FORKS 0 /* the last agent has the text of an earlier moment */
#endif
#ifndef LIES
#define LIES 0 /* how often somebody else writes the native word */
#endif
#define SLOTS 2
#define ENTRIES 7 /* the last is of another event */
#define OTHER 15
#define DOUBT 14
#define TRIES 2

byte ctl, nat;
/* Programs in two parts, by slot: slot 0 is none. */
byte sequence[SLOTS + 1], program[SLOTS + 1], rest[SLOTS + 1];
/* The pool: of each entry whose it is (0: unused), and its code, in two parts. */
byte event[ENTRIES + 1], first[ENTRIES + 1], second[ENTRIES + 1];

/* What the host means: bits of the filters in force, one or two. Filter 0 lets all pass. */
short allowed = 1;
short seen[AGENTS]; /* what was in force since the agent began */
byte forked;        /* entries up to here are in the text of a process that was forked */

inline allow(filters)
{
	atomic {
		allowed = filters;
		for (i : 0 .. AGENTS - 1) {
			seen[i] = seen[i] | allowed
		}
	}
}

proctype host()
{
	byte i, change, now, next, slot, entry, used;
	bool compiled;

	event[ENTRIES] = 2;
	first[ENTRIES] = OTHER;
	second[ENTRIES] = OTHER;
	do
	:: change < CHANGES ->
		change++;
		if
		:: next = change; compiled = true
		:: next = change; compiled = false
		:: next = 0; compiled = false
		fi;
		allow(1 << now | 1 << next);
		if
		:: next ->
			slot = slot % SLOTS + 1;
			sequence[slot]++;
			program[slot] = next;
			rest[slot] = next;
			sequence[slot]++
		:: else
		fi;
#ifndef MUTATE_NO_CLEAR
		nat = 0;
#endif
		ctl = (next -> slot : 0);
		allow(1 << next);
		now = next;
		if
		:: compiled ->
#ifdef MUTATE_WRITE_AGAIN
			entry = 1;
#else
			used++;
			entry = used;
#endif
#ifdef MUTATE_NAME_EARLY
			event[entry] = 1;
			nat = entry;
#endif
			first[entry] = next;
			second[entry] = next;
			event[entry] = 1;
			nat = entry
		:: else
		fi
	:: else -> break
	od
}

/* In QEMU a guest can write to the host's words. */
proctype liar()
{
	byte lies;

	do
	:: lies < LIES ->
		lies++;
		if
		:: nat = 0
		:: nat = 1
		:: nat = 2
		:: nat = ENTRIES
		:: nat = ENTRIES + 1
		fi
	:: else -> break
	od
}

proctype agent(byte me)
{
	byte word, entry, a, b, tries, verdict, before, whose;

	atomic { seen[me] = allowed };
	word = ctl;
	if
	:: word == 0 -> verdict = 0; goto judged
	:: else
	fi;
	entry = nat;
#ifndef MUTATE_NO_BOUND
	if
	:: entry > ENTRIES -> goto by_program
	:: else
	fi;
#endif
	if
	:: entry == 0 -> goto by_program
	:: else
	fi;
	assert(entry <= ENTRIES);
	whose = event[entry];
	if
	:: FORKS && me == AGENTS - 1 && entry > forked && entry != ENTRIES -> whose = 0
	:: else
	fi;
#ifndef MUTATE_NO_EVENT
	if
	:: whose != 1 -> goto by_program
	:: else
	fi;
#endif
	assert(whose != 0);
	a = first[entry];
	b = second[entry];
	assert(a == b && a != OTHER && a != 0);
	verdict = a;
	goto judged;
by_program:
	before = sequence[word];
	verdict = program[word];
	b = rest[word];
#ifndef MUTATE_NO_SEQUENCE
	if
	:: before % 2 || sequence[word] != before ->
		tries++;
		if
		:: tries == TRIES -> verdict = DOUBT; goto judged
		:: else
		fi;
		word = ctl;
		if
		:: word == 0 -> verdict = 0; goto judged
		:: else -> goto by_program
		fi
	:: else
	fi;
#endif
	assert(verdict == b);
judged:
	assert(LIES || verdict == DOUBT || seen[me] >> verdict & 1)
}

/* A process is forked at any moment. */
proctype fork()
{
	do
	:: atomic { forked < ENTRIES - 1 && event[forked + 1] == 1 -> forked++ }
	:: break
	od
}

init {
	byte i;

	atomic {
		run host();
		if
		:: LIES -> run liar()
		:: else
		fi;
		if
		:: FORKS -> run fork()
		:: else
		fi;
		for (i : 0 .. AGENTS - 1) {
			run agent(i)
		}
	}
}
