/* SPDX-License-Identifier: MIT */
/* Reading site lists, see sites.h. */
#include "patch/sites.h"

#include "patch/hash-private.h"
#include "target/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <ringside/record.h>
#include <string.h>

#define CHUNK 4096u      /* bytes of the list that are read at a time */
#define MAX_STRIDE 256u  /* bytes of an entry of a later version */
#define KNOWN_AT_ONCE 8u /* known sites that are passed over in the time of one check */
#define SLOW_MAX 4u      /* rs_target.slow_reads of a step, and those of one site */

/*
 * All entries are read, then those with the same text are found, among themselves and among the
 * known sites, then texts are checked.
 */
enum phase { READ, COMPARE, KNOWN, CHECK };

struct rs_site_load {
	struct rs_target *target;
	struct rs_site_list list;
	enum phase phase;
	uint32_t next;       /* in this phase: the next entry of the list, of `found` or `sites` */
	GArray *found;       /* struct rs_patch_site: what the entries say */
	GArray *called;      /* struct rs_site_called */
	struct texts *texts; /* from COMPARE on */
	GArray *refused;     /* while a step is done, as the reader */
	uint64_t refused_count;
	uint64_t slow_before; /* the target's slow_reads when this step began */
	struct rs_page_reader *reader;
	struct rs_jump_target seen; /* the one that was decoded last */
};

static void refuse(struct rs_site_load *load, rs_gva_t at, uint32_t event, const char *what,
		   const struct rs_error *why)
{
	struct rs_site_refusal refusal = {
		.at = at,
		.provider = load->list.provider,
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
static size_t read_text(struct rs_site_load *load, rs_gva_t at, uint8_t *out, size_t size)
{
	size_t left = RS_PAGE_SIZE - at.v % RS_PAGE_SIZE;

	if (!rs_page_reader_read(load->reader, at, out, size, NULL, NULL))
		return size;
	if (left < size && !rs_page_reader_read(load->reader, at, out, left, NULL, NULL))
		return left;
	return 0;
}

/* Whoever has no such word has no callbacks. */
static void read_called(struct rs_site_load *load, rs_gva_t event, uint32_t id)
{
	const struct rs_site_called *last =
		load->called->len
			? &g_array_index(load->called, struct rs_site_called, load->called->len - 1)
			: NULL;
	struct rs_site_called called = {.event = id};
	uint32_t word;

	if ((last && last->event == id) ||
	    __builtin_add_overflow(event.v, RS_EVENT_CALLED_AT, &event.v) ||
	    rs_page_reader_read(load->reader, event, &word, sizeof(word), NULL, NULL))
		return;
	called.number = (uint16_t)(word >> 16);
	if (word & UINT16_MAX)
		g_array_append_val(load->called, called);
}

/* The event that a site names; a gate has none. False: it is not to be used. */
static bool read_event(struct rs_site_load *load, rs_gva_t entry, const struct rs_site *raw,
		       struct rs_patch_site *site)
{
	struct rs_error why = {0};
	uint32_t id;
	rs_gva_t event;

	if (!raw->event)
		return true;
	if (!relative(entry.v + offsetof(struct rs_site, event), raw->event, &event)) {
		refuse(load, entry, 0, "entry points outside of the address space", NULL);
		return false;
	}
	if (rs_page_reader_read(load->reader, event, &id, sizeof(id), NULL, &why)) {
		refuse(load, site->at, 0, "its event cannot be read", &why);
		return false;
	}
	if (id && (id < RS_FIRST_EVENT_ID || id >= RS_MAX_EVENTS))
		refuse(load, site->at, 0, "its event has an impossible id", NULL);
	if (id < RS_FIRST_EVENT_ID || id >= RS_MAX_EVENTS)
		return false;
	site->event = (uint16_t)id;
	read_called(load, event, id);
	return true;
}

/* What the entry itself says. */
static void read_entry(struct rs_site_load *load, rs_gva_t entry, const struct rs_site *raw)
{
	struct rs_patch_site site = {.root = load->list.root, .provider = load->list.provider};

	if (!relative(entry.v + offsetof(struct rs_site, code), raw->code, &site.at) ||
	    !relative(entry.v + offsetof(struct rs_site, target), raw->target, &site.target)) {
		refuse(load, entry, 0, "entry points outside of the address space", NULL);
		return;
	}
	if (!read_event(load, entry, raw, &site))
		return;
	if (raw->size != RS_SITE_BYTES) {
		refuse(load, site.at, site.event, "is not of the size that we write", NULL);
		return;
	}
	if (!rs_insn_in_one_word(site.at)) {
		refuse(load, site.at, site.event, "crosses an 8-byte boundary", NULL);
		return;
	}
	g_array_append_val(load->found, site);
}

/* Many functions begin with the same instruction, which is what counts. */
static bool decoded_before(const struct rs_site_load *load, const uint8_t *text, size_t size)
{
	return load->seen.size && load->seen.size <= size &&
	       !memcmp(load->seen.bytes, text, load->seen.size);
}

static bool check_text(struct rs_site_load *load, struct rs_patch_site *site)
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

/* The found sites by text: a hash table with open addressing. */
struct texts {
	struct rs_hash_seed seed;
	uint32_t mask;
	uint32_t *slots;  /* 1 + index in `found` of the first site with this text; 0: none */
	uint32_t *others; /* of that site: how many more have its text */
};

static struct rs_patch_site *site_at(const GArray *sites, uint32_t i)
{
	return &g_array_index(sites, struct rs_patch_site, i);
}

static struct texts *texts_new(uint32_t count)
{
	struct texts *texts = g_new0(struct texts, 1);

	while (texts->mask < 2 * count)
		texts->mask = 2 * texts->mask + 1;
	texts->seed = rs_hash_seed_new();
	texts->slots = g_new0(uint32_t, texts->mask + 1u);
	texts->others = g_new0(uint32_t, count);
	return texts;
}

static void texts_free(struct texts *texts)
{
	if (!texts)
		return;
	g_free(texts->slots);
	g_free(texts->others);
	g_free(texts);
}

/* The slot of the site's text, or where it would be. */
static uint32_t *find_text(const struct texts *texts, const GArray *found,
			   const struct rs_patch_site *site)
{
	for (uint32_t at = rs_hash_pair(&texts->seed, site->at.v, site->root);; at++) {
		uint32_t *slot = &texts->slots[at & texts->mask];

		if (!*slot || (site_at(found, *slot - 1)->at.v == site->at.v &&
			       site_at(found, *slot - 1)->root == site->root))
			return slot;
	}
}

/* The first site with a text keeps it; the others go. */
static void compare_found(struct rs_site_load *load, uint32_t i)
{
	struct rs_patch_site *site = site_at(load->found, i);
	uint32_t *slot = find_text(load->texts, load->found, site);

	if (!*slot) {
		*slot = i + 1;
		return;
	}
	load->texts->others[*slot - 1]++;
	site->repeated = true;
}

/* We tell of those that go, once for each text. */
static void tell_repeated(struct rs_site_load *load, uint32_t i)
{
	struct rs_patch_site *site = site_at(load->found, i);
	uint32_t others = load->texts->others[i];
	char why[64];

	if (!others)
		return;
	g_snprintf(why, sizeof(why), "is listed %" PRIu32 " times", others + 1);
	refuse(load, site->at, site->event, why, NULL);
}

static void compare_known(struct rs_site_load *load, const struct rs_patch_site *known)
{
	uint32_t slot = *find_text(load->texts, load->found, known);

	if (!slot)
		return;
	load->texts->others[slot - 1]++;
	tell_repeated(load, slot - 1);
	load->texts->others[slot - 1] = 0;
	site_at(load->found, slot - 1)->repeated = true;
}

/* ---- the phases ---- */

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

/*
 * A guest may choose page tables of which each read takes questions to QEMU. Then a step ends
 * early: its caller has others to serve.
 */
static bool is_slow(const struct rs_site_load *load)
{
	return load->target->slow_reads - load->slow_before >= SLOW_MAX;
}

/* Reads entries as long as they fit into a chunk, `count` at most. */
static int read_some(struct rs_site_load *load, uint32_t count, struct rs_error *err)
{
	const struct rs_site_list *list = &load->list;
	rs_gva_t at = {list->at.v + (uint64_t)load->next * list->stride};
	uint8_t chunk[CHUNK];
	int ret;

	count = MIN(MIN(CHUNK / list->stride, count), list->count - load->next);
	ret = rs_page_reader_read(load->reader, at, chunk, (size_t)count * list->stride, NULL, err);
	if (ret)
		return rs_error_prefix(err, "provider %" PRIu32 ": site list", list->provider);
	for (uint32_t i = 0; i < count && !(i && is_slow(load)); i++, at.v += list->stride) {
		struct rs_site entry;

		memcpy(&entry, chunk + i * list->stride, sizeof(entry));
		read_entry(load, at, &entry);
		load->next++;
	}
	return 0;
}

static void begin_phase(struct rs_site_load *load, enum phase phase)
{
	load->phase = phase;
	load->next = 0;
	if (phase == COMPARE)
		load->texts = texts_new(load->found->len);
}

/* One piece of the work: 1, 0 as rs_site_load_step(). *left is what may still be done. */
static int do_piece(struct rs_site_load *load, uint32_t *left, GArray *sites, struct rs_error *err)
{
	uint32_t before = load->next;

	switch (load->phase) {
	case READ:
		if (load->next == load->list.count) {
			begin_phase(load, COMPARE);
			return 1;
		}
		if (read_some(load, *left, err))
			return -EFAULT;
		*left -= load->next - before;
		return 1;
	case COMPARE:
		if (load->next < load->found->len) {
			compare_found(load, load->next++);
			*left -= 1;
			return 1;
		}
		begin_phase(load, load->found->len ? KNOWN : CHECK);
		return 1;
	case KNOWN:
		for (uint32_t i = 0; i < KNOWN_AT_ONCE && load->next < sites->len; i++)
			compare_known(load, site_at(sites, load->next++));
		*left -= 1;
		if (load->next == sites->len)
			begin_phase(load, CHECK);
		return 1;
	case CHECK:
		break;
	}
	if (load->next == load->found->len)
		return 0;
	tell_repeated(load, load->next);
	if (!site_at(load->found, load->next)->repeated &&
	    check_text(load, site_at(load->found, load->next)))
		g_array_append_val(sites, *site_at(load->found, load->next));
	load->next++;
	*left -= 1;
	return 1;
}

int rs_site_load_begin(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		       struct rs_site_load **out, struct rs_error *err)
{
	struct rs_site_load *load;
	int ret = check_list(list, MIN(budget, RS_MAX_SITES), err);

	if (ret)
		return ret;
	load = g_new0(struct rs_site_load, 1);
	load->target = target;
	load->list = *list;
	load->found = g_array_new(FALSE, FALSE, sizeof(struct rs_patch_site));
	load->called = g_array_new(FALSE, FALSE, sizeof(struct rs_site_called));
	*out = load;
	return 0;
}

int rs_site_load_step(struct rs_site_load *load, uint32_t count, GArray *sites, GArray *refused,
		      struct rs_error *err)
{
	int ret = 1;

	/* A reader keeps what it has read, which must not grow old. */
	load->reader = rs_page_reader_create(load->target, load->list.root);
	load->refused = refused;
	load->slow_before = load->target->slow_reads;
	while (count && ret == 1 && !is_slow(load))
		ret = do_piece(load, &count, sites, err);
	rs_page_reader_destroy(load->reader);
	load->reader = NULL;
	load->refused = NULL;
	return ret;
}

void rs_site_load_lost(struct rs_site_load *load, uint32_t first, uint32_t count)
{
	if (load->phase == KNOWN && load->next > first)
		load->next -= MIN(count, load->next - first);
}

const GArray *rs_site_load_called(const struct rs_site_load *load)
{
	return load->called;
}

uint64_t rs_site_load_refused(const struct rs_site_load *load)
{
	return load->refused_count;
}

void rs_site_load_free(struct rs_site_load *load)
{
	if (!load)
		return;
	g_array_free(load->found, TRUE);
	g_array_free(load->called, TRUE);
	texts_free(load->texts);
	g_free(load);
}

int rs_sites_load(struct rs_target *target, const struct rs_site_list *list, uint32_t budget,
		  GArray *sites, GArray *refused, uint64_t *refused_count, struct rs_error *err)
{
	struct rs_site_load *load;
	guint refused_before = refused->len;
	int ret = rs_site_load_begin(target, list, budget, &load, err);

	if (ret)
		return ret;
	do
		ret = rs_site_load_step(load, UINT32_MAX, sites, refused, err);
	while (ret == 1);
	if (ret)
		g_array_set_size(refused, refused_before);
	else
		*refused_count += load->refused_count;
	rs_site_load_free(load);
	return ret;
}
