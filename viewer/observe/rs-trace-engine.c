/* SPDX-License-Identifier: MIT */
#include "rs-trace-engine-private.h"
#include "rs-trace-escape.h"

G_DEFINE_FINAL_TYPE(RsTraceEngine, rs_trace_engine, G_TYPE_OBJECT)

enum { PROP_STATE = 1, N_PROPS };
static GParamSpec *props[N_PROPS];

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	if (id == PROP_STATE)
		g_value_set_int(value, (int)RS_TRACE_ENGINE(object)->state);
	else
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

static void finalize(GObject *object)
{
	RsTraceEngine *engine = RS_TRACE_ENGINE(object);

	g_clear_weak_pointer(&engine->owner);
	g_clear_object(&engine->session);
	g_free(engine->source);
	g_free(engine->comm);
	g_free(engine->stop.path);
	G_OBJECT_CLASS(rs_trace_engine_parent_class)->finalize(object);
}

static void rs_trace_engine_class_init(RsTraceEngineClass *class)
{
	GObjectClass *object_class = G_OBJECT_CLASS(class);

	object_class->get_property = get_property;
	object_class->finalize = finalize;
	props[PROP_STATE] = g_param_spec_int("state", NULL, NULL, RS_TRACE_ENGINE_RUNNING,
					     RS_TRACE_ENGINE_GONE, RS_TRACE_ENGINE_RUNNING,
					     G_PARAM_READABLE | G_PARAM_STATIC_STRINGS |
						     G_PARAM_EXPLICIT_NOTIFY);
	g_object_class_install_properties(object_class, N_PROPS, props);
}

static void rs_trace_engine_init(RsTraceEngine *engine)
{
	engine->registers = rs_trace_register_set(RS_ARCH_X86_64);
}

RsTraceEngine *rs_trace_engine_new(RsTraceEngines *owner, RsDBusSession1 *session, guint32 number)
{
	RsTraceEngine *engine = g_object_new(RS_TRACE_TYPE_ENGINE, NULL);

	g_set_weak_pointer(&engine->owner, owner);
	engine->session = g_object_ref(session);
	engine->number = number;
	return engine;
}

void rs_trace_engine_describe(RsTraceEngine *engine, const RsTraceEngineThread *thread)
{
	engine->source_number = thread->source_number;
	engine->thread = thread->id;
	engine->process = thread->process;
	g_free(engine->source);
	engine->source = g_strdup(thread->source);
	g_free(engine->comm);
	engine->comm = g_strdup(thread->comm);
}

void rs_trace_engine_set_state(RsTraceEngine *engine, RsTraceEngineState state)
{
	if (state == engine->state)
		return;
	engine->state = state;
	g_object_notify_by_pspec(G_OBJECT(engine), props[PROP_STATE]);
}

/* One of the steps that were asked for is over. TRUE: the next one has begun. */
static gboolean steps_on(RsTraceEngine *engine)
{
	if (!engine->steps)
		return FALSE;
	if (!engine->stop.stepped) {
		engine->steps = 0;
		return FALSE;
	}
	if (!--engine->steps)
		return FALSE;
	rs_trace_engine_step_on(engine);
	return TRUE;
}

gboolean rs_trace_engine_take_stop(RsTraceEngine *engine, GVariant *row)
{
	const char *path = NULL;
	guint64 number = 0;

	g_variant_lookup(row, "stop", "t", &number);
	if (number <= engine->stop.number)
		return FALSE;
	engine->stopping = FALSE;
	g_free(engine->stop.path);
	engine->stop = (RsTraceEngineStop){.number = number};
	g_variant_lookup(row, "stepped", "b", &engine->stop.stepped);
	if (g_variant_lookup(row, "path", "&s", &path))
		engine->stop.path = rs_trace_escape(path, -1, NULL);
	g_variant_lookup(row, "event", "u", &engine->stop.event);
	g_variant_lookup(row, "value", "x", &engine->stop.value);
	return !steps_on(engine);
}

guint32 rs_trace_engine_get_number(RsTraceEngine *engine)
{
	return engine->number;
}

guint32 rs_trace_engine_get_source_number(RsTraceEngine *engine)
{
	return engine->source_number;
}

guint32 rs_trace_engine_get_thread(RsTraceEngine *engine)
{
	return engine->thread;
}

guint32 rs_trace_engine_get_followed(RsTraceEngine *engine)
{
	return engine->followed;
}

guint32 rs_trace_engine_get_refused(RsTraceEngine *engine)
{
	return engine->refused;
}

gboolean rs_trace_engine_get_follow(RsTraceEngine *engine)
{
	return engine->follow;
}

guint32 rs_trace_engine_get_process(RsTraceEngine *engine)
{
	return engine->process;
}

const char *rs_trace_engine_get_source(RsTraceEngine *engine)
{
	return engine->source;
}

const char *rs_trace_engine_get_comm(RsTraceEngine *engine)
{
	return engine->comm;
}

RsTraceEngineState rs_trace_engine_get_state(RsTraceEngine *engine)
{
	return engine->state;
}

const RsTraceEngineStop *rs_trace_engine_get_stop(RsTraceEngine *engine)
{
	return engine->state == RS_TRACE_ENGINE_STOPPED ? &engine->stop : NULL;
}

gboolean rs_trace_engine_may_stop(RsTraceEngine *engine)
{
	return engine->state == RS_TRACE_ENGINE_STOPPED ||
	       (engine->state == RS_TRACE_ENGINE_RUNNING &&
		(engine->events || engine->steps || engine->stopping));
}

const RsTraceRegisterSet *rs_trace_engine_get_registers(RsTraceEngine *engine)
{
	return engine->registers;
}

guint64 rs_trace_engine_get_steps(RsTraceEngine *engine)
{
	return engine->steps;
}

void rs_trace_engine_end_steps(RsTraceEngine *engine)
{
	engine->steps = MIN(engine->steps, 1);
}
