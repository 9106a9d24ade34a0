/* SPDX-License-Identifier: MIT */
/*
 * The ring of docs/adr/0002-ring.md for spin: every interleaving of a few producers and one reader.
 * Each access to shared memory is a separate step. Interrupts that nest, and threads that are
 * preempted, are among the interleavings. A killed producer just ends.
 *
 * Sizes: pages of one header unit and BODY units, records of one or two units. The word holds
 * sequence numbers of pages modulo WRAP. Time and context are left out
 * (tests/unit/agent/test-ring.c). Steps are in order, as on x86. A missing barrier is a mutation
 * that changes the order.
 *
 * The model asserts:
 *   owner[]    nobody gets a unit that somebody else has reserved and not committed, so an
 *              unfinished page is never reused
 *   take()     a consumed record was committed, is whole, and has the number that the reader
 *              expects: records read + losses by subtraction are exact at each record
 *   drop mode  no unread record is overwritten; each refusal is counted, before the next record;
 *              none is refused for which there was room when the mode became drop
 *   idle()     "idle" leaves no record behind; without an active producer nothing is "in flight"
 *   finish()   the sums of committed units are right, except in pages of a killed producer
 *
 * run.py builds it with other sizes, and with each MUTATE_x, which must fail.
 */
#ifndef PAGES
#define PAGES 2
#endif
#ifndef BODY
#define BODY 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef FIRST_EMITS
#define FIRST_EMITS 2 /* records of producer 0 */
#endif
#ifndef OTHERS_EMIT
#define OTHERS_EMIT 1 /* records of each other one */
#endif
#ifndef KILLS
#define KILLS 0 /* producers that may be killed */
#endif
#ifndef DROP
#define DROP 0
#endif
#ifndef FLIPS
#define FLIPS 0 /* times that the host may change the mode; it begins with DROP */
#endif
#ifndef MOVES
#define MOVES 1 /* producer 0 may be moved to another CPU: committed_remote */
#endif

#define UNITS (BODY + 1)
#define WRAP 32
#define MAX_RECORDS (FIRST_EMITS + (PRODUCERS - 1) * OTHERS_EMIT)
#define PAD 1
/* What the first unit of record `n` holds, and its second one. */
#define FIRST(n, size) (((n) + 1) * 4 + (size))
#define SECOND(n) (((n) + 1) * 4 + 3)

/* struct rs_ring_state, struct rs_ring_ctl */
byte w_records, w_page = WRAP - 1, w_offset = UNITS;
byte s_pages, s_dropped, c_consumed;
bool drop = DROP; /* rs_region_header.ring_mode */
#ifdef MUTATE_RECORDS_OUTSIDE
byte s_records;
#endif
/* The pages: struct rs_ring_page and the records. */
byte h_seq[PAGES], h_records[PAGES], h_dropped[PAGES], h_skipped[PAGES];
byte committed[PAGES], remote[PAGES];
byte mem[PAGES * UNITS];

/* Not in the ring's memory: the true state, for assertions. */
short g_page = -1;
bool g_held;                /* MUTATE_STORES_EARLY: between its stores and its CAS */
byte owner[PAGES * UNITS];  /* producer + 1 */
bool done[MAX_RECORDS + 1]; /* committed */
short passed;               /* bit n: page n was skipped */
#if PRODUCERS == 1
byte refused_before[MAX_RECORDS + 1];
#endif
byte kills, finished;
byte lost_slots; /* bit: a killed producer had not finished there */
short r_seq;     /* the reader's cursor */
byte floor;      /* where it was when the mode became drop */
bool may_lap = !DROP; /* the mode is overwrite, or was it once */
hidden byte g;

#define SLOT(page) ((page) % PAGES)
#define LAP(page) (((page) / PAGES) * UNITS)
#define NEAREST(near, page) ((near) + ((page) + 2 * WRAP + WRAP / 2 - (near)) % WRAP - WRAP / 2)
#define WORD_IS(r, p, o) (w_records == (r) && w_page == (p) && w_offset == (o))
#define MINE(page, from, to)                                                                       \
	g = from;                                                                                  \
	do                                                                                         \
	:: g < (to) ->                                                                             \
		assert(owner[SLOT(page) * UNITS + g] == 0);                                        \
		owner[SLOT(page) * UNITS + g] = me + 1;                                            \
		g++                                                                                \
	:: else -> break                                                                           \
	od;                                                                                        \
	debt = debt | (1 << SLOT(page))
#define RELEASE(page, from, to)                                                                    \
	g = from;                                                                                  \
	do                                                                                         \
	:: g < (to) ->                                                                             \
		assert(owner[SLOT(page) * UNITS + g] == me + 1);                                   \
		owner[SLOT(page) * UNITS + g] = 0;                                                 \
		g++                                                                                \
	:: else -> break                                                                           \
	od;                                                                                        \
	debt = debt & ~(1 << SLOT(page))

#if KILLS
#define MAY_DIE                                                                                    \
	if                                                                                         \
	:: kills < KILLS -> d_step {                                                               \
		kills++;                                                                           \
		lost_slots = lost_slots | debt;                                                    \
		finished++;                                                                        \
		debt = 0; n = 0; size = 0; l_records = 0; l_page = 0; l_offset = 0;                \
		next = 0; cur = 0; dropped = 0; skipped = 0; sum = 0; number = 0; at = 0;          \
		l_drop = false                                                                     \
	} goto dead                                                                                \
	:: skip                                                                                    \
	fi
#else
#define MAY_DIE skip
#endif

/* Adds to the sum of committed units of a page and gives up [from, to). From then on the reader
 * sees the stores before. It is a plain instruction on the ring's CPU, a locked one elsewhere. */
inline commit(page, from, to, number_of)
{
	if
	:: d_step { true ->
		committed[SLOT(page)] = committed[SLOT(page)] + (to) - (from);
		RELEASE(page, from, to);
		done[number_of] = true
	}
#if MOVES
#ifdef MUTATE_PLAIN_REMOTE
	:: me == 0 ->
		sum = committed[SLOT(page)];
		d_step {
			committed[SLOT(page)] = sum + (to) - (from);
			sum = 0;
			RELEASE(page, from, to);
			done[number_of] = true
		}
#else
	:: d_step { me == 0 ->
		remote[SLOT(page)] = remote[SLOT(page)] + (to) - (from);
		RELEASE(page, from, to);
		done[number_of] = true
	}
#endif
#endif
	fi
}

/* pad() in ring.c: the rest of a page that the word has left. */
inline close_page(page, from)
{
	if
	:: from < UNITS ->
		mem[SLOT(page) * UNITS + from] = PAD;
		MAY_DIE;
#ifdef MUTATE_NO_PAD_COMMIT
		d_step { RELEASE(page, from, UNITS) }
#else
		commit(page, from, UNITS, MAX_RECORDS)
#endif
	:: else
	fi
}

inline store_header()
{
#ifdef MUTATE_SEQ_FIRST
	h_seq[SLOT(next)] = next;
#endif
	d_step { h_records[SLOT(next)] = number; h_dropped[SLOT(next)] = dropped };
	h_skipped[SLOT(next)] = skipped;
#ifndef MUTATE_SEQ_FIRST
	h_seq[SLOT(next)] = next
#else
	skip
#endif
}

/* `number` is the record's; unlike the producer, the model knows which one it is. */
inline store_record(page)
{
	mem[SLOT(page) * UNITS + at] = FIRST(g_number, size);
	if
	:: size == 2 -> mem[SLOT(page) * UNITS + at + 1] = SECOND(g_number)
	:: else
	fi
}

/* [from, at + size): the record, and the header before it when it opens its page. */
inline write_and_commit(page, from)
{
#ifdef MUTATE_COMMIT_EARLY
	commit(page, from, at + size, g_number);
	store_record(page)
#else
#ifndef MUTATE_STORES_EARLY
	store_record(page);
#endif
	MAY_DIE;
	commit(page, from, at + size, g_number)
#endif
}

proctype producer(byte me)
{
	byte n, size, l_records, l_page, l_offset, dropped, skipped, sum, number, at, debt, g_number;
	byte before, g_consumed;
	short cur, next;
	bool l_drop;

	do
	:: n == (me -> OTHERS_EMIT : FIRST_EMITS) -> break
	:: else ->
		n++;
		size = 1;
#if BODY > 1
		if
		:: size = 2
		:: skip
		fi;
#endif
#if PRODUCERS == 1
		before = s_dropped;
#endif
retry:
		atomic { !g_held -> l_records = w_records; l_page = w_page; l_offset = w_offset };
		if
		:: l_offset + size > UNITS -> goto switch
		:: else
		fi;
#ifdef MUTATE_NO_CAS
		d_step { true ->
#else
		if
		:: !g_held && !WORD_IS(l_records, l_page, l_offset) -> goto retry
		:: d_step { !g_held && WORD_IS(l_records, l_page, l_offset) ->
#endif
			MINE(l_page, l_offset, l_offset + size);
			at = l_offset;
			g_number = w_records;
#if PRODUCERS == 1
			refused_before[g_number] = before;
#endif
			w_records = l_records + 1;
			w_offset = l_offset + size;
			next = g_page
#ifdef MUTATE_NO_CAS
		};
#else
		}
		fi;
#endif
#ifdef MUTATE_RECORDS_OUTSIDE
		s_records++;
#endif
#ifdef MUTATE_STORES_EARLY
		store_record(next);
#endif
		MAY_DIE;
		write_and_commit(next, at);
		goto emitted;

switch:
		cur = s_pages;
		d_step {
			!g_held;
			if
			:: WORD_IS(l_records, l_page, l_offset) ->
				cur = NEAREST(cur, l_page);
				assert(cur == g_page)
			:: else -> cur = -2
			fi
		};
		if
		:: cur == -2 -> cur = 0; goto retry
		:: else
		fi;
		dropped = s_dropped;
#ifdef MUTATE_RECORDS_OUTSIDE
		number = s_records;
#else
		number = l_records;
#endif
		/* next_page() */
		next = cur + 1;
		skipped = 0;
#ifdef MUTATE_MODE_LATE
		g_consumed = c_consumed;
#endif
		l_drop = drop;
		do
		:: skipped >= PAGES -> break
		:: else ->
#if (DROP || FLIPS) && !defined(MUTATE_NO_CONSUMED)
			if
			:: l_drop ->
				d_step {
#ifndef MUTATE_MODE_LATE
					g_consumed = c_consumed;
#endif
					if
					:: next - g_consumed >= PAGES ->
						assert(next - floor >= PAGES);
						skipped = PAGES + 1
					:: else
					fi;
					g_consumed = 0
				}
			:: else
			fi;
			if
			:: skipped > PAGES -> break
			:: else
			fi;
#endif
#ifdef MUTATE_NO_REUSE_CHECK
			break;
#endif
			sum = committed[SLOT(next)];
			d_step {
#ifdef MUTATE_NO_REMOTE
				skip;
#else
				sum = sum + remote[SLOT(next)];
#endif
				if
				:: sum != LAP(next) -> next++; skipped++; sum = 0
				:: else -> sum = 255
				fi
			};
			if
			:: sum == 255 -> sum = 0; break
			:: else
			fi
		od;
		if
		:: skipped >= PAGES -> goto refuse
		:: else
		fi;
#ifdef MUTATE_STORES_EARLY
		if
		:: !g_held && !WORD_IS(l_records, l_page, l_offset) -> goto retry
		:: d_step { !g_held && WORD_IS(l_records, l_page, l_offset) -> g_held = true }
		fi;
		g_number = l_records;
		at = 1;
		store_header();
		store_record(next);
#endif
		if
#ifndef MUTATE_STORES_EARLY
		:: !WORD_IS(l_records, l_page, l_offset) -> goto retry
#endif
		:: d_step { WORD_IS(l_records, l_page, l_offset) ->
			/* the end of the old page; its rest is ours */
			if
			:: l_offset < UNITS ->
				MINE(cur, l_offset, UNITS)
			:: else
			fi;
			MINE(next, 0, 1 + size);
			assert(!l_drop || next - PAGES < r_seq);
			g = cur + 1;
			do
			:: g < next ->
				debt = debt | (1 << SLOT(g));
				passed = passed | (1 << g);
				g++
			:: else -> break
			od;
			g_number = w_records;
#if PRODUCERS == 1
			refused_before[g_number] = before;
#endif
			w_records = l_records + 1;
			w_page = next % WRAP;
			w_offset = 1 + size;
			g_page = next;
			g_held = false;
			at = 1;
		}
		fi;
		MAY_DIE;
		close_page(cur, l_offset);
		cur++;
		do
		:: cur == next -> break
		:: else ->
			MAY_DIE;
			d_step {
#ifndef MUTATE_NO_SKIP_LAP
				committed[SLOT(cur)] = committed[SLOT(cur)] + UNITS;
#endif
				debt = debt & ~(1 << SLOT(cur));
				cur++
			}
		od;
		atomic { /* raise64() */
			if
			:: s_pages < next + 1 -> s_pages = next + 1
			:: else
			fi
		};
#ifdef MUTATE_RECORDS_OUTSIDE
		s_records++;
#endif
#ifndef MUTATE_STORES_EARLY
		MAY_DIE;
		store_header();
#endif
		write_and_commit(next, 0);
		goto emitted;

refuse:
		if
		:: !WORD_IS(l_records, l_page, l_offset) -> goto retry
		:: d_step { WORD_IS(l_records, l_page, l_offset) ->
#ifndef MUTATE_REFUSE_OPEN
			if
			:: l_offset < UNITS ->
				MINE(cur, l_offset, UNITS)
			:: else
			fi;
			w_offset = UNITS
#endif
		}
		fi;
#ifndef MUTATE_REFUSE_OPEN
		MAY_DIE;
		close_page(cur, l_offset);
#endif
		s_dropped++;
emitted:
		before = 0;
		d_step {
			size = 0; l_records = 0; l_page = 0; l_offset = 0; next = 0; cur = 0;
			dropped = 0; skipped = 0; sum = 0; number = 0; at = 0; g_number = 0;
			l_drop = false;
			assert(debt == 0)
		}
	od;
	atomic { n = 0; finished++ };
dead:
	skip
}

/* locate(): the page's number and the offset, from two loads. */
inline locate()
{
	a_seq = s_pages - 1;
	d_step {
		a_seq = NEAREST(a_seq, w_page);
		assert(a_seq == g_page);
		a_offset = w_offset;
		a_records = w_records
	}
}

inline next_page()
{
	d_step { r_seq++; offset = 0 };
#if (DROP || FLIPS) && !defined(MUTATE_PUBLISH_EARLY) && !defined(MUTATE_MODE_FIRST)
	c_consumed = r_seq
#endif
}

/* One record of the copy, whose first unit is at `i`. */
inline consume()
{
	assert(copy[i] == FIRST(records, 1) || copy[i] == FIRST(records, 2));
	assert(done[records]);
#if PRODUCERS == 1
	assert(dropped == refused_before[records]);
#endif
	if
	:: copy[i] == FIRST(records, 2) ->
		assert(i + 1 < to && copy[i + 1] == SECOND(records));
		i = i + 2
	:: else -> i++
	fi;
	records++
}

/* take(): [offset or 1, to) of page r_seq. */
inline take(complete)
{
#if DROP && defined(MUTATE_PUBLISH_EARLY)
	if
	:: complete -> c_consumed = r_seq + 1
	:: else
	fi;
#endif
	c_seq = h_seq[SLOT(r_seq)];
	d_step {
		c_records = h_records[SLOT(r_seq)];
		c_dropped = h_dropped[SLOT(r_seq)];
		i = (offset -> offset : 1)
	}
	do
	:: i == to -> break
	:: else -> d_step { copy[i] = mem[SLOT(r_seq) * UNITS + i]; i++ }
	od;
#ifndef MUTATE_NO_SECOND_LOOK
	locate();
#else
	a_seq = r_seq;
#endif
	if
	:: a_seq - r_seq >= PAGES -> assert(may_lap) /* the copy is worth nothing */
	:: else ->
		if
		:: c_seq != r_seq ->
			/* complete, but with an older number: it was skipped */
			assert(passed & (1 << r_seq));
			next_page()
		:: else ->
			d_step {
				if
				:: offset == 0 ->
					/* begin_page(): the loss is what these grow by */
					assert(c_records >= records && c_dropped >= dropped);
					records = c_records;
					dropped = c_dropped
				:: else
				fi;
				i = (offset -> offset : 1);
				do
				:: i == to || copy[i] == PAD -> break
				:: else -> consume()
				od;
				offset = to;
			}
			if
			:: complete -> next_page()
			:: else
			fi
		fi
	fi;
}

proctype reader()
{
	byte offset, records, dropped, a_offset, a_records, c_seq, c_records, c_dropped, sum, i, to, k;
	byte copy[UNITS];
	short a_seq;
	bool quiet;

	do
	::
		d_step {
			a_seq = 0; a_offset = 0; a_records = 0; c_seq = 0; c_records = 0; c_dropped = 0;
			sum = 0; i = 0; to = 0; k = 0;
			do
			:: i < UNITS -> copy[i] = 0; i++
			:: else -> break
			od;
			i = 0;
			quiet = finished == PRODUCERS && !kills
		};
		locate();
		if
		:: a_seq < r_seq ->
			/* nothing new; the reader is at most one page ahead of the word */
			assert(a_seq == r_seq - 1 && offset == 0);
			assert(a_records == records)
		:: a_seq - r_seq >= PAGES ->
			assert(may_lap);
			d_step { r_seq = a_seq - PAGES + 1; offset = 0 }
#if FLIPS && !defined(MUTATE_MODE_FIRST)
			c_consumed = r_seq
#endif
		:: else ->
#ifdef MUTATE_WORD_FIRST
			to = a_offset; k = a_seq;
#endif
			d_step {
				a_seq = 0; a_offset = 0; a_records = 0;
				sum = committed[SLOT(r_seq)]
			}
#ifndef MUTATE_NO_REMOTE
			sum = sum + remote[SLOT(r_seq)] - LAP(r_seq);
#else
			sum = sum - LAP(r_seq);
#endif
#ifdef MUTATE_WORD_FIRST
			a_offset = to; a_seq = k;
#else
			locate();
#endif
			if
			:: a_seq == r_seq ->
				if
				:: sum != a_offset -> assert(!quiet) /* in flight */
				:: sum == a_offset && a_offset <= offset ->
					assert(a_records == records)
				:: else ->
					d_step { to = a_offset; a_seq = 0; a_offset = 0; a_records = 0; sum = 0 }
					take(to == UNITS)
				fi
			:: a_seq - r_seq >= PAGES -> assert(may_lap)
			:: else ->
				if
				:: sum == UNITS && offset == UNITS -> next_page()
				:: sum == UNITS && offset != UNITS ->
					d_step { to = UNITS; a_seq = 0; a_offset = 0; a_records = 0; sum = 0 }
					take(true)
				:: else ->
					assert(!quiet);
					/* was_skipped() */
					k = 1;
					do
					:: r_seq + k > a_seq -> k = 0; break
					:: else ->
						if
						:: h_seq[SLOT(r_seq + k)] == r_seq + k -> break
						:: else -> k++
						fi
					od;
					if
					:: k && h_skipped[SLOT(r_seq + k)] >= k ->
						assert((passed & (1 << r_seq)) ||
						       g_page - r_seq >= PAGES);
						next_page()
					:: else ->
						/* Patience depends on time, so it may end here. */
						if
						:: next_page()
						:: skip
						fi
					fi
				fi
			fi
		fi
	od
}

/* The host. The reader publishes in either mode, so there is nothing to do before. */
proctype host()
{
	byte n;

	do
	:: n == FLIPS -> break
	:: n < FLIPS ->
		n++;
#ifdef MUTATE_MODE_FIRST
		d_step {
			drop = !drop;
			may_lap = true;
			if
			:: drop -> floor = r_seq
			:: else
			fi
		}
		c_consumed = r_seq
#else
		d_step {
			drop = !drop;
			may_lap = true;
			if
			:: drop -> floor = c_consumed
			:: else
			fi
		}
#endif
	:: break
	od
}

inline finish()
{
	d_step {
		k = 0;
		assert(kills || w_records + s_dropped == MAX_RECORDS);
		do
		:: k == PAGES -> break
		:: else ->
			/* the newest page in this slot */
			page = g_page - (g_page + PAGES - k) % PAGES;
			sum = committed[k] + remote[k];
			if
			:: lost_slots & (1 << k)
			:: else ->
				if
				:: page < 0 -> assert(sum == 0)
				:: page >= 0 && page == g_page ->
					assert(sum == LAP(page) + w_offset)
				:: else -> assert(sum == LAP(page) + UNITS)
				fi
			fi;
			k++
		od
	}
}

init {
	byte k, sum;
	short page;

	atomic {
		k = 0;
		do
		:: k == PRODUCERS -> break
		:: else -> run producer(k); k++
		od;
		run reader();
#if FLIPS
		run host()
#endif
	};
	finished == PRODUCERS;
	finish()
}
