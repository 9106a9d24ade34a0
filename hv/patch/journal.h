/* SPDX-License-Identifier: MIT */
/*
 * The patch journal: a file that names the guest text that we are about to change. We write it
 * before the change, so that the next session can restore the text after this one was killed. It
 * holds only its header while nothing is patched.
 *
 * The file is one struct rs_journal_header, then struct rs_journal_record, each with a checksum. A
 * torn record at the end was never acted upon, and readers leave it out. The file is locked while
 * it is open: -EBUSY if another session has it. Session thread.
 *
 * Trust: the file is parsed as hostile input, so no bytes in it can harm this process. But they can
 * change guest text: recovery writes the old bytes of a record over its new ones, and a record may
 * name any bytes. So only the user whose session it is may write the file, who may write that text
 * anyway. A file that another user owns, or that others may write, is refused. Records of
 * tracepoint sites are restricted further: recovery only writes the NOP, and only over a JMP.
 */
#ifndef RS_HV_PATCH_JOURNAL_H
#define RS_HV_PATCH_JOURNAL_H

#include "patch/sites.h"
#include "target/target.h"

#define RS_JOURNAL_MAGIC 0x4c4e524a45444953ull
#define RS_JOURNAL_VERSION 2u

struct rs_journal_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t process_start; /* hosted: start time of `process` (clock ticks after boot) */
	uint32_t process;       /* hosted: pid whose text it is; 0: a machine's */
	uint32_t reserved;      /* 0 */
	uint64_t checksum;      /* FNV-1a over the 64-bit words before it */
};

enum rs_journal_kind {
	RS_JOURNAL_SITE = 1, /* a tracepoint site: the JMP over the NOP, in one aligned word */
	RS_JOURNAL_TEXT = 2, /* any patch */
};

/* One struct rs_text_patch. */
struct rs_journal_record {
	uint64_t at;        /* GVA */
	uint64_t at_phys;   /* GPA, 0 without physical addresses */
	uint64_t next_phys; /* GPA of the next page, if the patch goes on there; 0: it does not */
	uint64_t root;      /* page tables */
	uint8_t old_bytes[RS_TEXT_MAX];
	uint8_t new_bytes[RS_TEXT_MAX];
	uint32_t size;     /* of old and new, 1..RS_TEXT_MAX */
	uint32_t kind;     /* RS_JOURNAL_SITE or _TEXT */
	uint64_t checksum; /* FNV-1a over the 64-bit words before it */
};

/* What a recovery found. */
struct rs_journal_report {
	uint32_t records;
	uint32_t restored;    /* held our bytes; the old ones were restored */
	uint32_t untouched;   /* held the old bytes already */
	uint32_t left_alone;  /* held other bytes, or could not be read or written */
	uint32_t kept;        /* of these: may hold our bytes, so they stay in the journal */
	char first_left[160]; /* names the first of these, for people; empty: none */
};

struct rs_journal;

/*
 * Opens or makes the file (mode 0600, no symlink). Records of an earlier session are kept and can
 * be recovered. Errors: -EPERM others own the file or may write it; -EIO it is not a journal.
 */
int rs_journal_open(const char *path, struct rs_journal **out, struct rs_error *err);
/* Closes the file, and removes it if it holds no record. */
void rs_journal_close(struct rs_journal *journal);

uint32_t rs_journal_count(const struct rs_journal *journal);
/* The process of the records that were found at open. */
uint32_t rs_journal_process(const struct rs_journal *journal, uint64_t *start);
/* Sets whose text it is from now on. The next append writes it. */
void rs_journal_set_process(struct rs_journal *journal, uint32_t pid, uint64_t start);

/* `patch` as a record; append adds the checksum. */
struct rs_journal_record rs_journal_record_of(enum rs_journal_kind kind, uint64_t root,
					      const struct rs_text_patch *patch);

/* Writes `count` records and their checksums, so that they outlive this process. All or nothing. */
int rs_journal_append(struct rs_journal *journal, struct rs_journal_record *records, size_t count,
		      struct rs_error *err);

/* Forgets all records. */
int rs_journal_clear(struct rs_journal *journal, struct rs_error *err);

/*
 * Restores the old bytes of each record, if the text holds exactly its new bytes. Other bytes are
 * left alone, which is not a failure. Goes from the newest record to the oldest, in several pauses,
 * so that the guest never stands still for long. Then forgets the records, but for those whose text
 * could not be read or written. The target runs, or has not been started. On failure the journal
 * does not change.
 */
int rs_journal_recover(struct rs_journal *journal, struct rs_target *target,
		       struct rs_journal_report *report, struct rs_error *err);

/* The same. Records of which `is` is true are neither touched nor counted, and stay. */
struct rs_journal_exempt {
	bool (*is)(const void *data, const struct rs_journal_record *record);
	const void *data;
};
int rs_journal_recover_but(struct rs_journal *journal, struct rs_target *target,
			   const struct rs_journal_exempt *exempt, struct rs_journal_report *report,
			   struct rs_error *err);

#endif
