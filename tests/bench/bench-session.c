/* SPDX-License-Identifier: MIT */
/*
 * The figures that need a session, on the same API as the CLI:
 *
 *	bench-session emit KERNEL            bench-guest on KVM measures itself: its figures, and
 *	                                     KVM's exits per event in each measured stretch
 *	bench-session control kvm KERNEL N   switches events while N vCPUs (or threads) run
 *	bench-session control hosted PROG N  through 1,025 sites all the time
 *
 * Prints "NAME VALUE UNIT" lines for report.py. 77: there is no KVM here.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "base/prompt.h"
#include "hosted/hosted.h"
#include "region/regions.h"
#include "server/rundir.h"
#include "session/session.h"
#include "vmm/vmm.h"

#include <errno.h>
#include <glib.h>
#include <ringside/record.h>
#include <rs-trace-page.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define BATCHES 51
#define FIRSTS 100
#define LOOK_US 50 /* less would leave a guest under PVM no time to be entered */
#define ENABLE_NS 50000
#define SKIP_77 77
#define PATIENCE_NS 5000000000ull
#define NEVER_SETTLES 100000 /* chunks */

struct bench {
	struct rs_session *session;
	struct rs_session_listener listener;
	GMainLoop *loop;
	bool serving, ended;
	uint64_t exits, records; /* when the current stretch began */
};

static void die(const char *what)
{
	fprintf(stderr, "bench-session: %s\n", what);
	exit(1);
}

static void check(int ret, const struct rs_error *err)
{
	if (ret)
		die(err->message);
}

static uint64_t kvm_exits(const struct bench *bench)
{
	struct rs_source_stat stat;

	rs_source_stat(rs_session_source(bench->session, 0), &stat);
	return stat.target.kvm_exits;
}

static uint64_t records(const struct bench *bench)
{
	const RsTraceRegion *region = rs_source_region(rs_session_source(bench->session, 0));
	uint64_t sum = 0;

	for (uint32_t i = 0; i < region->header.ring_count; i++) {
		RsTraceRingInfo info;

		rs_trace_ring_info(region, i, &info);
		sum += info.records;
	}
	return sum;
}

static void print_figure(struct bench *bench, const char *name, double best, double median)
{
	g_autofree char *middle = g_strdup_printf("%s.median", name);
	g_autofree char *exits = g_strdup_printf("%s.exits", name);
	g_autofree char *events = g_strdup_printf("%s.events", name);

	bench_print(name, best / 1000, "ns");
	bench_print(middle, median / 1000, "ns");
	bench_print(exits, (double)(kvm_exits(bench) - bench->exits), "exits");
	bench_print(events, (double)(records(bench) - bench->records), "events");
}

/* The vCPU waits for our answer to its LOG request, so only other vCPUs run meanwhile. */
static void on_message(void *data, const char *text)
{
	struct bench *bench = data;
	char name[32];
	unsigned long best, median;

	if (g_str_has_prefix(text, "guest: bench: begin ")) {
		bench->exits = kvm_exits(bench);
		bench->records = records(bench);
	} else if (sscanf(text, "guest: bench: %31s best=%lu median=%lu", name, &best, &median) ==
		   3) {
		print_figure(bench, name, (double)best, (double)median);
	} else if (strcmp(text, "guest: bench: serving") == 0) {
		bench->serving = true;
	} else {
		fprintf(stderr, "%s\n", text);
	}
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct bench *bench = data;

	bench->ended = true;
	if (end->reason != RS_END_KILLED && (end->reason != RS_END_EXIT || end->code))
		die(end->text);
	g_main_loop_quit(bench->loop);
}

/* ---- making the session ---- */

static struct rs_regions *make_regions(uint32_t vcpus, bool kvm)
{
	struct rs_region_config config = {
		.vcpus = vcpus,
		.ring_bytes = 4 << 20,
		.hcall_channel = kvm ? RS_CHANNEL_PORT : RS_CHANNEL_MAILBOX,
		.hcall_addr = kvm ? RS_HCALL_PORT : 0,
		.doorbell_channel = kvm ? RS_CHANNEL_PORT : RS_CHANNEL_EVENTFD,
		.doorbell_addr = kvm ? RS_DOORBELL_PORT : 0,
	};
	const struct rs_regions_run run = {&config, kvm ? RS_SOURCE_KERNEL : RS_SOURCE_GIVEN, 1};
	struct rs_regions *regions;
	struct rs_error err = {0};

	check(rs_regions_create(&run, 1, false, -1, &regions, &err), &err);
	return regions;
}

static struct rs_target *make_kvm(const struct rs_regions *regions, const char *kernel,
				  const char *options, uint32_t vcpus)
{
	struct rs_vmm_config config = {
		.name = "bench",
		.kernel = kernel,
		.cmdline = options,
		.memory = 64 << 20,
		.vcpus = vcpus,
		.regions_fd = rs_regions_fd(regions),
		.serial_fd = -1,
	};
	struct rs_target *target;
	struct rs_error err = {0};

	if (rs_vmm_probe(&err)) {
		fprintf(stderr, "bench-session: %s\n", err.message);
		exit(SKIP_77);
	}
	check(rs_vmm_create(&config, &target, &err), &err);
	return target;
}

static struct rs_target *make_hosted(const struct rs_regions *regions, const char *program,
				     const char *threads)
{
	const char *argv[] = {program, threads, NULL};
	struct rs_hosted_config config = {
		.argv = argv,
		.regions_fd = rs_regions_fd(regions),
		.claim = rs_regions_claim_word(regions, 0),
		.claim_base = rs_regions_claim(regions, 0, 0),
	};
	struct rs_target *target;
	struct rs_error err = {0};

	check(rs_hosted_create(&config, &target, &err), &err);
	return target;
}

/* Gives each vCPU thread its own CPU, so that the scheduler does not move it. */
static void pin_vcpus(void)
{
	g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
	const char *tid;

	while (tasks && (tid = g_dir_read_name(tasks))) {
		g_autofree char *path = g_strdup_printf("/proc/self/task/%s/comm", tid);
		g_autofree char *comm = NULL;
		unsigned int index;
		cpu_set_t set;

		if (!g_file_get_contents(path, &comm, NULL, NULL) ||
		    sscanf(comm, "rs-vcpu-%u", &index) != 1)
			continue;
		CPU_ZERO(&set);
		CPU_SET(index % (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), &set);
		sched_setaffinity(atoi(tid), sizeof(set), &set);
	}
}

static void start(struct bench *bench, struct rs_regions *regions, struct rs_target *target)
{
	g_autofree char *name = g_strdup_printf("bench-%d", getpid());
	g_autofree char *journal = NULL;
	struct rs_source_config config = {.kernel = "bench"};
	struct rs_source *source;
	RsTraceRegion *region;
	struct rs_error err = {0};

	check(rs_rundir_file(name, "journal", &journal, &err), &err);
	config.journal = journal;
	check(rs_session_create(name, &bench->session, &err), &err);
	check(rs_regions_map(regions, 0, &region, &err), &err);
	check(rs_session_add_source(bench->session, &config, region, target, &source, &err), &err);
	rs_session_add_memory(bench->session, source, regions, false);
	bench->listener = (struct rs_session_listener){
		.data = bench, .message = on_message, .ended = on_ended};
	rs_session_add_listener(bench->session, &bench->listener);
	bench->loop = g_main_loop_new(NULL, FALSE);
	check(rs_session_start(bench->session, &err), &err);
}

static void finish(struct bench *bench)
{
	if (!bench->ended) {
		rs_session_stop(bench->session, "the benchmark is over");
		g_main_loop_run(bench->loop);
	}
	rs_session_destroy(bench->session);
	g_main_loop_unref(bench->loop);
}

/* ---- switching ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_spread(const char *name, double *us, int count)
{
	g_autofree char *median = g_strdup_printf("%s.median", name);
	g_autofree char *most = g_strdup_printf("%s.max", name);

	qsort(us, (size_t)count, sizeof(*us), by_value);
	bench_print(name, us[0], "us");
	bench_print(median, us[count / 2], "us");
	bench_print(most, us[count - 1], "us");
}

static void breathe(void)
{
	for (int i = 0; i < 3; i++) {
		g_usleep(700 + (gulong)g_random_int_range(0, 600));
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
}

static void enable(struct bench *bench, const char *glob)
{
	struct rs_session_result result = {0};
	struct rs_error err = {0};

	check(rs_session_enable(bench->session, RS_OWNER_HOST, glob, &result, &err), &err);
	if (result.touched != 1 || result.problems)
		die("not all sites could be switched");
	rs_session_result_clear(&result);
}

static void disable(struct bench *bench, const char *glob)
{
	struct rs_error err = {0};

	check(rs_session_disable(bench->session, RS_OWNER_HOST, glob, NULL, &err), &err);
}

static void measure_batch(struct bench *bench)
{
	double on[BATCHES], off[BATCHES], pause[BATCHES];
	struct rs_source_stat stat;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t start = bench_now_ns(), end;

		enable(bench, "bench:many");
		end = bench_now_ns();
		on[i] = (double)(end - start) / 1000;
		rs_source_stat(rs_session_source(bench->session, 0), &stat);
		if (stat.sites_on < 1000)
			die("fewer than 1,000 sites are on");
		pause[i] = (double)stat.pause_last_ns / 1000;
		breathe();
		start = bench_now_ns();
		disable(bench, "bench:many");
		off[i] = (double)(bench_now_ns() - start) / 1000;
		breathe();
	}
	bench_print("sites", (double)stat.sites_on, "sites");
	print_spread("batch-on", on, BATCHES);
	print_spread("batch-off", off, BATCHES);
	print_spread("batch-pause", pause, BATCHES);
}

/* The second field of the last record of bench:two, which are all that there are. */
static uint32_t last_field(const RsTraceChunk *chunk)
{
	RsTracePageWalk walk;
	RsTracePageItem item;
	uint32_t fields[2] = {0};

	rs_trace_page_begin(&walk, chunk->page);
	do {
		item = rs_trace_page_next(&walk, chunk->page, chunk->to);
		if (item == RS_TRACE_PAGE_RECORD && walk.size >= sizeof(fields))
			memcpy(fields, chunk->page + walk.payload, sizeof(fields));
	} while (item == RS_TRACE_PAGE_RECORD || item == RS_TRACE_PAGE_MARK);
	return fields[1];
}

/*
 * True: there was a record. *still (may be NULL): for how long one of those who wrote them stood
 * still lately, in ticks.
 */
static bool look(RsTraceRing **reader, uint32_t count, uint32_t *still)
{
	bool any = false;

	for (uint32_t i = 0; i < count; i++) {
		RsTraceChunk chunk;

		if (rs_trace_ring_next(reader[i], bench_now_ns(), &chunk) != RS_TRACE_RING_DATA ||
		    !rs_trace_page_count(chunk.page, chunk.from, chunk.to, NULL))
			continue;
		any = true;
		if (still)
			*still = MAX(*still, last_field(&chunk));
	}
	return any;
}

static void settle(RsTraceRing **reader, uint32_t count)
{
	for (int i = 0; look(reader, count, NULL); i++)
		if (i > NEVER_SETTLES)
			die("events go on although they are off");
}

/* What the machine and its scheduler do to who runs through a site that nobody switches. */
static void measure_still(struct bench *bench, RsTraceRing **reader, uint32_t count)
{
	double still[FIRSTS];
	struct rs_source_stat stat;

	enable(bench, "bench:two");
	for (int i = 0; i < FIRSTS; i++) {
		uint32_t ticks = 0;
		uint64_t start;

		breathe();
		/* As long as an enable takes. */
		start = bench_now_ns();
		while (bench_now_ns() - start < ENABLE_NS)
			;
		while (look(reader, count, NULL))
			;
		while (!look(reader, count, &ticks))
			g_usleep(LOOK_US);
		rs_source_stat(rs_session_source(bench->session, 0), &stat);
		still[i] = (double)ticks * 1e6 / (double)stat.clock_hz;
	}
	disable(bench, "bench:two");
	print_spread("unswitched-still", still, FIRSTS);
}

struct first {
	RsTraceRing **reader;
	uint32_t count, ticks;
	uint64_t until, at; /* at: 0 if no event came until then */
};

/* As another process that reads. It sleeps between two looks: one that spins would take the guest's
 * CPU. */
static gpointer await_first(gpointer data)
{
	struct first *first = data;

	prctl(PR_SET_TIMERSLACK, 1ul);
	rs_prompt_thread();
	while (!look(first->reader, first->count, &first->ticks)) {
		if (bench_now_ns() > first->until)
			return NULL;
		g_usleep(LOOK_US);
	}
	first->at = bench_now_ns();
	return NULL;
}

static void measure_first(struct bench *bench)
{
	const RsTraceRegion *region = rs_source_region(rs_session_source(bench->session, 0));
	uint32_t count = region->header.ring_count;
	g_autofree RsTraceRing **reader = g_new0(RsTraceRing *, count);
	double first[FIRSTS], pause[FIRSTS], on[FIRSTS], still[FIRSTS];
	struct rs_source_stat stat;

	for (uint32_t i = 0; i < count; i++) {
		RsTraceRingConfig config = {.ring = i, .from = RS_TRACE_FROM_NOW};

		reader[i] = rs_trace_ring_new(region, &config, NULL);
		g_assert(reader[i]);
	}
	for (int i = 0; i < FIRSTS; i++) {
		struct first one = {reader, count, 0, bench_now_ns() + PATIENCE_NS, 0};
		GThread *thread;
		uint64_t start;

		breathe();
		settle(reader, count);
		thread = g_thread_new("reader", await_first, &one);
		breathe();
		start = bench_now_ns();
		enable(bench, "bench:two");
		on[i] = (double)(bench_now_ns() - start) / 1000;
		g_thread_join(thread);
		if (!one.at)
			die("no event came");
		if (one.at < start) {
			/* A late one, of before. */
			disable(bench, "bench:two");
			i--;
			continue;
		}
		first[i] = (double)(one.at - start) / 1000;
		rs_source_stat(rs_session_source(bench->session, 0), &stat);
		pause[i] = (double)stat.pause_last_ns / 1000;
		still[i] = (double)one.ticks * 1e6 / (double)stat.clock_hz;
		disable(bench, "bench:two");
	}
	print_spread("first", first, FIRSTS);
	print_spread("first-enable", on, FIRSTS);
	print_spread("first-pause", pause, FIRSTS);
	print_spread("first-still", still, FIRSTS);
	measure_still(bench, reader, count);
	for (uint32_t i = 0; i < count; i++)
		rs_trace_ring_free(reader[i]);
}

/* Waits until the program has described its events and runs through its sites. */
static void await_sites(struct bench *bench)
{
	uint64_t until = bench_now_ns() + PATIENCE_NS;

	for (;;) {
		g_autoptr(GArray) list = rs_session_list(bench->session, "bench:many");

		if (list->len && g_array_index(list, struct rs_session_event, 0).sites >= 1000 &&
		    g_array_index(list, struct rs_session_event, 0).live)
			return;
		if (bench->ended || bench_now_ns() > until)
			die("the sites did not appear");
		g_usleep(1000);
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
}

static int run_emit(const char *kernel)
{
	struct bench bench = {0};
	struct rs_regions *regions = make_regions(2, true);

	start(&bench, regions, make_kvm(regions, kernel, NULL, 2));
	pin_vcpus();
	g_main_loop_run(bench.loop);
	finish(&bench);
	return 0;
}

static int run_control(bool kvm, const char *program, const char *number)
{
	struct bench bench = {0};
	uint32_t count = (uint32_t)CLAMP(atoi(number), 1, 16);
	struct rs_regions *regions =
		make_regions(kvm ? count : (uint32_t)sysconf(_SC_NPROCESSORS_CONF), kvm);
	struct rs_target *target = kvm ? make_kvm(regions, program, "serve", count)
				       : make_hosted(regions, program, number);

	prctl(PR_SET_TIMERSLACK, 1ul); /* 50 us otherwise */
	start(&bench, regions, target);
	await_sites(&bench);
	measure_batch(&bench);
	measure_first(&bench);
	finish(&bench);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "emit") == 0)
		return run_emit(argv[2]);
	if (argc == 5 && strcmp(argv[1], "control") == 0)
		return run_control(strcmp(argv[2], "kvm") == 0, argv[3], argv[4]);
	fprintf(stderr, "usage: bench-session emit KERNEL | control kvm|hosted PROGRAM N\n");
	return 2;
}
