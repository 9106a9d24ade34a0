/* SPDX-License-Identifier: MIT */
/* How many sites each event has, as the list of events and the figures of the session say it. */
#include "session/session.h"

#include "sham.h"

struct fixture {
	struct rs_session *session;
	struct sham *sham;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	static const char *const sched[] = {"switch", "wakeup", NULL};
	struct rs_source_config config = {.kernel = "kern"};

	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 1024);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "sched", sched);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

static void check_sites(struct fixture *f, const uint32_t *expected, guint n)
{
	g_autoptr(GArray) list = rs_session_list(f->session, NULL);

	g_assert_cmpuint(list->len, ==, n);
	for (guint i = 0; i < n; i++)
		g_assert_cmpuint(g_array_index(list, struct rs_session_event, i).sites, ==,
				 expected[i]);
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
	sham_provider_dies(f->sham, slot);
	check_sites(f, left, G_N_ELEMENTS(left));
	rs_session_stat(f->session, &stat);
	g_assert_cmpuint(stat.sites, ==, 4);
	g_assert_cmpuint(stat.sites_on, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/sites/of-each-event", struct fixture, NULL, set_up, test_sites, tear_down);
	return g_test_run();
}
