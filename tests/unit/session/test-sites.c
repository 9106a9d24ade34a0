/* SPDX-License-Identifier: MIT */
/*
 * How many sites each event has, as the list of events and the figures of the session say it, and
 * what becomes of sites that cannot be patched.
 */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST RS_FIRST_EVENT_ID

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham;
	struct rs_session_result result;
	GString *said;
	int failed, ends;
	bool ended;
	struct rs_target_end end;
};

static void on_message(void *data, const char *text)
{
	g_string_append_printf(((struct fixture *)data)->said, "%s\n", text);
}

static void on_failed(void *data, const struct rs_error *err)
{
	((struct fixture *)data)->failed++;
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct fixture *f = data;

	f->ended = true;
	f->ends++;
	f->end = *end;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};
	struct rs_source_config config = {.kernel = "kern"};

	f->said = g_string_new(NULL);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener = (struct rs_session_listener){
		.data = f, .message = on_message, .failed = on_failed, .ended = on_ended};
	rs_session_add_listener(f->session, &f->listener);
	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 1024);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	if (data)
		g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==,
				0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "sched", sched);
}

static void set_up_quiet(struct fixture *f, gconstpointer data)
{
	set_up(f, NULL);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	f->sham->stone = 0;
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_string_free(f->said, TRUE);
}

static void check_sites(struct fixture *f, const uint32_t *expected, guint n)
{
	g_autoptr(GArray) list = rs_session_list(f->session, NULL);

	g_assert_cmpuint(list->len, ==, n);
	for (guint i = 0; i < n; i++)
		g_assert_cmpuint(g_array_index(list, struct rs_session_event, i).sites, ==,
				 expected[i]);
}

static const char *note_of(struct fixture *f, guint n)
{
	g_autoptr(GArray) list = rs_session_list(f->session, NULL);

	return g_array_index(list, struct rs_session_event, n).note;
}

/* Each event's own sites are listed, whoever else has some, and as long as they are there. */
static void test_sites(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", "tx", NULL}, *const disk[] = {"read", NULL};
	static const uint32_t all[] = {1, 1, 3, 3, 2}, left[] = {1, 1, 0, 0, 2};
	struct rs_source_stat stat;
	uint32_t slot;

	f->sham->more_sites = 2;
	slot = sham_provider(f->sham, "net", net);
	f->sham->more_sites = 1;
	sham_provider(f->sham, "disk", disk);
	check_sites(f, all, G_N_ELEMENTS(all));
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "rx", NULL, NULL), ==, 0);
	check_sites(f, all, G_N_ELEMENTS(all));
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites, ==, 10);
	g_assert_cmpuint(stat.sites_on, ==, 3);
	g_assert_null(note_of(f, 2));
	sham_provider_dies(f->sham, slot);
	check_sites(f, left, G_N_ELEMENTS(left));
	g_assert_null(note_of(f, 1));
	g_assert_cmpstr(note_of(f, 2), ==, "its provider has gone");
	g_assert_null(note_of(f, 4));
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites, ==, 4);
	g_assert_cmpuint(stat.sites_on, ==, 0);
	g_assert_cmpstr(f->said->str, ==, "");
}

/* ---- the list of sites ---- */

static const struct rs_session_site *site_of(const GArray *list, guint n)
{
	return &g_array_index(list, struct rs_session_site, n);
}

/* The guest has no memory before its first page, in which its text begins. */
static uint8_t first_byte(const struct rs_session_site *site)
{
	const uint64_t before = MIN(RS_SESSION_SITE_BEFORE, site->at.v % 4096);

	g_assert_cmphex(site->text_at.v, ==, site->at.v - before);
	g_assert_cmpuint(site->text_size, ==, before + RS_SESSION_SITE_AFTER);
	return site->text[before];
}

static GArray *list_sites(struct fixture *f, const char *glob)
{
	uint64_t next;
	GArray *list = rs_session_list_sites(f->session, glob, 0, &next);

	g_assert_cmpuint(next, ==, 0);
	return list;
}

/* Each with its state and the text that is there now. */
static void test_list(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", "tx", NULL};
	g_autoptr(GArray) all = NULL, rx = NULL, none = NULL;
	g_autoptr(GArray) off G_GNUC_UNUSED = NULL;

	f->sham->more_sites = 2;
	sham_provider(f->sham, "net", net);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "rx", NULL, NULL), ==, 0);
	all = list_sites(f, NULL);
	g_assert_cmpuint(all->len, ==, 8);
	for (guint i = 0; i < all->len; i++) {
		const struct rs_session_site *site = site_of(all, i);
		const bool on = strcmp(site->event->name, "rx") == 0;

		g_assert_cmpint(site->state, ==, on ? RS_SESSION_SITE_ON : RS_SESSION_SITE_OFF);
		g_assert_cmphex(first_byte(site), ==, on ? 0xe9 : 0x0f);
	}
	rx = list_sites(f, "net:rx");
	g_assert_cmpuint(rx->len, ==, 3);
	g_assert_cmphex(site_of(rx, 1)->at.v, !=, site_of(rx, 0)->at.v);
	none = list_sites(f, "nix");
	g_assert_cmpuint(none->len, ==, 0);
}

static void test_list_refused(struct fixture *f, gconstpointer data)
{
	g_autoptr(GArray) before = list_sites(f, "switch"), after = NULL;

	/* The guest has written something else there. */
	f->sham->text[site_of(before, 0)->at.v - 0x100000] = 0xcc;
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), ==, 0);
	after = list_sites(f, "switch");
	g_assert_cmpuint(after->len, ==, 1);
	g_assert_cmpint(site_of(after, 0)->state, ==, RS_SESSION_SITE_REFUSED);
	g_assert_cmphex(first_byte(site_of(after, 0)), ==, 0xcc);
}

/* Whoever asks for very many gets them in parts, each of them once. */
static void test_list_parts(struct fixture *f, gconstpointer data)
{
	const guint many = 1000;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	struct rs_source_stat stat;
	uint64_t next = 0;
	guint parts = 0;

	sham_bulk(f->sham, "bulk", "many", many);
	do {
		rs_session_refresh(f->session);
		rs_session_stat(f->session, &stat);
	} while (stat.sites < many + 2);
	do {
		g_autoptr(GArray) list = rs_session_list_sites(f->session, "bulk:*", next, &next);

		g_assert_cmpuint(list->len, <=, 128);
		for (guint i = 0; i < list->len; i++)
			g_assert_true(
				g_hash_table_add(seen, GSIZE_TO_POINTER(site_of(list, i)->at.v)));
		parts++;
	} while (next);
	g_assert_cmpuint(g_hash_table_size(seen), ==, many);
	g_assert_cmpuint(parts, >=, many / 128);
}

/* Who ends a session is told on stderr if our jumps may be left in a guest, and else nothing. */
static void test_destroyed(struct fixture *f, gconstpointer data)
{
	int ends[2], before = dup(STDERR_FILENO);
	char printed[512] = "";

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), ==, 0);
	check_sites(f, (const uint32_t[]){1, 1}, 2);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "*", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(f->sham, FIRST));
	f->sham->read_only = data != NULL;
	dup2(ends[1], STDERR_FILENO);
	rs_session_destroy(g_steal_pointer(&f->session));
	dup2(before, STDERR_FILENO);
	g_assert_true(sham_patched(f->sham, FIRST) == (data != NULL));
	g_assert_true((recv(ends[0], printed, sizeof(printed) - 1, MSG_DONTWAIT) > 0) ==
		      (data != NULL));
	g_assert_true((strstr(printed, "text could not be restored") != NULL) == (data != NULL));
	close(ends[0]);
	close(ends[1]);
	close(before);
}

/* ---- sites that cannot be patched ---- */

static bool is_on(struct fixture *f, uint32_t n)
{
	return sham_word(f->sham, FIRST + n) & RS_EVENT_ENABLED;
}

static void check_problem(struct fixture *f, const char *event, const char *why)
{
	const char *line;

	g_assert_nonnull(f->result.problems);
	g_assert_cmpuint(f->result.problems->len, ==, 1);
	line = f->result.problems->pdata[0];
	g_assert_true(strstr(line, event) && strstr(line, "0x") && strstr(line, why));
	g_assert_nonnull(strstr(f->said->str, line));
	g_assert_cmpint(f->failed, ==, 0);
}

static int enable(struct fixture *f, const char *glob)
{
	rs_session_result_clear(&f->result);
	g_string_truncate(f->said, 0);
	return rs_session_enable(f->session, RS_OWNER_HOST, glob, &f->result, NULL);
}

static int disable(struct fixture *f, const char *glob)
{
	rs_session_result_clear(&f->result);
	return rs_session_disable(f->session, RS_OWNER_HOST, glob, &f->result, NULL);
}

/* The text of one event cannot be written: the others are patched, and the answer names it. */
static void test_stone(struct fixture *f, gconstpointer data)
{
	f->sham->stone = FIRST;
	g_assert_cmpint(enable(f, "*"), ==, 0);
	g_assert_cmpuint(f->result.touched, ==, 2);
	check_problem(f, "sched:switch", "did not keep");
	g_assert_true(is_on(f, 0) && is_on(f, 1));
	g_assert_true(!sham_patched(f->sham, FIRST) && sham_patched(f->sham, FIRST + 1));
	g_assert_nonnull(strstr(note_of(f, 0), "did not keep"));
	g_assert_null(note_of(f, 1));
	/* It goes off as any other, and is tried again. */
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", &f->result, NULL), ==,
			0);
	g_assert_null(f->result.problems);
	g_assert_false(sham_patched(f->sham, FIRST + 1));
	f->sham->stone = 0;
	g_assert_cmpint(enable(f, "*"), ==, 0);
	g_assert_null(f->result.problems);
	g_assert_true(sham_patched(f->sham, FIRST));
	g_assert_null(note_of(f, 0));
}

/* What is on cannot be put back: it alone stays patched. */
static void test_stone_later(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	g_assert_cmpint(enable(f, "*"), ==, 0);
	f->sham->stone = FIRST + 1;
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_HOST, "*", &f->result, NULL), ==,
			0);
	check_problem(f, "sched:wakeup", "not put back: its text did not keep what was written");
	g_assert_true(!is_on(f, 0) && !is_on(f, 1));
	g_assert_true(!sham_patched(f->sham, FIRST) && sham_patched(f->sham, FIRST + 1));
	/* Whoever detaches is told. */
	g_assert_cmpint(rs_session_detach(f->session, &err), ==, -EIO);
	g_assert_nonnull(strstr(err.message, "1 site is still patched"));
}

/* Bytes that are no NOP are told when they are listed, and to whoever switches the event on. */
static void test_torn(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", NULL};

	f->sham->torn = true;
	sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	g_assert_nonnull(strstr(f->said->str, "of net:rx refused"));
	g_assert_cmpint(enable(f, "*"), ==, 0);
	g_assert_cmpuint(f->result.touched, ==, 3);
	check_problem(f, "net:rx", "refused at");
	g_assert_true(sham_patched(f->sham, FIRST) && sham_patched(f->sham, FIRST + 1));
	g_assert_nonnull(strstr(note_of(f, 2), "refused at"));
	/* It was off and goes on again: told again. What stays on says nothing. */
	g_assert_cmpint(enable(f, "*"), ==, 0);
	g_assert_null(f->result.problems);
}

/* What was asked for before the start is had but for these sites, and the session goes on. */
static void test_bad_at_start(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", NULL};

	f->sham->stone = FIRST;
	f->sham->torn = true;
	sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
	g_assert_cmpint(f->failed, ==, 0);
	g_assert_true(is_on(f, 0) && is_on(f, 1) && is_on(f, 2));
	g_assert_true(!sham_patched(f->sham, FIRST) && sham_patched(f->sham, FIRST + 1));
	g_assert_nonnull(strstr(f->said->str, "of sched:switch refused: its text did not"));
	g_assert_nonnull(strstr(f->said->str, "of net:rx refused"));
}

/* The guest exits. Its last provider's text is restored, and the target dies in that pause. */
static void test_dies_while_it_ends(struct fixture *f, gconstpointer data)
{
	rs_session_refresh(f->session);
	g_assert_true(sham_patched(f->sham, FIRST));
	sham_provider_dies(f->sham, 0);
	f->sham->dying = true;
	sham_request(f->sham, 0, RS_HCALL_EXIT, 3, NULL);
	sham_wait(&f->ended);
	g_assert_cmpint(f->ends, ==, 1);
	g_assert_cmpint(f->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(f->end.code, ==, 3);
}

/*
 * The target dies in a pause, and its mailbox holds a request: it is taken when the batch is done,
 * since it could change the sites that the batch is at.
 */
static void test_dies_in_a_batch(struct fixture *f, gconstpointer data)
{
	sham_request(f->sham, 0, RS_HCALL_EXIT, 3, NULL);
	f->sham->dying = true;
	enable(f, "*");
	f->sham->dying = false;
	sham_wait(&f->ended);
	g_assert_cmpint(f->ends, ==, 1);
	g_assert_cmpint(f->end.reason, ==, RS_END_EXIT);
	g_assert_cmpint(f->end.code, ==, 3);
}

/* The text cannot be restored at first. At the end it can, when another source has gone already. */
static void test_restored_late(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "other"};
	struct sham *other = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 1024);

	g_assert_cmpint(rs_session_add_source(f->session, &config, other->region, &other->target,
					      NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	rs_session_refresh(f->session);
	g_assert_true(sham_patched(f->sham, FIRST));
	f->sham->unstoppable = true;
	g_assert_cmpint(rs_session_detach(f->session, NULL), ==, -EIO);
	f->sham->unstoppable = false;
	g_assert_true(sham_patched(f->sham, FIRST));
	rs_session_destroy(f->session);
	f->session = NULL;
	g_assert_false(sham_patched(f->sham, FIRST));
	sham_free(other);
}

/* ---- the room for filters ---- */

static int filter(struct fixture *f, const char *owner, const char *glob, const char *expression,
		  struct rs_error *err)
{
	return rs_session_set_filter(f->session, owner, glob, expression, NULL, err);
}

/* The guest's filters take all that they may. Then the host sets one. */
static void test_filter_room(struct fixture *f, gconstpointer data)
{
	static const char *const net[] = {"rx", NULL};
	struct rs_error err = {0};

	sham_provider(f->sham, "net", net);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_GUEST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(filter(f, RS_OWNER_GUEST, "sched:*", "a > 1", NULL), ==, 0);
	g_assert_cmpint(filter(f, RS_OWNER_GUEST, "rx", "a > 1", &err), ==, -ENOSPC);
	g_assert_nonnull(strstr(err.message, "filters of the guest"));
	g_assert_cmpint(filter(f, RS_OWNER_HOST, "rx", "a > 2", NULL), ==, 0);
	g_assert_cmpint(rs_session_disable(f->session, RS_OWNER_GUEST, "rx", NULL, NULL), ==, 0);
	g_assert_cmpint(enable(f, "rx"), ==, 0);
	g_assert_true(sham_word(f->sham, FIRST + 2) >> RS_EVENT_FILTER_SHIFT);
}

/* Both want an event, and their filters together do not fit: the guest's ends. */
static void test_filter_room_together(struct fixture *f, gconstpointer data)
{
	const char *many = "a == 1 || a == 3 || a == 5 || a == 7 || a == 9 || a == 11";
	const char *others = "a == 2 || a == 4 || a == 6 || a == 8 || a == 10 || a == 12";

	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_GUEST, "*", NULL, NULL), ==, 0);
	g_assert_cmpint(filter(f, RS_OWNER_GUEST, "*", many, NULL), ==, 0);
	g_assert_cmpint(filter(f, RS_OWNER_HOST, "switch", others, NULL), ==, 0);
	g_assert_cmpint(enable(f, "switch"), ==, 0);
	g_assert_true(sham_word(f->sham, FIRST) >> RS_EVENT_FILTER_SHIFT);
	g_assert_nonnull(strstr(f->said->str, "sched:switch is not recorded for the guest"));
	g_assert_true(is_on(f, 0) && is_on(f, 1));
}

static guint count(const char *text, const char *what)
{
	guint n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* A guest lists many sites that cannot be used. The first few are told of, the rest is counted. */
static void test_many_refused(struct fixture *f, gconstpointer data)
{
	const uint32_t bad = GPOINTER_TO_UINT(data);
	g_autofree char *more = g_strdup_printf("and %u sites more refused", bad - 16);
	struct rs_source_stat stat;

	rs_session_refresh(f->session);
	g_string_truncate(f->said, 0);
	sham_bulk(f->sham, "bulk", "many", 400);
	memset(f->sham->bulk, 0x90, 8 * (size_t)bad);
	for (int turns = 0; turns < 10; turns++)
		rs_session_refresh(f->session);
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites_refused, ==, bad);
	g_assert_cmpuint(stat.sites, ==, 2 + 400 - bad);
	g_assert_cmpuint(count(f->said->str, "site at"), ==, MIN(bad, 16));
	g_assert_cmpuint(count(f->said->str, "\n"), ==, MIN(bad, 17));
	g_assert_cmpuint(count(f->said->str, more), ==, bad > 16);
}

/* The answer to a request, too, names 16 and counts the rest. */
static void check_lines(struct fixture *f, guint bad, const char *line, const char *rest)
{
	g_autofree char *more = g_strdup_printf("and %u %s", bad - 16, rest);

	g_assert_nonnull(f->result.problems);
	g_assert_cmpuint(f->result.problems->len, ==, MIN(bad, 17));
	for (guint i = 0; i < MIN(bad, 16); i++)
		g_assert_nonnull(strstr(f->result.problems->pdata[i], line));
	if (bad > 16)
		g_assert_cmpstr(f->result.problems->pdata[16], ==, more);
}

/* So many events, `torn` or not. */
static void add_events(struct fixture *f, guint n, bool torn)
{
	static const char *const net[] = {"rx", NULL};

	f->sham->torn = torn;
	for (guint i = 0; i < n; i++)
		sham_provider(f->sham, "net", net);
	rs_session_refresh(f->session);
}

/* Events of which no site was accepted when they came. */
static void test_many_torn(struct fixture *f, gconstpointer data)
{
	const uint32_t bad = GPOINTER_TO_UINT(data);

	add_events(f, bad, true);
	g_assert_cmpint(enable(f, "net:*"), ==, 0);
	g_assert_cmpuint(f->result.touched, ==, bad);
	check_lines(f, bad, "net:rx is recorded, but not at every site", "events more, likewise");
}

/* Sites whose text cannot be written when they go on, or off. */
static void test_many_stones(struct fixture *f, gconstpointer data)
{
	const uint32_t bad = GPOINTER_TO_UINT(data);

	add_events(f, bad, false);
	f->sham->stone = SHAM_ALL;
	g_assert_cmpint(enable(f, "net:*"), ==, 0);
	check_lines(f, bad, "of net:rx refused: its text did not keep what was written",
		    "sites more refused");
	f->sham->stone = 0;
	g_assert_cmpint(enable(f, "net:*"), ==, 0);
	g_assert_cmpint(disable(f, "net:*"), ==, 0);
	g_assert_null(f->result.problems);
	g_assert_cmpint(enable(f, "net:*"), ==, 0);
	g_assert_null(f->result.problems);
	f->sham->stone = SHAM_ALL;
	g_assert_cmpint(disable(f, "net:*"), ==, 0);
	check_lines(f, bad, "of net:rx not put back: its text did not keep what was written",
		    "sites more not put back");
}

/*
 * The text of a provider that left could not be put back. Whoever takes its slot next does not wait
 * for ever, and nobody tries all the time.
 */
static void test_left_behind(struct fixture *f, gconstpointer data)
{
	GSource *timer = g_main_context_find_source_by_user_data(NULL, f->session);
	static const char *const net[] = {"rx", NULL};
	const uint32_t rx = FIRST + 2, slot = sham_provider(f->sham, "net", net);

	rs_session_refresh(f->session);
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "rx", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(f->sham, rx));
	f->sham->unstoppable = true;
	/* What somebody else asks for in vain is tried first. */
	g_assert_cmpint(rs_session_enable(f->session, RS_OWNER_HOST, "switch", NULL, NULL), !=, 0);
	rs_session_refresh(f->session);
	sham_provider_dies(f->sham, slot);
	rs_session_refresh(f->session);
	g_assert_nonnull(strstr(f->said->str, "was not put back"));
	sham_provider_returns(f->sham, slot);
	sham_request(f->sham, 0, RS_HCALL_REGISTER, slot, NULL);
	sham_wait_answer(f->sham, 0);
	g_assert_cmpint(sham_response(f->sham, 0)->result, ==, 0);
	/* The timer rests, although the text is still patched. */
	for (guint i = 0; i < 10; i++)
		g_main_context_iteration(NULL, TRUE);
	g_assert_true(sham_patched(f->sham, rx));
	g_assert_cmpint(g_source_get_ready_time(timer), >=, g_source_get_time(timer) + 500);
	f->sham->unstoppable = false;
}

int main(int argc, char **argv)
{
	static const guint bad[] = {1, 16, 17, 40, 128, 129, 400};
	g_test_init(&argc, &argv, NULL);
	g_test_add("/sites/of-each-event", struct fixture, NULL, set_up, test_sites, tear_down);
	g_test_add("/sites/list", struct fixture, NULL, set_up, test_list, tear_down);
	g_test_add("/sites/list/refused", struct fixture, NULL, set_up, test_list_refused,
		   tear_down);
	g_test_add("/sites/list/parts", struct fixture, NULL, set_up, test_list_parts, tear_down);
	g_test_add("/sites/destroyed", struct fixture, NULL, set_up_quiet, test_destroyed,
		   tear_down);
	g_test_add("/sites/destroyed-in-vain", struct fixture, "*", set_up_quiet, test_destroyed,
		   tear_down);
	g_test_add("/sites/stone", struct fixture, NULL, set_up, test_stone, tear_down);
	g_test_add("/sites/stone-later", struct fixture, NULL, set_up, test_stone_later, tear_down);
	g_test_add("/sites/dies-in-a-batch", struct fixture, NULL, set_up, test_dies_in_a_batch,
		   tear_down);
	g_test_add("/sites/torn", struct fixture, NULL, set_up, test_torn, tear_down);
	g_test_add("/sites/bad-at-start", struct fixture, "*", set_up, test_bad_at_start,
		   tear_down);
	g_test_add("/sites/dies-while-it-ends", struct fixture, "*", set_up,
		   test_dies_while_it_ends, tear_down);
	g_test_add("/sites/restored-late", struct fixture, "*", set_up, test_restored_late,
		   tear_down);
	g_test_add("/sites/left-behind", struct fixture, NULL, set_up, test_left_behind, tear_down);
	g_test_add("/sites/filter-room", struct fixture, NULL, set_up, test_filter_room, tear_down);
	g_test_add("/sites/filter-room-together", struct fixture, NULL, set_up,
		   test_filter_room_together, tear_down);
	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autofree char *path = g_strdup_printf("/sites/many-refused/%u", bad[i]);

		g_test_add(path, struct fixture, GUINT_TO_POINTER(bad[i]), set_up_quiet,
			   test_many_refused, tear_down);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad) && bad[i] < 100; i++) {
		g_autofree char *torn = g_strdup_printf("/sites/many-torn/%u", bad[i]);
		g_autofree char *stones = g_strdup_printf("/sites/many-stones/%u", bad[i]);

		g_test_add(torn, struct fixture, GUINT_TO_POINTER(bad[i]), set_up_quiet,
			   test_many_torn, tear_down);
		g_test_add(stones, struct fixture, GUINT_TO_POINTER(bad[i]), set_up_quiet,
			   test_many_stones, tear_down);
	}
	return g_test_run();
}
