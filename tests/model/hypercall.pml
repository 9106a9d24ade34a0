/* SPDX-License-Identifier: MIT */
/*
 * Requests that are answered late (docs/adr/0009-answers.md), for spin: tasks that share the
 * request slots, each on a vCPU that halts while it waits; a host that answers at once, or later
 * and in any order; a guest that starts anew. Each access to shared memory is a step of its own.
 *
 * With CLEAR the guest's memory is empty after it started anew. With SLOW_BOOT, and with CLEAR, it
 * does not start anew between two steps of the host: that takes longer than the host needs between
 * taking a request and answering or accepting it, or between its look at a ticket and the answer.
 *
 * What is asserted:
 *   task()     an answer is the one to this question, and the first that was given
 *   answer()   with SLOW_BOOT: nothing is published for a boot that is gone
 *   init       nobody halts, or waits, for ever: when nothing moves any more, all is answered
 *
 * run.py builds it with each MUTATE_x, which must fail.
 */
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef ASKS
#define ASKS 2 /* of each task */
#endif
#ifndef BOOTS
#define BOOTS 1
#endif
#ifndef CLEAR
#define CLEAR 0
#endif
#ifndef SLOW_BOOT
#define SLOW_BOOT CLEAR
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 0 /* times that a task gives up a request that was not accepted */
#endif
#ifndef HALTS
#define HALTS 1 /* else a task that waits looks all the time */
#endif
#ifndef NMI
#define NMI 0 /* the nudge takes no notice of masked interrupts */
#endif
#ifndef REFUSES
#define REFUSES 0 /* the session ends and refuses what it owes */
#endif

#define QUESTIONS (TASKS * (ASKS + BOOTS - 1) + GIVE_UPS + 1)
#define REFUSED 99
#define KEPT (SLOTS + BOOTS - 1 + GIVE_UPS)

/* struct rs_hcall_request, struct rs_hcall_response, rs_control.nudge, rs_guest_info.boot */
byte q_sequence[SLOTS], q_what[SLOTS];
byte r_sequence[SLOTS], r_value[SLOTS], r_accepted[SLOTS];
byte nudge, boot = 1;

/* The guest's: slots_busy, and what the vCPU of each task does. */
bool busy[SLOTS];
#define ON 0     /* interrupts come */
#define OFF 1    /* masked: one that comes is noted */
#define WINDOW 2 /* has looked whether one was noted, and is about to halt */
#define HALTED 3
byte cpu[TASKS];
bool pending[TASKS], led[TASKS];

/* Not in memory: what is true. */
byte asked, finished, gave_up, first[QUESTIONS];
bool host_busy;

/* ---- the host: hv/session/slots.c and answers.c ---- */

byte h_taken[SLOTS], h_boot[SLOTS];
bool h_owed[SLOTS];
typedef ticket { byte slot; byte sequence; byte boot; byte what };
ticket kept[KEPT];
byte count;
bool refused;
#if REFUSES
byte h_what; /* not in memory: the question in slot 0 */
#endif

/* An interrupt on every vCPU. */
inline interrupt()
{
	d_step {
		i = 0;
		do
		:: i == TASKS -> break
		:: else ->
			if
			:: cpu[i] == ON -> skip /* its handler has run */
#if !NMI
			:: cpu[i] != ON -> pending[i] = true
#else
			:: cpu[i] == HALTED -> pending[i] = true
#ifdef MUTATE_NO_MARK
			:: cpu[i] == OFF -> skip
#else
			:: cpu[i] == OFF -> pending[i] = true
#endif
#ifdef MUTATE_NO_LEAD
			:: cpu[i] == WINDOW -> skip
#else
			:: cpu[i] == WINDOW -> led[i] = true
#endif
#endif
			fi;
			i++
		od;
		i = 0
	}
}

inline nudge_all()
{
#if HALTS
	nudge++;
	interrupt()
#else
	skip
#endif
}

/* redeem() and publish(). */
inline answer(t, with)
{
#ifdef MUTATE_NO_TICKET
	good = true;
#else
	good = h_owed[t.slot] && h_taken[t.slot] == t.sequence && h_boot[t.slot] == t.boot;
#ifndef MUTATE_NO_BOOT
	if
	:: good -> good = boot == t.boot
	:: else
	fi;
#endif
	if
	:: good -> good = q_sequence[t.slot] == t.sequence
	:: else
	fi;
#endif
	if
	:: good ->
#ifndef MUTATE_TWICE
		h_owed[t.slot] = false;
#endif
#if SLOW_BOOT
		assert(t.boot == boot);
#endif
		d_step {
			if
			:: first[t.what] == 0 -> first[t.what] = with
			:: else
			fi
		}
#ifdef MUTATE_SEQUENCE_FIRST
		r_sequence[t.slot] = t.sequence;
		r_value[t.slot] = with
#else
		r_value[t.slot] = with;
		r_sequence[t.slot] = t.sequence
#endif
	:: else
	fi
}

inline serve(s)
{
	d_step { now.slot = s; host_busy = true };
	now.sequence = q_sequence[s];
	now.boot = boot;
	d_step {
		h_taken[s] = now.sequence;
		h_boot[s] = now.boot;
		h_owed[s] = true
	}
	now.what = q_what[s];
#if REFUSES
	h_what = now.what;
#endif
	if
	:: answer(now, now.what)
	:: count < KEPT && !refused ->
		/* rs_slots_accept() */
		good = boot == now.boot;
		if
		:: good -> good = q_sequence[s] == now.sequence
		:: else
		fi;
		if
		:: good ->
			r_accepted[s] = now.sequence;
			d_step {
				kept[count].slot = s;
				kept[count].sequence = now.sequence;
				kept[count].boot = now.boot;
				kept[count].what = now.what;
				count++
			}
		:: else
		fi
	fi;
	d_step { now.slot = 0; now.sequence = 0; now.boot = 0; now.what = 0; good = false;
		 host_busy = false }
}

inline take_kept(n)
{
	d_step {
		host_busy = true;
		now.slot = kept[n].slot;
		now.sequence = kept[n].sequence;
		now.boot = kept[n].boot;
		now.what = kept[n].what;
		count--;
		kept[n].slot = kept[count].slot;
		kept[n].sequence = kept[count].sequence;
		kept[n].boot = kept[count].boot;
		kept[n].what = kept[count].what;
		kept[count].slot = 0;
		kept[count].sequence = 0;
		kept[count].boot = 0;
		kept[count].what = 0
	}
}

inline answer_kept(n)
{
	take_kept(n);
#ifdef MUTATE_NUDGE_FIRST
	nudge_all();
	answer(now, now.what);
#else
	answer(now, now.what);
	nudge_all();
#endif
	d_step { now.slot = 0; now.sequence = 0; now.boot = 0; now.what = 0; good = false;
		 host_busy = false }
}

proctype host()
{
	ticket now;
	bool good;
	byte i;

end:	do
	:: q_sequence[0] != h_taken[0] -> serve(0)
#if SLOTS > 1
	:: q_sequence[1] != h_taken[1] -> serve(1)
#endif
	:: count > 0 -> answer_kept(0)
	:: count > 1 -> answer_kept(1)
#if REFUSES
	:: !refused ->
		/* rs_slots_refuse_all(); what was kept is answered too late afterwards */
		refused = true;
		now.slot = 0;
		now.sequence = h_taken[0];
		now.boot = h_boot[0];
		now.what = h_what;
		if
		:: h_owed[0] -> answer(now, REFUSED); nudge_all()
		:: else
		fi;
		d_step { now.slot = 0; now.sequence = 0; now.boot = 0; now.what = 0; good = false }
#endif
	od
}

/* ---- the guest: guest-agent/core/hypercall.c, and a port that halts ---- */

/* rs_wait_nudge(): masks interrupts, and halts if the word is still the one that was seen. */
inline rest()
{
#ifdef MUTATE_MASK_LATE
	if
	:: nudge == seen -> cpu[me] = OFF
	:: else -> goto look
	fi;
#else
	cpu[me] = OFF;
	if
#ifndef MUTATE_NO_WORD
	:: nudge != seen -> goto unmask
#endif
	:: else
	fi;
#endif
#if NMI
	if
	:: atomic { pending[me] -> goto unmask }
	:: atomic { !pending[me] -> cpu[me] = WINDOW }
	fi;
	/* HLT: led past it, or until the next one. */
	if
	:: atomic { led[me] -> goto unmask }
	:: atomic { !led[me] -> cpu[me] = HALTED }
	fi;
#endif
	pending[me];
unmask:	skip;
	d_step { pending[me] = false; led[me] = false; cpu[me] = ON }
}

inline ask()
{
	/* take_slot() */
	atomic {
		if
		:: !busy[0] -> s = 0
#if SLOTS > 1
		:: !busy[1] -> s = 1
#endif
		fi;
		busy[s] = true;
		what = asked + 1;
		asked++
	}
	/* next_sequence() */
	seq = q_sequence[s];
again:	seq++;
#ifndef MUTATE_NEXT_ONLY
	if
	:: seq == r_sequence[s] -> goto again
	:: else
	fi;
	if
	:: seq == r_accepted[s] -> goto again
	:: else
	fi;
#endif
	q_what[s] = what;
	q_sequence[s] = seq;
look:	skip;
	/* wait_answer() */
#if HALTS && !defined(MUTATE_LOOK_FIRST)
	seen = nudge;
#endif
	if
	:: r_sequence[s] == seq -> goto got
	:: else
	fi;
#ifdef MUTATE_LOOK_FIRST
	seen = nudge;
#endif
	/* Until it is accepted it is looked for all the time, with some patience. */
	if
	:: r_sequence[s] == seq -> goto got
	:: r_accepted[s] == seq -> skip
	:: r_accepted[s] != seq && r_sequence[s] != seq && gave_up < GIVE_UPS ->
		gave_up++;
		n--; /* asks again */
		goto leave
	fi;
#if HALTS
	rest();
#else
	r_sequence[s] == seq;
#endif
	goto look;
got:
	value = r_value[s];
	assert(value == what || value == REFUSED);
	assert(value == first[what]);
leave:	skip;
	d_step { busy[s] = false; seq = 0; what = 0; value = 0; seen = 0; s = 0 }
}

proctype task(byte me)
{
	byte n, s, seq, what, seen, value, mine;

	mine = 1;
again_after_boot:
	{
		do
		:: n < ASKS -> ask(); n++
		:: else -> break
		od;
		finished++
	} unless {
		boot != mine && n < ASKS ->
		d_step { mine = boot; s = 0; seq = 0; what = 0; seen = 0; value = 0; cpu[me] = ON;
			 pending[me] = false; led[me] = false };
		goto again_after_boot
	}
}

proctype machine()
{
	byte k;

end:	do
	:: boot < BOOTS ->
		atomic {
			!SLOW_BOOT || !host_busy;
			boot++;
			k = 0;
			do
			:: k == SLOTS -> break
			:: else ->
				busy[k] = false;
#if CLEAR
				q_sequence[k] = 0;
				q_what[k] = 0;
#endif
				k++
			od;
			k = 0
		}
	:: break
	od
}

init {
	byte k;

	atomic {
		do
		:: k == TASKS -> break
		:: else -> run task(k); k++
		od;
		run host();
		run machine()
	};
	timeout -> assert(finished == TASKS)
}
