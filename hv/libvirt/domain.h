/* SPDX-License-Identifier: MIT */
/*
 * A domain of libvirt: a connection to its daemon, the one domain that is asked for, what is asked
 * of it, and what happens to it.
 *
 * libvirt's calls wait for a daemon that may not answer. So each runs on a thread of the domain's
 * own, one after the other, and a caller here waits for at most the time that it gives. A call that
 * took too long goes on there, and its answer is dropped.
 *
 * Thread: the session's (that of the GMainContext given at open). What happened is told there too.
 * Trust: the daemon may say anything, and so may a QEMU through it. Texts are bounded here, and are
 * to be escaped before they are printed.
 *
 * libvirt is loaded by the first call: who does not use it does not need it.
 *
 * Errors of all functions: -ETIMEDOUT no answer in time; -EAGAIN a call that took too long is still
 * at work; -EPIPE the daemon has gone away, and is looked for; -EACCES it refuses us; -ENOENT it
 * has no such domain; -ENOTCONN the domain does not run; -EIO any other, in libvirt's words.
 */
#ifndef RS_HV_LIBVIRT_DOMAIN_H
#define RS_HV_LIBVIRT_DOMAIN_H

#include "base/error.h"
#include <glib.h>
#include <stdbool.h>

struct rs_domain;

#define RS_DOMAIN_TIMEOUT_MS 15000    /* for one call that does not need the guest */
#define RS_DOMAIN_START_MS 60000      /* to start one, or force it off */
#define RS_DOMAIN_DUMP_MS 120000      /* to write its memory */
#define RS_DOMAIN_TEXT_MAX (4u << 20) /* bytes of XML, or of QEMU's answer */

/*
 * Connects and looks the domain up. `uri`: NULL for what virsh would take:
 * VIRSH_DEFAULT_CONNECT_URI, LIBVIRT_DEFAULT_URI, libvirt's own choice. `name`: a number that is
 * the id of a domain that runs, a UUID, or a name, tried in this order, as virsh does. `context`:
 * NULL for the thread's default. Errors besides: -ENOPKG libvirt is not installed; -EREMOTE the URI
 * is one of another host; -ECONNREFUSED nobody listens.
 */
int rs_domain_open(const char *uri, const char *name, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err);
/*
 * Makes a domain that is gone when it ends, and starts it, paused. libvirt's daemon ends it when
 * this connection is closed, also because we were killed. After the daemon itself was away, nobody
 * does that but rs_domain_destroy(). Errors besides: as rs_domain_open(); -ENOTSUP the URI is not
 * one of QEMU.
 */
int rs_domain_make(const char *uri, const char *xml, GMainContext *context, int timeout_ms,
		   struct rs_domain **out, struct rs_error *err);
/* Starts one that is off in the same way. -ENOTCONN: it runs already. */
int rs_domain_start(struct rs_domain *domain, int timeout_ms, struct rs_error *err);
/* Forces it off. `timeout_ms` 0: does not wait until it is, nor tells whether that works. */
int rs_domain_destroy(struct rs_domain *domain, int timeout_ms, struct rs_error *err);
/*
 * Has libvirt write its memory into a file, as an ELF core. Where the daemon is another user's, the
 * file is that user's, who has to be allowed to make it. QEMU's own command is not for us: at its
 * end libvirt 9.0 crashes, unless it has given that command itself.
 */
int rs_domain_dump(struct rs_domain *domain, const char *path, int timeout_ms,
		   struct rs_error *err);
/* Nothing is told from now on. Waits a little for a call that is at work. NULL is accepted. */
void rs_domain_close(struct rs_domain *domain);

/* They do not change, and belong to the domain. The UUID is in the usual form of 36 characters. */
const char *rs_domain_name(const struct rs_domain *domain);
const char *rs_domain_uuid(const struct rs_domain *domain);
/* As libvirt says it, so never NULL. */
const char *rs_domain_uri(const struct rs_domain *domain);
/* Whether QEMU runs it, and not, say, a container. */
bool rs_domain_is_qemu(const struct rs_domain *domain);

enum rs_domain_state {
	RS_DOMAIN_OFF,
	RS_DOMAIN_RUNNING,
	RS_DOMAIN_PAUSED, /* by whomever, also as it has crashed or sleeps */
};

struct rs_domain_status {
	enum rs_domain_state state;
	bool persistent; /* it has a definition that outlasts its run */
	int id;          /* of this run; -1: it does not run */
};

int rs_domain_look(struct rs_domain *domain, struct rs_domain_status *out, struct rs_error *err);

/* Its XML, to be freed: of the run, or of the next start if `inactive`. */
int rs_domain_read_xml(struct rs_domain *domain, bool inactive, char **out, struct rs_error *err);

/*
 * Adds a device to the run, or to what is started next if `inactive`; takes it away. libvirt
 * returns from taking it away before the guest has let it go.
 */
int rs_domain_attach_device(struct rs_domain *domain, const char *xml, bool inactive,
			    struct rs_error *err);
int rs_domain_detach_device(struct rs_domain *domain, const char *xml, bool inactive,
			    struct rs_error *err);

/*
 * Has QEMU carry out one line of JSON, and returns its whole answer, to be freed: an object with
 * "return" or "error".
 */
int rs_domain_command(struct rs_domain *domain, const char *json, int timeout_ms, char **reply,
		      struct rs_error *err);
/*
 * The same, without a wait. `done` is called once, on the domain's thread with the answer, or with
 * NULL and the error. If the domain is closed first, it is called with NULL, and on any thread.
 * `fd` goes to QEMU with the command ("getfd"), and stays the caller's; -1: none.
 */
typedef void (*rs_domain_answer_fn)(void *data, const char *reply, const struct rs_error *err);
int rs_domain_command_async(struct rs_domain *domain, const char *json, int fd,
			    rs_domain_answer_fn done, void *data, struct rs_error *err);

/*
 * Has QEMU's agent in the guest carry out one line of JSON, and returns its answer, to be freed.
 * libvirt/qga.h makes the lines. Errors besides: -EHOSTUNREACH there is no agent, or it does not
 * answer for `timeout_s`, which is from 1 to 60.
 */
int rs_domain_ask_agent(struct rs_domain *domain, const char *json, int timeout_s, char **answer,
			struct rs_error *err);

/* What happened to it. */
enum rs_domain_change {
	RS_DOMAIN_STARTED,
	RS_DOMAIN_STOPPED, /* `detail`: why */
	RS_DOMAIN_CRASHED, /* the guest has panicked, or its QEMU failed. STOPPED may follow */
	RS_DOMAIN_REBOOTED,
	RS_DOMAIN_SUSPENDED,
	RS_DOMAIN_RESUMED,
	RS_DOMAIN_MIGRATED,       /* away. STOPPED does not follow */
	RS_DOMAIN_DEVICE_ADDED,   /* `detail`: its alias */
	RS_DOMAIN_DEVICE_REMOVED, /* likewise */
	RS_DOMAIN_LOST,           /* the daemon: nothing is heard until … */
	RS_DOMAIN_FOUND, /* … it is there again. What was missed is told first, as far as known */
};

/*
 * Begins to listen; once. `changed` is called by the context, or while rs_domain_take() takes what
 * has arrived. `detail` is a short text, never NULL.
 */
typedef void (*rs_domain_changed_fn)(void *data, enum rs_domain_change change, const char *detail);
int rs_domain_listen(struct rs_domain *domain, rs_domain_changed_fn changed, void *data,
		     struct rs_error *err);
/* Nobody is told any more what happens. */
void rs_domain_unlisten(struct rs_domain *domain);
/* Tells the next thing that has arrived: a change, an answer, an event of QEMU. False: nothing. */
bool rs_domain_take(struct rs_domain *domain);
/* Waits until something has arrived. False: nothing in that time. */
bool rs_domain_wait(struct rs_domain *domain, int timeout_ms);
/* Whether the daemon is there, as far as is known. */
bool rs_domain_connected(const struct rs_domain *domain);

#endif
