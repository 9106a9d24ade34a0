/* SPDX-License-Identifier: MIT */
#include "server/rows.h"

#include <rs-trace-escape.h>

GVariant *rs_row_empty(void)
{
	return g_variant_new("a{sv}", NULL);
}

/* Makes one block of it, not a tree of small ones: it may wait for a peer that reads late. */
static GVariant *pack(GVariant *row)
{
	g_variant_get_data(row);
	return row;
}

static void add(GVariantBuilder *builder, const char *name, GVariant *value)
{
	g_variant_builder_add_value(
		builder,
		g_variant_new_dict_entry(g_variant_new_string(name), g_variant_new_variant(value)));
}

/* D-Bus carries only UTF-8. */
static void add_text(GVariantBuilder *builder, const char *name, const char *text)
{
	add(builder, name, g_variant_new_take_string(g_utf8_make_valid(text, -1)));
}

static void add_u64(GVariantBuilder *builder, const char *name, uint64_t value)
{
	add(builder, name, g_variant_new_uint64(value));
}

GVariant *rs_row_sources(const struct rs_session *session)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (rs_session_is_frozen(session))
		add(&b, "frozen", g_variant_new_boolean(TRUE));
	return g_variant_builder_end(&b);
}

GVariant *rs_row_trigger(const struct rs_trigger_info *trigger)
{
	const GArray *actions = trigger->text->actions;
	GVariantBuilder b, list;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add(&b, "number", g_variant_new_uint32(trigger->number));
	add_text(&b, "glob", trigger->text->glob);
	if (trigger->text->expression)
		add_text(&b, "filter", trigger->text->expression);
	g_variant_builder_init(&list, G_VARIANT_TYPE("as"));
	for (guint i = 0; i < actions->len; i++) {
		g_autofree char *action = rs_trigger_action_format(
			&g_array_index(actions, struct rs_trigger_action, i));

		g_variant_builder_add_value(
			&list, g_variant_new_take_string(g_utf8_make_valid(action, -1)));
	}
	add(&b, "actions", g_variant_builder_end(&list));
	add(&b, "count", g_variant_new_uint32((uint32_t)trigger->text->count));
	add_u64(&b, "fired", trigger->fired);
	add_u64(&b, "hits", trigger->hits);
	add(&b, "spent", g_variant_new_boolean(trigger->spent));
	if (trigger->problem)
		add_text(&b, "problem", trigger->problem);
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_triggers(struct rs_session *session)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_u64(&b, "lost", rs_session_triggers_lost(session));
	return g_variant_builder_end(&b);
}

static GVariant *row_wish(const struct rs_wish *wish)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_text(&b, "name", wish->owner->name);
	add(&b, "enabled", g_variant_new_boolean(wish->wanted));
	if (wish->stack)
		add(&b, "stack", g_variant_new_uint32(wish->stack));
	if (wish->filter)
		add_text(&b, "filter", wish->filter);
	return g_variant_builder_end(&b);
}

static void add_wishes(GVariantBuilder *builder, const struct rs_wish *first)
{
	GVariantBuilder all;

	g_variant_builder_init(&all, G_VARIANT_TYPE("aa{sv}"));
	for (const struct rs_wish *wish = first; wish; wish = wish->next)
		g_variant_builder_add_value(&all, row_wish(wish));
	add(builder, "owners", g_variant_builder_end(&all));
}

/* As D-Bus carries them: UTF-8. */
static void add_texts(GVariantBuilder *b, const char *key, const GPtrArray *texts)
{
	GVariantBuilder list;

	g_variant_builder_init(&list, G_VARIANT_TYPE("as"));
	for (guint i = 0; i < texts->len; i++) {
		g_autofree char *text = g_utf8_make_valid(texts->pdata[i], -1);

		g_variant_builder_add(&list, "s", text);
	}
	add(b, key, g_variant_builder_end(&list));
}

GVariant *rs_row_result(const struct rs_session_result *result)
{
	const GArray *failed = result->failed;
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (failed)
		add(&b, "failed",
		    g_variant_new_fixed_array(G_VARIANT_TYPE_UINT32, failed->data, failed->len,
					      sizeof(uint32_t)));
	if (result->kept) {
		add(&b, "kept", g_variant_new_uint32(result->kept));
		add_texts(&b, "kept_for", result->kept_for);
	}
	if (result->unfiltered)
		add(&b, "unfiltered", g_variant_new_uint32(result->unfiltered));
	if (result->frozen)
		add(&b, "frozen", g_variant_new_boolean(TRUE));
	return g_variant_builder_end(&b);
}

GVariant *rs_row_paused(const struct rs_session *session)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	GVariantBuilder b;

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		const struct rs_source *source = rs_session_source(session, i);

		if (rs_source_runs(source) && !rs_source_is_host(source))
			g_ptr_array_add(names, (gpointer)rs_source_name(source));
	}
	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (names->len)
		add(&b, "running",
		    g_variant_new_strv((const char *const *)names->pdata, (gssize)names->len));
	return g_variant_builder_end(&b);
}

GVariant *rs_row_changes(const struct rs_session *session)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add(&b, "sources", g_variant_new_uint32(rs_session_source_changes(session)));
	add(&b, "state", g_variant_new_string(rs_session_state_name(rs_session_state(session))));
	return g_variant_builder_end(&b);
}

static const char *ring_mode(const struct rs_source *source)
{
	return rs_trace_region_ring_mode(rs_source_region(source)) == RS_MODE_DROP ? "drop"
										   : "overwrite";
}

GVariant *rs_row_source(const struct rs_source *source)
{
	g_autofree char *path = rs_source_join_path(source);
	const char *kernel = rs_source_kernel(source);
	const uint64_t wanted = rs_source_ring_wanted(source);
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add(&b, "number", g_variant_new_uint32(rs_source_number(source)));
	add_text(&b, "name", rs_source_name(source));
	add_text(&b, "kind", rs_source_kind(source));
	add_text(&b, "kernel", kernel ? kernel : "");
	add_text(&b, "state", rs_session_state_name(rs_source_state(source)));
	add(&b, "joined", g_variant_new_boolean(rs_source_joined(source)));
	add(&b, "program", g_variant_new_boolean(rs_source_is_program(source)));
	add(&b, "native", g_variant_new_boolean(rs_source_is_native(source)));
	add_text(&b, "ring_mode", ring_mode(source));
	add(&b, "rings", g_variant_new_uint32(rs_source_region(source)->header.ring_count));
	add_u64(&b, "ring_bytes", rs_source_ring_bytes(source));
	if (rs_source_ring_max(source))
		add_u64(&b, "ring_max", rs_source_ring_max(source));
	if (wanted)
		add_u64(&b, "ring_wanted", wanted);
	if (rs_source_machine(source))
		add(&b, "machine",
		    g_variant_new_uint32(rs_source_number(rs_source_machine(source))));
	if (rs_source_architecture(source))
		add_text(&b, "architecture", rs_source_architecture(source));
	if (path)
		add_text(&b, "region", path);
	if (rs_source_pid(source))
		add(&b, "pid", g_variant_new_uint32(rs_source_pid(source)));
	if (rs_source_panics(source))
		add(&b, "panics", g_variant_new_uint32(rs_source_panics(source)));
	if (rs_source_end(source))
		add_text(&b, "end", rs_end_reason_name(rs_source_end(source)->reason));
	return g_variant_builder_end(&b);
}

GVariant *rs_row_region(const RsTraceRegion *region)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_u64(&b, "offset", region->offset);
	add_u64(&b, "session_id", region->header.session_id);
	return g_variant_builder_end(&b);
}

static void add_u32(GVariantBuilder *builder, const char *name, uint32_t value)
{
	add(builder, name, g_variant_new_uint32(value));
}

/* Whose row it is. */
static void add_source(GVariantBuilder *b, const struct rs_source *source)
{
	add_text(b, "source", rs_source_name(source));
	add_u32(b, "source_number", rs_source_number(source));
}

GVariant *rs_row_event(const struct rs_session_event *e)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, e->source);
	add(&b, "id", g_variant_new_uint32(e->event->id));
	add_text(&b, "system", e->event->system);
	add_text(&b, "name", e->event->name);
	add(&b, "level", g_variant_new_uint32(e->event->level));
	add_u64(&b, "keyword", e->event->keyword);
	add(&b, "enabled", g_variant_new_boolean(e->enabled));
	if (e->stack)
		add(&b, "stack", g_variant_new_uint32(e->stack));
	add(&b, "sites", g_variant_new_uint32(e->sites));
	if (e->filter)
		add_text(&b, "filter", e->filter);
	if (e->native)
		add(&b, "native", g_variant_new_boolean(TRUE));
	if (e->no_native)
		add_text(&b, "no_native", e->no_native);
	if (e->note)
		add_text(&b, "note", e->note);
	if (e->wishes)
		add_wishes(&b, e->wishes);
	return pack(g_variant_builder_end(&b));
}

static void add_thread(GVariantBuilder *b, const char *id, const struct rs_cmd_thread *thread)
{
	g_autofree char *comm = rs_trace_escape(thread->comm, -1, NULL);

	add_u32(b, id, thread->id);
	add_u32(b, "process", thread->process);
	add_u32(b, "parent", thread->parent);
	add_text(b, "comm", comm);
}

GVariant *rs_row_thread(const struct rs_source *source, const struct rs_cmd_thread *thread)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, source);
	add_thread(&b, "id", thread);
	add_text(&b, "state", thread->state == RS_THREAD_DEAD ? "dead" : "alive");
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_threads(bool cut, const GPtrArray *problems)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (cut)
		add(&b, "cut", g_variant_new_boolean(TRUE));
	if (problems->len)
		add_texts(&b, "problems", problems);
	return g_variant_builder_end(&b);
}

static void add_stop(GVariantBuilder *b, const struct rs_engine_info *engine)
{
	add_u64(b, "stop", engine->stop);
	add_u32(b, "event", engine->event);
	add(b, "value", g_variant_new_int64(engine->value));
	if (engine->stepped)
		add(b, "stepped", g_variant_new_boolean(TRUE));
	if (engine->event == RS_UTRACE_EVENT_EXEC) {
		g_autofree char *path = rs_trace_escape(engine->path, -1, NULL);

		add_text(b, "path", path);
	}
}

GVariant *rs_row_engine(const struct rs_engine_info *engine)
{
	static const char *const states[] = {[RS_ENGINE_RUNNING] = "running",
					     [RS_ENGINE_STOPPED] = "stopped",
					     [RS_ENGINE_GONE] = "gone"};
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_u32(&b, "engine", engine->number);
	add_source(&b, engine->source);
	add_thread(&b, "thread", &engine->thread);
	if (engine->follows)
		add_u32(&b, "follows", engine->follows);
	if (engine->refused)
		add_u32(&b, "refused", engine->refused);
	add_text(&b, "state", states[engine->state]);
	if (engine->state == RS_ENGINE_STOPPED)
		add_stop(&b, engine);
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_rule(const struct rs_session_rule *rule)
{
	static const char *const wishes[] = {[RS_RULE_ENABLE] = "enable",
					     [RS_RULE_DISABLE] = "disable",
					     [RS_RULE_FILTER] = "filter"};
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (rule->source)
		add_source(&b, rule->source);
	add_text(&b, "owner", rule->owner);
	add_text(&b, "wish", wishes[rule->rule->kind]);
	add_text(&b, "glob", rule->rule->glob);
	if (rule->rule->expression)
		add_text(&b, "filter", rule->rule->expression);
	if (rule->rule->stack)
		add_u32(&b, "stack", rule->rule->stack);
	add(&b, "met", g_variant_new_boolean(rule->rule->met));
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_site(const struct rs_session_site *site)
{
	static const char *const states[] = {[RS_SESSION_SITE_OFF] = "off",
					     [RS_SESSION_SITE_ON] = "on",
					     [RS_SESSION_SITE_REFUSED] = "refused"};
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, site->source);
	if (site->event) {
		add_u32(&b, "event", site->event->id);
		add_text(&b, "system", site->event->system);
		add_text(&b, "name", site->event->name);
	}
	add_u64(&b, "address", site->at.v);
	add_u64(&b, "target", site->target.v);
	add_text(&b, "state", states[site->state]);
	add_u32(&b, "arch", rs_source_arch(site->source));
	if (site->text_size) {
		add_u64(&b, "text_address", site->text_at.v);
		add(&b, "text",
		    g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, site->text, site->text_size, 1));
	}
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_sites(const struct rs_session *session, uint64_t next)
{
	g_autoptr(GArray) selves = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	GVariantBuilder b;

	for (guint i = 0; i < rs_session_n_sources(session); i++) {
		const struct rs_source *source = rs_session_source(session, i);
		const uint32_t number = rs_source_number(source);

		if (rs_source_self_patch(source))
			g_array_append_val(selves, number);
	}
	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	if (next)
		add_u64(&b, "next", next);
	if (selves->len)
		add(&b, "self_patch",
		    g_variant_new_fixed_array(G_VARIANT_TYPE_UINT32, selves->data, selves->len,
					      sizeof(uint32_t)));
	return g_variant_builder_end(&b);
}

GVariant *rs_row_provider(const struct rs_session_provider *entry)
{
	const RsTraceProvider *p = entry->provider;
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, entry->source);
	add_u32(&b, "slot", p->slot);
	add_text(&b, "name", p->name);
	add(&b, "live", g_variant_new_boolean(entry->live));
	add_u32(&b, "generation", p->generation);
	add_u32(&b, "pid", p->owner_pid);
	if (p->image_end > p->image_start) {
		add_u64(&b, "image_start", p->image_start);
		add_u64(&b, "image_end", p->image_end);
	}
	if (p->build_id_size) {
		g_autoptr(GString) hex = g_string_new(NULL);

		for (guint i = 0; i < p->build_id_size; i++)
			g_string_append_printf(hex, "%02x", p->build_id[i]);
		add_text(&b, "build_id", hex->str);
	}
	add_u32(&b, "events", p->n_events);
	add_u32(&b, "sites", entry->sites);
	if (!entry->self_patch)
		add_u32(&b, "sites_patched", entry->sites_on);
	return pack(g_variant_builder_end(&b));
}

GVariant *rs_row_ended(const struct rs_source *source)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, source);
	return g_variant_builder_end(&b);
}

/* What cannot be added up, so that only one source has it. */
static void add_stat_of_one(GVariantBuilder *b, const struct rs_source *source,
			    const struct rs_source_stat *s)
{
	add_text(b, "kind", rs_source_kind(source));
	add_text(b, "text", rs_source_writer(source));
	add_u64(b, "clock_hz", s->clock_hz);
	add_u64(b, "clock_epochs", s->clock_epochs);
	if (s->clock_error_ns != UINT64_MAX)
		add_u64(b, "clock_error_ns", s->clock_error_ns);
	add_text(b, "ring_mode", ring_mode(source));
	add_u64(b, "ring_bytes", rs_source_ring_bytes(source));
	add_u64(b, "generation", s->generation);
	add_u64(b, "applied_generation", s->applied_generation);
}

void rs_row_add_each(GVariantBuilder *all, const struct rs_source *source,
		     const struct rs_source_stat *s)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_source(&b, source);
	add_u64(&b, "patch_batches", s->batches);
	add_u64(&b, "pause_total_ns", s->pause_total_ns);
	add_u64(&b, "written", s->written);
	add_u64(&b, "dropped", s->dropped);
	g_variant_builder_add_value(all, g_variant_builder_end(&b));
}

GVariant *rs_row_stat(const struct rs_source *source, const struct rs_source_stat *s,
		      GVariant *each)
{
	GVariantBuilder b;

	g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
	add_text(&b, "state", rs_session_state_name(s->state));
	if (source)
		add_stat_of_one(&b, source, s);
	add_u64(&b, "events", s->events);
	add_u64(&b, "events_enabled", s->events_on);
	add_u64(&b, "sites", s->sites);
	add_u64(&b, "sites_patched", s->sites_on);
	add_u64(&b, "sites_refused", s->sites_refused);
	add_u64(&b, "patches", s->patches);
	add_u64(&b, "patch_batches", s->batches);
	add_u64(&b, "pause_last_ns", s->pause_last_ns);
	add_u64(&b, "pause_max_ns", s->pause_max_ns);
	add_u64(&b, "pause_total_ns", s->pause_total_ns);
	add_u64(&b, "native_filters", s->native.in_force);
	add_u64(&b, "native_made", s->native.made);
	add_u64(&b, "native_full", s->native.full);
	add_u64(&b, "native_left", s->native.left);
	add_u64(&b, "native_pause_ns", s->native.paused_ns);
	add_u64(&b, "bad_descriptors", s->bad_descriptors);
	add_u64(&b, "lost_nested", s->lost_nested);
	add_u64(&b, "lost_no_ring", s->lost_no_ring);
	add_u64(&b, "callbacks_skipped", s->callbacks_skipped);
	add(&b, "frozen", g_variant_new_boolean(s->frozen));
	add(&b, "self_patch", g_variant_new_boolean(s->self_patch));
	add(&b, "bridge", g_variant_new_boolean(s->bridge));
	add_u64(&b, "exits", s->target.exits);
	add_u64(&b, "kvm_exits", s->target.kvm_exits);
	add_u64(&b, "hypercalls", s->hypercalls);
	add_u64(&b, "bad_hypercalls", s->bad_hypercalls);
	add_u64(&b, "late_answers", s->late_answers);
	add_u64(&b, "turned_away", s->turned_away);
	add_u64(&b, "doorbells", s->target.doorbells);
	if (each)
		add(&b, "each", each);
	return g_variant_builder_end(&b);
}

void rs_row_add_cpus(GVariantBuilder *all, const struct rs_source *source,
		     const struct rs_source_stat *s)
{
	for (uint32_t i = 0; i < s->cpus; i++) {
		struct rs_cpu_stat c;
		GVariantBuilder b;

		rs_source_stat_cpu(source, s, i, &c);
		g_variant_builder_init(&b, G_VARIANT_TYPE_VARDICT);
		add_source(&b, source);
		add_u64(&b, "cpu", i);
		add_u64(&b, "entries", c.entries);
		add_u64(&b, "overrun", c.overrun);
		add_u64(&b, "dropped", c.dropped);
		add_u64(&b, "too_large", c.too_large);
		add_u64(&b, "ring_bytes", c.ring_bytes);
		add_u64(&b, "skipped_pages", c.skipped);
		add_u64(&b, "bytes", c.bytes);
		add_u64(&b, "written", c.written);
		add_u64(&b, "oldest_ts", c.oldest_ts);
		add_u64(&b, "newest_ts", c.newest_ts);
		add_u64(&b, "oldest_ns", c.oldest_ns);
		add_u64(&b, "now_ns", c.now_ns);
		g_variant_builder_add_value(all, g_variant_builder_end(&b));
	}
}
