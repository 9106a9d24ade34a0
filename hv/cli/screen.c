/* SPDX-License-Identifier: MIT */
#include "cli/screen.h"

#include "base/output.h"
#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The other screen, without a cursor and without wrapped lines; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define DRAW_US 200000 /* how long a terminal may take for a page */
#define ROWS 24u
#define COLUMNS 80u

/* Signals that end a process, or stop it, and that nothing else of the command handles here. */
static const int SIGNALS[] = {SIGQUIT, SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGALRM, SIGTSTP, SIGCONT};

struct rs_cli_screen {
	struct rs_cli_screen_config config;
	struct rs_output output;
	guint watches[3];
	unsigned rows, columns;
	char pending[8]; /* of a key that has begun */
	unsigned n_pending;
	struct sigaction before[G_N_ELEMENTS(SIGNALS)];
};

/* What handlers need. */
static struct termios saved;
static volatile sig_atomic_t has_keys, entered, came_back;

/* ---- in handlers, too ---- */

static void leave(void)
{
	const int was = errno;

	if (!entered)
		return;
	entered = 0;
	/* Nothing can be done if it fails. */
	if (write(STDOUT_FILENO, LEAVE, strlen(LEAVE)) < 0)
		errno = was;
	if (has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	errno = was;
}

static void enter(void)
{
	struct termios raw = saved;
	const int was = errno;

	if (has_keys) {
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 1;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	entered = 1;
	if (write(STDOUT_FILENO, ENTER, strlen(ENTER)) < 0)
		errno = was;
	errno = was;
}

/* As if nobody had handled the signal, but on the first screen. */
static void on_end(int number)
{
	leave();
	signal(number, SIG_DFL);
	raise(number);
}

static void on_stop(int number)
{
	leave();
	raise(SIGSTOP);
}

static void on_continue(int number)
{
	/* Who was stopped by SIGSTOP could not leave, and a shell has used the terminal since. */
	enter();
	came_back = 1;
}

/* ---- keys ---- */

/*
 * The key that `pending` is. 0: it is none that is known. -1: more may come. Sequences are those of
 * ECMA-48 and of terminals in application mode.
 */
static int key_of(const struct rs_cli_screen *screen)
{
	const char *p = screen->pending;
	const unsigned n = screen->n_pending;

	if (*p != '\033')
		return (guchar)*p;
	if (n == 1)
		return -1;
	if (p[1] != '[' && p[1] != 'O')
		return (guchar)p[1];
	if (n == 2)
		return -1;
	switch (p[n - 1]) {
	case 'C':
		return RS_KEY_RIGHT;
	case 'D':
		return RS_KEY_LEFT;
	case 'Z':
		return RS_KEY_BACKTAB;
	default:
		/* Parameters go on; anything else ends a sequence that means nothing here. */
		return p[n - 1] < 0x40 ? -1 : 0;
	}
}

static void take_byte(struct rs_cli_screen *screen, char byte)
{
	int key;

	/* A new sequence begins, whatever was before. */
	if (byte == '\033')
		screen->n_pending = 0;
	/* Of a long one, only its last byte matters. */
	if (screen->n_pending == sizeof(screen->pending))
		screen->n_pending--;
	screen->pending[screen->n_pending++] = byte;
	key = key_of(screen);
	if (key < 0)
		return;
	screen->n_pending = 0;
	if (key)
		screen->config.key(key, screen->config.data);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
	struct rs_cli_screen *screen = data;
	char bytes[64];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return G_SOURCE_CONTINUE;
	if (n <= 0) {
		screen->watches[0] = 0;
		screen->config.gone(screen->config.data);
		return G_SOURCE_REMOVE;
	}
	for (ssize_t i = 0; i < n; i++)
		take_byte(screen, bytes[i]);
	return G_SOURCE_CONTINUE;
}

/* ---- size ---- */

static void measure(struct rs_cli_screen *screen)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){0};
	screen->rows = size.ws_row ? size.ws_row : ROWS;
	screen->columns = size.ws_col ? size.ws_col : COLUMNS;
}

static gboolean on_resize(gpointer data)
{
	struct rs_cli_screen *screen = data;

	measure(screen);
	screen->config.redraw(screen->config.data);
	return G_SOURCE_CONTINUE;
}

/* A handler may not draw, so it is looked for. */
static gboolean on_look(gpointer data)
{
	if (came_back) {
		came_back = 0;
		on_resize(data);
	}
	return G_SOURCE_CONTINUE;
}

/* ---- life ---- */

bool rs_cli_screen_is_possible(void)
{
	const char *term = g_getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static void handle_signals(struct rs_cli_screen *screen)
{
	for (size_t i = 0; i < G_N_ELEMENTS(SIGNALS); i++) {
		struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_RESTART};

		if (SIGNALS[i] == SIGTSTP)
			action.sa_handler = on_stop;
		if (SIGNALS[i] == SIGCONT)
			action.sa_handler = on_continue;
		sigaction(SIGNALS[i], &action, &screen->before[i]);
		/* A shell's background job ignores some, and is to go on doing so. */
		if (screen->before[i].sa_handler == SIG_IGN)
			sigaction(SIGNALS[i], &screen->before[i], NULL);
	}
}

struct rs_cli_screen *rs_cli_screen_new(const struct rs_cli_screen_config *config)
{
	struct rs_cli_screen *screen = g_new0(struct rs_cli_screen, 1);

	screen->config = *config;
	rs_output_init(&screen->output, STDOUT_FILENO);
	measure(screen);
	has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &saved) == 0;
	if (has_keys)
		screen->watches[0] = g_unix_fd_add(STDIN_FILENO, G_IO_IN, on_readable, screen);
	screen->watches[1] = g_unix_signal_add(SIGWINCH, on_resize, screen);
	screen->watches[2] = g_timeout_add(100, on_look, screen);
	handle_signals(screen);
	enter();
	return screen;
}

void rs_cli_screen_free(struct rs_cli_screen *screen)
{
	if (!screen)
		return;
	leave();
	for (size_t i = 0; i < G_N_ELEMENTS(SIGNALS); i++)
		sigaction(SIGNALS[i], &screen->before[i], NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(screen->watches); i++)
		g_clear_handle_id(&screen->watches[i], g_source_remove);
	rs_output_deinit(&screen->output);
	g_free(screen);
}

unsigned rs_cli_screen_rows(const struct rs_cli_screen *screen)
{
	return screen->rows;
}

unsigned rs_cli_screen_columns(const struct rs_cli_screen *screen)
{
	return screen->columns;
}

void rs_cli_screen_draw(struct rs_cli_screen *screen, const char *text)
{
	const gint64 until = g_get_monotonic_time() + DRAW_US;
	g_autoptr(GString) page = g_string_new("\033[H");
	int ret;

	for (unsigned row = 0; *text && row < screen->rows; row++) {
		const char *end = strchr(text, '\n');

		end = end ? end : text + strlen(text);
		if (row)
			g_string_append(page, "\r\n");
		g_string_append_len(page, text, end - text);
		g_string_append(page, "\033[K");
		text = *end ? end + 1 : end;
	}
	g_string_append(page, "\033[J");
	if (!entered)
		return;
	ret = rs_output_write(&screen->output, page->str, page->len, &until, NULL);
	if (ret && ret != -ETIMEDOUT)
		screen->config.gone(screen->config.data);
}
