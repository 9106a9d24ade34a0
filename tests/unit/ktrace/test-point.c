/* SPDX-License-Identifier: MIT */
/* RS_KTRPOINT: what it asks, in which order, and for whom. The recursion guard. */
#include "room.h"

static void test_ktrpoint_verifies_that_tracing_is_enabled(struct room *room, gconstpointer data)
{
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_NAMEI));
	room_trace(room, RS_KTRFAC_NAMEI);
	g_assert_true(RS_KTRPOINT(&room->thread, RS_KTRFAC_NAMEI));
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_GENIO));
	room_trace(room, 0);
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_NAMEI));
}

/* Each bit alone, against each mask of one bit: only its own is true. */
static void test_ktrpoint_takes_a_mask_of_facilities(struct room *room, gconstpointer data)
{
#define IS(name, number)                                                                           \
	g_assert_cmpuint(RS_KTRFAC_##name, ==, 1u << (number));                                    \
	g_assert_cmpint(RS_KTRPOINT(&room->thread, RS_KTRFAC_##name), ==, bit == (number))
	for (uint32_t bit = 1; bit <= 11; bit++) {
		room_trace(room, 1u << bit);
		IS(SYSCALL, 1);
		IS(SYSRET, 2);
		IS(NAMEI, 3);
		IS(GENIO, 4);
		IS(PSIG, 5);
		IS(CSW, 6);
		IS(EMUL, 7);
		IS(STRUCT, 8);
		IS(USER, 9);
		IS(EXECARGS, 10);
		IS(EXECENV, 11);
		g_assert_cmpint(RS_KTRPOINT(&room->thread, RS_KTRFAC_SYSCALL | RS_KTRFAC_SYSRET),
				==, bit <= 2);
		g_assert_true(RS_KTRPOINT(&room->thread, RS_KTRFAC_POINTS));
	}
#undef IS
}

/* With the events off on the host, the thread is not even looked at. */
static void test_ktrpoint_asks_the_site_first(struct room *room, gconstpointer data)
{
	struct rs_ktrace_thread *volatile none = NULL;

	room_trace(room, RS_KTRFAC_POINTS);
	room_switch(room, NULL, false);
	g_assert_false(RS_KTRPOINT(none, RS_KTRFAC_POINTS));
	room_switch(room, "namei", true);
	g_assert_false(RS_KTRPOINT(none, RS_KTRFAC_POINTS & ~RS_KTRFAC_NAMEI));
	g_assert_true(RS_KTRPOINT(&room->thread, RS_KTRFAC_POINTS));
}

/* A mask is true only for a facility that both host and process want. */
static void test_ktrpoint_joins_host_and_process(struct room *room, gconstpointer data)
{
	room_switch(room, NULL, false);
	room_switch(room, "syscall", true);
	room_trace(room, RS_KTRFAC_SYSRET);
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_SYSCALL | RS_KTRFAC_SYSRET));
	room_switch(room, "sysret", true);
	g_assert_true(RS_KTRPOINT(&room->thread, RS_KTRFAC_SYSCALL | RS_KTRFAC_SYSRET));
}

/* The functions ask too: without RS_KTRPOINT they write nothing that is not wanted. */
static void call_all(struct rs_ktrace_thread *t)
{
	const struct rs_ktr_iovec iov = {"x", 1};

	rs_ktrsyscall(t, 1, 0, NULL);
	rs_ktrsysret(t, 1, 0, 0);
	rs_ktrnamei(t, "/");
	rs_ktrgenio(t, 0, RS_KTR_READ, &iov, 1, 0);
	rs_ktrpsig(t, 1, RS_KTR_SIG_DFL, 0, 0, NULL);
	rs_ktrcsw(t, true, false);
	rs_ktremul(t, "native");
	rs_ktrstruct(t, "stat", "x", 1);
	g_assert_cmpint(rs_ktruser(t, "label", "x", 1), ==, 0);
	rs_ktrexecargs(t, "a", 2);
	rs_ktrexecenv(t, "b", 2);
}

static void call_others(struct rs_ktrace_thread *t)
{
	rs_ktrgenio_piece(t, 0, RS_KTR_READ, "x", 1, 0, 1);
}

static void test_functions_write_nothing_of_an_untraced_process(struct room *room,
								gconstpointer data)
{
	call_all(&room->thread);
	call_others(&room->thread);
	g_assert_cmpuint(room_read(room), ==, 0);
	room_trace(room, RS_KTRFAC_POINTS);
	room_switch(room, NULL, false);
	call_all(&room->thread);
	call_others(&room->thread);
	g_assert_cmpuint(room_read(room), ==, 0);
}

static void test_each_function_writes_its_own_kind(struct room *room, gconstpointer data)
{
	static const char *const names[] = {"syscall", "sysret",   "namei",  "genio",
					    "psig",    "csw",      "emul",   "struct",
					    "user",    "execargs", "execenv"};

	room_trace(room, RS_KTRFAC_POINTS);
	call_all(&room->thread);
	g_assert_cmpuint(room_read(room), ==, G_N_ELEMENTS(names));
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		const struct seen *seen = room->records->pdata[i];

		g_assert_cmpstr(seen->event->name, ==, names[i]);
		g_assert_cmpuint(seen->pid, ==, 8);
	}
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		room_trace(room, 1u << (i + 1));
		call_all(&room->thread);
		room_only(room, names[i]);
	}
}

/* ---- recursion ---- */

static struct rs_ktrace_thread *again;
static guint answers;

static void trace_again(void)
{
	answers += RS_KTRPOINT(again, RS_KTRFAC_PSIG);
	rs_ktrnamei(again, "within");
}

static void test_no_record_within_a_record(struct room *room, gconstpointer data)
{
	room_trace(room, RS_KTRFAC_POINTS);
	again = &room->thread;
	answers = 0;
	room_on_time = trace_again;
	rs_ktrnamei(&room->thread, "outer");
	room_on_time = NULL;
	assert_text(room_only(room, "namei"), "path", "outer");
	g_assert_cmpuint(answers, ==, 0);
	/* What is left out is counted: here one look and one record. */
	g_assert_cmpuint(room->thread.left_out, ==, 2);
	g_assert_cmpuint(room->thread.inside, ==, 0);
	rs_ktrnamei(&room->thread, "after");
	assert_text(room_only(room, "namei"), "path", "after");
}

/* An interrupt's record for another thread of the same process is not recursion. */
static void test_the_guard_is_of_one_thread(struct room *room, gconstpointer data)
{
	struct rs_ktrace_thread other = {.proc = &room->proc};

	room_trace(room, RS_KTRFAC_NAMEI);
	room->thread.inside = 1;
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_NAMEI));
	g_assert_true(RS_KTRPOINT(&other, RS_KTRFAC_NAMEI));
	rs_ktrnamei(&other, "other");
	assert_text(room_only(room, "namei"), "path", "other");
	/* What is not traced is not counted as left out. */
	g_assert_cmpuint(room->thread.left_out, ==, 1);
	g_assert_false(RS_KTRPOINT(&room->thread, RS_KTRFAC_GENIO));
	g_assert_cmpuint(room->thread.left_out, ==, 1);
}

/* ---- threads ---- */

#define THREADS 4u
#define EACH 400u

static gpointer write_records(gpointer data)
{
	struct rs_ktrace_thread t = {.proc = data};

	for (uint32_t i = 0; i < EACH; i++)
		if (RS_KTRPOINT(&t, RS_KTRFAC_SYSRET))
			rs_ktrsysret(&t, i, 0, (int64_t)i);
	g_assert_cmpuint(t.left_out, ==, 0);
	return NULL;
}

static void test_threads_of_a_process_do_not_lose_records(struct room *room, gconstpointer data)
{
	const struct rs_guest_info *info =
		rs_trace_region_section(room->region, RS_SEC_GUEST_INFO, NULL);
	GThread *threads[THREADS];
	guint64 sum = 0, lost;

	room_trace(room, RS_KTRFAC_SYSRET);
	for (guint i = 0; i < THREADS; i++)
		threads[i] = g_thread_new("writer", write_records, &room->proc);
	for (guint i = 0; i < THREADS; i++)
		g_thread_join(threads[i]);
	/* The ring gives up a record of a thread that is moved over and over again. */
	lost = info->lost_nested;
	g_assert_cmpuint(room_read(room) + lost, ==, THREADS * EACH);
	for (guint i = 0; i < room->records->len; i++)
		sum += (guint64)seen_int(room->records->pdata[i], "retval");
	if (!lost)
		g_assert_cmpuint(sum, ==, THREADS * (EACH * (EACH - 1) / 2));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
	g_test_add("/ktrace/point/" #name, struct room, NULL, room_set_up, test_##name,            \
		   room_tear_down)
	ADD(ktrpoint_verifies_that_tracing_is_enabled);
	ADD(ktrpoint_takes_a_mask_of_facilities);
	ADD(ktrpoint_asks_the_site_first);
	ADD(ktrpoint_joins_host_and_process);
	ADD(functions_write_nothing_of_an_untraced_process);
	ADD(each_function_writes_its_own_kind);
	ADD(no_record_within_a_record);
	ADD(the_guard_is_of_one_thread);
	ADD(threads_of_a_process_do_not_lose_records);
	return g_test_run();
}
