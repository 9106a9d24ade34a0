/* SPDX-License-Identifier: MIT */
/*
 * The door at which a program's agent waits for a host, for spin (shared/include/ringside/door.h,
 * door.c of the hosted port, hv/machine/process.c). Hosts come at the same time, end, or are killed
 * at any step. Each access to shared memory is a step of its own. Doors are never used again.
 *
 * The model asserts that no host lays a file out in which the agent is at work, that a host that
 * lives has the agent in the end, and that the agent stays with no host that has gone. run.py
 * builds it with each MUTATE_x, which must fail.
 */
#ifndef HOSTS
#define HOSTS 2
#endif
#ifndef COMES
#define COMES 2 /* of each host */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#define DOORS 6
#define NOWHERE 7

/* Of each door: the directory's magic, the claim, and who holds the lock (0: nobody). */
bool magic[DOORS], claim[DOORS];
byte lock[DOORS];
byte now;              /* the agent's newest door */
byte joined = NOWHERE; /* where it is at work */
bool asleep;           /* in the futex of door `now` */
byte kills;

proctype agent()
{
wait:
	if
	:: magic[now] -> goto enter
	:: else
	fi;
#ifdef MUTATE_PLAIN_SLEEP
	asleep = true;
#else
	/* The futex looks at the word again. */
	atomic { asleep = !magic[now] };
#endif
end:	!asleep;
	goto wait;
enter:
	if
	:: claim[now] -> joined = now; goto work
	:: else
	fi;
	if
	:: lock[now] -> goto enter
	:: else -> now++; assert(now < DOORS); goto wait
	fi;
work:
end_work:
	lock[joined] == 0;
	atomic { joined = NOWHERE; now++ };
	assert(now < DOORS);
	goto wait
}

proctype host(byte me)
{
	byte d, comes;

again:
	comes++;
find:
	d = now;
	if
	:: magic[d] ->
		/* A host was here. One that died may not have woken the agent. */
#ifndef MUTATE_LET_SLEEP
		atomic { asleep = asleep && d != now };
#endif
		do
		:: now != d -> goto find
		:: lock[d] && lock[d] != me -> goto over
		:: timeout -> assert(now != d || lock[d])
		od
	:: else
	fi;
#ifndef MUTATE_LOCK_LATE
#ifndef MUTATE_NO_LOCK
	atomic {
		if
		:: lock[d] -> goto over
		:: else -> lock[d] = me
		fi
	};
#endif
#endif
#ifndef MUTATE_NO_SECOND_LOOK
	if
	:: magic[d] -> goto leave
	:: else
	fi;
#endif
	atomic { assert(joined != d); magic[d] = true };
	if
	:: kills < KILLS -> kills++; goto leave
	:: true
	fi;
	claim[d] = true;
	if
	:: kills < KILLS -> kills++; goto leave
	:: true
	fi;
#ifndef MUTATE_NO_WAKE
	atomic { asleep = asleep && d != now };
#endif
#ifdef MUTATE_NO_LOCK
	lock[d] = me;
#endif
#ifdef MUTATE_LOCK_LATE
	lock[d] = me;
#endif
	/* The session: until the agent is there. */
	do
	:: joined == d -> break
	:: timeout -> assert(joined == d)
	od;
leave:
	atomic {
		if
		:: lock[d] == me -> lock[d] = 0
		:: else
		fi
	};
over:
	if
	:: comes < COMES -> goto again
	:: else
	fi
}

init {
	byte i = 1;

	atomic {
		run agent();
		do
		:: i <= HOSTS -> run host(i); i++
		:: else -> break
		od
	};
	/* All hosts have gone. If the last one died, the agent may not have heard of it. */
	(_nr_pr == 2);
	timeout -> assert(joined == NOWHERE && (!magic[now] || asleep))
}
