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
	struct rs_jump_target seen; /* the one that was decoded last */
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

/* What the entry itself says: appends the site, to be checked by check_text() later. */
static void read_entry(struct load *load, rs_gva_t entry, const struct rs_site *raw)
{
	struct rs_patch_site site = {.root = load->root, .provider = load->list->provider};
	struct rs_error why = {0};
	uint32_t id;
	rs_gva_t event;

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
	g_array_append_val(load->sites, site);
}

/* Many functions begin with the same instruction, which is what counts. */
static bool decoded_before(const struct load *load, const uint8_t *text, size_t size)
{
	return load->seen.size && load->seen.size <= size &&
	       !memcmp(load->seen.bytes, text, load->seen.size);
}

static bool check_text(struct load *load, struct rs_patch_site *site)
{
	uint8_t text[RS_SITE_BYTES], jump[RS_INSN_MAX];
	enum rs_site_text what;
	struct rs_error why = {0};
	size_t got;

	if (rs_page_reader_read(load->reader, site->at, text, sizeof(text), &site->at_phys, &why)) {
		refuse(load, site->at, site->event, "its text cannot be read", &why);
		return false;
	}
	if (rs_insn_check_site(site->at, site->target, text, &what, &why)) {
		refuse(load, site->at, site->event, "text", &why);
		return false;
	}
	if (rs_insn_jmp(site->at, site->target, text, &why)) {
		refuse(load, site->at, site->event, "target", &why);
		return false;
	}
	got = read_text(load, site->target, jump, sizeof(jump));
	if (!got) {
		refuse(load, site->at, site->event, "its target is not mapped", NULL);
		return false;
	}
	if (!decoded_before(load, jump, got) &&
	    rs_insn_check_target(site->target, jump, got, &load->seen, &why)) {
		refuse(load, site->at, site->event, "target", &why);
		return false;
	}
	site->seen = load->seen;
	site->on = what == RS_TEXT_JMP;
	return true;
}

/* ---- sites that are listed twice ---- */

static struct rs_patch_site *site_at(const GArray *sites, uint32_t i)
{
	return &g_array_index(sites, struct rs_patch_site, i);
}

static int compare_text(const struct rs_patch_site *a, const struct rs_patch_site *b)
{
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	return a->at.v < b->at.v ? -1 : a->at.v > b->at.v;
}

/* The new sites by text; of several with the same text, the one that was listed first is first. */
struct order {
	const GArray *sites;
	uint32_t count, *index; /* in sites */
	bool *known;            /* a known site has this one's text; of the first in a run */
};

static gint by_text(gconstpointer a, gconstpointer b, gpointer sites)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = compare_text(site_at(sites, i), site_at(sites, k));

	return order ? order : i < k ? -1 : i > k;
}

/* The first of the new sites, in their order, whose text is not before that of `site`. */
static uint32_t find_text(const struct order *order, const struct rs_patch_site *site)
{
	uint32_t from = 0, to = order->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (compare_text(site_at(order->sites, order->index[middle]), site) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool same_text(const struct order *order, uint32_t i, const struct rs_patch_site *site)
{
	return i < order->count && !compare_text(site_at(order->sites, order->index[i]), site);
}

/* The new sites of one text, in order from `from` to `end`. We tell of those that go, once. */
static void keep_first(struct load *load, const struct order *order, uint32_t from, uint32_t end)
{
	uint32_t keep = order->known[from] ? 0 : 1;
	char why[64];

	if (end - from == keep)
		return;
	g_snprintf(why, sizeof(why), "is listed %" PRIu32 " times", end - from + 1 - keep);
	refuse(load, site_at(load->sites, order->index[from])->at,
	       site_at(load->sites, order->index[from])->event, why, NULL);
	for (uint32_t i = from + keep; i < end; i++)
		site_at(load->sites, order->index[i])->event = 0;
}

/* The known sites, before `before`, are only passed over: there may be a million. */
static void refuse_repeated(struct load *load, guint before)
{
	struct order order = {.sites = load->sites, .count = load->sites->len - before};
	uint32_t end;

	if (!order.count)
		return;
	order.index = g_new(uint32_t, order.count);
	order.known = g_new0(bool, order.count);
	for (uint32_t i = 0; i < order.count; i++)
		order.index[i] = before + i;
	g_qsort_with_data(order.index, (gint)order.count, sizeof(*order.index), by_text,
			  load->sites);
	for (guint i = 0; i < before; i++) {
		uint32_t at = find_text(&order, site_at(load->sites, i));

		if (same_text(&order, at, site_at(load->sites, i)))
			order.known[at] = true;
	}
	for (uint32_t from = 0; from < order.count; from = end) {
		const struct rs_patch_site *first = site_at(load->sites, order.index[from]);

		for (end = from + 1; same_text(&order, end, first); end++)
			;
		keep_first(load, &order, from, end);
	}
	g_free(order.index);
	g_free(order.known);
}

/* Keeps those of the new sites, from `before` on, that are what they must be. */
static void check_new(struct load *load, guint before)
{
	guint kept = before;

	for (guint i = before; i < load->sites->len; i++) {
		struct rs_patch_site *site = site_at(load->sites, i);

		if (site->event && check_text(load, site))
			*site_at(load->sites, kept++) = *site;
	}
	g_array_set_size(load->sites, kept);
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
			read_entry(&load, at, &entry);
		}
		done += part;
	}
	if (!ret) {
		refuse_repeated(&load, before);
		check_new(&load, before);
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
