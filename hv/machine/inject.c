/* SPDX-License-Identifier: MIT */
#include "machine/inject.h"

#include "libvirt/qga.h"
#include "machine/domain.h"

#include <errno.h>
#include <string.h>

#define PROGRAM "ringside-guest"
#define PROGRAM_MAX ((gsize)16 << 20)
#define PREPARE_MS 20000
#define COPY_MS 30000
#define START_MS 40000
#define PRESENT 3 /* exit status: the kernel has an agent already */

#define PATHS "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"

/*
 * Makes a directory that is root's alone and in which programs may run, and says its name. The
 * agent makes files that anybody may write, so nobody else may reach them. Should we end before the
 * rest is done, the directory goes by itself.
 */
#define PREPARE                                                                                    \
	PATHS "if [ \"$(id -u)\" != 0 ]; then\n"                                                   \
	      "	echo 'its guest agent does not run as root' >&2; exit 1\n"                         \
	      "fi\n"                                                                               \
	      "if [ \"$(uname -s) $(uname -m)\" != 'Linux x86_64' ]; then\n"                       \
	      "	echo \"it is $(uname -s) on $(uname -m), not Linux on x86_64\" >&2; exit 1\n"      \
	      "fi\n"                                                                               \
	      "umask 077\n"                                                                        \
	      "for d in /run /tmp /var/tmp /dev/shm; do\n"                                         \
	      "	t=$(mktemp -d $d/ringside-XXXXXX 2>/dev/null) || continue\n"                       \
	      "	printf '#!/bin/sh\\n' >$t/try && chmod 700 $t/try\n"                               \
	      "	if $t/try 2>/dev/null; then\n"                                                     \
	      "		(sleep 120; rm -rf $t) >/dev/null 2>&1 </dev/null &\n"                            \
	      "		echo $t; exit 0\n"                                                                \
	      "	fi\n"                                                                              \
	      "	rm -rf $t\n"                                                                       \
	      "done\n"                                                                             \
	      "echo 'no program may run in /run, /tmp, /var/tmp or /dev/shm' >&2; exit 1\n"

/* Ends when the kernel can be traced. */
#define START                                                                                      \
	PATHS "chmod 700 \"$1/" PROGRAM "\" && \"$1/" PROGRAM "\" --session --wait 20\n"           \
	      "s=$?\n"                                                                             \
	      "rm -rf \"$1\"\n"                                                                    \
	      "exit $s\n"

static int read_program(const char *path, char **bytes, gsize *size, struct rs_error *err)
{
	GError *error = NULL;

	if (!g_file_get_contents(path, bytes, size, &error))
		return rs_error_take(err, ENOENT, error);
	if (*size <= PROGRAM_MAX)
		return 0;
	g_clear_pointer(bytes, g_free);
	return rs_error_set(err, EFBIG, "%s is larger than %u MiB", path,
			    (unsigned int)(PROGRAM_MAX >> 20));
}

/* A script, whose first argument is `place`, or which has none. */
static int run(struct rs_domain *domain, const char *script, const char *place, int timeout_ms,
	       struct rs_qga_run *out, struct rs_error *err)
{
	const char *argv[] = {"/bin/sh", "-c", script, "ringside", place, NULL};

	return rs_qga_run(domain, argv, timeout_ms, out, err);
}

/* What our program or a script has said. */
static const char *said_by(const struct rs_qga_run *run)
{
	return run->err + (g_str_has_prefix(run->err, PROGRAM ": ") ? strlen(PROGRAM ": ") : 0);
}

static int fail(const struct rs_qga_run *run, struct rs_error *err)
{
	const char *said = said_by(run);

	return rs_error_set(err, EIO, "the guest: %s", *said ? said : "a program has failed there");
}

/* One of those that PREPARE makes. The guest may say anything. */
static bool is_place(const char *text)
{
	return g_regex_match_simple("^/(run|tmp|var/tmp|dev/shm)/ringside-[A-Za-z0-9]{6}\\z", text,
				    0, 0);
}

static int prepare(struct rs_domain *domain, char **place, struct rs_error *err)
{
	struct rs_qga_run done;
	int ret = run(domain, PREPARE, NULL, PREPARE_MS, &done, err);

	if (ret)
		return ret;
	if (done.code)
		ret = fail(&done, err);
	else if (!is_place(done.out))
		ret = rs_error_set(err, EPROTO, "the guest agent answers nonsense");
	else
		*place = g_steal_pointer(&done.out);
	rs_qga_run_clear(&done);
	return ret;
}

static int start(struct rs_domain *domain, const char *place, GPtrArray *lines,
		 struct rs_error *err)
{
	struct rs_qga_run done;
	int ret = run(domain, START, place, START_MS, &done, err);

	if (ret)
		return ret;
	if (done.code && done.code != PRESENT)
		ret = fail(&done, err);
	else
		g_ptr_array_add(lines, g_strdup_printf("the guest: %s", said_by(&done)));
	rs_qga_run_clear(&done);
	return ret;
}

static int put_and_start(struct rs_domain *domain, const char *bytes, gsize size, GPtrArray *lines,
			 struct rs_error *err)
{
	g_autofree char *place = NULL, *path = NULL;
	int ret = rs_qga_check(domain, err);

	if (!ret)
		ret = prepare(domain, &place, err);
	if (ret)
		return ret;
	path = g_build_filename(place, PROGRAM, NULL);
	ret = rs_qga_put(domain, path, bytes, size, COPY_MS, err);
	return ret ? ret : start(domain, place, lines, err);
}

int rs_machine_inject(const char *via, const char *program, GPtrArray *lines, struct rs_error *err)
{
	g_autofree char *bytes = NULL, *uri = NULL, *uuid = NULL;
	struct rs_domain *domain = NULL;
	gsize size = 0;
	int ret;

	if (!rs_machine_split_domain(via, &uri, &uuid))
		return rs_error_set(err, ENOTSUP,
				    "--inject needs the guest agent of a domain of libvirt");
	ret = read_program(program, &bytes, &size, err);
	if (!ret)
		ret = rs_domain_open(uri, uuid, NULL, RS_DOMAIN_TIMEOUT_MS, &domain, err);
	if (!ret)
		ret = put_and_start(domain, bytes, size, lines, err);
	rs_domain_close(domain);
	return ret;
}
