/* SPDX-License-Identifier: MIT */
/*
 * Reuse of slots and ids (docs/adr/0006-lives.md), for spin. Several providers use one slot with
 * one id, one after the other. A ring has PAGES pages with one record each. An observer copies a
 * page, looks at the table, and names the record's provider.
 *
 * It must never name a provider that did not write the record. If the record is still in the ring
 * after the look-up, the look-up must have found its provider.
 *
 * Each MUTATE_… removes one precaution: spin must then find a failure.
 */
#ifndef PROVIDERS
#define PROVIDERS 3
#endif
#ifndef PAGES
#define PAGES 2
#endif
#ifndef LOOKS
#define LOOKS 3
#endif

#define OTHER 99 /* events whose provider never goes */

#define FREE 0
#define LIVE 1
#define DEAD 2

byte clock = 1;

/* The table's entry: G. `whose` stands for descriptor and name. */
byte sequence, state, whose, since, until, changes;

/* The ring: G. */
byte pages;
byte page_whose[PAGES], page_ts[PAGES], page_seq[PAGES];
bool over;

inline begin_write() { sequence++ }
inline end_write()
{
	changes++;
	sequence++
}

inline emit(by)
{
	atomic {
		clock++;
		page_seq[pages % PAGES] = pages;
		page_whose[pages % PAGES] = by;
		page_ts[pages % PAGES] = clock;
		pages++
	}
}

/* The oldest readable page was begun after the provider died. */
#ifdef MUTATE_NO_PAGE_CHECK
#define FORGOTTEN (true)
#else
#define FORGOTTEN (pages == 0 || \
	page_ts[(pages > PAGES -> pages - PAGES : 0) % PAGES] > until)
#endif

inline enter()
{
	begin_write();
	state = LIVE;
	until = 0;
	if
	:: whose != me ->
		clock++;
		since = clock;
		whose = me
	:: else
	fi;
	end_write()
}

active proctype agent()
{
	byte me = 1, n;
	bool again;

	do
	:: me <= PROVIDERS ->
		/*
		 * Another provider takes the slot when it is free; the same may come back before.
		 */
		if
		:: state == FREE -> enter()
		:: state == DEAD && whose == me -> enter()
		:: state == DEAD && whose != me && FORGOTTEN -> enter()
		:: else -> break /* no room */
		fi;
		emit(me);
		if
		:: emit(me)
		:: skip
		fi;
		begin_write();
		state = DEAD;
		clock++;
		until = clock;
		end_write();
		/* Other providers go on, so that the ring overwrites its pages. */
		n = 0;
		do
		:: n < PAGES -> emit(OTHER); n++
		:: break
		od;
		if
		:: !again -> again = true
		:: me++; again = false
		fi
	:: else -> break
	od;
	over = true
}

#ifdef MUTATE_NO_UNTIL
#define NOT_AFTER (true)
#else
#define NOT_AFTER (known[i].until == 0 || r_ts <= known[i].until)
#endif

/* What an observer knows: whose the slot is now, and whose it was. */
#define KNOWN 8
typedef life {
	byte whose, since, until;
	bool live
};

active proctype observer()
{
	byte cursor, first, seen, sequence_before, e_state, e_whose, e_since, e_until;
	byte r_whose, r_ts, r_seq, found, i, count, looks;
	life known[KNOWN];

	do
	:: looks < LOOKS && (pages > cursor || over) ->
		if
		:: pages == cursor -> break
		:: else
		fi;
		looks++;
		/*
		 * Copies the oldest unread page, and checks whether it was overwritten meanwhile.
		 */
		first = (pages > PAGES -> pages - PAGES : 0);
		cursor = (cursor < first -> first : cursor);
		d_step {
			r_seq = page_seq[cursor % PAGES];
			r_whose = page_whose[cursor % PAGES];
			r_ts = page_ts[cursor % PAGES]
		}
		if
		:: pages - cursor > PAGES || r_seq != cursor -> goto again
		:: r_seq == cursor && r_whose == OTHER ->
			cursor++;
			goto again
		:: else
		fi;
#ifdef MUTATE_NO_FRESH_LOOK
		if
		:: count == 0
		:: count != 0 -> goto look_up
		fi;
#endif
		if
		:: changes == seen -> goto look_up
		:: else
		fi;
		seen = changes;
read:
		sequence_before = sequence;
		if
#ifdef MUTATE_NO_WAIT
		:: sequence_before % 2 -> seen--; goto look_up
#else
		/* the code waits for so long only as the machine may need */
		:: sequence_before % 2 -> sequence % 2 == 0; goto read
#endif
		:: else
		fi;
		e_state = state;
		e_whose = whose;
		e_since = since;
		e_until = until;
		if
		:: sequence != sequence_before -> goto read
		:: else
		fi;
		d_step {
			if
			:: count > 0 && known[count - 1].whose == e_whose &&
			   known[count - 1].since == e_since
			:: else ->
				if
				:: count > 0 && known[count - 1].live ->
#ifndef MUTATE_NO_UNSEEN_DEATH
					/* nobody saw it die, so its end is not known */
					known[count - 1].until = known[count - 1].since;
#endif
					known[count - 1].live = false
				:: else
				fi;
				count++;
				known[count - 1].whose = e_whose;
				known[count - 1].since = e_since
			fi;
			known[count - 1].until = e_until;
			known[count - 1].live = e_state == LIVE
		}
look_up:
		skip;
		d_step {
			found = 0;
			i = count;
			do
			:: i > 0 && !found ->
				i--;
				if
				:: known[i].since <= r_ts && NOT_AFTER -> found = known[i].whose
				:: else
				fi
			:: else -> break
			od;
			assert(found == 0 || found == r_whose);
			/* if the record is still there, it must have been found */
			assert(found != 0 || pages - cursor > PAGES)
		}
		cursor++;
again:
		skip
	:: else -> break
	od
}
