/* SPDX-License-Identifier: MIT */
/*
 * Filters in force as machine code, see docs/adr/0036-native-filters.md. A filter comes into force
 * as a program, always. What is here follows in a later turn: compile, check, write into the
 * guest's pool of text, read back, check again, and only then name it in the event's native word.
 * Whatever does not work out, the program goes on.
 */
#include "session/private.h"

#include "filter/filter.h"
#include "native/native.h"
#include "patch/pool.h"
#include "target/memory.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

/* One filter that is being written. */
struct pending {
	uint32_t id, entry, code; /* offsets in the pool */
	struct rs_native_entry means;
	GBytes *bytes; /* the code and its tables */
	uint32_t text; /* bytes of instructions */
};

struct rs_natives {
	struct rs_text_pool *pool; /* NULL: not opened in this boot, or it cannot be */
	char *no_pool;             /* why it cannot be; NULL: nobody knows yet */
	bool due;                  /* some event's filter is to be compiled … */
	bool failed; /* … and the target was busy: the next try comes at the next refresh */
	struct rs_native *scratch;
	struct rs_native_stat stat;
};

struct rs_natives *rs_natives_new(void)
{
	struct rs_natives *natives = g_new0(struct rs_natives, 1);

	natives->scratch = g_new(struct rs_native, 1);
	return natives;
}

void rs_natives_free(struct rs_natives *natives)
{
	if (!natives)
		return;
	rs_text_pool_close(natives->pool);
	g_free(natives->no_pool);
	g_free(natives->scratch);
	g_free(natives);
}

void rs_source_reset_natives(struct rs_source *source)
{
	struct rs_natives *natives = source->natives;

	g_clear_pointer(&natives->pool, rs_text_pool_close);
	g_clear_pointer(&natives->no_pool, g_free);
	natives->due = natives->failed = false;
}

void rs_source_retry_natives(struct rs_source *source)
{
	source->natives->failed = false;
}

void rs_source_native_due(struct rs_source *source, uint32_t id)
{
	struct event_state *state = &source->events[id];

	g_clear_pointer(&state->no_native, g_free);
	state->native_due = state->program && !rs_publisher_native(source->publisher, id);
	if (!state->native_due || source->natives->due)
		return;
	source->natives->due = true;
	rs_session_hurry(source->session);
}

/* NULL, or why no filter of the source can be native at all. */
static const char *never(const struct rs_source *source)
{
	if (rs_source_is_host(source))
		return "the host's own events have no guest";
	if (source->info.flags & (RS_GUEST_SELF_PATCH | RS_GUEST_BRIDGE))
		return "the host does not write the guest's text";
	if (!source->target->ops->write_text)
		return "the host cannot write the guest's text";
	if (source->region->header.section[RS_SEC_NATIVE].count <
	    source->region->header.event_capacity)
		return "an older host laid out the region";
	if (source->info.abi_minor < 4)
		return "the guest's agent is older";
	return NULL;
}

/* All providers name the same pool. */
static const struct rs_provider *find_pool(const struct rs_source *source)
{
	for (uint32_t slot = 0; slot < source->provider_slots; slot++) {
		const struct rs_provider *provider = &source->providers[slot];

		if (provider->state == RS_PROVIDER_LIVE && provider->text_pool)
			return provider;
	}
	return NULL;
}

/* Once in a boot, unless the target is busy. */
static int open_pool(struct rs_source *source)
{
	struct rs_natives *natives = source->natives;
	const struct rs_guest_info *info = &source->info;
	const struct rs_provider *provider = find_pool(source);
	const char *why = never(source);
	struct rs_error err = {0};
	uint64_t root;
	int ret;

	if (natives->pool || natives->no_pool)
		return 0;
	if (!why && !provider)
		why = "the guest's agent has no place for code";
	if (why) {
		natives->no_pool = g_strdup(why);
		return 0;
	}
	root = provider->page_table_root ? provider->page_table_root : info->page_table_root;
	ret = rs_target_root(source->target, info->arch, info->paging, root, &root, &err);
	if (!ret)
		ret = rs_text_pool_open(source->target, root, (rs_gva_t){provider->text_pool},
					provider->text_pool_size, &natives->pool, &err);
	if (!ret || rs_text_pool_is_busy(ret))
		return ret;
	natives->no_pool = g_strdup(err.message);
	rs_source_say(source, "filters run as programs only: %s", err.message);
	return 0;
}

static int compile(const struct rs_source *source, uint32_t id, struct rs_native *native,
		   struct rs_error *err)
{
	const GByteArray *bytes = source->events[id].program->bytes;
	const RsTraceEvent *event = rs_trace_schema_by_id(source->schema, id);
	int ret;

	if (!event)
		return rs_error_set(err, ENOENT, "the event has gone");
	ret = rs_native_compile(source->info.arch, bytes->data, event->entry_size,
				rs_filter_dyn_count(event), native, err);
	return ret ? ret : rs_native_check(source->info.arch, native, err);
}

/*
 * Finds or makes the places of the code and its entry. What an earlier session wrote, or another
 * event uses, takes no room. After a boot that we have not heard of it is no longer there.
 */
static int place(struct rs_natives *natives, struct pending *p, struct rs_error *err)
{
	struct rs_text_pool *pool = natives->pool;
	const void *bytes = g_bytes_get_data(p->bytes, NULL);
	uint32_t size = (uint32_t)g_bytes_get_size(p->bytes);
	bool has_code = rs_text_pool_find(pool, RS_TEXT_POOL_CODE, bytes, size, &p->code),
	     has_entry = false;
	int ret = 0;

	if (has_code) {
		p->means.code = p->code;
		has_entry = rs_text_pool_find(pool, RS_TEXT_POOL_ENTRIES, &p->means,
					      sizeof(p->means), &p->entry);
	}
	/* Code without an entry would be of no use. */
	if ((!has_code &&
	     rs_text_pool_left(pool, RS_TEXT_POOL_CODE) < RS_ALIGN_UP(size, RS_TEXT_POOL_ALIGN)) ||
	    (!has_entry && rs_text_pool_left(pool, RS_TEXT_POOL_ENTRIES) < sizeof(p->means)))
		return rs_error_set(err, ENOSPC, "the guest's pool of text is full");
	if (!has_code)
		ret = rs_text_pool_add(pool, RS_TEXT_POOL_CODE, bytes, size, &p->code, err);
	p->means.code = p->code;
	if (!ret && !has_entry)
		ret = rs_text_pool_add(pool, RS_TEXT_POOL_ENTRIES, &p->means, sizeof(p->means),
				       &p->entry, err);
	return ret;
}

/* Returns 1 if the batch is full. */
static int prepare(struct rs_source *source, uint32_t id, struct pending *p, struct rs_error *err)
{
	struct rs_natives *natives = source->natives;
	struct rs_native *native = natives->scratch;
	int ret = natives->pool ? compile(source, id, native, err)
				: rs_error_set(err, ENOTSUP, "%s", natives->no_pool);

	if (ret)
		return ret;
	*p = (struct pending){.id = id, .text = native->text};
	p->means.event = (uint16_t)id;
	p->means.entry_size = (uint16_t)(native->entry_size | native->kind << RS_NATIVE_KIND_SHIFT);
	p->means.dyn_count = native->dyn_count;
	p->bytes = g_bytes_new(native->bytes, native->size);
	ret = place(natives, p, err);
	if (ret)
		g_bytes_unref(p->bytes);
	return ret;
}

/* What the guest's text holds now is what was meant, and is harmless. */
static int check_written(struct rs_source *source, const struct pending *p, struct rs_error *err)
{
	struct rs_native *native = source->natives->scratch;
	struct rs_native_entry entry;
	int ret;

	native->size = (uint32_t)g_bytes_get_size(p->bytes);
	native->text = p->text;
	native->kind = p->means.entry_size >> RS_NATIVE_KIND_SHIFT;
	native->entry_size = p->means.entry_size & ((1u << RS_NATIVE_KIND_SHIFT) - 1);
	native->dyn_count = (uint8_t)p->means.dyn_count;
	ret = rs_text_pool_read(source->natives->pool, p->code, native->bytes, native->size, err);
	if (!ret)
		ret = rs_text_pool_read(source->natives->pool, p->entry, &entry, sizeof(entry),
					err);
	if (ret)
		return ret;
	if (memcmp(&entry, &p->means, sizeof(entry)) ||
	    memcmp(native->bytes, g_bytes_get_data(p->bytes, NULL), native->size))
		return rs_error_set(err, EIO, "the guest's pool of text holds something else");
	return rs_native_check(source->info.arch, native, err);
}

static void refuse(struct rs_source *source, uint32_t id, const struct rs_error *err)
{
	struct rs_natives *natives = source->natives;

	natives->stat.full += err->code == ENOSPC;
	source->events[id].no_native = g_strdup(err->message);
}

static void publish(struct rs_source *source, const struct pending *p)
{
	struct rs_natives *natives = source->natives;

	rs_publisher_set_native(source->publisher, p->id,
				1 + p->entry / (uint32_t)sizeof(struct rs_native_entry));
	natives->stat.made++;
}

/* It is tried again if the target was busy. */
static void put_off(struct rs_source *source, uint32_t id, int ret, const struct rs_error *err)
{
	struct rs_natives *natives = source->natives;

	if (!rs_text_pool_is_busy(ret)) {
		refuse(source, id, err);
		return;
	}
	source->events[id].native_due = natives->due = natives->failed = true;
}

/*
 * Nothing of the batch is named unless all of it could be written. If the target was busy, nobody
 * knows what was: the next try reads the pool anew, and uses that.
 */
static void write_batch(struct rs_source *source, GArray *batch)
{
	struct rs_natives *natives = source->natives;
	struct rs_error err = {0};
	uint64_t paused_ns, slow = source->target->slow_reads;
	bool stands = source->target->pauses != 0; /* for another reason */
	int ret;

	if (!natives->pool)
		return;
	/* Also if the batch is empty: code may be there whose entry had no room in it. */
	ret = rs_text_pool_write(natives->pool, &paused_ns, &err);
	natives->stat.paused_ns += stands ? 0 : paused_ns;
	natives->failed |= rs_text_pool_is_busy(ret);
	for (guint i = 0; i < batch->len; i++) {
		const struct pending *p = &g_array_index(batch, struct pending, i);
		int bad = ret ? ret : check_written(source, p, &err);

		if (bad)
			put_off(source, p->id, bad, &err);
		else
			publish(source, p);
		g_bytes_unref(p->bytes);
	}
	if (natives->failed)
		g_clear_pointer(&natives->pool, rs_text_pool_close);
	rs_turn_add(&source->session->turn, (source->target->slow_reads - slow) * RS_WORK_SLOW);
}

/* As many as a batch takes. `due` is then whether others are left. */
static void fill_batch(struct rs_source *source, GArray *batch)
{
	struct rs_natives *natives = source->natives;

	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++) {
		struct event_state *state = &source->events[id];
		struct rs_error err = {0};
		struct pending p;
		int ret;

		if (!state->native_due)
			continue;
		if (rs_turn_over(&source->session->turn))
			return;
		rs_turn_add(&source->session->turn, RS_WORK_NATIVE);
		ret = prepare(source, id, &p, &err);
		if (ret == 1)
			return;
		state->native_due = false;
		if (ret)
			put_off(source, id, ret, &err);
		else
			g_array_append_val(batch, p);
		if (natives->failed)
			return;
	}
	natives->due = false;
}

bool rs_source_natives_wait(const struct rs_source *source)
{
	return source->natives->due && !source->natives->failed && source->hello &&
	       !source->waiting && source_alive(source);
}

void rs_source_tend_natives(struct rs_source *source)
{
	struct rs_natives *natives = source->natives;
	g_autoptr(GArray) batch = NULL;

	if (!natives->due || natives->failed || !source->hello || source->stepping ||
	    !source_alive(source) || rs_turn_over(&source->session->turn))
		return;
	/* It says when it is: rs_source_sites_ready(). */
	source->waiting = !rs_target_ready(source->target);
	if (source->waiting)
		return;
	/* Should the guest end or boot meanwhile, that waits. */
	source->stepping = true;
	natives->failed = open_pool(source) != 0;
	if (!natives->failed) {
		batch = g_array_new(FALSE, FALSE, sizeof(struct pending));
		fill_batch(source, batch);
		write_batch(source, batch);
	}
	source->stepping = false;
}

/* For code; none if there is no room for what names it. */
static uint32_t room_of(const struct rs_text_pool *pool)
{
	return rs_text_pool_left(pool, RS_TEXT_POOL_ENTRIES)
		       ? rs_text_pool_left(pool, RS_TEXT_POOL_CODE)
		       : 0;
}

void rs_source_native_stat(const struct rs_source *source, struct rs_native_stat *out)
{
	const struct rs_natives *natives = source->natives;

	*out = natives->stat;
	out->left = natives->pool ? room_of(natives->pool) : 0;
	for (uint32_t id = RS_FIRST_EVENT_ID; id < source->region->header.event_capacity; id++)
		out->in_force += rs_publisher_native(source->publisher, id) != 0;
}

bool rs_event_is_native(const struct rs_source *source, uint32_t id, const char **why)
{
	const struct event_state *state = &source->events[id];
	bool native = rs_publisher_native(source->publisher, id) != 0;

	*why = native || !state->program ? NULL : state->no_native;
	return native;
}
