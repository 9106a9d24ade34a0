/* SPDX-License-Identifier: MIT */
#include "rs-trace-directory.h"

static gboolean bad(GError **error, const char *what)
{
	g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION, "directory of regions: %s",
		    what);
	return FALSE;
}

static gboolean fits(guint64 offset, guint64 bytes, guint64 size)
{
	return offset >= RS_DIRECTORY_MIN_SIZE && offset % RS_STRIDE_ALIGN == 0 && offset <= size &&
	       bytes <= size - offset;
}

static guint64 entries_end(const struct rs_directory *head)
{
	return head->entries_offset + (guint64)head->entry_count * head->entry_stride;
}

static guint64 claims_end(const struct rs_directory *head)
{
	return head->claims_offset + (guint64)(head->entry_count + 1) * sizeof(guint64);
}

gboolean rs_trace_directory_take(const void *map, guint64 size, struct rs_directory *head,
				 GError **error)
{
	gboolean fields = rs_directory_take_head(head, map, size);

	if (head->magic != RS_DIRECTORY_MAGIC)
		return bad(error, "its magic is missing");
	if (head->abi_major != RS_ABI_MAJOR) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION,
			    "the directory of regions has ABI version %u.%u, this is %u.%u",
			    head->abi_major, head->abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
		return FALSE;
	}
	if (!fields || head->size > size)
		return bad(error, "sizes contradict each other");
	if (!head->entry_count || head->entry_count > RS_MAX_REGIONS ||
	    !rs_stride_fits(head->entry_stride, RS_DIRECTORY_ENTRY_MIN_SIZE))
		return bad(error, "impossible entries");
	if (!fits(head->entries_offset, (guint64)head->entry_count * head->entry_stride,
		  head->size) ||
	    !fits(head->claims_offset, claims_end(head) - head->claims_offset, head->size) ||
	    head->claims_offset % RS_REGION_ALIGN)
		return bad(error, "entries or claims lie badly");
	if (head->entries_offset < claims_end(head) && head->claims_offset < entries_end(head))
		return bad(error, "entries and claims overlap");
	return TRUE;
}

guint64 rs_trace_directory_end(const struct rs_directory *head)
{
	return RS_ALIGN_UP(MAX(entries_end(head), claims_end(head)), (guint64)RS_REGION_ALIGN);
}

gboolean rs_trace_directory_take_entry(const struct rs_directory *head, const void *shared,
				       struct rs_directory_entry *entry, GError **error)
{
	rs_take_record(entry, sizeof(*entry), shared, head->entry_stride);
	entry->name[sizeof(entry->name) - 1] = 0;
	if (entry->kind > RS_SOURCE_GIVEN)
		return bad(error, "an entry of unknown kind");
	if (entry->offset % RS_REGION_ALIGN || entry->offset < rs_trace_directory_end(head) ||
	    entry->offset > head->size || entry->size > head->size - entry->offset)
		return bad(error, "a region lies badly");
	return TRUE;
}
