/* SPDX-License-Identifier: MIT */
#include "cli/run_signals.h"

#include "cli/ends.h"
#include <glib-unix.h>
#include <signal.h>

#define LATE_MS 300 /* between the deaths of a program and of us by one signal, at most */

enum { ON_SIGINT, ON_SIGTERM, ON_SIGHUP, ON_LATE, N_WATCHES };

struct rs_run_signals {
	struct rs_run_signals_config config;
	guint watches[N_WATCHES]; /* ids of GLib sources; 0: none */
	int first;
};

/* The last signal that came before there was a main loop; 0: none. */
static volatile sig_atomic_t early;

static void on_early(int signal)
{
	early = signal;
}

void rs_run_signals_expect(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction note = {.sa_handler = on_early,
				       .sa_flags = SA_RESTART | (int)SA_RESETHAND};
	struct sigaction now;

	for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(signals[i], &note, NULL);
	}
}

static gboolean on_signal(struct rs_run_signals *signals, int signal)
{
	if (!signals->first)
		signals->first = signal;
	signals->config.came(signals->config.data, signal);
	return G_SOURCE_CONTINUE;
}

static gboolean on_sigint(gpointer data)
{
	return on_signal(data, SIGINT);
}

static gboolean on_sigterm(gpointer data)
{
	return on_signal(data, SIGTERM);
}

static gboolean on_sighup(gpointer data)
{
	return on_signal(data, SIGHUP);
}

/* What Ctrl-\\ does must leave no text patched. Twice, it ends us at once. */
static void as_sigterm(int signal)
{
	raise(SIGTERM);
}

static void watch_sigquit(void)
{
	const struct sigaction quit = {.sa_handler = as_sigterm,
				       .sa_flags = SA_RESTART | (int)SA_RESETHAND};
	struct sigaction now;

	if (sigaction(SIGQUIT, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaction(SIGQUIT, &quit, NULL);
}

static guint watch_signal(struct rs_run_signals *signals, int signal, GSourceFunc seen)
{
	return g_unix_signal_add_full(G_PRIORITY_HIGH, signal, seen, signals, NULL);
}

struct rs_run_signals *rs_run_signals_new(const struct rs_run_signals_config *config)
{
	struct rs_run_signals *signals = g_new0(struct rs_run_signals, 1);

	signals->config = *config;
	signals->watches[ON_SIGINT] = watch_signal(signals, SIGINT, on_sigint);
	signals->watches[ON_SIGTERM] = watch_signal(signals, SIGTERM, on_sigterm);
	signals->watches[ON_SIGHUP] = watch_signal(signals, SIGHUP, on_sighup);
	watch_sigquit();
	if (early)
		raise(early);
	return signals;
}

void rs_run_signals_free(struct rs_run_signals *signals)
{
	if (!signals)
		return;
	for (size_t i = 0; i < G_N_ELEMENTS(signals->watches); i++)
		g_clear_handle_id(&signals->watches[i], g_source_remove);
	g_free(signals);
}

int rs_run_signals_first(const struct rs_run_signals *signals)
{
	return signals->first;
}

static gboolean on_late(gpointer data)
{
	struct rs_run_signals *signals = data;

	signals->watches[ON_LATE] = 0;
	signals->config.late(signals->config.data);
	return G_SOURCE_REMOVE;
}

bool rs_run_signals_may_follow(struct rs_run_signals *signals, const struct rs_target_end *end)
{
	if (!rs_ends_by_shared_signal(end) || signals->first)
		return false;
	if (!signals->watches[ON_LATE])
		signals->watches[ON_LATE] = g_timeout_add(LATE_MS, on_late, signals);
	return true;
}

void rs_run_signals_wait(const struct rs_run_signals *signals)
{
	while (signals->watches[ON_LATE] && !signals->first)
		g_main_context_iteration(NULL, TRUE);
}
