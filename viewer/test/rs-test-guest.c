/* SPDX-License-Identifier: MIT */
#include "rs-test-guest-private.h"

#include "expect/rs-trace-setup.h"

#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 300000u

G_DEFINE_FINAL_TYPE(RsTestGuest, rs_test_guest, G_TYPE_OBJECT)

/* Options of `ringside run` that a guest may have; "memory" is --mem, as in a spec. */
static const char *const options[] = {"accel",  "append", "cpus",    "initrd",
				      "memory", "mode",   "regions", "ring-size"};

GType rs_test_end_get_type(void)
{
	static const GEnumValue values[] = {
		{RS_TEST_END_NONE, "RS_TEST_END_NONE", "none"},
		{RS_TEST_END_EXIT, "RS_TEST_END_EXIT", "exit"},
		{RS_TEST_END_STOPPED, "RS_TEST_END_STOPPED", "stopped"},
		{RS_TEST_END_TIMEOUT, "RS_TEST_END_TIMEOUT", "timeout"},
		{RS_TEST_END_PANIC, "RS_TEST_END_PANIC", "panic"},
		{RS_TEST_END_TRIPLE_FAULT, "RS_TEST_END_TRIPLE_FAULT", "triple-fault"},
		{RS_TEST_END_RESET, "RS_TEST_END_RESET", "reset"},
		{RS_TEST_END_FAULT, "RS_TEST_END_FAULT", "fault"},
		{0, NULL, NULL},
	};
	static gsize type;

	if (g_once_init_enter(&type))
		g_once_init_leave(&type, g_enum_register_static("RsTestEnd", values));
	return type;
}

/* ---- the object ---- */

static void wish_free(gpointer data)
{
	RsTestWish *wish = data;

	rs_trace_event_glob_free(wish->glob);
	g_free(wish);
}

static void rs_test_guest_init(RsTestGuest *guest)
{
	static guint number;

	guest->session_name =
		g_strdup_printf("rstest-%d-%u", (int)getpid(), g_atomic_int_add(&number, 1) + 1);
	guest->options = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	guest->globs = g_ptr_array_new_with_free_func(g_free);
	guest->filters = g_ptr_array_new_with_free_func(g_free);
	guest->wishes = g_ptr_array_new_with_free_func(wish_free);
	guest->engines = g_hash_table_new(NULL, NULL);
	guest->context = g_main_context_new();
	guest->timeout_ms = TIMEOUT_MS;
	guest->code = -1;
}

static void dispose(GObject *object)
{
	RsTestGuest *guest = RS_TEST_GUEST(object);

	rs_test_run_stop(guest);
	g_clear_object(&guest->session);
	/* What GDBus has left to be done there. */
	while (g_main_context_iteration(guest->context, FALSE))
		;
	g_clear_pointer(&guest->trace, rs_test_trace_free);
	if (guest->folder)
		rs_test_run_clear(guest);
	G_OBJECT_CLASS(rs_test_guest_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsTestGuest *guest = RS_TEST_GUEST(object);

	g_free(guest->kernel);
	g_strfreev(guest->hosted);
	g_strfreev(guest->said);
	g_hash_table_unref(guest->options);
	g_free(guest->wrong);
	g_ptr_array_unref(guest->globs);
	g_ptr_array_unref(guest->filters);
	g_ptr_array_unref(guest->wishes);
	g_free(guest->folder);
	g_free(guest->session_name);
	g_free(guest->end_text);
	g_main_context_unref(guest->context);
	g_hash_table_unref(guest->engines);
	G_OBJECT_CLASS(rs_test_guest_parent_class)->finalize(object);
}

static void rs_test_guest_class_init(RsTestGuestClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
}

RsTestGuest *rs_test_guest_new(void)
{
	return g_object_new(RS_TEST_TYPE_GUEST, NULL);
}

/* ---- what it is ---- */

void rs_test_guest_set_kernel(RsTestGuest *guest, const char *path)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && !guest->has_booted);
	g_free(guest->kernel);
	guest->kernel = g_strdup(path);
}

void rs_test_guest_set_demo(RsTestGuest *guest)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && !guest->has_booted);
	guest->demo = TRUE;
}

void rs_test_guest_set_hosted(RsTestGuest *guest, const char *const *argv)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && !guest->has_booted);
	g_strfreev(guest->hosted);
	guest->hosted = g_strdupv((char **)argv);
}

void rs_test_guest_set_option(RsTestGuest *guest, const char *name, const char *value)
{
	gboolean known = FALSE;

	g_return_if_fail(RS_TEST_IS_GUEST(guest) && name && !guest->has_booted);
	for (guint i = 0; i < G_N_ELEMENTS(options); i++)
		known |= g_str_equal(name, options[i]);
	if (!known && !guest->wrong)
		guest->wrong = g_strdup(name);
	if (value)
		g_hash_table_insert(guest->options, g_strdup(name), g_strdup(value));
	else
		g_hash_table_remove(guest->options, name);
}

void rs_test_guest_set_host_events(RsTestGuest *guest, gboolean on)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && !guest->has_booted);
	guest->host = on;
}

void rs_test_guest_set_timeout(RsTestGuest *guest, guint ms)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && ms && !guest->has_booted);
	guest->timeout_ms = ms;
}

void rs_test_guest_set_may_lose(RsTestGuest *guest, gboolean may_lose)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest));
	guest->may_lose = may_lose;
}

void rs_test_guest_set_folder(RsTestGuest *guest, const char *path)
{
	g_return_if_fail(RS_TEST_IS_GUEST(guest) && path && !guest->has_booted);
	g_free(guest->folder);
	guest->folder = g_strdup(path);
}

/* ---- as a spec says ---- */

static void take_setup(RsTestGuest *guest, const RsTraceSetup *setup)
{
	guest->said = g_strdupv(setup->args);
	guest->has_serial = !setup->is_program && !setup->no_console;
	guest->may_lose = setup->may_lose;
	guest->timeout_ms = (guint)CLAMP(setup->timeout_ns / 1000000, 1, G_MAXUINT);
	/* They were checked. */
	for (char **one = setup->enabled; one && *one; one++)
		rs_test_guest_enable(guest, *one, NULL);
	for (char **one = setup->filters; one && *one; one++)
		g_ptr_array_add(guest->filters, g_strdup(*one));
}

RsTestGuest *rs_test_guest_new_from_spec(const char *path, guint number, GError **error)
{
	GError *why = NULL;
	g_autoptr(RsTraceSpec) all = rs_trace_spec_load(path, NULL, &why);
	g_autoptr(RsTestGuest) guest = rs_test_guest_new();
	g_autoptr(RsTraceSpec) spec = NULL;
	g_autoptr(RsTraceSetup) setup = NULL;

	if (all && number >= rs_trace_spec_n_cases(all)) {
		g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_BAD_ARGUMENT,
			    "%s: it has %u cases, and none of number %u", path,
			    rs_trace_spec_n_cases(all), number);
		return NULL;
	}
	spec = all ? rs_trace_spec_new_case(all, number) : NULL;
	setup = spec ? rs_trace_setup_new(spec, NULL, &why) : NULL;
	if (setup) {
		take_setup(guest, setup);
		return g_steal_pointer(&guest);
	}
	g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_BAD_ARGUMENT, why->message);
	g_error_free(why);
	return NULL;
}

/* ---- its life ---- */

static gboolean check(const RsTestGuest *guest, GError **error)
{
	const char *why = NULL;

	if (guest->has_booted || guest->pid)
		why = "it has booted before";
	if (why) {
		g_set_error_literal(error, RS_TEST_ERROR, RS_TEST_ERROR_WRONG_TIME, why);
		return FALSE;
	}
	if (!!guest->said + guest->demo + !!guest->kernel + (guest->hosted && *guest->hosted) != 1)
		why = "a guest is one of kernel, demo and hosted";
	if (!why && !guest->wrong)
		return TRUE;
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_BAD_ARGUMENT, "%s%s",
		    why ? why : "there is no option ", why ? "" : guest->wrong);
	return FALSE;
}

gboolean rs_test_guest_boot(RsTestGuest *guest, GError **error)
{
	g_autofree char *path = NULL;
	gboolean booted;

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	if (!guest->said)
		guest->has_serial = !guest->hosted;
	if (!check(guest, error) || !rs_test_run_start(guest, error))
		return FALSE;
	g_main_context_push_thread_default(guest->context);
	booted = rs_test_session_connect(guest, error);
	g_main_context_pop_thread_default(guest->context);
	guest->has_booted = TRUE;
	if (!booted) {
		rs_test_run_stop(guest);
		return FALSE;
	}
	path = g_build_filename(guest->folder, RS_TEST_TRACE, NULL);
	guest->trace = rs_test_trace_new(path);
	return TRUE;
}

gboolean rs_test_is_booted(RsTestGuest *guest, GError **error)
{
	if (guest->trace)
		return TRUE;
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_WRONG_TIME, "the guest has not booted");
	return FALSE;
}

gboolean rs_test_guest_wait_end(RsTestGuest *guest, guint timeout_ms, GError **error)
{
	const gint64 deadline = rs_test_deadline(timeout_ms);

	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	if (!rs_test_is_booted(guest, error))
		return FALSE;
	while (!rs_test_run_has_ended(guest) && rs_test_pause(guest, deadline))
		;
	if (guest->has_ended)
		return rs_test_run_check(guest, error);
	g_set_error(error, RS_TEST_ERROR, RS_TEST_ERROR_TIMEOUT,
		    "the guest has not ended within %u ms", timeout_ms);
	return FALSE;
}

gboolean rs_test_guest_end(RsTestGuest *guest, GError **error)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), FALSE);
	if (!rs_test_is_booted(guest, error))
		return FALSE;
	rs_test_run_stop(guest);
	return rs_test_run_check(guest, error);
}

RsTestEnd rs_test_guest_get_end(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), RS_TEST_END_NONE);
	return guest->end;
}

int rs_test_guest_get_exit_code(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), -1);
	return guest->code;
}

const char *rs_test_guest_get_end_text(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), NULL);
	return guest->end_text;
}

const char *rs_test_guest_get_session(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), NULL);
	return guest->session_name;
}

const char *rs_test_guest_get_folder(RsTestGuest *guest)
{
	g_return_val_if_fail(RS_TEST_IS_GUEST(guest), NULL);
	return guest->folder;
}
