/* SPDX-License-Identifier: MIT */
/*
 * The kernel's entry of a directory on which two guests have come by mistake, for spin
 * (shared/include/ringside/directory.h, and agent.c of the module). Each takes the region whatever
 * its claim is, since that may be its own of an earlier boot. Each looks at the claim now and then,
 * and may boot again at any time. A number is never drawn twice.
 *
 * The model asserts that one guest believes in the end that it has the region, and that the two
 * don't take it from each other in turns. run.py builds it with each MUTATE_x, which must fail.
 */
#define LEFT 0
#define GUESTS 2
#ifndef BOOTS
#define BOOTS 2 /* of each */
#endif

byte claim = LEFT, drawn, have, ended;

inline boot()
{
	atomic {
		if
		:: has -> have--
		:: else
		fi;
		has = false;
		lost = false;
		boots++;
#ifdef MUTATE_SAME_NUMBER
		mine = 1
#else
		drawn++;
		mine = drawn
#endif
	}
}

/* What leave() does to a claim that is not its own. */
inline leave()
{
#ifdef MUTATE_LEAVE_BLINDLY
	claim = LEFT
#else
	skip
#endif
}

proctype guest()
{
	byte mine, boots, takes;
	bool has = false, lost = false;

	boot();
	do
	:: boots < BOOTS -> boot()
#ifdef MUTATE_TAKE_AGAIN
	:: !has ->
#else
	:: !has && (!lost || claim == LEFT) ->
#endif
		atomic { claim = mine; has = true; have++; takes++ };
		assert(takes <= BOOTS)
	:: has && claim != mine ->
		atomic { lost = (claim != LEFT); has = false; have-- };
		leave()
	/* Nobody has anything to do any more. */
	:: timeout -> break
	od;
	ended++
}

init {
	byte i;

	atomic {
		do
		:: i < GUESTS -> run guest(); i++
		:: else -> break
		od
	}
	(ended == GUESTS);
	assert(have == 1)
}
