/* SPDX-License-Identifier: MIT */
/*
 * ringside-guest: a Linux guest without the module. It lets the host see and switch the kernel's
 * events through tracefs, and moves ftrace's pages into a region (docs/adr/0025-tracefs-bridge.md).
 * Static, for any distribution. It changes nothing but an instance of tracefs that is its own, and
 * takes that away at its end.
 */
#define _GNU_SOURCE
#include "catalog.h"
#include "host.h"
#include "reader.h"

#include <errno.h>
#include <getopt.h>
#include <rs_port.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_RING_KB 4096ul
#define DEFAULT_DELAY_MS 100ul
#define BUSY_SHARE 8u      /* of a ring in one sweep: the next one comes as soon as it can */
#define WAIT_NS 500000000u /* between two looks for a region */
#define ABSENT_TICKS 6000u /* without a host, with --session */
#define LAST_SWEEPS 3u     /* the last one says that all has come */

#define STATUS_PRESENT 3 /* the kernel has an agent already */

static volatile sig_atomic_t stopped;

struct options {
	unsigned long ring_kb, delay_ms;
	long wait_s;  /* for a region; -1: without end */
	bool session; /* in the background, as long as a session is there */
};

struct bridge {
	struct options options;
	struct bridge_tracefs fs;
	struct bridge_catalog *catalog;
	struct bridge_reader reader;
	struct bridge_host host;
	/* With --session. */
	int ready;       /* who started us waits there for a status; -1: no longer */
	bool met;        /* a host has answered */
	uint32_t absent; /* ticks since one did */
};

static void on_signal(int number)
{
	stopped = 1;
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: ringside-guest [-s] [-r KIB] [-d MS] [-w SECONDS]\n"
		"Lets a Ringside session on the host trace this kernel through tracefs.\n"
		"  -r, --ring KIB      size of ftrace's ring of each CPU (%lu)\n"
		"  -d, --delay MS      how long an event may wait before it is moved (%lu)\n"
		"  -w, --wait SECONDS  how long to wait for a region (without end)\n"
		"  -s, --session       end with the session; from when the kernel can be traced, "
		"in the\n"
		"                      background\n"
		"      --version       print the version\n"
		"RINGSIDE_REGION names the region's memory; else it is that of an ivshmem "
		"device.\n",
		DEFAULT_RING_KB, DEFAULT_DELAY_MS);
}

static bool parse_number(const char *text, unsigned long most, unsigned long *out)
{
	char *end;

	errno = 0;
	*out = strtoul(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *out <= most)
		return true;
	fprintf(stderr, "ringside-guest: '%s' is no number from 0 to %lu\n", text, most);
	return false;
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option known[] = {{"ring", required_argument, NULL, 'r'},
					      {"delay", required_argument, NULL, 'd'},
					      {"wait", required_argument, NULL, 'w'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {"session", no_argument, NULL, 's'},
					      {NULL, 0, NULL, 0}};
	unsigned long seconds;
	int option;
	bool good = true;

	*out = (struct options){
		.ring_kb = DEFAULT_RING_KB, .delay_ms = DEFAULT_DELAY_MS, .wait_s = -1};
	while (good && (option = getopt_long(argc, argv, "r:d:w:sh", known, NULL)) != -1) {
		if (option == 'r') {
			good = parse_number(optarg, 1ul << 20, &out->ring_kb) && out->ring_kb;
		} else if (option == 'd') {
			good = parse_number(optarg, 1000, &out->delay_ms);
		} else if (option == 'w') {
			good = parse_number(optarg, 86400, &seconds);
			out->wait_s = (long)seconds;
		} else if (option == 's') {
			out->session = true;
		} else if (option == 'h' || option == 'V') {
			option == 'h' ? usage(stdout) : (void)puts("ringside-guest " RS_VERSION);
			return 0;
		} else {
			good = false;
		}
	}
	if (good && optind == argc)
		return -1;
	usage(stderr);
	return 2;
}

static void nap(uint32_t ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000u, .tv_nsec = ns % 1000000000u};

	nanosleep(&time, NULL);
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* What the host wants, if that has changed. *applied: the last number that was dealt with. */
static void follow(struct bridge *b, uint32_t *applied, bool *was_alive)
{
	uint32_t generation = bridge_host_generation();
	bool was_on;

	if (generation == *applied && b->host.alive == *was_alive)
		return;
	was_on = bridge_catalog_is_on(b->catalog);
	bridge_catalog_apply(b->catalog, &b->fs, !b->host.alive);
	if (was_on) {
		bridge_reader_drain(&b->reader, rs_port_time());
		bridge_reader_settle(&b->reader);
	}
	bridge_host_applied(generation);
	*applied = generation;
	*was_alive = b->host.alive;
}

/* Moves pages: each `delay_ms`, and at once while there are many. */
static void move(struct bridge *b, uint64_t *last)
{
	uint64_t now = now_ms(), most = (uint64_t)b->options.ring_kb * 1024 / BUSY_SHARE, bytes;

	if (now - *last < b->options.delay_ms)
		return;
	do {
		bytes = bridge_reader_sweep(&b->reader, rs_port_time());
		rs_agent_look();
	} while (bytes >= most && !stopped);
	*last = now_ms();
}

/* ---- --session ---- */

/* Who started us goes on, with this status. */
static void tell_ready(struct bridge *b, uint8_t status)
{
	int none;

	if (b->ready < 0)
		return;
	none = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* It may wait for the end of what we say. */
	for (int fd = 0; none >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(none, fd);
	if (none > STDERR_FILENO)
		close(none);
	if (write(b->ready, &status, 1) < 0)
		stopped = 1;
	close(b->ready);
	b->ready = -1;
}

/* Whether the session that we were started for has ended, or seems to have died. */
static bool is_over(struct bridge *b)
{
	if (b->host.alive) {
		b->met = true;
		b->absent = 0;
		return false;
	}
	return (b->met && b->host.over) || ++b->absent >= ABSENT_TICKS;
}

/* In the parent: the exit status. In the child, which goes on: -1. */
static int go_to_background(struct bridge *b)
{
	uint8_t status;
	int ends[2], state;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return 1;
	child = fork();
	if (child < 0) {
		perror("ringside-guest: fork");
		return 1;
	}
	if (!child) {
		close(ends[0]);
		setsid();
		b->ready = ends[1];
		return -1;
	}
	close(ends[1]);
	if (read(ends[0], &status, 1) == 1)
		return status;
	return waitpid(child, &state, 0) == child && WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

/* ---- one life with a region ---- */

static enum bridge_wish serve(struct bridge *b)
{
	enum bridge_wish wish = BRIDGE_GO_ON;
	uint32_t applied = bridge_host_generation() - 1;
	bool was_alive = false;
	uint64_t last = 0;

	while (!stopped && wish == BRIDGE_GO_ON) {
		follow(b, &applied, &was_alive);
		if (bridge_catalog_is_on(b->catalog) || b->reader.unsaid)
			move(b, &last);
		nap(BRIDGE_TICK_NS);
		wish = bridge_host_look(&b->host);
		if (b->options.session && wish == BRIDGE_GO_ON && is_over(b))
			wish = BRIDGE_END;
	}
	bridge_catalog_apply(b->catalog, &b->fs, true);
	if (wish == BRIDGE_TAKEN) {
		fprintf(stderr,
			"ringside-guest: the region is another agent's now, as the module's\n");
	} else {
		for (uint32_t i = 0; i < LAST_SWEEPS; i++)
			bridge_reader_sweep(&b->reader, rs_port_time());
		bridge_reader_settle(&b->reader);
	}
	bridge_host_leave(&b->host);
	return wish;
}

/* 0: attached. Else the exit status, or -1 after a signal. */
static int find_region(struct bridge *b)
{
	uint64_t from = now_ms();
	bool said = false;
	int err;

	while (!stopped) {
		err = bridge_host_attach(&b->host);
		if (!err)
			return 0;
		if (!said)
			fprintf(stderr, "ringside-guest: no region: %s%s\n", rs_agent_strerror(err),
				b->options.wait_s ? "; waiting for one" : "");
		said = true;
		if (b->options.wait_s >= 0 && now_ms() - from >= (uint64_t)b->options.wait_s * 1000)
			return 1;
		nap(WAIT_NS);
	}
	return -1;
}

static int run(struct bridge *b)
{
	enum bridge_wish wish = BRIDGE_LEAVE;
	int ret = 0;

	if (!access("/sys/module/ringside", F_OK)) {
		fprintf(stderr,
			"ringside-guest: the module is loaded, which does all this itself\n");
		return STATUS_PRESENT;
	}
	while (!stopped && wish == BRIDGE_LEAVE) {
		ret = find_region(b);
		if (ret)
			break;
		ret = bridge_reader_register(&b->reader);
		if (ret) {
			fprintf(stderr, "ringside-guest: %s\n", rs_agent_strerror(ret));
			bridge_host_leave(&b->host);
			return 1;
		}
		bridge_catalog_register(b->catalog);
		fprintf(stderr, "ringside-guest: %u events of this kernel can be traced\n",
			b->catalog->events - b->catalog->refused);
		tell_ready(b, 0);
		bridge_host_greet(&b->host);
		wish = serve(b);
	}
	return ret > 0 ? ret : 0;
}

static int with_tracefs(struct bridge *b)
{
	int ret = 1;

	if (!bridge_tracefs_open(&b->fs, b->options.ring_kb))
		return b->fs.taken ? STATUS_PRESENT : 1;
	bridge_tracefs_hide_thread(&b->fs);
	if (!bridge_catalog_read(b->catalog, &b->fs))
		fprintf(stderr, "ringside-guest: no events in %s\n", b->fs.instance);
	else if (bridge_reader_open(&b->reader, b->catalog, &b->fs))
		ret = run(b);
	bridge_reader_close(&b->reader);
	bridge_catalog_free(b->catalog);
	bridge_tracefs_close(&b->fs);
	return ret;
}

int main(int argc, char **argv)
{
	static struct bridge bridge;
	struct sigaction action = {.sa_handler = on_signal};
	int ret = parse_options(argc, argv, &bridge.options);

	if (ret >= 0)
		return ret;
	bridge.ready = -1;
	if (bridge.options.session)
		ret = go_to_background(&bridge);
	if (ret >= 0)
		return ret;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	bridge.catalog = calloc(1, sizeof(*bridge.catalog));
	if (!bridge.catalog)
		return 1;
	ret = with_tracefs(&bridge);
	free(bridge.catalog);
	return ret;
}
