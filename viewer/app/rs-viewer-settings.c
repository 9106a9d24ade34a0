/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-settings.h"

#define SCHEMA "org.ringside.Viewer"

enum { WIDTH = 1, HEIGHT, MAXIMIZED, TIME_FORMAT, COLOR_SCHEME, COLUMNS, N_PROPERTIES };

struct _RsViewerSettings {
	GObject parent;
	GSettings *kept; /* NULL: nowhere */
	GValue values[N_PROPERTIES];
};

G_DEFINE_FINAL_TYPE(RsViewerSettings, rs_viewer_settings, G_TYPE_OBJECT)

static GParamSpec *properties[N_PROPERTIES];

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	g_value_copy(&RS_VIEWER_SETTINGS(object)->values[id], value);
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
	RsViewerSettings *settings = RS_VIEWER_SETTINGS(object);

	if (g_param_values_cmp(pspec, value, &settings->values[id]) == 0 &&
	    !G_VALUE_HOLDS(value, G_TYPE_STRV))
		return;
	g_value_copy(value, &settings->values[id]);
	g_object_notify_by_pspec(object, pspec);
}

static void finalize(GObject *object)
{
	RsViewerSettings *settings = RS_VIEWER_SETTINGS(object);

	g_clear_object(&settings->kept);
	for (guint i = 1; i < N_PROPERTIES; i++)
		g_value_unset(&settings->values[i]);
	G_OBJECT_CLASS(rs_viewer_settings_parent_class)->finalize(object);
}

static void rs_viewer_settings_class_init(RsViewerSettingsClass *class)
{
	const GParamFlags flags =
		G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
	GObjectClass *object_class = G_OBJECT_CLASS(class);

	object_class->get_property = get_property;
	object_class->set_property = set_property;
	object_class->finalize = finalize;
	/* The defaults are those of the schema. */
	properties[WIDTH] =
		g_param_spec_int("window-width", NULL, NULL, 1, G_MAXINT16, 1200, flags);
	properties[HEIGHT] =
		g_param_spec_int("window-height", NULL, NULL, 1, G_MAXINT16, 800, flags);
	properties[MAXIMIZED] = g_param_spec_boolean("window-maximized", NULL, NULL, FALSE, flags);
	properties[TIME_FORMAT] =
		g_param_spec_string("time-format", NULL, NULL, RS_VIEWER_FORMAT_SECONDS, flags);
	properties[COLOR_SCHEME] =
		g_param_spec_string("color-scheme", NULL, NULL, RS_VIEWER_SCHEME_SYSTEM, flags);
	properties[COLUMNS] = g_param_spec_boxed("columns", NULL, NULL, G_TYPE_STRV, flags);
	g_object_class_install_properties(object_class, N_PROPERTIES, properties);
}

/* NULL: it is not installed. */
static GSettings *find_kept(void)
{
	GSettingsSchemaSource *source = g_settings_schema_source_get_default();
	g_autoptr(GSettingsSchema) schema = NULL;

	if (source)
		schema = g_settings_schema_source_lookup(source, SCHEMA, TRUE);
	if (!schema)
		return NULL;
	/* That of another version may lack a key, and a key that is not there ends the program. */
	for (guint i = 1; i < N_PROPERTIES; i++)
		if (!g_settings_schema_has_key(schema, properties[i]->name))
			return NULL;
	return g_settings_new_full(schema, NULL, NULL);
}

static void rs_viewer_settings_init(RsViewerSettings *settings)
{
	static const char *const columns[] = {"time", "cpu", "task", "event", "text", NULL};

	for (guint i = 1; i < N_PROPERTIES; i++) {
		g_value_init(&settings->values[i], properties[i]->value_type);
		g_param_value_set_default(properties[i], &settings->values[i]);
	}
	g_value_set_boxed(&settings->values[COLUMNS], columns);
	settings->kept = find_kept();
	for (guint i = 1; settings->kept && i < N_PROPERTIES; i++)
		g_settings_bind(settings->kept, properties[i]->name, settings, properties[i]->name,
				G_SETTINGS_BIND_DEFAULT);
}

RsViewerSettings *rs_viewer_settings_get(void)
{
	static RsViewerSettings *settings;

	if (!settings)
		settings = g_object_new(RS_VIEWER_TYPE_SETTINGS, NULL);
	return settings;
}

static const GValue *find(RsViewerSettings *settings, const char *name, GType type)
{
	GParamSpec *pspec = g_object_class_find_property(G_OBJECT_GET_CLASS(settings), name);

	g_return_val_if_fail(pspec && pspec->value_type == type, NULL);
	return &settings->values[pspec->param_id];
}

int rs_viewer_settings_number(RsViewerSettings *settings, const char *name)
{
	const GValue *value = find(settings, name, G_TYPE_INT);

	return value ? g_value_get_int(value) : 0;
}

gboolean rs_viewer_settings_flag(RsViewerSettings *settings, const char *name)
{
	const GValue *value = find(settings, name, G_TYPE_BOOLEAN);

	return value && g_value_get_boolean(value);
}

const char *rs_viewer_settings_text(RsViewerSettings *settings, const char *name)
{
	const GValue *value = find(settings, name, G_TYPE_STRING);

	return value ? g_value_get_string(value) : "";
}

const char *const *rs_viewer_settings_list(RsViewerSettings *settings, const char *name)
{
	const GValue *value = find(settings, name, G_TYPE_STRV);

	return value ? g_value_get_boxed(value) : NULL;
}
