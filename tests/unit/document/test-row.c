/* SPDX-License-Identifier: MIT */
#include "traces.h"

typedef struct {
	RsTraceSchema *schema;
	GByteArray *payload;
	RsTraceOrigin *origin;
	struct rs_file_source info;
	RsTraceRecord record;
	RsTraceTask task;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();

	f->schema = rs_trace_schema_new();
	test_desc_switch(descs);
	test_desc_all(descs);
	test_take(f->schema, 0, descs);
	f->payload = test_payload_all();
	g_strlcpy(f->info.name,
		  "a\x1b"
		  "b",
		  sizeof(f->info.name));
	f->origin = rs_trace_origin_new(&f->info, TRUE, 3, NULL);
	f->task = (RsTraceTask){"s\xffh\n", 70};
	f->record = (RsTraceRecord){
		.kind = RS_TRACE_RECORD_EVENT,
		.ns = 1234567,
		.event = rs_trace_schema_by_id(f->schema, TEST_ALL),
		.id = TEST_ALL,
		.payload = f->payload->data,
		.size = f->payload->len,
		.pid = 7,
		.ring = 2,
		.origin = f->origin,
	};
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_schema_free(f->schema);
	rs_trace_origin_free(f->origin);
	g_byte_array_unref(f->payload);
}

/* Texts of the guest are fit to be shown, and are what `ringside report` prints. */
static void test_event(Fixture *f, gconstpointer unused)
{
	g_autoptr(RsTraceRow) row = rs_trace_row_new(&f->record, &f->task, 0, TRUE);
	g_autoptr(GString) line = g_string_new(NULL);

	rs_trace_text_line(line, &f->record, &f->task, 0);
	g_string_truncate(line, line->len - 1);
	g_assert_cmpstr(row->line, ==, line->str);
	g_assert_cmpstr(row->event, ==, "demo:all");
	g_assert_cmpstr(row->comm, ==, "s\\xffh\\x0a");
	g_assert_cmpstr(row->source_name, ==, "a\\x1bb");
	g_assert_cmpuint(row->tgid, ==, 70);
	g_assert_cmpuint(row->source, ==, 3);
	g_assert_cmpuint(row->cpu, ==, 2);
	g_assert_cmpuint(row->fields->len, ==, f->record.event->n_fields);
	g_assert_cmpuint(g_bytes_get_size(row->payload), ==, f->payload->len);
	g_assert_true(g_str_has_prefix(row->format, "name: all\n"));
	g_assert_null(row->stack);
	for (guint i = 0; i < row->fields->len; i++) {
		const RsTraceRowField *field = row->fields->pdata[i];

		g_assert_cmpstr(field->name, ==, f->record.event->fields[i].name);
		g_assert_true(g_utf8_validate(field->value, -1, NULL));
		g_assert_true(g_utf8_validate(field->raw, -1, NULL));
	}
}

/* A payload that ends anywhere. */
static void test_cut(Fixture *f, gconstpointer unused)
{
	for (guint size = 0; size < f->payload->len; size++) {
		g_autofree guint8 *part = g_memdup2(f->payload->data, size);
		g_autoptr(RsTraceRow) row = NULL;

		f->record.payload = part;
		f->record.size = size;
		row = rs_trace_row_new(&f->record, &f->task, 0, TRUE);
		g_assert_true(g_utf8_validate(row->text, -1, NULL));
		g_assert_cmpuint(g_bytes_get_size(row->payload), ==, size);
	}
}

static void test_unknown(Fixture *f, gconstpointer unused)
{
	g_autoptr(RsTraceRow) row = NULL;

	f->record.event = NULL;
	f->record.id = 77;
	row = rs_trace_row_new(&f->record, &f->task, 0, TRUE);
	g_assert_cmpstr(row->event, ==, "#77");
	g_assert_cmpuint(row->fields->len, ==, 0);
	g_assert_null(row->format);
}

static void test_loss(Fixture *f, gconstpointer unused)
{
	const RsTraceTask nobody = {.comm = ""};
	g_autoptr(RsTraceRow) row = NULL;

	f->record.kind = RS_TRACE_RECORD_LOSS;
	f->record.lost = 214;
	row = rs_trace_row_new(&f->record, &nobody, 0, TRUE);
	g_assert_cmpuint(row->lost, ==, 214);
	g_assert_cmpstr(row->line, ==, "CPU:2 [LOST 214 EVENTS]");
	g_assert_cmpstr(row->text, ==, "[LOST 214 EVENTS]");
	g_assert_cmpstr(row->event, ==, "");
	g_assert_cmpstr(row->comm, ==, "");
}

static void test_stack(Fixture *f, gconstpointer unused)
{
	const guint64 frames[] = {0x401234, 0xffffffff81000000};
	g_autoptr(RsTraceRow) row = NULL;

	f->record.stack = (const guint8 *)frames;
	f->record.n_stack = 2;
	row = rs_trace_row_new(&f->record, &f->task, 0, TRUE);
	g_assert_cmpuint(g_strv_length(row->stack), ==, 2);
	g_assert_cmpstr(row->stack[0], ==, "0x401234");
	g_assert_cmphex(row->addresses[1], ==, frames[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add("/row/" #name, Fixture, NULL, set_up, test_##name, tear_down)
	ADD(event);
	ADD(cut);
	ADD(unknown);
	ADD(loss);
	ADD(stack);
	return g_test_run();
}
