/* SPDX-License-Identifier: MIT */
/*
 * What the groups test, guest and trace of a case say: which guest is run, how it is traced, and
 * what goes with it. docs/testing.md has the meaning of each key. All values are checked, so that
 * what is wrong is told with its line before anything runs. It does not change once it is made.
 */
#ifndef RS_TRACE_SETUP_H
#define RS_TRACE_SETUP_H

#include "expect/rs-trace-spec.h"

G_BEGIN_DECLS

typedef struct {
	grefcount refs;
	GStrv tags;
	/* Shell commands of the host, before and after the guest; NULL: none. */
	char *setup, *teardown;
	GStrv fixtures;      /* paths of their files */
	guint64 timeout_ns;  /* the guest must have ended by then, if there is no duration … */
	guint64 duration_ns; /* … after which it is stopped; 0: there is none */
	guint64 disk;        /* bytes that the run may write */
	guint retries;       /* so often a test that failed is tried again */
	gboolean boot_once;  /* cases with the same arguments may share a run */
	gboolean is_program; /* no machine: what it prints is its console */
	gboolean keeps_core; /* the memory of a guest that ends badly */
	gboolean no_console; /* somebody else has it */
	char *libvirt;       /* the daemon's URI that it needs, "" for the default; NULL: none */
	gboolean needs_kvm;
	gboolean may_lose;
	GStrv enabled; /* globs */
	GStrv filters; /* "GLOB: EXPR" */
	/*
	 * Arguments of `ringside run` that say the rest of the guest and the trace, but times and
	 * files. They come last, as those of a program do.
	 */
	GStrv args;
} RsTraceSetup;

/*
 * Of a case. Paths are made from the spec's folder. NULL: RS_TRACE_SPEC_ERROR, also if a file is
 * not there, unless it is below one of the folders `later` (may be NULL), which a fixture makes.
 */
RsTraceSetup *rs_trace_setup_new(const RsTraceSpec *spec, const char *const *later, GError **error);
RsTraceSetup *rs_trace_setup_ref(RsTraceSetup *setup);
/* Accepts NULL. */
void rs_trace_setup_unref(RsTraceSetup *setup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceSetup, rs_trace_setup_unref)

/* The paths of [test] fixtures, made from the spec's folder, to be freed; NULL: *error is set. */
GStrv rs_trace_setup_fixtures(const RsTraceSpec *spec, GError **error);

G_END_DECLS

#endif
