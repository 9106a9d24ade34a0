/* SPDX-License-Identifier: MIT */
/*
 * Batches of patches, with journal and recovery. Providers come and go, the guest changes its text
 * and its page tables at any moment, the target and the disk fail. The target is a machine, or a
 * process, which has no physical addresses. The session is killed at any of these moments too:
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
/* One more site is at the end of its page, behind which nothing is mapped. */
#define ALL_SITES (SITES + 1)
#define LAST_AT 0xf88u
#define LAST_JUMP 0xff4u
/* Sites 0 to 3 are once more in the list at another address of the same text. */
#define OTHER_TEXT (TEXT + 0x200000)
#define LISTED ((ALL_SITES + 4) * sizeof(struct rs_site))
#define PROVIDERS 5u
#define NOWHERE RAM /* a physical address */

/* Bits of the first byte of the input. */
#define PROCESS 1u
#define NO_JOURNAL 2u

enum {
	WANT,
	UNWANT,
	COMMIT,
	ADD,    /* a: a provider; they share some sites, or their text */
	REMOVE, /* likewise */
	SCRIBBLE,
	SCRIBBLE_IN_PAUSE,
	SPOIL_TARGET, /* the instruction where a site's JMP leads */
	SPOIL_ENTRY,  /* of the list of sites */
	FAIL_WRITE,   /* from the b-th on; a: how many, and how many bytes are left */
	FAIL_OTHER,   /* a: pause, resume or neither */
	FAIL_READ,    /* in each pause from the a-th on, b of them */
	NO_FAILURE,
	DISK_FULL, /* after a records and b bytes more */
	KILL, /* at the a-th moment from now, with b bytes of the journal's newest part torn off */
	REBOOT,
	REATTACH,
	STEP,  /* a: how many sites */
	BEGIN, /* a: a provider, read by the next ones */
	STEP_PROVIDER,
	LEAVE,
	TEND,
	RESTORE,
	TICKET, /* for events a to b */
	METHOD, /* a */
	UNMAP,  /* a: the text, or it is mapped again */
	MOVE,   /* the page of text */
	OPS
};

struct __attribute__((packed)) op {
	uint8_t what, a, b;
};

static struct guest guest;
static uint8_t clean_text[RS_PAGE_SIZE], clean_list[LISTED];
static uint64_t other_root;
/* Where the page of text lies, or has lain. */
static const uint64_t places[2] = {TEXT_GPA, ELSEWHERE};
static uint8_t *ghost_ram;
static struct rs_target_ops real;
static const char *paths[2]; /* of the journal, and of the one that a killed session leaves */

static struct {
	struct rs_patcher *patcher;
	uint8_t flags;
	unsigned int place;
	/* The guest wrote there, or a write stopped in the middle. */
	bool foreign[2][ALL_SITES];
	int scribble_site; /* in the next pause; -1: none */
	uint8_t scribble_with;
	unsigned int kill_in; /* moments; 0: not any more */
	uint8_t tear;
	off_t settled; /* size of the journal before this batch */
	unsigned int fail_read_after, fail_read_count, reads; /* in a pause */
	uint64_t ticket;
} run;

/* ---- the guest ---- */

static uint8_t *text(void)
{
	return guest.ram + places[run.place];
}

static uint32_t offset_of(uint32_t site)
{
	return site < SITES ? site * 64 + 8 : LAST_AT;
}

RS_FUZZ_NOT_SEEN static void check_text(const uint8_t *ram)
{
	for (uint32_t place = 0; place < 2; place++)
		for (uint32_t i = 0; i < ALL_SITES; i++)
			if (!run.foreign[place][i] &&
			    memcmp(ram + places[place] + offset_of(i), clean_text + offset_of(i),
				   RS_SITE_BYTES))
				abort();
}

static void scribble(uint32_t site, uint8_t with)
{
	uint8_t *at = text() + offset_of(site);
	int32_t jump = site < SITES ? 32 - 8 : LAST_JUMP - LAST_AT;

	run.foreign[run.place][site] = true;
	switch (with % 4) {
	case 0:
		memcpy(at, clean_text + 8, RS_SITE_BYTES);
		break;
	case 1:
		memset(at, with, RS_SITE_BYTES);
		break;
	case 2:
		at[with / 4 % RS_SITE_BYTES] ^= with;
		break;
	case 3: /* our own JMP */
		jump -= RS_SITE_BYTES;
		at[0] = 0xe9;
		memcpy(at + 1, &jump, sizeof(jump));
		break;
	}
}

static void map_text(uint64_t place)
{
	fake_target_map(&guest.fake, ROOT, TEXT, place, 1);
}

/* What was switched on at the old place is not the patcher's at the new one. */
static void move(void)
{
	uint64_t from = places[run.place], to;
	bool *was = run.foreign[run.place], *is;

	run.place = !run.place;
	to = places[run.place];
	is = run.foreign[run.place];
	memcpy(guest.ram + to, guest.ram + from, RS_PAGE_SIZE);
	for (uint32_t i = 0; i < ALL_SITES; i++)
		is[i] = was[i] || memcmp(guest.ram + to + offset_of(i), clean_text + offset_of(i),
					 RS_SITE_BYTES);
	map_text(to);
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

	if (!run.kill_in || --run.kill_in || run.flags & NO_JOURNAL)
		return;
	getrlimit(RLIMIT_FSIZE, &disk);
	set_disk(RLIM_INFINITY);
	copy_journal(before_writes ? run.tear : 0);
	for (int i = 0; i < 2; i++)
		memcpy(ghost_ram + places[i], guest.ram + places[i], RS_PAGE_SIZE);
	fake_target_init(&ghost, ghost_ram, RAM);
	if (run.flags & PROCESS)
		fake_target_virtual(&ghost, TEXT - TEXT_GPA);
	ghost.writable = guest.writable;
	recover(&ghost.base, paths[1]);
	if (ghost.bad_writes || ghost.paused)
		abort();
	check_text(ghost_ram);
	setrlimit(RLIMIT_FSIZE, &disk);
}

static int on_pause(struct rs_target *target, struct rs_error *err)
{
	int ret;

	moment(true);
	run.reads = 0;
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
	/* A batch that follows in the same call has only its own records torn. */
	run.settled = journal_size();
	return ret;
}

static void note_torn(const struct rs_text_patch *patch)
{
	uint32_t inside = patch->at.v % RS_PAGE_SIZE;
	bool elsewhere = !(run.flags & PROCESS) &&
			 patch->at_phys.v / RS_PAGE_SIZE == ELSEWHERE / RS_PAGE_SIZE;

	if (guest.fake.fail_write && guest.fake.fail_write_bytes)
		run.foreign[elsewhere][inside == LAST_AT ? SITES : inside / 64] = true;
}

static bool read_fails(void)
{
	return guest.fake.paused && ++run.reads > run.fail_read_after &&
	       run.reads <= run.fail_read_after + run.fail_read_count;
}

static int on_read(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
		   struct rs_error *err)
{
	if (read_fails())
		return rs_error_set(err, EFAULT, "told to fail");
	return real.read_phys(target, at, out, size, err);
}

/* A process has its list and its text far from each other, too. */
static int on_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err)
{
	rs_gpa_t place = {at.v >= DATA ? at.v - DATA + DATA_GPA : at.v - TEXT + TEXT_GPA};

	if (at.v < DATA && at.v + size > TEXT + RS_PAGE_SIZE)
		return rs_error_set(err, EFAULT, "no memory there");
	return on_read(target, place, out, size, err);
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

static void list_site(uint32_t entry, uint32_t site, uint64_t text_at)
{
	uint64_t at = DATA + entry * sizeof(struct rs_site);
	struct rs_site *raw = guest_entry(&guest, entry);

	*raw = *guest_entry(&guest, site % SITES);
	raw->code = (int32_t)(text_at + offset_of(site) - at);
	raw->target = (int32_t)(text_at + (site < SITES ? site * 64 + 32 : LAST_JUMP) -
				(at + offsetof(struct rs_site, target)));
	raw->event = (int32_t)(EVENTS - (at + offsetof(struct rs_site, event)));
}

static void make_guest(void)
{
	guest_init(&guest, SITES, NUM_EVENTS);
	memset(guest.ram + TEXT_GPA + SITES * 64, 0x90, RS_PAGE_SIZE - SITES * 64);
	memcpy(guest.ram + TEXT_GPA + LAST_AT, guest.ram + TEXT_GPA + 8, RS_SITE_BYTES);
	memset(guest.writable + TEXT_GPA + LAST_AT, 1, RS_SITE_BYTES);
	memcpy(guest.writable + ELSEWHERE, guest.writable + TEXT_GPA, RS_PAGE_SIZE);
	list_site(SITES, SITES, TEXT);
	for (uint32_t i = 0; i < 4; i++)
		list_site(ALL_SITES + i, i, OTHER_TEXT);
	fake_target_map(&guest.fake, ROOT, TEXT + RS_PAGE_SIZE, NOWHERE, 1);
	fake_target_map(&guest.fake, ROOT, OTHER_TEXT, TEXT_GPA, 1);
	other_root = guest.fake.next_table;
	guest.fake.next_table += RS_PAGE_SIZE;
	fake_target_map(&guest.fake, other_root, TEXT, TEXT_GPA, 1);
	fake_target_map(&guest.fake, other_root, DATA, DATA_GPA, 1);
	fake_target_map(&guest.fake, other_root, EVENTS, DATA_GPA + (EVENTS - DATA), 1);
	memcpy(clean_text, guest.ram + TEXT_GPA, RS_PAGE_SIZE);
	memcpy(clean_list, guest.ram + DATA_GPA, LISTED);
}

static void begin(uint8_t flags)
{
	static char names[2][64];

	for (int i = 0; i < 2 && !guest.ram; i++) {
		snprintf(names[i], sizeof(names[i]), "/dev/shm/rs-fuzz-patch-%d-%d", (int)getpid(),
			 i);
		paths[i] = names[i];
	}
	if (!guest.ram) {
		signal(SIGXFSZ, SIG_IGN);
		make_guest();
		ghost_ram = g_malloc0(RAM);
		real = guest.fake.ops;
		guest.fake.ops.pause = on_pause;
		guest.fake.ops.resume = on_resume;
		guest.fake.ops.write_text = on_write;
	}
	fake_target_virtual(&guest.fake, TEXT - TEXT_GPA);
	guest.fake.ops.read_phys = flags & PROCESS ? NULL : on_read;
	guest.fake.ops.read_virt = flags & PROCESS ? on_read_virt : NULL;
	guest.fake.base.pid = flags & PROCESS ? getpid() : 0;
	memset(&run, 0, sizeof(run));
	run.flags = flags;
	run.scribble_site = -1;
}

static void no_failure(void)
{
	guest.fake.fail_pause = guest.fake.fail_resume = guest.fake.fail_write = 0;
	guest.fake.fail_write_after = guest.fake.fail_write_count = 0;
	guest.fake.fail_writes_done = guest.fake.fail_write_bytes = 0;
	run.fail_read_count = 0;
	set_disk(RLIM_INFINITY);
}

static void boot(void)
{
	memcpy(guest.ram + TEXT_GPA, clean_text, RS_PAGE_SIZE);
	memcpy(guest.ram + ELSEWHERE, clean_text, RS_PAGE_SIZE);
	memcpy(guest.ram + DATA_GPA, clean_list, LISTED);
	memset(run.foreign, 0, sizeof(run.foreign));
	run.place = 0;
	map_text(TEXT_GPA);
}

static void attach(struct rs_journal_report *report)
{
	const char *journal = run.flags & NO_JOURNAL ? NULL : paths[0];

	if (rs_patcher_create(&guest.fake.base, RS_PATCH_HOST, journal, report, &run.patcher, NULL))
		abort();
	run.ticket = 0;
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
	if (run.flags & NO_JOURNAL)
		return;
	if (!access(paths[0], F_OK))
		recover(&guest.fake.base, paths[0]);
	check_text(guest.ram);
}

static struct rs_site_list list_of(uint32_t provider)
{
	struct rs_site_list list = guest.list;

	static const struct {
		uint32_t first, count;
	} parts[PROVIDERS] = {{0, 6}, {4, 6}, {8, ALL_SITES - 8}, {ALL_SITES, 4}, {0, 4}};

	list.provider = provider + 1;
	list.at.v += parts[provider].first * sizeof(struct rs_site);
	list.count = parts[provider].count;
	/* A process has no page tables that we see: see rs_target_root(). */
	list.root = run.flags & PROCESS ? 0 : provider == 4 ? other_root : ROOT;
	return list;
}

static void fail(const struct op *op)
{
	struct fake_target *fake = &guest.fake;

	if (op->what % OPS == FAIL_READ) {
		run.fail_read_after = op->a % 16;
		run.fail_read_count = op->b;
		return;
	}
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
		text()[(op->a % ALL_SITES < SITES ? op->a % ALL_SITES * 64 + 32 : LAST_JUMP) +
		       op->b % 12] ^= op->b;
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

static void commit(void)
{
	uint32_t refused = 0;

	if (!rs_patcher_commit(run.patcher, &refused, NULL) &&
	    !rs_patcher_is_settled(run.patcher, run.ticket))
		abort();
	if (refused > 4 * ALL_SITES)
		abort();
}

static void set_method(uint8_t a)
{
	rs_patcher_set_process(run.patcher, a, a);
	rs_patcher_set_method(run.patcher, a & 1 ? RS_PATCH_SELF : RS_PATCH_HOST, NULL);
}

/* What takes several calls. */
static void play_step(const struct op *op)
{
	const struct rs_site_list list = list_of(op->a % PROVIDERS);

	switch (op->what % OPS) {
	case STEP:
		rs_patcher_step(run.patcher, 1 + op->a % 8, NULL, NULL);
		break;
	case BEGIN:
		rs_patcher_begin_provider(run.patcher, &list, NULL);
		break;
	case STEP_PROVIDER:
		rs_patcher_step_provider(run.patcher, 1 + op->a % 8, NULL, NULL);
		break;
	case LEAVE:
		rs_patcher_leave(run.patcher, list.provider, NULL);
		break;
	case TEND:
		rs_patcher_tend(run.patcher);
		break;
	case RESTORE:
		rs_patcher_restore(run.patcher, NULL);
		break;
	case TICKET:
		run.ticket =
			rs_patcher_ticket(run.patcher, FIRST + op->a % NUM_EVENTS, FIRST + op->b);
		break;
	case METHOD:
		set_method(op->a);
		break;
	case UNMAP:
		map_text(op->a & 1 ? NOWHERE : places[run.place]);
		break;
	case MOVE:
		move();
		break;
	}
}

static void play(const struct op *op)
{
	const struct rs_site_list list = list_of(op->a % PROVIDERS);
	uint32_t refused;

	run.settled = journal_size();
	switch (op->what % OPS) {
	case WANT:
	case UNWANT:
		rs_patcher_want(run.patcher, (uint16_t)(FIRST + op->a % NUM_EVENTS),
				op->what % OPS == WANT ? 1 : -1);
		break;
	case COMMIT:
		commit();
		break;
	case ADD:
		rs_patcher_add_provider(run.patcher, &list, &refused, NULL);
		break;
	case REMOVE:
		rs_patcher_remove_provider(run.patcher, list.provider, NULL);
		break;
	case SCRIBBLE:
		scribble(op->a % ALL_SITES, op->b);
		break;
	case SCRIBBLE_IN_PAUSE:
		run.scribble_site = op->a % ALL_SITES;
		run.scribble_with = op->b;
		break;
	case SPOIL_TARGET:
	case SPOIL_ENTRY:
		spoil(op);
		break;
	case FAIL_WRITE:
	case FAIL_OTHER:
	case FAIL_READ:
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
	default:
		play_step(op);
	}
}

static void check_stats(void)
{
	struct rs_patcher_stats stats;
	uint64_t on = 0, known = 0;
	size_t refusals;
	uint32_t k, o;

	rs_patcher_refusals(run.patcher, &refusals);
	if (rs_patcher_is_busy(run.patcher) || refusals > RS_MAX_REFUSALS)
		abort();
	rs_patcher_leaving(run.patcher);
	rs_patcher_is_settled(run.patcher, run.ticket);

	rs_patcher_stats(run.patcher, &stats);
	for (uint32_t id = 0; id < NUM_EVENTS; id++) {
		rs_patcher_event_sites(run.patcher, (uint16_t)(FIRST + id), &k, &o);
		known += k;
		on += o;
	}
	if (stats.sites_on > stats.sites || on > stats.sites_on || known > stats.sites)
		abort();
	on = 0;
	for (uint32_t provider = 1; provider <= PROVIDERS; provider++)
		on += rs_patcher_provider_sites_on(run.patcher, provider);
	if (on != stats.sites_on)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct op op;

	begin(rs_fuzz_u8(&in));
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
	static const struct __attribute__((packed)) {
		uint8_t flags;
		struct op op[14];
	} seeds[] = {
		{0,
		 {{ADD, 0},
		  {ADD, 1},
		  {WANT, 0},
		  {WANT, 1},
		  {KILL, 1, 40},
		  {COMMIT},
		  {UNWANT, 0},
		  {KILL, 2},
		  {COMMIT},
		  {REMOVE, 0}}},
		{0,
		 {{ADD, 2},
		  {WANT, 0},
		  {KILL, 5},
		  {COMMIT},
		  {REBOOT},
		  {ADD, 0},
		  {WANT, 2},
		  {COMMIT},
		  {REATTACH},
		  {ADD, 0}}},
		{0,
		 {{ADD, 0},
		  {WANT, 0},
		  {WANT, 1},
		  {FAIL_WRITE, 1, 2},
		  {COMMIT},
		  {NO_FAILURE},
		  {COMMIT},
		  {FAIL_WRITE, 7, 1},
		  {REMOVE, 0}}},
		{0,
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
		  {COMMIT}}},
		{0,
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
		  {NO_FAILURE}}},
		/* A call that makes several batches, of which the last is killed. */
		{0,
		 {{ADD, 3},
		  {ADD, 0},
		  {WANT, 0},
		  {KILL, 14, 179},
		  {WANT, 0},
		  {WANT, 0},
		  {STEP, 19},
		  {WANT, 0},
		  {REMOVE, 3}}},
		/* In steps. */
		{0,
		 {{BEGIN, 0},
		  {STEP_PROVIDER, 0},
		  {STEP_PROVIDER, 3},
		  {BEGIN, 1},
		  {ADD, 1},
		  {WANT, 0},
		  {STEP_PROVIDER, 7},
		  {TICKET, 0, 3},
		  {STEP, 0},
		  {STEP_PROVIDER, 7},
		  {LEAVE, 0},
		  {STEP, 0},
		  {STEP, 7}}},
		{0,
		 {{ADD, 0},
		  {ADD, 1},
		  {BEGIN, 2},
		  {STEP_PROVIDER, 4},
		  {STEP_PROVIDER, 4},
		  {STEP_PROVIDER, 0},
		  {LEAVE, 0},
		  {STEP, 7},
		  {STEP_PROVIDER, 7},
		  {REMOVE, 2},
		  {BEGIN, 2},
		  {LEAVE, 2}}},
		/* Text at two addresses, and in two address spaces. */
		{0,
		 {{ADD, 3},
		  {ADD, 0},
		  {ADD, 4},
		  {WANT, 0},
		  {WANT, 1},
		  {COMMIT},
		  {RESTORE},
		  {UNWANT, 0},
		  {UNWANT, 1},
		  {COMMIT}}},
		/* A page that moves, or goes. */
		{0,
		 {{ADD, 0},
		  {WANT, 0},
		  {COMMIT},
		  {MOVE},
		  {WANT, 1},
		  {COMMIT},
		  {UNWANT, 0},
		  {COMMIT},
		  {TEND},
		  {UNWANT, 1},
		  {UNMAP, 1},
		  {COMMIT}}},
		/* Instructions that change where the JMPs lead. */
		{0,
		 {{ADD, 2},
		  {SPOIL_TARGET, 8, 0xf0},
		  {SPOIL_TARGET, 12, 0x24},
		  {WANT, 0},
		  {WANT, 1},
		  {COMMIT}}},
		/* Reads fail in a pause, and writes in the middle. */
		{0,
		 {{ADD, 0},
		  {WANT, 0},
		  {WANT, 1},
		  {FAIL_READ, 0, 2},
		  {COMMIT},
		  {FAIL_READ, 2, 9},
		  {FAIL_WRITE, 4, 0},
		  {WANT, 2},
		  {COMMIT},
		  {NO_FAILURE},
		  {FAIL_WRITE, 4, 0},
		  {WANT, 3},
		  {COMMIT}}},
		{0,
		 {{ADD, 0},
		  {WANT, 0},
		  {COMMIT},
		  {FAIL_READ, 0, 99},
		  {REMOVE, 0},
		  {TEND},
		  {FAIL_READ, 1, 99},
		  {TEND},
		  {COMMIT}}},
		{PROCESS,
		 {{ADD, 0},
		  {ADD, 2},
		  {WANT, 0},
		  {WANT, 1},
		  {KILL, 3, 9},
		  {COMMIT},
		  {REATTACH},
		  {ADD, 1},
		  {WANT, 0},
		  {COMMIT}}},
		{NO_JOURNAL, {{ADD, 0}, {WANT, 0}, {COMMIT}, {REMOVE, 0}, {REBOOT}}},
		/* The guest does it. */
		{0,
		 {{METHOD, 1},
		  {ADD, 0},
		  {WANT, 0},
		  {COMMIT},
		  {LEAVE, 0},
		  {COMMIT},
		  {METHOD, 0},
		  {ADD, 0},
		  {COMMIT},
		  {METHOD, 1}}},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, &seeds[i], sizeof(seeds[i]));
	}
}
