/* SPDX-License-Identifier: MIT */
/* Files as those of tracefs, and pages as its rings have them, made by a test. */
#ifndef TEST_BRIDGE_KERNEL_H
#define TEST_BRIDGE_KERNEL_H

#include <bridge/tracefs.h>
#include <glib.h>

#define SWITCH_ID 314u
#define OPEN_ID 500u

typedef struct {
	char *path;
	struct bridge_tracefs fs;
} Kernel;

/* With the events test:hop (char comm[16], int pid, unsigned long frame) and test:open. */
void test_kernel_open(Kernel *kernel, guint cpus);
void test_kernel_close(Kernel *kernel);
/* What CPU `cpu` has to be read next: one page. */
void test_kernel_page(Kernel *kernel, guint cpu, const GByteArray *page);
void test_kernel_lost(Kernel *kernel, guint cpu, guint overrun);
char *test_kernel_file(const Kernel *kernel, const char *name);

/* A page that begins at `ts`. Its records follow. */
GByteArray *test_page_begin(guint64 ts);
void test_page_hop(GByteArray *page, guint delta, guint pid, const char *comm, gint32 value);
void test_page_open(GByteArray *page, guint delta, guint pid, const char *name);
/* Says that events were lost before the page; and how many, if there is room for it. */
void test_page_missed(GByteArray *page, gboolean stored, guint64 missed);

#endif
