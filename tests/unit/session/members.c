/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "members.h"

#include <fcntl.h>
#include <ringside/atomic.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const pool[] = {"take", "done", NULL};

static void on_added(void *data, struct rs_source *source)
{
	struct fixture *f = data;

	f->added++;
	f->newest = source;
	f->told_of_hello = false;
	g_assert_true(rs_source_joined(source));
}

static void on_gone(void *data, struct rs_source *source)
{
	struct fixture *f = data;

	f->gone++;
	g_assert_nonnull(rs_source_end(source));
	if (f->newest == source)
		f->newest = NULL;
}

static void on_hello(void *data, struct rs_source *source, const struct rs_guest_info *info)
{
	struct fixture *f = data;
	const uint32_t *words =
		rs_trace_region_section(rs_source_region(source), RS_SEC_EVENT_CTL, NULL);

	if (!rs_source_joined(source))
		return;
	f->hellos++;
	f->told_of_hello = true;
	/* Listeners are told before the source can have a record. */
	g_assert_cmpuint(words[FIRST], ==, 0);
}

static void on_message(void *data, const char *text)
{
	struct fixture *f = data;

	f->messages++;
	f->left_out += g_str_has_suffix(text, " left out");
	g_assert_cmpstr(text, !=, "");
	g_free(f->said);
	f->said = g_strdup(text);
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	struct fixture *f = data;

	f->ends++;
	f->end = *end;
}

void add_machine(struct fixture *f, int flags)
{
	const struct rs_region_config layout = {
		.vcpus = 1,
		.ring_bytes = 65536,
		.event_capacity = 256,
		.hcall_channel = RS_CHANNEL_MAILBOX,
		.control_flags = RS_CONTROL_SELF_PATCH,
	};
	const struct rs_regions_run users = {&layout, RS_SOURCE_USER, USERS};
	struct rs_region_config own = layout;
	const struct rs_regions_run kernel = {&own, RS_SOURCE_KERNEL, 1};
	const bool last = flags & MACHINE_LAST;
	const struct rs_regions_run runs[] = {last ? users : kernel, last ? kernel : users};
	struct rs_source_config config = {.kernel = "/boot/kern"};
	RsTraceRegion *region;

	if (flags & WITH_TEXT)
		own.control_flags = 0;
	if (flags & WITH_JOURNAL) {
		close(g_file_open_tmp("ringside-XXXXXX", &f->journal, NULL));
		config.journal = f->journal;
	}
	g_assert_cmpint(rs_regions_create(runs, 2, false, -1, &f->regions, NULL), ==, 0);
	f->size = rs_regions_size(f->regions);
	f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 rs_regions_fd(f->regions), 0);
	g_assert_true(f->memory != MAP_FAILED);
	g_assert_cmpint(rs_regions_map(f->regions, last ? USERS : 0, &region, NULL), ==, 0);
	f->sham = sham_on(region, flags & WITH_TEXT);
	f->listener = (struct rs_session_listener){
		.data = f,
		.added = on_added,
		.gone = on_gone,
		.hello = on_hello,
		.message = on_message,
		.ended = on_ended,
	};
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, &f->machine, NULL),
			==, 0);
	rs_session_add_memory(f->session, f->machine, f->regions, flags & SAME_HOST);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

void free_machine(struct fixture *f)
{
	sham_free(f->sham);
	munmap(f->memory, f->size);
	g_free(f->said);
	if (f->journal)
		unlink(f->journal);
	g_free(f->journal);
}

void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	add_machine(f, GPOINTER_TO_INT(data));
}

void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	free_machine(f);
}

gboolean too_late(gpointer data)
{
	g_error("nothing came in ten seconds");
	return G_SOURCE_REMOVE;
}

void run_rounds(int rounds)
{
	while (rounds--)
		g_main_context_iteration(NULL, TRUE);
}

int take(struct fixture *f, struct agent *agent, uint32_t pid)
{
	int ret;

	*agent = (struct agent){.f = f, .pid = pid, .fd = -1};
	ret = rs_directory_take(f->memory, f->size, RS_SOURCE_USER, pid, &agent->place);
	if (!ret)
		g_assert_cmpint(
			rs_regions_map(f->regions, agent->place.index, &agent->sham.region, NULL),
			==, 0);
	return ret;
}

void lock(struct agent *agent)
{
	g_autofree char *path =
		g_strdup_printf("/proc/self/fd/%d", rs_regions_fd(agent->f->regions));
	struct flock range = {.l_type = F_WRLCK, .l_start = (off_t)agent->place.offset, .l_len = 1};

	agent->fd = open(path, O_RDWR | O_CLOEXEC);
	g_assert_cmpint(fcntl(agent->fd, F_OFD_SETLK, &range), ==, 0);
}

void hello(struct agent *agent)
{
	sham_hello(&agent->sham, RS_GUEST_SELF_PATCH);
	sham_provider(&agent->sham, "pool", pool);
}

void forget(struct agent *agent)
{
	g_clear_pointer(&agent->sham.region, rs_trace_region_free);
	if (agent->fd >= 0)
		close(agent->fd);
	agent->fd = -1;
}

void leave(struct agent *agent)
{
	g_assert_cmpint(rs_directory_leave(agent->f->memory, agent->f->size, agent->place.index,
					   agent->pid),
			==, 0);
	forget(agent);
}

struct rs_source *come(struct fixture *f, struct agent *agent, uint32_t pid)
{
	uint32_t before = f->added;

	AWAIT(take(f, agent, pid) == 0);
	hello(agent);
	AWAIT(f->added > before);
	return f->newest;
}

uint32_t generation(struct fixture *f, uint32_t index)
{
	return (uint32_t)(rs_regions_claim(f->regions, index, 0) >> 32);
}

bool is_on(struct agent *agent, uint32_t nth)
{
	return sham_word(&agent->sham, FIRST + nth) & RS_EVENT_ENABLED;
}

struct rs_source *come_locked(struct fixture *f, struct agent *agent, uint32_t pid)
{
	uint32_t before = f->added;

	for (agent->place.index = 0;; agent->place.index++) {
		*agent = (struct agent){
			.f = f, .pid = pid, .fd = -1, .place.index = agent->place.index};
		g_assert_cmpint(
			rs_directory_look(f->memory, f->size, agent->place.index, &agent->place),
			==, 0);
		if (agent->place.free && agent->place.kind == RS_SOURCE_USER)
			break;
	}
	lock(agent);
	g_assert_cmpint(rs_directory_claim(f->memory, f->size, agent->place.index, pid), ==, 0);
	g_assert_cmpint(rs_regions_map(f->regions, agent->place.index, &agent->sham.region, NULL),
			==, 0);
	hello(agent);
	AWAIT(f->added > before);
	return f->newest;
}
