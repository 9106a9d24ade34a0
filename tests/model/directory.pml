/* SPDX-License-Identifier: MIT */
/*
 * One entry of a directory, for spin (shared/include/ringside/directory.h, directory.c in
 * guest-agent/core). Takers race for it, leave it, or are killed. A finder notices killed owners,
 * and the host lays the region out anew. Each access to shared memory is a separate step, and a
 * taker may stop between any two steps for any time.
 *
 * The model asserts that a region has one owner at a time, and no owner while it is laid out.
 * run.py builds it with each MUTATE_x, which must fail.
 */
#ifndef TAKERS
#define TAKERS 3
#endif
#ifndef TAKES
#define TAKES 2 /* each one's */
#endif
#ifndef KILLS
#define KILLS 0 /* takers that may be killed while they have it */
#endif
#define GONE 0

/* The claim word's halves, and entry.generation. */
byte claim_generation, claim_owner, generation = 1;
/* The number of users of the region: only for assertions. */
byte in_use, laying_out, kills, dead;

inline cas(old_generation, old_owner, new_generation, new_owner, done)
{
	atomic {
#ifdef MUTATE_NO_CAS
		done = true;
#else
		done = (claim_generation == old_generation && claim_owner == old_owner);
#endif
		if
		:: done ->
			claim_generation = new_generation;
			claim_owner = new_owner
		:: else
		fi
	}
}

inline read_word()
{
	atomic { seen_generation = claim_generation; seen_owner = claim_owner }
}

proctype taker(byte me)
{
	byte takes, seen_generation, seen_owner, g;
	bool done;

	do
	:: takes < TAKES ->
#ifdef MUTATE_GENERATION_FIRST
		g = generation;
		read_word();
#else
		read_word();
		g = generation;
#endif
		if
		:: seen_generation != g ->
			cas(seen_generation, seen_owner, g, me, done)
		:: else ->
			done = false
		fi;
		if
		:: done ->
			takes++;
			in_use++;
			assert(in_use == 1 && !laying_out);
			if
			:: true
			:: kills < KILLS ->
				/* Its memory goes with it. */
				atomic { kills++; dead = me; in_use-- };
				break
			fi;
#ifdef MUTATE_LEAVE_EARLY
			cas(g, me, g, GONE, done);
			assert(done);
			in_use--
#else
			in_use--;
			cas(g, me, g, GONE, done);
			assert(done)
#endif
		:: else
		fi
	:: else -> break
	od
}

/* Another agent that finds no free region, and checks whether an owner is alive. */
proctype finder()
{
	byte seen_generation, seen_owner;
	bool done;

	do
	:: dead ->
		read_word();
		if
		:: seen_owner == dead ->
			cas(seen_generation, seen_owner, seen_generation, GONE, done);
			dead = 0
		:: else -> dead = 0
		fi;
		break
	:: timeout -> break
	od
}

proctype host()
{
	byte seen_generation, seen_owner;

	do
	:: generation < TAKERS * TAKES ->
		read_word();
		if
#ifdef MUTATE_RENEW_ALWAYS
		:: seen_generation == generation ->
#else
		:: seen_generation == generation && seen_owner == GONE ->
#endif
#ifdef MUTATE_RAISE_FIRST
			generation++;
			laying_out = true;
			assert(!in_use);
			laying_out = false
#else
			laying_out = true;
			assert(!in_use);
			laying_out = false;
			generation++
#endif
		:: else
		fi
	:: timeout -> break
	:: else -> break
	od
}

init {
	byte i;

	atomic {
		run host();
		run finder();
		i = 1;
		do
		:: i <= TAKERS -> run taker(i); i++
		:: else -> break
		od
	}
}
