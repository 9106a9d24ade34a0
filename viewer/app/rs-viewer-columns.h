/* SPDX-License-Identifier: MIT */
/*
 * The columns of the event list: which there are, which are shown, how wide they are, and what a
 * line has in each. A user may add columns of fields, by name.
 *
 * Thread: main. Trust: key files come from others, and so do names of fields: all is bounded and
 * made valid.
 */
#ifndef RS_VIEWER_COLUMNS_H
#define RS_VIEWER_COLUMNS_H

#include "app/rs-viewer-rows.h"
#include "app/rs-viewer-time.h"

G_BEGIN_DECLS

typedef enum {
	RS_VIEWER_COLUMN_TIME,
	RS_VIEWER_COLUMN_DELTA,
	RS_VIEWER_COLUMN_CPU,
	RS_VIEWER_COLUMN_SOURCE,
	RS_VIEWER_COLUMN_TASK,
	RS_VIEWER_COLUMN_EVENT,
	RS_VIEWER_COLUMN_FIELD, /* any number of them */
	RS_VIEWER_COLUMN_TEXT,
} RsViewerColumnKind;

#define RS_VIEWER_COLUMN_MIN 32u
#define RS_VIEWER_COLUMN_MAX 4000u
#define RS_VIEWER_COLUMN_FIELDS 16u /* columns of fields */
#define RS_VIEWER_CELL_MAX 512u     /* bytes of a cell's text, about */

typedef struct {
	RsViewerColumnKind kind;
	char *field; /* of FIELD */
	guint width; /* pixels */
	gboolean shown;
} RsViewerColumn;

typedef struct {
	GPtrArray *columns; /* RsViewerColumn, in the order in which they are shown */
} RsViewerColumns;

RsViewerColumns *rs_viewer_columns_new(void);
void rs_viewer_columns_free(RsViewerColumns *columns);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerColumns, rs_viewer_columns_free)

/* The first of that kind. */
RsViewerColumn *rs_viewer_columns_of(const RsViewerColumns *columns, RsViewerColumnKind kind);
/* NULL: there is none. */
RsViewerColumn *rs_viewer_columns_field(const RsViewerColumns *columns, const char *field);
/* Adds a column, or shows the one that is there. NULL: there are too many, or it is no name. */
RsViewerColumn *rs_viewer_columns_add_field(RsViewerColumns *columns, const char *field);
void rs_viewer_columns_remove(RsViewerColumns *columns, RsViewerColumn *column);
/* Whether one of a field is shown. */
gboolean rs_viewer_columns_want_details(const RsViewerColumns *columns);

/* In which a width makes sense. */
void rs_viewer_column_set_width(RsViewerColumn *column, int width);
/* A word that stands for it in files and in names of actions: "time", "field-prev_comm". */
char *rs_viewer_column_id(const RsViewerColumn *column);
/* For people. */
const char *rs_viewer_column_title(const RsViewerColumn *column);
/* Whether it is a number, and so is set to the right. */
gboolean rs_viewer_column_is_number(const RsViewerColumn *column);

/*
 * What a line has there: valid UTF-8 in one line, cut at RS_VIEWER_CELL_MAX. "": nothing.
 * The time is where the line stands in the order until its record was read, then the record's own.
 */
char *rs_viewer_column_text(const RsViewerColumn *column, const RsViewerLine *line,
			    RsViewerTimeStyle style, guint64 wall);
/* All that a line says, in the order of the columns that are shown: for who does not see it. */
char *rs_viewer_columns_say(const RsViewerColumns *columns, gboolean with_source,
			    const RsViewerLine *line, RsViewerTimeStyle style, guint64 wall);

/* In a group of a key file. What is missing or wrong there leaves a column as it is. */
void rs_viewer_columns_save(const RsViewerColumns *columns, GKeyFile *file, const char *group);
void rs_viewer_columns_load(RsViewerColumns *columns, GKeyFile *file, const char *group);

G_END_DECLS

#endif
