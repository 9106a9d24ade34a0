/* SPDX-License-Identifier: MIT */
/*
 * Batches of patches, with journal and recovery. Providers come and go, the guest changes its text
 * at any moment, the target and the disk fail. The session is killed at any of these moments too:
 * then a copy of text and journal as they are is recovered. Whatever happens, only sites are
 * written, and each site holds its old bytes in the end, or recovery restores them. But bytes that
 * the guest itself wrote are left alone.
 */
#define _GNU_SOURCE
#include "../unit/patch/guest.h"
#include "input.h"
#include "patch/patcher.h"
#include "seed.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define SITES 12u
#define NUM_EVENTS 4u
#define TEXT_SIZE (SITES * 64u)
#define LISTED (SITES * 16u)
#define GHOST_RAM (TEXT_GPA + RS_PAGE_SIZE)

enum {
	WANT,
	UNWANT,
	COMMIT,
	ADD,    /* a % 3: a provider; they share some sites */
	REMOVE, /* likewise */
	SCRIBBLE,
	SCRIBBLE_IN_PAUSE,
	SPOIL_TARGET, /* the instruction where a site's JMP leads */
	SPOIL_ENTRY,  /* of the list of sites */
	FAIL_WRITE,   /* from the b-th on; a: how many, and how many bytes are left */
	FAIL_OTHER,   /* a: pause, resume or neither, and reads at site b */
	NO_FAILURE,
	DISK_FULL, /* after a records and b bytes more */
	KILL, /* at the a-th moment from now, with b bytes of the journal's newest part torn off */
	REBOOT,
	REATTACH,
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a, b;
};

static struct guest guest;
static uint8_t clean_text[TEXT_SIZE], clean_list[LISTED];
static uint8_t *ghost_ram;
static struct rs_target_ops real;
static const char *paths[2]; /* of the journal, and of the one that a killed session leaves */

static struct {
	struct rs_patcher *patcher;
	bool foreign[SITES]; /* the guest wrote there, or a write stopped in the middle */
	int scribble_site;   /* in the next pause; -1: none */
	uint8_t scribble_with;
	unsigned int kill_in; /* moments; 0: not any more */
	uint8_t tear;
	off_t settled; /* size of the journal before this batch */
} run;

/* ---- the guest ---- */

static uint8_t *text(void)
{
	return guest.ram + TEXT_GPA;
}

static void check_text(const uint8_t *now)
{
	for (uint32_t i = 0; i < SITES; i++)
		if (!run.foreign[i] && memcmp(now + i * 64 + 8, clean_text + i * 64 + 8, 5))
			abort();
}

static void scribble(uint32_t site, uint8_t with)
{
	uint8_t *at = guest_text(&guest, site);

	run.foreign[site] = true;
	switch (with % 4) {
	case 0:
		memcpy(at, clean_text + 8, 5);
		break;
	case 1:
		memset(at, with, 5);
		break;
	case 2:
		at[with / 4 % 5] ^= with;
		break;
	case 3: /* our own JMP */
		at[0] = 0xe9;
		memcpy(at + 1, &(int32_t){32 - 8 - 5}, 4);
		break;
	}
}

/* ---- the session is killed ---- */

static off_t journal_size(void)
{
	struct stat st;

	return stat(paths[0], &st) ? 0 : st.st_size;
}

static void set_disk(rlim_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit))
		abort();
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static void copy_journal(size_t tear)
{
	char *bytes;
	gsize size;

	if (!g_file_get_contents(paths[0], &bytes, &size, NULL))
		abort();
	tear = MIN(tear, size - MIN((gsize)run.settled, size));
	unlink(paths[1]);
	if (!g_file_set_contents_full(paths[1], bytes, (gssize)(size - tear),
				      G_FILE_SET_CONTENTS_NONE, 0600, NULL))
		abort();
	g_free(bytes);
}

static void recover(struct rs_target *target, const char *path)
{
	struct rs_journal_report report;
	struct rs_journal *journal;

	if (rs_journal_open(path, &journal, NULL) ||
	    rs_journal_recover(journal, target, &report, NULL) || rs_journal_count(journal))
		abort();
	rs_journal_close(journal);
	if (!access(path, F_OK))
		abort();
}

/* Before the first write of a batch, the newest records may have reached the file in part. */
static void moment(bool before_writes)
{
	struct fake_target ghost;
	struct rlimit disk;

	if (!run.kill_in || --run.kill_in)
		return;
	getrlimit(RLIMIT_FSIZE, &disk);
	set_disk(RLIM_INFINITY);
	copy_journal(before_writes ? run.tear : 0);
	memcpy(ghost_ram + TEXT_GPA, text(), TEXT_SIZE);
	fake_target_init(&ghost, ghost_ram, GHOST_RAM);
	ghost.writable = guest.writable;
	recover(&ghost.base, paths[1]);
	if (ghost.bad_writes || ghost.paused)
		abort();
	check_text(ghost_ram + TEXT_GPA);
	setrlimit(RLIMIT_FSIZE, &disk);
}

static int on_pause(struct rs_target *target, struct rs_error *err)
{
	int ret;

	moment(true);
	ret = real.pause(target, err);
	if (!ret && run.scribble_site >= 0)
		scribble((uint32_t)run.scribble_site, run.scribble_with);
	run.scribble_site = -1;
	moment(true);
	return ret;
}

static int on_resume(struct rs_target *target, struct rs_error *err)
{
	int ret;

	moment(false);
	ret = real.resume(target, err);
	moment(false);
	return ret;
}

static void note_torn(const struct rs_text_patch *patch)
{
	if (guest.fake.fail_write && guest.fake.fail_write_bytes)
		run.foreign[(patch->at.v - TEXT) / 64] = true;
}

static int on_write(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		    bool *bad, struct rs_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++) {
		moment(false);
		note_torn(&patches[i]);
		ret = real.write_text(target, &patches[i], 1, &bad[i], err);
	}
	return ret;
}

/* ---- the run ---- */

static void begin(void)
{
	static char names[2][64];

	for (int i = 0; i < 2 && !guest.ram; i++) {
		snprintf(names[i], sizeof(names[i]), "/dev/shm/rs-fuzz-patch-%d-%d", (int)getpid(),
			 i);
		paths[i] = names[i];
	}
	if (!guest.ram) {
		signal(SIGXFSZ, SIG_IGN);
		guest_init(&guest, SITES, NUM_EVENTS);
		memcpy(clean_text, text(), TEXT_SIZE);
		memcpy(clean_list, guest.ram + DATA_GPA, LISTED);
		ghost_ram = g_malloc0(GHOST_RAM);
		real = guest.fake.ops;
		guest.fake.ops.pause = on_pause;
		guest.fake.ops.resume = on_resume;
		guest.fake.ops.write_text = on_write;
	}
	memset(&run, 0, sizeof(run));
	run.scribble_site = -1;
}

static void no_failure(void)
{
	guest.fake.fail_pause = guest.fake.fail_resume = guest.fake.fail_write = 0;
	guest.fake.fail_write_after = guest.fake.fail_write_count = 0;
	guest.fake.fail_writes_done = guest.fake.fail_write_bytes = 0;
	set_disk(RLIM_INFINITY);
}

static void boot(void)
{
	memcpy(text(), clean_text, TEXT_SIZE);
	memcpy(guest.ram + DATA_GPA, clean_list, LISTED);
	memset(run.foreign, 0, sizeof(run.foreign));
}

static void attach(struct rs_journal_report *report)
{
	if (rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, paths[0], report, &run.patcher,
			      NULL))
		abort();
}

/* As far as it went, all text is old or can be recovered. */
static void detach(void)
{
	run.settled = journal_size();
	rs_patcher_destroy(run.patcher);
	run.kill_in = 0;
	no_failure();
	if (guest.fake.paused && rs_target_resume(&guest.fake.base, NULL, NULL))
		abort();
	if (!access(paths[0], F_OK))
		recover(&guest.fake.base, paths[0]);
	check_text(text());
}

static struct rs_site_list list_of(uint32_t provider)
{
	struct rs_site_list list = guest.list;

	list.provider = provider + 1;
	list.at.v += provider * 4 * sizeof(struct rs_site);
	list.count = provider == 2 ? 4 : 6;
	return list;
}

static void fail(const struct op *op)
{
	struct fake_target *fake = &guest.fake;

	if (op->what % OPS == FAIL_WRITE) {
		fake->fail_write = op->a & 1 ? -EIO : -EFAULT;
		fake->fail_write_bytes = op->a / 2 % 6;
		fake->fail_write_count = op->a / 16 % 8;
		fake->fail_write_after = op->b % 32;
		fake->fail_writes_done = 0;
		return;
	}
	fake->fail_pause = op->a & 1 ? -EIO : 0;
	fake->fail_resume = op->a & 2 ? -EIO : 0;
}

static void spoil(const struct op *op)
{
	if (op->what % OPS == SPOIL_TARGET)
		text()[op->a % SITES * 64 + 32 + op->b % 16] ^= op->b;
	else
		guest.ram[DATA_GPA + op->a % LISTED] ^= op->b;
}

static void reboot(void)
{
	rs_patcher_forget(run.patcher);
	boot();
}

static void reattach(void)
{
	struct rs_journal_report report;

	detach();
	attach(&report);
}

static void play(const struct op *op)
{
	const struct rs_site_list list = list_of(op->a % 3);

	run.settled = journal_size();
	switch (op->what % OPS) {
	case WANT:
	case UNWANT:
		rs_patcher_want(run.patcher, (uint16_t)(FIRST + op->a % NUM_EVENTS),
				op->what % OPS == WANT ? 1 : -1);
		break;
	case COMMIT:
		rs_patcher_commit(run.patcher, NULL, NULL);
		break;
	case ADD:
		rs_patcher_add_provider(run.patcher, &list, NULL, NULL);
		break;
	case REMOVE:
		rs_patcher_remove_provider(run.patcher, list.provider, NULL);
		break;
	case SCRIBBLE:
		scribble(op->a % SITES, op->b);
		break;
	case SCRIBBLE_IN_PAUSE:
		run.scribble_site = op->a % SITES;
		run.scribble_with = op->b;
		break;
	case SPOIL_TARGET:
	case SPOIL_ENTRY:
		spoil(op);
		break;
	case FAIL_WRITE:
	case FAIL_OTHER:
		fail(op);
		break;
	case NO_FAILURE:
		no_failure();
		break;
	case DISK_FULL:
		set_disk(sizeof(struct rs_journal_header) +
			 op->a % 16 * sizeof(struct rs_journal_record) + op->b % 80);
		break;
	case KILL:
		run.kill_in = op->a % 32;
		run.tear = op->b;
		break;
	case REBOOT:
		reboot();
		break;
	case REATTACH:
		reattach();
		break;
	}
}

static void check_stats(void)
{
	struct rs_patcher_stats stats;
	uint64_t on = 0, known = 0;
	uint32_t k, o;

	rs_patcher_stats(run.patcher, &stats);
	for (uint32_t id = 0; id < NUM_EVENTS; id++) {
		rs_patcher_event_sites(run.patcher, (uint16_t)(FIRST + id), &k, &o);
		known += k;
		on += o;
	}
	if (stats.sites_on > stats.sites || on > stats.sites_on || known > stats.sites)
		abort();
	on = 0;
	for (uint32_t provider = 1; provider <= 3; provider++)
		on += rs_patcher_provider_sites_on(run.patcher, provider);
	if (on != stats.sites_on)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	begin();
	boot();
	attach(NULL);
	for (int i = 0; i < 64 && rs_fuzz_take(&in, &op, sizeof(op)); i++) {
		play(&op);
		check_stats();
	}
	detach();
	if (guest.fake.bad_writes)
		abort();
	return 0;
}

static void rs_fuzz_seeds(void)
{
	static const struct op seeds[][12] = {
		{{ADD, 0},
		 {ADD, 1},
		 {WANT, 0},
		 {WANT, 1},
		 {KILL, 1, 40},
		 {COMMIT},
		 {UNWANT, 0},
		 {KILL, 2},
		 {COMMIT},
		 {REMOVE, 0}},
		{{ADD, 2},
		 {WANT, 0},
		 {KILL, 5},
		 {COMMIT},
		 {REBOOT},
		 {ADD, 0},
		 {WANT, 2},
		 {COMMIT},
		 {REATTACH},
		 {ADD, 0}},
		{{ADD, 0},
		 {WANT, 0},
		 {WANT, 1},
		 {FAIL_WRITE, 1, 2},
		 {COMMIT},
		 {NO_FAILURE},
		 {COMMIT},
		 {FAIL_WRITE, 7, 1},
		 {REMOVE, 0}},
		{{ADD, 0},
		 {ADD, 1},
		 {WANT, 0},
		 {SCRIBBLE_IN_PAUSE, 0, 1},
		 {COMMIT},
		 {SCRIBBLE, 4, 3},
		 {DISK_FULL, 0, 60},
		 {WANT, 1},
		 {COMMIT},
		 {FAIL_OTHER, 1},
		 {WANT, 2},
		 {COMMIT}},
		{{SPOIL_TARGET, 1, 7},
		 {SPOIL_ENTRY, 3, 1},
		 {ADD, 0},
		 {WANT, 1},
		 {WANT, 0},
		 {COMMIT},
		 {FAIL_OTHER, 2},
		 {UNWANT, 0},
		 {COMMIT},
		 {SPOIL_TARGET, 0, 15},
		 {NO_FAILURE}},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, seeds[i], sizeof(seeds[i]));
	}
}
