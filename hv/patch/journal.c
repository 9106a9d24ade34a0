/* SPDX-License-Identifier: MIT */
/* The journal's file, see journal.h; recover.c plays it back. */
#include "patch/journal-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct rs_journal_header) == 40, "journal header");
_Static_assert(sizeof(struct rs_journal_record) == 80, "journal record");

#define MAX_RECORDS (2u * RS_MAX_SITES)

static uint64_t checksum(const void *data, size_t size)
{
	const uint8_t *at = data;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word;

		memcpy(&word, at + i, sizeof(word));
		hash = (hash ^ word) * 1099511628211u;
		hash ^= hash >> 32; /* the low bits of a product do not depend on the high ones */
	}
	return hash;
}

static uint64_t header_sum(const struct rs_journal_header *header)
{
	return checksum(header, offsetof(struct rs_journal_header, checksum));
}

static uint64_t record_sum(const struct rs_journal_record *record)
{
	return checksum(record, offsetof(struct rs_journal_record, checksum));
}

/* Writes all of it, or returns -errno. */
static int write_at(int fd, const void *data, size_t size, off_t at)
{
	const char *from = data;

	while (size) {
		ssize_t done = pwrite(fd, from, size, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO;
		from += done;
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

static int write_header(struct rs_journal *journal)
{
	int ret;

	journal->header.checksum = header_sum(&journal->header);
	ret = write_at(journal->fd, &journal->header, sizeof(journal->header), 0);
	if (!ret)
		journal->header_stale = false;
	return ret;
}

static int init_header(struct rs_journal *journal)
{
	journal->header = (struct rs_journal_header){
		.magic = RS_JOURNAL_MAGIC,
		.version = RS_JOURNAL_VERSION,
		.header_size = sizeof(journal->header),
	};
	return write_header(journal);
}

/* Reads records up to the first that is incomplete or has a wrong checksum: that is a torn tail. */
static void read_records(struct rs_journal *journal, off_t size)
{
	struct rs_journal_record record;
	off_t at = sizeof(struct rs_journal_header);

	for (; at + (off_t)sizeof(record) <= size; at += sizeof(record)) {
		if (pread(journal->fd, &record, sizeof(record), at) != (ssize_t)sizeof(record) ||
		    record.checksum != record_sum(&record))
			break;
		g_array_append_val(journal->records, record);
	}
	journal->in_file = journal->records->len;
}

static int read_file(struct rs_journal *journal, const char *path, struct rs_error *err)
{
	struct rs_journal_header *header = &journal->header;
	struct stat st;
	ssize_t got;
	int ret;

	if (fstat(journal->fd, &st))
		return rs_error_set(err, errno, "journal '%s': %s", path, g_strerror(errno));
	if (!S_ISREG(st.st_mode))
		return rs_error_set(err, EIO, "journal '%s' is not a file", path);
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return rs_error_set(err, EPERM,
				    "journal '%s' is not a file that only you can write", path);
	if (st.st_size >
	    (off_t)(sizeof(*header) + (uint64_t)MAX_RECORDS * sizeof(struct rs_journal_record)))
		return rs_error_set(err, EIO, "journal '%s' is too large", path);
	got = pread(journal->fd, header, sizeof(*header), 0);
	/* If the file ends inside its header, the writer died before anything was patched. */
	if (got >= 0 && got < (ssize_t)sizeof(*header)) {
		if (got && memcmp(header, &(uint64_t){RS_JOURNAL_MAGIC}, MIN((size_t)got, 8)))
			return rs_error_set(err, EIO, "'%s' is not a patch journal", path);
		ret = init_header(journal);
		return ret ? rs_error_set(err, -ret, "journal '%s': %s", path, g_strerror(-ret))
			   : 0;
	}
	if (got < 0 || header->magic != RS_JOURNAL_MAGIC || header->checksum != header_sum(header))
		return rs_error_set(err, EIO, "'%s' is not a patch journal", path);
	if (header->version != RS_JOURNAL_VERSION || header->header_size != sizeof(*header))
		return rs_error_set(err, EIO, "journal '%s' has version %u, not %u", path,
				    header->version, RS_JOURNAL_VERSION);
	read_records(journal, st.st_size);
	return 0;
}

/* Opens and locks the file. If its last user has just removed it, opens a new one. */
static int open_locked(const char *path, struct rs_error *err)
{
	for (int tries = 0; tries < 10; tries++) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		struct stat st;

		if (fd < 0)
			return rs_error_set(err, errno, "journal '%s': %s", path,
					    g_strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			close(fd);
			return rs_error_set(err, EBUSY, "journal '%s' is held by another session",
					    path);
		}
		if (!fstat(fd, &st) && st.st_nlink > 0)
			return fd;
		close(fd);
	}
	return rs_error_set(err, EBUSY, "journal '%s' keeps vanishing", path);
}

int rs_journal_open(const char *path, struct rs_journal **out, struct rs_error *err)
{
	struct rs_journal *journal;
	int ret, fd = open_locked(path, err);

	if (fd < 0)
		return fd;
	journal = g_new0(struct rs_journal, 1);
	journal->fd = fd;
	journal->path = g_strdup(path);
	journal->records = g_array_new(FALSE, FALSE, sizeof(struct rs_journal_record));
	ret = read_file(journal, path, err);
	if (ret) {
		journal->keep = true;
		rs_journal_close(journal);
		return ret;
	}
	*out = journal;
	return 0;
}

void rs_journal_close(struct rs_journal *journal)
{
	if (!journal)
		return;
	if (!journal->keep && journal->records->len == 0)
		unlink(journal->path);
	close(journal->fd);
	g_array_free(journal->records, TRUE);
	g_free(journal->path);
	g_free(journal);
}

uint32_t rs_journal_count(const struct rs_journal *journal)
{
	return journal->records->len;
}

uint32_t rs_journal_process(const struct rs_journal *journal, uint64_t *start)
{
	if (start)
		*start = journal->header.process_start;
	return journal->header.process;
}

void rs_journal_set_process(struct rs_journal *journal, uint32_t pid, uint64_t start)
{
	journal->header.process = pid;
	journal->header.process_start = start;
	journal->header_stale = true;
}

struct rs_journal_record rs_journal_record_of(enum rs_journal_kind kind, uint64_t root,
					      const struct rs_text_patch *patch)
{
	struct rs_journal_record record = {
		.at = patch->at.v,
		.at_phys = patch->at_phys.v,
		.next_phys = patch->next_phys.v,
		.root = root,
		.size = patch->size,
		.kind = kind,
	};

	memcpy(record.old_bytes, patch->old_bytes, patch->size);
	memcpy(record.new_bytes, patch->new_bytes, patch->size);
	return record;
}

int rs_journal_append(struct rs_journal *journal, struct rs_journal_record *records, size_t count,
		      struct rs_error *err)
{
	off_t end = (off_t)(sizeof(journal->header) + (size_t)journal->in_file * sizeof(*records));
	int ret = 0;

	if (!count)
		return 0;
	if (count > MAX_RECORDS - journal->in_file)
		return rs_error_set(err, EFBIG, "journal '%s' is full", journal->path);
	for (size_t i = 0; i < count; i++)
		records[i].checksum = record_sum(&records[i]);
	if (journal->header_stale)
		ret = write_header(journal);
	if (!ret)
		ret = write_at(journal->fd, records, count * sizeof(*records), end);
	/* No fsync. Written data outlives our process. The patched text is in this machine's memory
	 * and does not outlive the machine. An fsync would cost more than all else. */
	if (ret) {
		/* Some of the records may have reached the file. Cut them off if possible. */
		if (ftruncate(journal->fd, end))
			journal->keep = true;
		return rs_error_set(err, -ret, "journal '%s': %s", journal->path, g_strerror(-ret));
	}
	g_array_append_vals(journal->records, records, (guint)count);
	journal->in_file += (guint)count;
	return 0;
}

int rs_journal_keep(struct rs_journal *journal, const bool *keep, struct rs_error *err)
{
	struct rs_journal_record *all = (struct rs_journal_record *)journal->records->data;
	guint kept = 0, n = journal->records->len;

	for (guint i = 0; i < n; i++)
		kept += keep[i];
	if (!kept)
		return n ? rs_journal_clear(journal, err) : 0;
	/*
	 * The file still has the others, since a rewritten one could be torn. Their text holds
	 * nothing of ours, so a recovery finds nothing to do there.
	 */
	kept = 0;
	for (guint i = 0; i < n; i++)
		if (keep[i])
			all[kept++] = all[i];
	g_array_set_size(journal->records, kept);
	return 0;
}

int rs_journal_clear(struct rs_journal *journal, struct rs_error *err)
{
	if (ftruncate(journal->fd, sizeof(journal->header)))
		return rs_error_set(err, errno, "journal '%s': %s", journal->path,
				    g_strerror(errno));
	g_array_set_size(journal->records, 0);
	journal->in_file = 0;
	return 0;
}
