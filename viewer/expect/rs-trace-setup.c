/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-setup.h"

#include "filter/filter.h"
#include "filter/rs-trace-event-glob.h"

#include <ringside/directory.h>
#include <ringside/types.h>
#include <string.h>

#define NS_PER_MS 1000000u
#define DEFAULT_TIMEOUT_NS (30 * G_GUINT64_CONSTANT(1000000000))
#define DEFAULT_DISK ((guint64)1 << 30)
#define RETRIES_MAX 100u

/* What is being read. */
typedef struct {
	const RsTraceSpec *spec;
	const char *const *later;
	RsTraceSetup *setup;
	GPtrArray *args, *program; /* the latter come last */
	GError **error;
} Reading;

static gboolean has(const Reading *r, const char *group, const char *key)
{
	return rs_trace_spec_has(r->spec, group, key);
}

static gboolean blame(const Reading *r, const char *group, const char *key, const char *what)
{
	rs_trace_spec_blame(r->spec, group, key, r->error, "%s", what);
	return FALSE;
}

static void add(GPtrArray *args, const char *option, char *value)
{
	if (option)
		g_ptr_array_add(args, g_strdup(option));
	g_ptr_array_add(args, value);
}

/* Of a key that is there: the same for the run. */
static void add_key(const Reading *r, const char *group, const char *key, const char *option)
{
	add(r->args, option, rs_trace_spec_get(r->spec, group, key, NULL));
}

/* TRUE: the key is not there, or it is one of these. */
static gboolean take_choice(const Reading *r, const char *group, const char *key,
			    const char *const *choices, guint *which)
{
	return !has(r, group, key) ||
	       rs_trace_spec_choice(r->spec, group, key, choices, which, r->error);
}

static gboolean take_bool(const Reading *r, const char *group, const char *key, gboolean *out)
{
	static const char *const choices[] = {"false", "true", NULL};
	guint which = 0;

	if (!take_choice(r, group, key, choices, &which))
		return FALSE;
	*out = which == 1;
	return TRUE;
}

static gboolean take_number(const Reading *r, const char *group, const char *key, guint64 least,
			    guint64 most, guint64 *out)
{
	if (!has(r, group, key))
		return TRUE;
	if (!rs_trace_spec_number(r->spec, group, key, out, r->error))
		return FALSE;
	if (*out >= least && *out <= most)
		return TRUE;
	rs_trace_spec_blame(r->spec, group, key, r->error,
			    "this is %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT, least, most);
	return FALSE;
}

/* ---- paths ---- */

/* Files that it names are beside the spec, unless they have a whole path. To be freed. */
static char *beside(const RsTraceSpec *spec, const char *file)
{
	g_autofree char *folder = g_path_get_dirname(rs_trace_spec_path(spec));

	return g_path_is_absolute(file) ? g_strdup(file) : g_build_filename(folder, file, NULL);
}

static gboolean comes_later(const Reading *r, const char *path)
{
	for (const char *const *folder = r->later; folder && *folder; folder++) {
		if (g_str_has_prefix(path, *folder) && path[strlen(*folder)] == '/')
			return TRUE;
	}
	return FALSE;
}

/* The path of a file that must be there, to be freed. NULL: it is not. */
static char *take_file(const Reading *r, const char *key)
{
	g_autofree char *value = rs_trace_spec_get(r->spec, "guest", key, NULL);
	g_autofree char *path = beside(r->spec, value);

	if (comes_later(r, path) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
		return g_steal_pointer(&path);
	blame(r, "guest", key, "there is no such file");
	return NULL;
}

GStrv rs_trace_setup_fixtures(const RsTraceSpec *spec, GError **error)
{
	GStrv list;

	if (!rs_trace_spec_has(spec, "test", "fixtures"))
		return g_new0(char *, 1);
	list = rs_trace_spec_list(spec, "test", "fixtures", error);
	for (char **one = list; one && *one; one++) {
		char *path = beside(spec, *one);

		g_free(*one);
		*one = path;
	}
	return list;
}

/* ---- [test] ---- */

static gboolean take_time(const Reading *r, const char *group, const char *key, guint64 *ns)
{
	if (!has(r, group, key))
		return TRUE;
	if (!rs_trace_spec_duration(r->spec, group, key, ns, r->error))
		return FALSE;
	return *ns >= NS_PER_MS || blame(r, group, key, "a run takes a millisecond at least");
}

static gboolean take_test(const Reading *r)
{
	static const char *const boots[] = {"each", "once", NULL};
	RsTraceSetup *s = r->setup;
	guint64 retries = 0;
	guint boot = 0;

	s->timeout_ns = DEFAULT_TIMEOUT_NS;
	s->disk = DEFAULT_DISK;
	s->tags = rs_trace_spec_list(r->spec, "test", "tags", NULL);
	s->setup = rs_trace_spec_get(r->spec, "test", "setup", NULL);
	s->teardown = rs_trace_spec_get(r->spec, "test", "teardown", NULL);
	s->fixtures = rs_trace_setup_fixtures(r->spec, r->error);
	if (!s->fixtures || !take_time(r, "test", "timeout", &s->timeout_ns) ||
	    !take_number(r, "test", "retries", 0, RETRIES_MAX, &retries) ||
	    !take_choice(r, "test", "boot", boots, &boot))
		return FALSE;
	s->retries = (guint)retries;
	s->boot_once = boot == 1;
	return !has(r, "test", "disk") ||
	       rs_trace_spec_size(r->spec, "test", "disk", &s->disk, r->error);
}

/* ---- [guest] ---- */

/* Keys of [guest] that do not go with what it is. */
static gboolean refuse(const Reading *r, const char *const *keys, const char *why)
{
	for (; *keys; keys++) {
		if (has(r, "guest", *keys))
			return blame(r, "guest", *keys, why);
	}
	return TRUE;
}

static gboolean take_program(const Reading *r)
{
	static const char *const machine[] = {"accel", "memory", "append", "initrd", NULL};
	g_autofree char *hosted = rs_trace_spec_get(r->spec, "guest", "hosted", NULL), *path = NULL;
	g_autoptr(GError) why = NULL;
	g_auto(GStrv) program = NULL;

	if (!refuse(r, machine, "this is for kernels, not programs"))
		return FALSE;
	if (!g_shell_parse_argv(hosted, NULL, &program, &why))
		return blame(r, "guest", "hosted", why->message);
	r->setup->is_program = TRUE;
	path = beside(r->spec, *program);
	if (!comes_later(r, path) && (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
				      !g_file_test(path, G_FILE_TEST_IS_EXECUTABLE)))
		return blame(r, "guest", "hosted", "there is no such program");
	add(r->program, "--hosted", g_steal_pointer(&path));
	for (char **one = program + 1; *one; one++)
		add(r->program, NULL, g_strdup(*one));
	return TRUE;
}

static gboolean take_memory(const Reading *r)
{
	guint64 memory;

	if (has(r, "guest", "append"))
		add_key(r, "guest", "append", "--append");
	if (!has(r, "guest", "memory"))
		return TRUE;
	if (!rs_trace_spec_size(r->spec, "guest", "memory", &memory, r->error))
		return FALSE;
	add_key(r, "guest", "memory", "--mem");
	return TRUE;
}

static gboolean take_kernel(const Reading *r)
{
	static const char *const accels[] = {"auto", "kvm", "tcg", NULL};
	guint accel = 0;
	char *path;

	if (has(r, "guest", "initrd")) {
		path = take_file(r, "initrd");
		if (!path)
			return FALSE;
		add(r->args, "--initrd", path);
	}
	if (!take_choice(r, "guest", "accel", accels, &accel))
		return FALSE;
	r->setup->needs_kvm = accel == 1;
	if (has(r, "guest", "accel"))
		add_key(r, "guest", "accel", "--accel");
	return take_memory(r);
}

/* What nobody reads would never be found. */
static gboolean refuse_serial(const Reading *r)
{
	static const char *const keys[] = {"serial", "serial-never"};
	g_auto(GStrv) names = rs_trace_spec_named(r->spec, "expect");

	for (char **name = names; *name; name++) {
		g_autofree char *group = g_strconcat("expect ", *name, NULL);

		for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
			if (has(r, group, keys[i]))
				return blame(r, group, keys[i],
					     "the console of a domain that libvirt knows goes "
					     "where its XML says; that of a template is read");
		}
	}
	return TRUE;
}

static gboolean take_connection(const Reading *r)
{
	r->setup->libvirt = rs_trace_spec_get(r->spec, "guest", "connect", NULL);
	if (r->setup->libvirt)
		add_key(r, "guest", "connect", "--connect");
	else
		r->setup->libvirt = g_strdup("");
	return TRUE;
}

/* A domain that libvirt knows, and a template of one. */
static gboolean take_domain(const Reading *r)
{
	static const char *const not_here[] = {"accel", "initrd", NULL};
	static const char *const not_known[] = {"cpus", "memory", "append", NULL};
	g_autofree char *name = rs_trace_spec_get(r->spec, "guest", "domain", NULL);

	if (!refuse(r, not_here, "a domain's own XML says this") ||
	    !refuse(r, not_known, "this is for a template; a domain's own XML says it"))
		return FALSE;
	if (!*name || g_str_has_suffix(name, ".xml"))
		return blame(r, "guest", "domain",
			     "this is the name of a domain; a file is a template");
	r->setup->no_console = TRUE;
	add(r->args, "--domain", g_steal_pointer(&name));
	return take_connection(r) && refuse_serial(r);
}

static gboolean take_template(const Reading *r)
{
	static const char *const not_here[] = {"accel", "initrd", NULL};
	g_autofree char *path = NULL;

	if (!refuse(r, not_here, "a domain's own XML says this"))
		return FALSE;
	path = take_file(r, "template");
	if (!path)
		return FALSE;
	if (!g_str_has_suffix(path, ".xml"))
		return blame(r, "guest", "template", "the name of a template ends with .xml");
	add(r->args, "--domain", g_steal_pointer(&path));
	return take_connection(r) && take_memory(r);
}

static gboolean take_demo(const Reading *r)
{
	add(r->program, NULL, g_strdup("--demo"));
	return take_kernel(r);
}

static gboolean take_own_kernel(const Reading *r)
{
	char *path = take_file(r, "kernel");

	if (!path)
		return FALSE;
	add(r->program, NULL, path);
	return take_kernel(r);
}

/* Which one it is. */
static gboolean take_kind(const Reading *r)
{
	static const struct {
		const char *key;
		gboolean (*take)(const Reading *r);
	} kinds[] = {{"kernel", take_own_kernel},
		     {"demo", take_demo},
		     {"hosted", take_program},
		     {"domain", take_domain},
		     {"template", take_template}};
	gboolean (*take)(const Reading *r) = NULL;
	gboolean demo = FALSE;
	guint n = 0;

	if (!take_bool(r, "guest", "demo", &demo))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!has(r, "guest", kinds[i].key) || (kinds[i].take == take_demo && !demo))
			continue;
		take = kinds[i].take;
		n++;
	}
	if (n != 1)
		return blame(r, "guest", NULL,
			     "a guest is one of kernel, demo, hosted, domain and template");
	if (has(r, "guest", "connect") && take != take_domain && take != take_template)
		return blame(r, "guest", "connect", "this is for domain and template");
	return take(r);
}

static gboolean take_guest(const Reading *r)
{
	guint64 n;

	if (!take_number(r, "guest", "cpus", 1, RS_MAX_CPUS, &n) ||
	    !take_number(r, "guest", "regions", 0, RS_MAX_REGIONS - 1, &n))
		return FALSE;
	if (has(r, "guest", "cpus"))
		add_key(r, "guest", "cpus", "--cpus");
	if (has(r, "guest", "regions"))
		add_key(r, "guest", "regions", "--regions");
	return take_kind(r);
}

/* ---- [trace] ---- */

static gboolean blame_item(const Reading *r, const char *key, const char *item, guint at,
			   guint length, const char *what)
{
	rs_trace_spec_blame_part(r->spec, "trace", key, item, at, length, what, r->error);
	return FALSE;
}

static gboolean take_enable(const Reading *r)
{
	r->setup->enabled = rs_trace_spec_list(r->spec, "trace", "enable", NULL);
	if (r->setup->enabled && !*r->setup->enabled)
		return blame(r, "trace", "enable", "this enables nothing");
	for (char **one = r->setup->enabled; one && *one; one++) {
		g_autoptr(GError) why = NULL;
		g_autoptr(RsTraceEventGlob) glob = rs_trace_event_glob_new(*one, &why);

		if (!glob)
			return blame_item(r, "enable", *one, 0, (guint)strlen(*one), why->message);
	}
	return TRUE;
}

/* The host's own events, as far as nothing else says which of them. */
static void add_host(const Reading *r)
{
	g_autoptr(GStrvBuilder) all = g_strv_builder_new();

	g_ptr_array_add(r->args, g_strdup("--host"));
	for (char **one = r->setup->enabled; one && *one; one++) {
		if (g_str_has_prefix(*one, "host:"))
			return;
		g_strv_builder_add(all, *one);
	}
	g_strv_builder_add(all, "host:*");
	g_strfreev(r->setup->enabled);
	r->setup->enabled = g_strv_builder_end(all);
}

static gboolean take_filters(const Reading *r)
{
	r->setup->filters = rs_trace_spec_list(r->spec, "trace", "filter", NULL);
	for (char **one = r->setup->filters; one && *one; one++) {
		g_autofree char *glob = NULL, *expression = NULL;
		struct rs_filter_error mistake = {0};

		if (!rs_filter_split(*one, &glob, &expression) || !glob)
			return blame_item(r, "filter", *one, 0, (guint)strlen(*one),
					  "this is no GLOB: EXPRESSION");
		if (rs_filter_check(expression, &mistake))
			return blame_item(r, "filter", expression, mistake.at, mistake.length,
					  mistake.message);
	}
	return TRUE;
}

static gboolean take_trace(const Reading *r)
{
	static const char *const modes[] = {"overwrite", "drop", NULL};
	static const char *const losses[] = {"fails", "allowed", NULL};
	guint mode, loss = 0;
	gboolean host = FALSE;
	guint64 size;

	if (!take_time(r, "trace", "duration", &r->setup->duration_ns) || !take_enable(r) ||
	    !take_filters(r) || !take_choice(r, "trace", "mode", modes, &mode) ||
	    !take_choice(r, "trace", "loss", losses, &loss) ||
	    !take_bool(r, "trace", "core", &r->setup->keeps_core) ||
	    !take_bool(r, "trace", "host", &host))
		return FALSE;
	r->setup->may_lose = loss == 1;
	if (host)
		add_host(r);
	if (has(r, "trace", "mode"))
		add_key(r, "trace", "mode", "--mode");
	if (!has(r, "trace", "ring-size"))
		return TRUE;
	if (!rs_trace_spec_size(r->spec, "trace", "ring-size", &size, r->error))
		return FALSE;
	add_key(r, "trace", "ring-size", "--ring-size");
	return TRUE;
}

/* ---- all ---- */

static GStrv join(GPtrArray *first, GPtrArray *last)
{
	g_ptr_array_extend_and_steal(first, last);
	g_ptr_array_add(first, NULL);
	return (GStrv)g_ptr_array_free(first, FALSE);
}

RsTraceSetup *rs_trace_setup_new(const RsTraceSpec *spec, const char *const *later, GError **error)
{
	g_autoptr(RsTraceSetup) setup = g_new0(RsTraceSetup, 1);
	Reading r = {.spec = spec,
		     .later = later,
		     .setup = setup,
		     .args = g_ptr_array_new_with_free_func(g_free),
		     .program = g_ptr_array_new_with_free_func(g_free),
		     .error = error};
	gboolean good;

	g_ref_count_init(&setup->refs);
	good = rs_trace_spec_check(spec, error) && take_test(&r) && take_guest(&r) &&
	       take_trace(&r);
	setup->args = join(r.args, r.program);
	return good ? g_steal_pointer(&setup) : NULL;
}

RsTraceSetup *rs_trace_setup_ref(RsTraceSetup *setup)
{
	g_ref_count_inc(&setup->refs);
	return setup;
}

void rs_trace_setup_unref(RsTraceSetup *setup)
{
	if (!setup || !g_ref_count_dec(&setup->refs))
		return;
	g_strfreev(setup->tags);
	g_free(setup->setup);
	g_free(setup->libvirt);
	g_free(setup->teardown);
	g_strfreev(setup->fixtures);
	g_strfreev(setup->enabled);
	g_strfreev(setup->filters);
	g_strfreev(setup->args);
	g_free(setup);
}
