/* SPDX-License-Identifier: MIT */
/*
 * Gives a domain the device that a trace needs, and takes it away again: an ivshmem-plain device
 * whose memory is named as ours are. The domain has two definitions: of its run, and of its next
 * start. Either can have such a device, and they need not be the same.
 *
 * Thread: the domain's. Waits for libvirt, and for the guest where it has to take part.
 */
#ifndef RS_HV_LIBVIRT_PREPARE_H
#define RS_HV_LIBVIRT_PREPARE_H

#include "libvirt/domain.h"

#define RS_PREPARE_MIB_MAX 4096u

enum rs_prepare_action {
	RS_PREPARE_ADDED,
	RS_PREPARE_PRESENT, /* it was there: nothing was done */
	RS_PREPARE_REMOVED,
	RS_PREPARE_ABSENT, /* it was not there: nothing was done */
};

/* What a guest is waited for. */
enum rs_prepare_wait {
	RS_PREPARE_WAIT_TAKEN, /* that it gives the device a place */
	RS_PREPARE_WAIT_GONE,  /* that it lets the device go */
};

struct rs_prepare_wish {
	guint64 mib; /* a power of two, 1..RS_PREPARE_MIB_MAX; 0: what suits the domain */
	bool live;   /* in the run … */
	bool config; /* … and from the next start on. Neither: both, as far as there are such */
	bool remove;
	bool dry_run; /* only say what would be done */
	/* Called when such a wait, of `seconds` at most, has taken a second. May be NULL. */
	void (*waiting)(enum rs_prepare_wait what, guint seconds, void *data);
	void *data;
};

/* What was done to one definition. */
struct rs_prepared {
	bool inactive; /* of the next start, not of the run */
	enum rs_prepare_action action;
	char *name; /* of the memory; NULL: ABSENT */
	guint64 mib;
	char *element;        /* the XML that libvirt was given; NULL: none */
	char *before, *after; /* the whole XML; NULL: nothing was changed */
	struct rs_error err;  /* its code is 0, or it failed */
	char *note;           /* what else is to be known; NULL: nothing */
};

/* A file of shared memory that no definition has any more. */
struct rs_prepared_file {
	char *name;
	struct rs_error err; /* 0: it was removed. Or why not */
};

struct rs_preparation {
	GPtrArray *changes; /* of struct rs_prepared: the next start's first */
	GPtrArray *files;   /* of struct rs_prepared_file */
};

/*
 * Does what is wished. Goes on with the second definition when the first has failed. Errors, before
 * anything was done: -ENOTSUP the domain is none that can be traced; -EINVAL the wish; -ENOTCONN
 * it does not run; others as libvirt/domain.h has them. `out` is to be freed.
 */
int rs_prepare(struct rs_domain *domain, const struct rs_prepare_wish *wish,
	       struct rs_preparation **out, struct rs_error *err);
void rs_preparation_free(struct rs_preparation *preparation);

/* The first failure of a definition, or 0. */
int rs_preparation_failed(const struct rs_preparation *preparation, struct rs_error *err);

/* A size that suits a domain with so many vCPUs, in MiB: a power of two. */
guint64 rs_prepare_default_mib(guint cpus);

#endif
