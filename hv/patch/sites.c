/* SPDX-License-Identifier: MIT */
/* Reading site lists, see sites.h. */
#include "patch/sites.h"

#include "target/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <ringside/record.h>
#include <string.h>

#define CHUNK 4096u     /* bytes of the list that are read at a time */
#define MAX_STRIDE 256u /* bytes of an entry of a later version */

struct load {
	struct rs_page_reader *reader;
	const struct rs_site_list *list;
	uint64_t root;
	GArray *sites;
	GArray *refused;
	uint64_t refused_count;
};

static void refuse(struct load *load, rs_gva_t at, uint32_t event, const char *what,
		   const struct rs_error *why)
{
	struct rs_site_refusal refusal = {
		.at = at,
		.provider = load->list->provider,
		.event = event,
	};

	load->refused_count++;
	if (load->refused->len >= RS_MAX_REFUSALS)
		return;
	g_snprintf(refusal.why, sizeof(refusal.why), "%s%s%s", what, why ? ": " : "",
		   why ? why->message : "");
	g_array_append_val(load->refused, refusal);
}

/* Address of a relative field: its own address + its value. */
static bool relative(uint64_t field, int32_t value, rs_gva_t *out)
{
	return !__builtin_add_overflow(field, (int64_t)value, &out->v) && out->v != 0;
}

/* Reads up to `size` bytes of text; fewer where the mapping ends. 0: none. */
static size_t read_text(struct load *load, rs_gva_t at, uint8_t *out, size_t size)
{
	size_t left = RS_PAGE_SIZE - at.v % RS_PAGE_SIZE;

	if (!rs_page_reader_read(load->reader, at, out, size, NULL, NULL))
		return size;
	if (left < size && !rs_page_reader_read(load->reader, at, out, left, NULL, NULL))
		return left;
	return 0;
}

static void load_one(struct load *load, rs_gva_t entry, const struct rs_site *raw)
{
	struct rs_patch_site site = {.root = load->root, .provider = load->list->provider};
	uint8_t text[RS_SITE_BYTES], jump[RS_INSN_MAX];
	enum rs_site_text what;
	struct rs_error why = {0};
	uint32_t id;
	rs_gva_t event;
	size_t got;

	if (!relative(entry.v + offsetof(struct rs_site, event), raw->event, &event) ||
	    !relative(entry.v + offsetof(struct rs_site, code), raw->code, &site.at) ||
	    !relative(entry.v + offsetof(struct rs_site, target), raw->target, &site.target)) {
		refuse(load, entry, 0, "entry points outside of the address space", NULL);
		return;
	}
	if (rs_page_reader_read(load->reader, event, &id, sizeof(id), NULL, &why)) {
		refuse(load, site.at, 0, "its event cannot be read", &why);
		return;
	}
	if (id == 0)
		return;
	if (raw->size != RS_SITE_BYTES) {
		refuse(load, site.at, id, "is not of the size that we write", NULL);
		return;
	}
	if (id < RS_FIRST_EVENT_ID || id >= RS_MAX_EVENTS) {
		refuse(load, site.at, 0, "its event has an impossible id", NULL);
		return;
	}
	site.event = (uint16_t)id;
	if (!rs_insn_in_one_word(site.at)) {
		refuse(load, site.at, id, "crosses an 8-byte boundary", NULL);
		return;
	}
	if (rs_page_reader_read(load->reader, site.at, text, sizeof(text), &site.at_phys, &why)) {
		refuse(load, site.at, id, "its text cannot be read", &why);
		return;
	}
	if (rs_insn_check_site(site.at, site.target, text, &what, &why)) {
		refuse(load, site.at, id, "text", &why);
		return;
	}
	if (rs_insn_jmp(site.at, site.target, text, &why)) {
		refuse(load, site.at, id, "target", &why);
		return;
	}
	got = read_text(load, site.target, jump, sizeof(jump));
	if (!got) {
		refuse(load, site.at, id, "its target is not mapped", NULL);
		return;
	}
	if (rs_insn_check_target(site.target, jump, got, &site.seen, &why)) {
		refuse(load, site.at, id, "target", &why);
		return;
	}
	site.on = what == RS_TEXT_JMP;
	g_array_append_val(load->sites, site);
}

static int check_list(const struct rs_site_list *list, uint32_t budget, struct rs_error *err)
{
	uint64_t bytes = (uint64_t)list->count * list->stride, end;

	if (list->stride < sizeof(struct rs_site) || list->stride > MAX_STRIDE ||
	    list->stride % sizeof(uint32_t))
		return rs_error_set(err, EINVAL, "provider %" PRIu32 ": sites of %" PRIu32 " bytes",
				    list->provider, list->stride);
	if (list->count > budget)
		return rs_error_set(err, E2BIG,
				    "provider %" PRIu32 ": %" PRIu32 " sites, only %" PRIu32
				    " more are accepted",
				    list->provider, list->count, budget);
	if (__builtin_add_overflow(list->at.v, bytes, &end))
		return rs_error_set(err, EINVAL, "provider %" PRIu32 ": site list wraps around",
				    list->provider);
	return 0;
}

int rs_sites_load(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		  GArray *sites, GArray *refused, uint64_t *refused_count, struct rs_error *err)
{
	struct load load = {.list = list, .sites = sites, .refused = refused};
	uint8_t chunk[CHUNK];
	guint before = sites->len, refused_before = refused->len;
	int ret = check_list(list, MIN(budget, RS_MAX_SITES), err);

	if (ret)
		return ret;
	load.root = list->root;
	load.reader = rs_page_reader_create(target, load.root);
	for (uint32_t done = 0; done < list->count && !ret;) {
		uint32_t part = MIN(CHUNK / list->stride, list->count - done);
		rs_gva_t at = {list->at.v + (uint64_t)done * list->stride};

		ret = rs_page_reader_read(load.reader, at, chunk, part * list->stride, NULL, err);
		if (ret) {
			rs_error_prefix(err, "provider %" PRIu32 ": site list", list->provider);
			break;
		}
		for (uint32_t i = 0; i < part; i++, at.v += list->stride) {
			struct rs_site entry;

			memcpy(&entry, chunk + i * list->stride, sizeof(entry));
			load_one(&load, at, &entry);
		}
		done += part;
	}
	rs_page_reader_destroy(load.reader);
	if (ret) {
		g_array_set_size(sites, before);
		g_array_set_size(refused, refused_before);
		return ret;
	}
	*refused_count += load.refused_count;
	return 0;
}
