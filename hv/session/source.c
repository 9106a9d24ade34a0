/* SPDX-License-Identifier: MIT */
#include "session/faults_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- from the target ---- */

static void on_doorbell(void *data)
{
	struct rs_source *source = data;

	rs_session_say_doorbell(source->session);
}

void rs_source_set_ended(struct rs_source *source, const struct rs_target_end *end)
{
	if (source->ending)
		return;
	source->ending = true;
	/*
	 * Take what the guest wrote after the last poll. That may patch, and the target may end in
	 * that pause.
	 */
	rs_source_refresh(source);
	source->ended = true;
	rs_source_drop_faults(source);
	rs_source_forget_askings(source);
	rs_source_end_commands(source, "the guest has ended");
	rs_source_end_engines(source);
	source->patching = false;
	source->end = *end;
	source->end.text[sizeof(source->end.text) - 1] = 0;
	rs_source_keep_core(source, end->reason);
	if (end->reason == RS_END_PANIC && source->panicked && *source->panic)
		g_strlcpy(source->end.text, source->panic, sizeof(source->end.text));
	rs_publisher_set_flags(source->publisher, RS_CONTROL_STOP, 0);
	rs_host_note_detach(source, rs_end_reason_name(source->end.reason));
	if (rs_session_over(source->session))
		rs_session_end_host(source->session);
	/* After this nothing more may be said. A source that leaves others must wait its turn. */
	if (rs_session_over(source->session))
		rs_session_say_unsaid(source->session);
	rs_session_settle(source->session);
	rs_source_say_ended(source);
}

static void take_end(struct rs_source *source, const struct rs_target_end *end)
{
	/* A request to exit may still lie in its mailbox. */
	if (!source->ending && source->region->header.hcall_channel == RS_CHANNEL_MAILBOX)
		rs_source_poll_mailboxes(source);
	rs_source_set_ended(source, end);
}

static void on_ended(void *data, const struct rs_target_end *end)
{
	struct rs_source *source = data;

	if (source->ending || !rs_source_sites_busy(source)) {
		rs_turn_begin(&source->session->turn);
		take_end(source, end);
		return;
	}
	/* What its mailbox asks for, and what it registers, must not change the batch's sites. */
	source->end_waits = true;
	source->end = *end;
	rs_session_hurry(source->session);
}

void rs_source_take_waiting_end(struct rs_source *source)
{
	const struct rs_target_end end = source->end;

	if (!source->end_waits)
		return;
	source->end_waits = false;
	take_end(source, &end);
}

static void on_pause(void *data, enum rs_pause_step step)
{
	struct rs_source *source = data;
	const GPtrArray *sources = source->session->sources;

	rs_host_note_pause(source, step);
	/* All sources in the machine stop and go on with it. */
	for (guint i = 0; i < sources->len; i++) {
		struct rs_source *each = sources->pdata[i];

		if (each == source || each->machine == source)
			rs_clock_pause(each->clock, step);
	}
	if (source->held == source->target->held)
		return;
	source->held = source->target->held;
	source->session->stirred = true;
	rs_session_hurry(source->session);
}

/* What the guest described is of a boot that is over. Its agent reports with another one. */
static void on_reset(void *data, gint64 at)
{
	struct rs_source *source = data;

	if (source->ending)
		return;
	rs_turn_begin(&source->session->turn);
	rs_source_machine_reset(source, at);
}

static void on_panicked(void *data, gint64 at)
{
	if (!rs_source_is_past(data, at))
		rs_source_note_panic(data, "");
}

static void on_news(void *data, const char *text)
{
	rs_source_say(data, "%s", text);
}

static void on_ready(void *data)
{
	rs_source_sites_ready(data);
}

static bool nudge(void *data)
{
	return !rs_source_nudge(data, NULL);
}

/* ---- life ---- */

/* Names without a source's number that are remembered. Guests choose those of their processes. */
#define PLAIN_NAMES 256u

static bool name_used(const struct rs_session *session, const char *name)
{
	return g_hash_table_contains(session->names, name);
}

/* Whether it is one of the names that numbered() makes, for whatever source. */
static bool ends_in_number(const char *name)
{
	const char *end = name + strlen(name);

	while (end > name && g_ascii_isdigit(end[-1]))
		end--;
	return *end && end > name && end[-1] == '.';
}

/*
 * A name that no other source has had: it ends in the source's own number. Only the user can have
 * given it to another source.
 */
static char *numbered(const struct rs_session *session, const char *base, uint32_t number)
{
	char *name = g_strdup_printf("%s.%u", base, number);

	while (name_used(session, name)) {
		g_autofree char *before = name;

		name = g_strdup_printf("%s.%u", before, number);
	}
	return name;
}

static int choose_name(struct rs_session *session, const struct rs_source_config *config,
		       const struct rs_source *machine, uint32_t number, char **out,
		       struct rs_error *err)
{
	g_autofree char *base = NULL;
	int ret = config->name ? rs_session_check_name(config->name, err) : 0;

	if (!ret && config->name && name_used(session, config->name))
		ret = rs_error_set(err, EEXIST, "the session has a source '%s' already",
				   config->name);
	if (ret)
		return ret;
	base = config->name ? g_strdup(config->name)
			    : rs_session_name_for(config->kernel ? config->kernel : "");
	if (name_used(session, base) ||
	    (machine &&
	     (ends_in_number(base) || g_hash_table_size(session->names) >= PLAIN_NAMES))) {
		*out = numbered(session, base, number);
		return 0;
	}
	*out = g_strdup(base);
	g_hash_table_add(session->names, g_steal_pointer(&base));
	return 0;
}

static struct rs_publisher *make_publisher(RsTraceRegion *region, bool self_patch)
{
	struct rs_publisher_map map = {.event_capacity = region->header.event_capacity};

	map.control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	/* Whoever laid the memory out knows whether it is locked. */
	map.flags = rs_load(&map.control->flags) & RS_CONTROL_HELD;
	if (self_patch)
		map.flags |= RS_CONTROL_SELF_PATCH;
	map.event_ctl = rs_trace_region_section(region, RS_SEC_EVENT_CTL, NULL);
	map.filters = rs_trace_region_section(region, RS_SEC_FILTERS, &map.filters_size);
	if (region->header.section[RS_SEC_NATIVE].count >= map.event_capacity)
		map.native = rs_trace_region_section(region, RS_SEC_NATIVE, NULL);
	map.epochs = rs_trace_region_section(region, RS_SEC_CLOCK, NULL);
	map.epoch_capacity = region->header.section[RS_SEC_CLOCK].count;
	return rs_publisher_create(&map);
}

/* Held open: it may be replaced or removed while it runs. */
static int open_program(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* A link in /proc says more than its own name. */
static char *program_name(const char *path)
{
	char *target = g_file_read_link(path, NULL);

	return target ? target : g_strdup(path);
}

int rs_source_create(struct rs_session *session, const struct rs_source_config *config,
		     struct rs_source *machine, RsTraceRegion *region, struct rs_target *target,
		     struct rs_source **out, struct rs_error *err)
{
	struct rs_guest_info earlier;
	const struct rs_region_header *h = &region->header;
	struct rs_source *source;
	char *name;
	uint32_t number = session->sources_made + 1;
	int ret = choose_name(session, config, machine, number, &name, err);

	if (ret)
		return ret;
	source = g_new0(struct rs_source, 1);
	source->session = session;
	source->number = session->sources_made = number;
	source->machine = machine;
	source->name = name;
	source->kernel = g_strdup(config->kernel);
	source->journal = g_strdup(config->journal);
	source->via = g_strdup(config->via);
	source->self_asked = config->self_patch;
	source->program_fd = open_program(config->program);
	if (source->program_fd >= 0)
		source->program = program_name(config->program);
	source->symbols = rs_source_symbols_new();
	source->region = region;
	source->target = target;
	source->schema = rs_trace_schema_new();
	source->table = rs_trace_table_new(region);
	source->guest = rs_owner_new(RS_OWNER_GUEST);
	source->commands = rs_commands_new(source);
	source->natives = rs_natives_new();
	source->handles = g_hash_table_new(g_int64_hash, g_int64_equal);
	source->publisher = make_publisher(region, config->self_patch);
	source->clock = rs_clock_create(target, region, source->publisher, nudge, source);
	source->events = g_new0(struct event_state, h->event_capacity);
	source->providers = g_new0(struct rs_provider, h->section[RS_SEC_PROVIDERS].count);
	source->requests = rs_requests_create(region);
	/*
	 * A process that joins has recorded for this session alone. In a new region nobody has, and
	 * a look at all rings would cost memory.
	 */
	source->info_read = source->boot_after = g_get_monotonic_time();
	if (!machine && rs_trace_region_guest_info(region, &earlier, NULL)) {
		rs_source_sum_rings(source, &source->before);
		source->info.boot = earlier.boot;
	}
	ret = rs_source_sites_init(source, config->report, err);
	if (ret) {
		/* Not taken over. */
		source->region = NULL;
		source->target = NULL;
		rs_source_destroy(source);
		return ret;
	}
	rs_host_watch_patches(source);
	target->events = (struct rs_target_events){.data = source,
						   .hypercall = rs_source_hypercall,
						   .doorbell = on_doorbell,
						   .ended = on_ended,
						   .pause = on_pause,
						   .reset = on_reset,
						   .panicked = on_panicked,
						   .news = on_news,
						   .ready = on_ready};
	*out = source;
	return 0;
}

void rs_source_destroy(struct rs_source *source)
{
	if (!source)
		return;
	rs_source_sites_fini(source);
	if (source->target)
		source->target->ops->destroy(source->target);
	rs_clock_destroy(source->clock);
	rs_publisher_destroy(source->publisher);
	if (source->region) {
		for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity;
		     id++)
			rs_source_forget_event(source, id);
	}
	rs_source_drop_engines(source);
	rs_commands_free(source->commands);
	rs_natives_free(source->natives);
	rs_requests_destroy(source->requests); /* the guest's own still use it as their owner */
	rs_owner_free(source->guest);
	rs_trace_region_free(source->region);
	g_free(source->events);
	g_free(source->providers);
	rs_trace_schema_free(source->schema);
	rs_trace_table_free(source->table);
	g_free(source->name);
	g_free(source->overrun);
	g_free(source->kernel);
	g_free(source->journal);
	g_free(source->via);
	g_free(source->program);
	if (source->program_fd >= 0)
		close(source->program_fd);
	rs_source_symbols_free(source->symbols);
	g_free(source);
}

int rs_source_start(struct rs_source *source, struct rs_error *err)
{
	struct rs_target *target = source->target;
	int ret;

	if (source->started)
		return 0;
	source->started = true;
	rs_host_note_attach(source);
	rs_clock_start(source->clock, source->machine ? source->machine->clock : NULL);
	ret = target->ops->start(target, err);
	if (ret)
		source->started = false;
	return rs_source_result(source, ret, err);
}

static int put_back(struct rs_source *source, struct rs_error *err)
{
	int ret = rs_source_all_off(source, err);

	return ret ? ret : rs_source_sites_restore(source, err);
}

int rs_source_detach(struct rs_source *source, struct rs_error *err)
{
	int ret;

	if (!source->started || source->ended)
		return 0;
	rs_source_end_faults(source);
	ret = put_back(source, err);
	if (ret && source->target->let_run) {
		rs_source_resume(source, NULL);
		ret = put_back(source, err);
	}
	source->patching = false;
	rs_publisher_set_flags(source->publisher, RS_CONTROL_STOP, 0);
	rs_source_commit(source);
	rs_host_note_detach(source, "detached");
	rs_source_end_commands(source, "the session has ended");
	rs_source_end_engines(source);
	rs_source_refuse_requests(source);
	return rs_source_result(source, ret, err);
}

int rs_source_pause(struct rs_source *source, struct rs_error *err)
{
	int ret;

	if (!source->started || source->ended || source->paused || rs_source_joined(source))
		return 0;
	ret = rs_target_pause(source->target, err);
	source->paused = !ret;
	return rs_source_result(source, ret, err);
}

int rs_source_resume(struct rs_source *source, struct rs_error *err)
{
	int ret;

	if (!source->paused)
		return 0;
	ret = source->ended ? 0 : rs_target_resume(source->target, NULL, err);
	source->paused = ret != 0;
	return rs_source_result(source, ret, err);
}

void rs_source_ask_self_patch(struct rs_source *source)
{
	source->self_asked = true;
	rs_publisher_set_flags(source->publisher, RS_CONTROL_SELF_PATCH, 0);
	rs_source_commit(source);
}

/* ---- plain questions ---- */

/* By us, or by whoever else may. */
static bool stands_still(const struct rs_source *source)
{
	const struct rs_source *machine = source->machine;
	g_autofree char *host_path = machine ? rs_source_join_path(machine) : NULL;

	/* A guest's processes stand still with the guest; those of this host do not. */
	if (machine && !host_path && stands_still(machine))
		return true;
	return source->paused || source->stalled || source->target->held;
}

enum rs_session_state rs_source_state(const struct rs_source *source)
{
	if (source->ended)
		return RS_SESSION_ENDED;
	if (stands_still(source))
		return RS_SESSION_PAUSED;
	return source->hello ? RS_SESSION_RUNNING : RS_SESSION_WAITING;
}

const char *rs_end_reason_name(enum rs_end_reason reason)
{
	static const char *const names[] = {
		[RS_END_EXIT] = "exit",
		[RS_END_PANIC] = "panic",
		[RS_END_TRIPLE_FAULT] = "triple-fault",
		[RS_END_RESET] = "reset",
		[RS_END_KILLED] = "killed",
		[RS_END_GONE] = "gone",
		[RS_END_FAULT] = "fault",
	};

	return (unsigned int)reason < G_N_ELEMENTS(names) ? names[reason] : "unknown";
}

bool rs_source_runs(const struct rs_source *source)
{
	return source->started && !source->ended && !stands_still(source);
}

uint32_t rs_source_number(const struct rs_source *source)
{
	return source->number;
}

uint32_t rs_source_pid(const struct rs_source *source)
{
	return source->hello ? source->info.owner_pid : 0;
}

void rs_source_hold(struct rs_source *source)
{
	source->holds++;
}

void rs_source_release(struct rs_source *source)
{
	source->holds--;
}

struct rs_source *rs_source_machine(const struct rs_source *source)
{
	return source->machine;
}

bool rs_source_joined(const struct rs_source *source)
{
	return source->machine || rs_source_is_host(source);
}

const char *rs_source_name(const struct rs_source *source)
{
	return source->name;
}

const char *rs_source_kind(const struct rs_source *source)
{
	return source->target->ops->kind;
}

bool rs_source_is_program(const struct rs_source *source)
{
	return source->target->ops->is_program;
}

bool rs_source_is_native(const struct rs_source *source)
{
	const struct rs_source *runs = source->machine ? source->machine : source;

	return runs->target->ops->native;
}

const char *rs_source_architecture(const struct rs_source *source)
{
	static const char *const names[] = {[RS_ARCH_X86_64] = "x86_64",
					    [RS_ARCH_AARCH64] = "aarch64",
					    [RS_ARCH_RISCV64] = "riscv64"};

	return source->hello && source->info.arch < G_N_ELEMENTS(names) ? names[source->info.arch]
									: NULL;
}

uint32_t rs_source_arch(const struct rs_source *source)
{
	return source->hello ? source->info.arch : 0;
}

bool rs_source_self_patch(const struct rs_source *source)
{
	return source->hello && source->info.flags & RS_GUEST_SELF_PATCH;
}

const char *rs_source_kernel(const struct rs_source *source)
{
	return source->kernel;
}

const char *rs_source_via(const struct rs_source *source)
{
	return source->via;
}

const char *rs_source_writer(const struct rs_source *source)
{
	const char *writer = source->target->ops->writer;
	bool self =
		source->self_asked || (source->hello && source->info.flags & RS_GUEST_SELF_PATCH);

	return self || !writer ? "itself" : writer;
}

const char *rs_source_program(const struct rs_source *source)
{
	return source->program;
}

int rs_source_open_program(const struct rs_source *source, int *fd, struct rs_error *err)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", source->program_fd);
	int made;

	if (source->program_fd < 0)
		return rs_error_set(err, ENOTSUP, "what file runs there is not known");
	made = open(path, O_RDONLY | O_CLOEXEC);
	if (made < 0)
		return rs_error_set(err, errno, "%s: %s", source->program, g_strerror(errno));
	*fd = made;
	return 0;
}

const RsTraceRegion *rs_source_region(const struct rs_source *source)
{
	return source->region;
}

const struct rs_target *rs_source_target(const struct rs_source *source)
{
	return source->target;
}

const struct rs_target_end *rs_source_end(const struct rs_source *source)
{
	return source->ended ? &source->end : NULL;
}
