/* SPDX-License-Identifier: MIT */
/*
 * A record of a trace as a value of its own, for programs in other languages than C. It holds all
 * that it says, and stays valid whatever its reader does. Programs in C use RsTraceRecord, which is
 * some thirty times as fast. Any thread: it does not change.
 */
#ifndef RS_TRACE_ITEM_H
#define RS_TRACE_ITEM_H

#include <glib-object.h>

G_BEGIN_DECLS

/**
 * RsTraceItemKind:
 * @RS_TRACE_ITEM_KIND_EVENT: an event
 * @RS_TRACE_ITEM_KIND_LOSS: events are missing here
 * @RS_TRACE_ITEM_KIND_BOOT: the guest's agent started again
 *
 * What a [struct@Item] is.
 */
typedef enum {
	RS_TRACE_ITEM_KIND_EVENT,
	RS_TRACE_ITEM_KIND_LOSS,
	RS_TRACE_ITEM_KIND_BOOT,
} RsTraceItemKind;

#define RS_TRACE_TYPE_ITEM_KIND (rs_trace_item_kind_get_type())
GType rs_trace_item_kind_get_type(void);

typedef struct _RsTraceItem RsTraceItem;

#define RS_TRACE_TYPE_ITEM (rs_trace_item_get_type())
GType rs_trace_item_get_type(void);

RsTraceItem *rs_trace_item_ref(RsTraceItem *item);
void rs_trace_item_unref(RsTraceItem *item);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceItem, rs_trace_item_unref)

RsTraceItemKind rs_trace_item_get_kind(const RsTraceItem *item);
guint64 rs_trace_item_get_time(const RsTraceItem *item);
guint rs_trace_item_get_cpu(const RsTraceItem *item);
const char *rs_trace_item_get_source(const RsTraceItem *item);
guint rs_trace_item_get_pid(const RsTraceItem *item);
guint rs_trace_item_get_tgid(const RsTraceItem *item);
const char *rs_trace_item_get_comm(const RsTraceItem *item);
const char *rs_trace_item_get_system(const RsTraceItem *item);
const char *rs_trace_item_get_name(const RsTraceItem *item);
GVariant *rs_trace_item_get_fields(const RsTraceItem *item);
GVariant *rs_trace_item_get_field(const RsTraceItem *item, const char *name);
guint64 rs_trace_item_get_lost(const RsTraceItem *item);
guint rs_trace_item_get_boot(const RsTraceItem *item);
const char *rs_trace_item_to_text(const RsTraceItem *item);
const char *rs_trace_item_to_json(const RsTraceItem *item);

G_END_DECLS

#endif
