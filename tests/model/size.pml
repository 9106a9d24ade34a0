/* SPDX-License-Identifier: MIT */
/*
 * A ring whose number of pages changes while producers write: docs/adr/0035-ring-size.md. What a
 * ring does within one place is in ring.pml. Here, pages hold a header and BODY units, and records
 * of one or two units. The host offers CHANGES shapes, one after the other, and empties the place
 * that the ring has left. A reader takes whole pages. A killed producer just ends.
 *
 * The model asserts:
 *   OWN      nobody gets a unit that somebody else has reserved and not committed
 *   write    whoever has reserved a unit of a page writes where that page lies
 *   empty    nobody has units in a place that the host empties, so nobody writes there later
 *   skip     no page is passed over that is still there, and none is refused that is free
 *   take     a page that was read is the one that was looked for, and holds what was written
 *   finish   the sums of committed units are right, except in pages of a killed producer
 *
 * run.py builds it with other sizes, and with each MUTATE_x, which must fail.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef EMITS
#define EMITS 3 /* records of producer 0 */
#endif
#ifndef OTHERS_EMIT
#define OTHERS_EMIT 1
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef READS
#define READS 1 /* there is a reader */
#endif
#ifndef BODY
#define BODY 1
#endif

#define UNITS (BODY + 1)
#define CLOSED 7
#define MOST 2                           /* pages that a place has room for */
#define PAGES (2 * EMITS + 2 * PRODUCERS) /* that there may be ever */

/* A shape is 4 * change + pages. Page numbers begin with 1, so that 0 is none. */
#define CHANGE(shape) ((shape) / 4)
#define COUNT(shape) ((shape) % 4)
#define PLACE(shape) (CHANGE(shape) % 2)
#define SLOT(shape, page) (PLACE(shape) * MOST + (page) % COUNT(shape))
#define LAP(shape, begin, page) ((((page) - (begin)) / COUNT(shape)) * UNITS)
#define SIZE_AT(change) (((change) % 2) + 1)
#define FIRST_SHAPE 1

/* struct rs_ring_state, struct rs_ring_ctl */
byte w_page = 0, w_offset = UNITS, w_records;
byte shape = FIRST_SHAPE;
byte place_shape[2], place_begin[2];
byte offered, gone;
/* The pages of both places. */
byte committed[2 * MOST], h_seq[2 * MOST], mem[2 * MOST * UNITS];

/* Not in memory: the true state, for assertions. */
byte owner[2 * MOST * UNITS]; /* producer + 1 */
byte true_shape[PAGES + 1];
byte content[(PAGES + 1) * UNITS]; /* of each page; 0: not written */
byte kills, finished, r_seq = 1;
bool hurt[2]; /* a killed producer had not finished in that place */
hidden byte g;

#define WORD_IS (w_page == l_page && w_offset == l_offset && w_records == l_records)
#define OWN(s, page, from, to)                                                                     \
	g = from;                                                                                  \
	do                                                                                         \
	:: g < (to) ->                                                                             \
		assert(owner[SLOT(s, page) * UNITS + g] == 0);                                     \
		owner[SLOT(s, page) * UNITS + g] = me + 1;                                         \
		g++                                                                                \
	:: else -> break                                                                           \
	od

#if KILLS
#define MAY_DIE                                                                                    \
	if                                                                                         \
	:: kills < KILLS -> d_step {                                                               \
		kills++;                                                                           \
		hurt[0] = true; hurt[1] = true                                                     \
	} goto dead                                                                                \
	:: skip                                                                                    \
	fi
#else
#define MAY_DIE skip
#endif

/* Adds [from, to) to the page's sum, and gives the units up. */
inline commit(s, page, from, to)
{
	d_step {
		g = from;
		do
		:: g < (to) ->
			assert(owner[SLOT(s, page) * UNITS + g] == me + 1);
			owner[SLOT(s, page) * UNITS + g] = 0;
			g++
		:: else -> break
		od;
		committed[SLOT(s, page)] = committed[SLOT(s, page)] + (to) - (from)
	}
}

/* One record at `at` of a page, and what is committed with it. */
inline write(s, page, from)
{
	d_step {
		assert(s == true_shape[page]);
		mem[SLOT(s, page) * UNITS + at] = number
	}
	MAY_DIE;
	commit(s, page, from, at + size)
}

inline pad(s, page, from)
{
	if
	:: from < UNITS -> MAY_DIE; commit(s, page, from, UNITS)
	:: else
	fi
}

proctype producer(byte me)
{
	byte n, size, at, number, l_page, l_offset, l_records, l_shape, next_shape, old_shape,
		old_begin, sum;

	do
	:: n == (me -> OTHERS_EMIT : EMITS) -> break
	:: else ->
		n++;
		size = 1;
#if BODY > 1
		if
		:: size = 2
		:: skip
		fi;
#endif
retry:
#ifdef MUTATE_SHAPE_FIRST
		l_shape = shape;
#endif
		atomic { l_page = w_page; l_offset = w_offset; l_records = w_records };
#ifndef MUTATE_SHAPE_FIRST
		l_shape = shape;
#endif
		if
		:: l_offset + size > UNITS -> goto switch
		:: else
		fi;
		if
		:: !WORD_IS -> goto retry
		:: d_step { WORD_IS ->
			OWN(l_shape, l_page, l_offset, l_offset + size);
			content[l_page * UNITS + l_offset] = l_records + 1;
			w_records++;
			w_offset = l_offset + size;
			at = l_offset;
			number = l_records + 1
		}
		fi;
		MAY_DIE;
		write(l_shape, l_page, at);
		goto emitted;

switch:
		if
		:: !WORD_IS -> goto retry
		:: else
		fi;
		l_shape = shape;
		if
		:: l_offset == CLOSED ->
			/* go_over() */
			l_shape = shape;
			next_shape = offered;
			if
			:: CHANGE(next_shape) != CHANGE(l_shape) + 1 -> next_shape = l_shape
			:: else
			fi;
			atomic {
				old_shape = place_shape[PLACE(next_shape)];
				old_begin = place_begin[PLACE(next_shape)]
			};
#ifndef MUTATE_NO_SECOND_LOOK
			if
			:: !WORD_IS -> goto retry
			:: else
			fi;
#endif
			if
			:: next_shape == l_shape
			:: else ->
#ifdef MUTATE_RAISE_FIRST
				atomic {
					if
					:: shape < next_shape -> shape = next_shape
					:: else
					fi
				};
#endif
				d_step {
					if
#ifndef MUTATE_PLAIN_PLACE
					:: place_shape[PLACE(next_shape)] != old_shape ||
					   place_begin[PLACE(next_shape)] != old_begin -> skip
					:: else ->
#else
					:: true ->
#endif
						place_shape[PLACE(next_shape)] = next_shape;
						place_begin[PLACE(next_shape)] = l_page + 1
					fi
				};
#ifndef MUTATE_RAISE_FIRST
#ifdef MUTATE_PLAIN_RAISE
				shape = next_shape;
#else
				atomic {
					if
					:: shape < next_shape -> shape = next_shape
					:: else
					fi
				};
#endif
#endif
				l_shape = next_shape
			fi
		:: else ->
			next_shape = offered;
			if
			:: CHANGE(next_shape) == CHANGE(l_shape) + 1 ->
#ifdef MUTATE_NO_CLOSE
				/* Writes it down, and takes the next page there at once. */
				d_step {
					place_shape[PLACE(next_shape)] = next_shape;
					place_begin[PLACE(next_shape)] = l_page + 1;
					shape = next_shape;
					l_shape = next_shape
				}
#else
				if
				:: !WORD_IS -> goto retry
				:: d_step { WORD_IS ->
					if
					:: l_offset < UNITS -> OWN(l_shape, l_page, l_offset, UNITS)
					:: else
					fi;
					w_offset = CLOSED
				}
				fi;
				pad(l_shape, l_page, l_offset);
				goto retry
#endif
			:: else
			fi
		fi;
		/* next_page(), without skipping */
		sum = committed[SLOT(l_shape, l_page + 1)];
		d_step {
			/* Else a record is refused for which there is room. */
			assert(l_offset != CLOSED || !WORD_IS ||
			       place_begin[PLACE(l_shape)] == l_page + 1);
			if
			:: sum != LAP(l_shape, place_begin[PLACE(l_shape)], l_page + 1) -> sum = 255
			:: else -> sum = 0
			fi
		};
		if
		:: sum == 255 -> goto emitted /* refused */
		:: else
		fi;
		if
		:: !WORD_IS -> goto retry
		:: d_step { WORD_IS ->
			if
			:: l_offset < UNITS -> OWN(l_shape, l_page, l_offset, UNITS)
			:: else
			fi;
			OWN(l_shape, l_page + 1, 0, 1 + size);
			true_shape[l_page + 1] = l_shape;
			content[(l_page + 1) * UNITS + 1] = l_records + 1;
			w_page = l_page + 1;
			w_offset = 1 + size;
			w_records++;
			at = 1;
			number = l_records + 1
		}
		fi;
		MAY_DIE;
		pad(l_shape, l_page, l_offset);
		h_seq[SLOT(l_shape, l_page + 1)] = l_page + 1;
		write(l_shape, l_page + 1, 0);
emitted:
		size = 0;
		d_step {
			at = 0; number = 0; l_page = 0; l_offset = 0; l_records = 0;
			l_shape = 0; next_shape = 0; old_shape = 0; old_begin = 0; sum = 0
		}
	od;
dead:
	finished++
}

/* rs_trace_ring_change() */
proctype host()
{
	byte before, after, offset, page, i, old;
	bool whole;

	do
	:: CHANGE(offered) == CHANGES -> break
	:: else ->
		d_step { before = 0; after = 0; offset = 0; page = 0; i = 0; old = 0; whole = true };
		before = shape;
		atomic { offset = w_offset; page = w_page };
		after = shape;
		if
#ifndef MUTATE_OFFER_EARLY
		:: offset == CLOSED || before != after -> skip
#endif
#ifndef MUTATE_OFFER_AGAIN
		:: CHANGE(offered) > CHANGE(before) -> skip
#endif
		:: else ->
			if
			:: CHANGE(before) > 0 && gone < place_begin[PLACE(before)] ->
				/* is_complete() */
				old = place_shape[1 - PLACE(before)];
				i = place_begin[1 - PLACE(before)];
				d_step {
					if
					:: place_begin[PLACE(before)] > COUNT(old) &&
					   i < place_begin[PLACE(before)] - COUNT(old) ->
						i = place_begin[PLACE(before)] - COUNT(old)
					:: else
					fi
				};
				do
				:: i == place_begin[PLACE(before)] -> break
				:: else ->
					d_step {
						if
						:: committed[SLOT(old, i)] !=
						   LAP(old, place_begin[PLACE(old)], i) + UNITS ->
							whole = false
						:: else
						fi;
						i++
					}
				od;
#ifdef MUTATE_BACK_EARLY
				whole = true;
#endif
				if
				:: whole ->
#ifndef MUTATE_GONE_LATE
					gone = place_begin[PLACE(before)];
#endif
					i = 0;
					do
					:: i == MOST -> break
					:: else ->
						d_step {
							g = 0;
							do
							:: g == UNITS -> break
							:: else ->
								assert(owner[((1 - PLACE(before)) * MOST + i) * UNITS + g] == 0);
								mem[((1 - PLACE(before)) * MOST + i) * UNITS + g] = 0;
								g++
							od;
							committed[(1 - PLACE(before)) * MOST + i] = 0;
							h_seq[(1 - PLACE(before)) * MOST + i] = 0;
							i++
						}
					od;
#ifdef MUTATE_GONE_LATE
					gone = place_begin[PLACE(before)];
#endif
				:: else
				fi
			:: else
			fi;
			if
			:: whole ->
				offered = 4 * (CHANGE(before) + 1) +
#ifdef MUTATE_OFFER_AGAIN
					  (CHANGE(offered) > CHANGE(before) ->
					   3 - COUNT(offered) : SIZE_AT(CHANGE(before) + 1))
#else
					  SIZE_AT(CHANGE(before) + 1)
#endif
			:: else
			fi
		fi
	od;
	before = 0;
	d_step { after = 0; offset = 0; page = 0; i = 0; old = 0; whole = false }
}

/* rs_trace_ring_locate(); `where` is the shape of page r_seq, 0: it is not there. */
inline locate()
{
	atomic { a_page = w_page; a_offset = w_offset };
#ifdef MUTATE_READER_SHAPE_FIRST
	a_shape = early;
#else
	a_shape = shape;
#endif
	d_step {
		n_begin = place_begin[PLACE(a_shape)];
		b_shape = place_shape[1 - PLACE(a_shape)];
		b_begin = place_begin[1 - PLACE(a_shape)]
	};
	d_step {
		where = 0;
		if
		:: r_seq >= n_begin ->
			if
			:: r_seq + COUNT(a_shape) > a_page -> where = a_shape
			:: else
			fi
		:: r_seq < n_begin && b_shape ->
			if
			:: r_seq >= b_begin && r_seq + COUNT(b_shape) >= n_begin && r_seq >= gone ->
				where = b_shape
			:: else
			fi
		:: else
		fi
	}
}

proctype reader()
{
	byte a_page, a_offset, a_shape, n_begin, b_shape, b_begin, where, there, sum, seq, i, early;
	byte copy[UNITS];

	do
	:: r_seq > PAGES -> break
	::
		d_step {
			a_page = 0; a_offset = 0; a_shape = 0; n_begin = 0; b_shape = 0; b_begin = 0;
			where = 0; there = 0; sum = 0; seq = 0; i = 0; early = 0;
			do
			:: i < UNITS -> copy[i] = 0; i++
			:: else -> break
			od;
			i = 0
		};
#ifdef MUTATE_READER_SHAPE_FIRST
		early = shape;
#endif
		locate();
		if
		:: r_seq > a_page -> skip
		:: r_seq <= a_page && !where ->
			d_step {
				/* It is not passed over while it is there. */
				there = true_shape[r_seq];
				assert((there == shape && r_seq + COUNT(there) <= w_page) ||
				       (there != shape && (r_seq < gone ||
				        CHANGE(there) + 1 < CHANGE(shape) ||
				        r_seq + COUNT(there) < place_begin[PLACE(shape)])));
				r_seq++
			}
		:: r_seq <= a_page && where ->
			there = where;
			d_step {
				sum = committed[SLOT(there, r_seq)];
				sum = sum - LAP(there, (there == a_shape -> n_begin : b_begin), r_seq)
			};
			locate();
			if
			:: where != there || sum != UNITS || (a_page == r_seq && a_offset < UNITS) -> skip
			:: else ->
				seq = h_seq[SLOT(there, r_seq)];
				do
				:: i == UNITS -> break
				:: else -> d_step { copy[i] = mem[SLOT(there, r_seq) * UNITS + i]; i++ }
				od;
#ifndef MUTATE_NO_LAST_LOOK
				locate();
#endif
				if
				:: where != there -> skip
				:: else ->
					d_step {
						assert(seq == r_seq);
						i = 1;
						do
						:: i == UNITS -> break
						:: else ->
							assert(content[r_seq * UNITS + i] == 0 ||
							       copy[i] == content[r_seq * UNITS + i]);
							i++
						od
					};
					r_seq++
				fi
			fi
		fi
	od
}

inline finish()
{
	d_step {
		assert(w_page == 0 || true_shape[w_page] <= shape);
		k = (w_page > COUNT(shape) -> w_page - COUNT(shape) + 1 : 1);
		do
		:: k > w_page -> break
		:: else ->
			if
			:: true_shape[k] == shape && !hurt[PLACE(shape)] ->
				assert(h_seq[SLOT(shape, k)] == k);
				assert(committed[SLOT(shape, k)] ==
				       LAP(shape, place_begin[PLACE(shape)], k) +
					       (k == w_page && w_offset < UNITS -> w_offset : UNITS))
			:: else
			fi;
			k++
		od
	}
}

init {
	byte k;

	atomic {
		place_shape[0] = FIRST_SHAPE;
		place_begin[0] = 1;
		k = 0;
		do
		:: k == PRODUCERS -> break
		:: else -> run producer(k); k++
		od;
		run host();
#if READS
		run reader()
#endif
	};
	finished == PRODUCERS;
	finish()
}
