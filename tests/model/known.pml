/* SPDX-License-Identifier: MIT */
/*
 * The fast path of a record, which does not look up where the ring's page lies: state.page has it,
 * from a producer that did (docs/adr/0039-emitters.md). ring.pml and size.pml have the rest of the
 * protocol; here a switch of the page is one step, and each page may lie elsewhere.
 *
 * state.page has the low bits of the page's number, as the word has: WRAP pages here. A producer
 * may be stopped anywhere, but not while the ring goes through as many pages.
 *
 * The model asserts that who has moved the word knows where its page lies.
 *
 * run.py builds it with other sizes, and with each MUTATE_x, which must fail.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef EMITS
#define EMITS 3
#endif
#define PAGES (PRODUCERS * EMITS + 2)
#ifndef WRAP
#ifdef MUTATE_STOPPED_FOR_LONG
#define WRAP 2
#else
#define WRAP (PAGES + 1)
#endif
#endif

/* The word, and where each page lies. Page 1 is open, and nobody has looked it up. */
byte w_page = 1, w_records;
byte lies_at[PAGES + 1];
/* state.page: the two halves are one word. */
byte known_page = WRAP + 1, known_at;

proctype producer(byte me)
{
	byte n, seen_page, seen_at, page, records, at, next_at;

	do
	:: n == EMITS -> break
	:: else ->
		n++;
retry:
		atomic { seen_page = known_page; seen_at = known_at };
		atomic { page = w_page; records = w_records };
		if
		:: seen_page == page % WRAP ->
			at = seen_at;
			if
			:: d_step { w_page == page && w_records == records ->
				assert(at == lies_at[page]);
				w_records++
			}
			:: !(w_page == page && w_records == records) -> goto retry
			fi
		:: else ->
			if
			:: /* there is room in the page */
				at = lies_at[page];
#ifdef MUTATE_EARLY
				d_step { known_page = page % WRAP; known_at = at };
#endif
				if
				:: d_step { w_page == page && w_records == records -> w_records++ }
				:: !(w_page == page && w_records == records) -> goto retry
				fi
			:: page < PAGES ->
				if
				:: next_at = lies_at[page]
				:: next_at = lies_at[page] + 1 /* to the ring's other place */
				fi;
#ifdef MUTATE_EARLY
				d_step { known_page = (page + 1) % WRAP; known_at = next_at };
#endif
				if
				:: d_step { w_page == page && w_records == records ->
					page++;
					w_page = page;
					w_records++;
					lies_at[page] = next_at;
					at = next_at
				}
				:: !(w_page == page && w_records == records) -> goto retry
				fi
			fi;
			/* rs_ring_know() */
#ifdef MUTATE_STORES
			known_at = at;
			known_page = page % WRAP
#else
			d_step {
				if
				:: known_page != seen_page || known_at != seen_at -> skip
				:: else ->
					known_page = page % WRAP;
					known_at = at
				fi
			}
#endif
		fi;
		d_step { seen_page = 0; seen_at = 0; page = 0; records = 0; at = 0; next_at = 0 }
	od
}

init
{
	byte i;

	atomic {
		do
		:: i == PRODUCERS -> break
		:: else -> run producer(i); i++
		od
	}
}
