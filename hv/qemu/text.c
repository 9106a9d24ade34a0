/* SPDX-License-Identifier: MIT */
/* The guest's memory and text. */
#include "qemu/private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

uint64_t rs_qemu_low_ram(const struct rs_qemu *qemu)
{
	return qemu->memory < 0xe0000000ull ? qemu->memory : 0xc0000000ull;
}

/* The offset of a guest-physical range in the RAM file, -1: not in RAM. For machine `pc`. */
static int64_t ram_at(const struct rs_qemu *qemu, uint64_t gpa, size_t size)
{
	uint64_t low = rs_qemu_low_ram(qemu);
	uint64_t high = qemu->memory - low;

	if (gpa < low && size <= low - gpa)
		return (int64_t)gpa;
	if (gpa >= 1ull << 32 && gpa - (1ull << 32) < high && size <= high - (gpa - (1ull << 32)))
		return (int64_t)(low + (gpa - (1ull << 32)));
	return -1;
}

static int read_guest(struct rs_qemu *qemu, uint64_t at, void *out, size_t size,
		      struct rs_error *err)
{
	int64_t offset;

	if (qemu->borrowed)
		return rs_guestmem_read(qemu->guestmem, rs_qemu_stopped_by(qemu), at, out, size,
					err);
	offset = ram_at(qemu, at, size);
	if (offset < 0)
		return rs_error_set(err, EFAULT, "no memory at guest-physical 0x%" PRIx64, at);
	memcpy(out, qemu->ram + offset, size);
	return 0;
}

int rs_qemu_read_phys(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
		      struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->borrowed && qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	return read_guest(qemu, at.v, out, size, err);
}

/* The gdb stub's writes of all patches. */
struct writes {
	struct rs_gdb_write *list; /* two for each patch at most */
	size_t *patch;             /* of each write */
	bool *bad;                 /* of each write */
	size_t count;
};

/* A patch outside the RAM is bad, and has no writes. */
static void list_patch(const struct rs_qemu *qemu, struct writes *writes, size_t index,
		       const struct rs_text_patch *patch, bool *bad)
{
	struct rs_text_piece pieces[2];
	unsigned int n = rs_text_pieces(patch, pieces);

	/* Of a guest that is not ours, what was compared just now is memory. */
	for (unsigned int k = 0; k < n && !qemu->borrowed; k++)
		*bad |= ram_at(qemu, pieces[k].at.v, pieces[k].size) < 0;
	for (unsigned int k = 0; k < n && !*bad; k++) {
		writes->patch[writes->count] = index;
		writes->list[writes->count++] = (struct rs_gdb_write){
			pieces[k].at.v, patch->new_bytes + pieces[k].offset, pieces[k].size};
	}
}

/* Reads what all these addresses hold. Without our memory or QEMU's, in one exchange. */
static int read_back(struct rs_qemu *qemu, const struct rs_gdb_read *reads, size_t count, bool *bad,
		     struct rs_error *err)
{
	if (qemu->borrowed && !rs_guestmem_is_direct(qemu->guestmem))
		return rs_gdb_read(qemu->gdb, reads, count, bad, err);
	for (size_t i = 0; i < count; i++)
		bad[i] = read_guest(qemu, reads[i].address, reads[i].out, reads[i].size, NULL) < 0;
	return 0;
}

/* The stub says OK also for memory that ignores the write. */
static int check_written(struct rs_qemu *qemu, const struct rs_gdb_write *writes, size_t count,
			 bool *bad, struct rs_error *err)
{
	g_autofree struct rs_gdb_read *reads = g_new(struct rs_gdb_read, count);
	g_autofree uint8_t *now = g_malloc(count * RS_TEXT_MAX);
	int rc;

	for (size_t i = 0; i < count; i++)
		reads[i] = (struct rs_gdb_read){writes[i].address, now + i * RS_TEXT_MAX,
						writes[i].size};
	rc = read_back(qemu, reads, count, bad, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		bad[i] |= memcmp(reads[i].out, writes[i].bytes, writes[i].size) != 0;
	return rc;
}

static int write_all(struct rs_qemu *qemu, const struct rs_text_patch *patches, size_t count,
		     bool *bad, struct rs_error *err)
{
	g_autofree struct rs_gdb_write *list = g_new(struct rs_gdb_write, 2 * count);
	g_autofree size_t *patch = g_new(size_t, 2 * count);
	g_autofree bool *failed = g_new0(bool, 2 * count), *other = g_new0(bool, 2 * count);
	struct writes writes = {list, patch, failed, 0};
	int rc;

	for (size_t i = 0; i < count; i++)
		list_patch(qemu, &writes, i, &patches[i], &bad[i]);
	rc = rs_gdb_write(qemu->gdb, list, writes.count, failed, err);
	if (rc == 0)
		rc = check_written(qemu, list, writes.count, other, err);
	for (size_t i = 0; i < writes.count && rc == 0; i++)
		bad[patch[i]] |= failed[i] || other[i];
	return rc;
}

/* Only of a guest that is not ours. */
int rs_qemu_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		      uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);
	g_autofree struct rs_gdb_read *reads = g_new(struct rs_gdb_read, 2 * count);
	g_autofree bool *bad = g_new0(bool, 2 * count);
	size_t n = 0;
	int rc;

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	for (size_t i = 0; i < count; i++) {
		struct rs_text_piece pieces[2];
		unsigned int parts = rs_text_pieces(&patches[i], pieces);

		for (unsigned int k = 0; k < parts; k++)
			reads[n++] = (struct rs_gdb_read){pieces[k].at.v, now[i] + pieces[k].offset,
							  pieces[k].size};
	}
	if (rs_qemu_stopped_by(qemu)) {
		rc = read_back(qemu, reads, n, bad, err);
	} else {
		rc = 0;
		for (size_t i = 0; i < n && rc == 0; i++)
			rc = read_guest(qemu, reads[i].address, reads[i].out, reads[i].size, err);
	}
	for (size_t i = 0; i < n && rc == 0; i++)
		if (bad[i])
			rc = rs_error_set(err, EFAULT, "no memory at guest-physical 0x%" PRIx64,
					  reads[i].address);
	return rc;
}

int rs_qemu_write_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		       bool *bad, struct rs_error *err)
{
	struct rs_qemu *qemu = rs_qemu_of(target);

	if (qemu->ended)
		return rs_error_set(err, ESRCH, "QEMU has ended");
	if (!rs_qemu_stopped_by(qemu))
		return rs_error_set(err, EPERM, "text is written only while paused");
	rs_monitor_drain(qemu->monitor);
	if (qemu->resumed_by_other)
		return rs_error_set(err, EBUSY,
				    "somebody let the guest run on while it was patched");
	return write_all(qemu, patches, count, bad, err);
}
