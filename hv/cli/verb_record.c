/* SPDX-License-Identifier: MIT */
/* `ringside record`: keeps a running session's trace in a file. */
#include "cli/observe.h"
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <rs-trace-live.h>
#include <rs-trace-pump.h>
#include <rs-trace-recorder.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ZSTD_LEVEL_MAX 19

struct recording {
	struct rs_observation observation;
	RsTracePump *pump;
	RsTraceSink *recorder; /* of the pump */
	RsTraceWriterConfig file;
	GPtrArray *infos; /* struct rs_file_source *, by source */
	const char *path;
	int fd;
	bool begun; /* sources may be read */
	bool reads; /* the pump does */
};

/* ---- the file ---- */

/* Whether one may write over what is there: nothing, an older trace, or what is no file. */
static bool is_ours(int fd)
{
	uint64_t magic = 0;
	struct stat info;
	ssize_t n;

	if (fstat(fd, &info) || !S_ISREG(info.st_mode))
		return true;
	n = pread(fd, &magic, sizeof(magic), 0);
	return n <= 0 || (n == sizeof(magic) && magic == RS_FILE_MAGIC);
}

/* Returns an exit code, after a message. */
static int open_file(struct recording *r, bool force)
{
	if (g_str_equal(r->path, "-")) {
		r->fd = STDOUT_FILENO;
		return isatty(r->fd)
			       ? rs_cli_fail(RS_CLI_USAGE, "a recording is not for a terminal")
			       : 0;
	}
	r->fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (r->fd < 0)
		r->fd = open(r->path, O_WRONLY | O_CLOEXEC); /* a pipe or a device, perhaps */
	if (r->fd < 0)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", r->path, g_strerror(errno));
	if (!force && !is_ours(r->fd))
		return rs_cli_fail(RS_CLI_FAILED,
				   "%s is no trace: --force writes over it, another -o does not",
				   r->path);
	if (ftruncate(r->fd, 0) && errno != EINVAL)
		return rs_cli_fail(RS_CLI_FAILED, "%s: %s", r->path, g_strerror(errno));
	return 0;
}

/* The wall's clock where the trace's clock is 0, and which boot of this machine it is. */
static void set_clock(RsTraceWriterConfig *file)
{
	g_autofree char *text = NULL;
	struct timespec wall;
	guint64 now, mono = (guint64)g_get_monotonic_time() * 1000;
	guint at = 0;

	clock_gettime(CLOCK_REALTIME, &wall);
	now = (guint64)wall.tv_sec * 1000000000 + (guint64)wall.tv_nsec;
	file->wall_ns = now - (mono - file->origin_ns);
	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
		return;
	for (const char *c = text; at < 2 * sizeof(file->host_boot) && *c; c++) {
		if (!g_ascii_isxdigit(*c))
			continue;
		file->host_boot[at / 2] |= (guint8)(g_ascii_xdigit_value(*c) << (at % 2 ? 0 : 4));
		at++;
	}
}

/* ---- sources ---- */

static void describe(gpointer source, struct rs_file_source *out, gpointer data)
{
	*out = *(struct rs_file_source *)source;
}

static void on_done(gpointer data)
{
	struct recording *r = data;

	g_main_loop_quit(r->observation.loop);
}

/* The first source tells the origin of time, which all of them share. */
static bool start(struct recording *r, const RsTraceRegion *region)
{
	RsTraceRecorderConfig config = {.describe = describe};
	RsTracePumpConfig pump = {.done = on_done, .data = r};
	g_autoptr(GOutputStream) stream = g_unix_output_stream_new(r->fd, FALSE);
	GError *error = NULL;

	r->file.origin_ns = region->header.origin_ns;
	set_clock(&r->file);
	config.stream = stream;
	config.file = r->file;
	r->recorder = pump.sink = rs_trace_recorder_new(&config, &error);
	if (!r->recorder) {
		rs_cli_fail(0, "%s: %s", r->path, error->message);
		g_error_free(error);
		return false;
	}
	r->pump = rs_trace_pump_new(&pump);
	return true;
}

/* Perhaps before any source is there. */
static void begin(void *data)
{
	struct recording *r = data;

	r->begun = true;
	if (r->pump && !r->reads) {
		r->reads = true;
		rs_trace_pump_start(r->pump);
	}
}

static int come(const char *name, const RsTraceClientSource *source, RsTraceRegion *region,
		RsTraceFrom from, void *data)
{
	struct recording *r = data;
	struct rs_file_source *info = g_new0(struct rs_file_source, 1);
	g_autoptr(GError) error = NULL;
	RsTraceSource *pages;
	int number;

	info->ring_page_size = region->header.ring_page_size;
	info->number = source->number;
	info->session_id = region->header.session_id;
	g_strlcpy(info->name, source->name, sizeof(info->name));
	g_ptr_array_add(r->infos, info);
	if (!r->pump && !start(r, region)) {
		rs_trace_region_free(region);
		return -1;
	}
	pages = rs_trace_live_new_take(region, from, RS_TRACE_LIVE_WHOLE, &error);
	if (!pages) {
		rs_cli_fail(0, "%s: %s", name, error->message);
		return -1;
	}
	number = (int)rs_trace_pump_add(r->pump, pages, info);
	if (r->begun)
		begin(r);
	return number;
}

static void gone(int number, void *data)
{
	rs_trace_pump_end(((struct recording *)data)->pump, (guint)number);
}

/* ---- the verb ---- */

static void tell(const RsTraceRecorderStats *stats, const char *path)
{
	g_autofree char *size = g_format_size_full(stats->bytes, G_FORMAT_SIZE_IEC_UNITS);

	g_printerr("%s: %s, %" G_GUINT64_FORMAT " pages, %" G_GUINT64_FORMAT " events lost\n", path,
		   size, stats->pages, stats->lost);
}

static int finish(struct recording *r)
{
	RsTraceRecorderStats stats;
	g_autoptr(GError) error = NULL;
	int code = RS_CLI_OK;

	if (!r->pump)
		return rs_cli_fail(RS_CLI_FAILED, "no source came, and nothing was recorded");
	rs_trace_pump_finish(r->pump);
	if (!rs_trace_recorder_result(r->recorder, &stats, &error))
		code = rs_cli_fail(RS_CLI_FAILED, "%s: %s: what was written by then can be read",
				   r->path, error->message);
	else if (r->observation.lost && !r->observation.stopped)
		code = rs_cli_fail(RS_CLI_FAILED, "the session went away");
	tell(&stats, r->path);
	return code;
}

static int record(struct recording *r, RsDBusSession1 *session, RsTraceFrom from, double duration)
{
	int code;

	r->infos = g_ptr_array_new_with_free_func(g_free);
	r->observation = (struct rs_observation){
		.come = come,
		.gone = gone,
		.begin = begin,
		.data = r,
	};
	rs_cli_observe(session, from, duration, &r->observation);
	code = finish(r);
	rs_trace_pump_free(r->pump);
	g_ptr_array_unref(r->infos);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *path = NULL;
	gboolean fresh = FALSE, force = FALSE;
	gint compression = 0;
	double duration = 0;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"output", 'o', 0, G_OPTION_ARG_FILENAME, &path,
		 "The file; - is standard output (ringside.trace)", "FILE"},
		{"force", 'f', 0, G_OPTION_ARG_NONE, &force, "Write over a file that is no trace",
		 NULL},
		{"zstd", 'z', 0, G_OPTION_ARG_INT, &compression,
		 "Compress pages, 1 (fast) to 19 (small); 0: do not", "LEVEL"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	struct recording r = {.fd = -1};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_check_limits(verb, 0, duration);
	if (code)
		return code;
	if (compression < 0 || compression > ZSTD_LEVEL_MAX)
		return rs_cli_usage(verb, "--zstd: a level, 0 to %d", ZSTD_LEVEL_MAX);
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	r.path = path ? path : "ringside.trace";
	r.file.compression = compression;
	code = open_file(&r, force);
	if (!code)
		code = record(&r, session, fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST,
			      duration);
	if (r.fd > STDERR_FILENO)
		close(r.fd);
	return code;
}

const struct rs_verb rs_verb_record = {
	.name = "record",
	.args = "[NAME]",
	.summary = "keep a running session's trace in a file",
	.details =
		"Keeps what the rings still hold and then what comes, until the session ends "
		"or Ctrl-C,\n"
		"without consuming it. `ringside report` shows the file. What was written before "
		"a crash\n"
		"can be read.",
	.run = run,
};
