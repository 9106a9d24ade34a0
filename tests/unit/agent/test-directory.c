/* SPDX-License-Identifier: MIT */
/*
 * Taking regions out of a piece of memory: each entry has one owner at a time, however many race
 * for it, while a host lays out anew what was left. Built plainly, and with TSan and ASan/UBSan.
 */
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/directory.h>

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ENTRIES 4u
#define TAKERS 6u
#define ROUNDS 20000u
#define REGION RS_REGION_ALIGN

static struct {
	struct rs_directory head;
	struct rs_directory_entry entry[ENTRIES];
	uint64_t claim[ENTRIES];
	uint8_t rest[4096];
} memory;
/* Larger than what is there: nothing in a region is touched by the directory's own code. */
#define SIZE ((ENTRIES + 1) * (uint64_t)REGION)

static uint32_t in_use[ENTRIES], takes[TAKERS], finished;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void lay_out(void)
{
	memset(&memory, 0, sizeof(memory));
	memory.head = (struct rs_directory){
		.abi_major = RS_ABI_MAJOR,
		.header_size = sizeof(memory.head),
		.size = SIZE,
		.entries_offset = (uint64_t)((uint8_t *)memory.entry - (uint8_t *)&memory),
		.claims_offset = (uint64_t)((uint8_t *)memory.claim - (uint8_t *)&memory),
		.entry_count = ENTRIES,
		.entry_stride = sizeof(memory.entry[0]),
	};
	for (uint32_t i = 0; i < ENTRIES; i++)
		memory.entry[i] = (struct rs_directory_entry){
			.offset = (i + 1) * (uint64_t)REGION,
			.size = REGION,
			.kind = i ? RS_SOURCE_USER : RS_SOURCE_KERNEL,
			.generation = 1,
		};
	rs_store_release(&memory.head.magic, RS_DIRECTORY_MAGIC);
}

static int take(uint32_t kind, uint32_t owner, struct rs_place *place)
{
	return rs_directory_take(&memory, SIZE, kind, owner, place);
}

static void test_one_by_one(void)
{
	struct rs_place place;

	lay_out();
	CHECK(take(RS_SOURCE_KERNEL, 1, &place) == 0);
	CHECK(place.index == 0 && place.offset == REGION && place.size == REGION);
	/* Another boot finds the claim of the one before. */
	CHECK(take(RS_SOURCE_KERNEL, 1, &place) == 0 && place.index == 0);
	for (uint32_t pid = 100; pid < 103; pid++) {
		CHECK(take(RS_SOURCE_USER, pid, &place) == 0);
		CHECK(place.index == pid - 99);
	}
	CHECK(take(RS_SOURCE_USER, 103, &place) == -RS_EADDRINUSE);
	CHECK(rs_directory_look(&memory, SIZE, 2, &place) == 0);
	CHECK(!place.free && place.owner == 101 && place.kind == RS_SOURCE_USER);
	CHECK(rs_directory_look(&memory, SIZE, ENTRIES, &place) == -RS_EADDRINUSE);
	/* That claim may be one of an earlier process with the same id. */
	CHECK(take(RS_SOURCE_USER, 101, &place) == -RS_EADDRINUSE);
	CHECK(rs_directory_leave(&memory, SIZE, 2, 102) == -RS_EADDRINUSE);
	CHECK(rs_directory_leave(&memory, SIZE, 2, 101) == 0);
	CHECK(rs_directory_leave(&memory, SIZE, 2, 101) == -RS_EADDRINUSE);
	CHECK(rs_directory_look(&memory, SIZE, 2, &place) == 0);
	CHECK(!place.free && place.owner == RS_CLAIM_LEFT);
	/* Not before the host has laid it out anew. */
	CHECK(take(RS_SOURCE_USER, 101, &place) == -RS_EADDRINUSE);
	rs_store_release(&memory.entry[2].generation, 2);
	CHECK(rs_directory_look(&memory, SIZE, 2, &place) == 0 && place.free);
	CHECK(take(RS_SOURCE_USER, 104, &place) == 0 && place.index == 2);
	CHECK(memory.claim[2] == rs_directory_claim_word(2, 104));
	/* A region that nobody may take now, and a region that is given to one process. */
	rs_store_release(&memory.entry[3].kind, RS_SOURCE_NONE);
	rs_store_release(&memory.entry[3].generation, 9);
	CHECK(rs_directory_claim(&memory, SIZE, 3, 5) == -RS_EADDRINUSE);
	rs_store_release(&memory.entry[3].kind, RS_SOURCE_GIVEN);
	CHECK(rs_directory_claim(&memory, SIZE, 3, 5) == -RS_EADDRINUSE);
	memory.claim[3] = rs_directory_claim_word(9, 5);
	CHECK(rs_directory_claim(&memory, SIZE, 3, 6) == -RS_EADDRINUSE);
	CHECK(rs_directory_claim(&memory, SIZE, 3, 5) == 0);
}

/* A directory that contradicts itself is refused before anything outside it is looked at. */
static void test_bad(void)
{
	static const struct {
		size_t offset;
		uint64_t value;
		uint32_t size;
		int error;
	} cases[] = {
#define CASE(field, value, error)                                                                  \
	{offsetof(struct rs_directory, field), value, sizeof(memory.head.field), error}
		CASE(magic, 1, -RS_ENODEV),
		CASE(abi_major, RS_ABI_MAJOR + 1, -RS_EPROTO),
		CASE(size, SIZE + 1, 0), /* only the regions must lie in what is mapped */
		CASE(size, 0, -RS_EBADMSG),
		CASE(entries_offset, SIZE, -RS_EBADMSG),
		CASE(entries_offset, UINT64_MAX - 7, -RS_EBADMSG),
		CASE(entries_offset, 4, -RS_EBADMSG),
		CASE(claims_offset, SIZE, -RS_EBADMSG),
		CASE(claims_offset, UINT64_MAX - 7, -RS_EBADMSG),
		CASE(claims_offset, 12, -RS_EBADMSG),
		CASE(entry_count, 0, -RS_EBADMSG),
		CASE(entry_count, SIZE / RS_DIRECTORY_ENTRY_MIN_SIZE, -RS_EBADMSG),
		CASE(entry_count, UINT32_MAX, -RS_EBADMSG),
		CASE(entry_stride, 120, -RS_EBADMSG),
		CASE(entry_stride, 132, -RS_EBADMSG),
		CASE(entry_stride, 129, -RS_EBADMSG),
		CASE(header_size, 56, -RS_EBADMSG),
		CASE(header_size, SIZE + 8, -RS_EBADMSG),
		CASE(entry_stride, UINT32_MAX - 7, -RS_EBADMSG),
	};
	struct rs_place place;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lay_out();
		memcpy((uint8_t *)&memory + cases[i].offset, &cases[i].value, cases[i].size);
		CHECK(take(RS_SOURCE_USER, 7, &place) == cases[i].error);
	}
	lay_out();
	memory.entry[1].offset = SIZE - REGION + RS_REGION_ALIGN;
	CHECK(take(RS_SOURCE_USER, 7, &place) == -RS_EBADMSG);
	lay_out();
	memory.entry[1].offset += 8;
	CHECK(take(RS_SOURCE_USER, 7, &place) == -RS_EBADMSG);
	CHECK(rs_directory_take(NULL, 0, RS_SOURCE_USER, 7, &place) == -RS_ENODEV);
	CHECK(rs_directory_take(&memory, 32, RS_SOURCE_USER, 7, &place) == -RS_ENODEV);
}

/* A later host lays out more regions than this version would: the agent takes the last one too. */
static void test_many(void)
{
	const uint32_t count = 4 * RS_MAX_REGIONS;
	const uint64_t entries = 4096, claims = RS_ALIGN_UP(entries + count * 160ull, 4096ull);
	uint8_t *at = calloc(1, claims + 16384);
	struct rs_directory *head = (void *)at;
	struct rs_place place;

	CHECK(at);
	*head = (struct rs_directory){
		.magic = RS_DIRECTORY_MAGIC,
		.abi_major = RS_ABI_MAJOR,
		.header_size = sizeof(*head) + 64,
		.size = (count + 8ull) * REGION,
		.entries_offset = entries,
		.claims_offset = claims,
		.entry_count = count,
		.entry_stride = 160,
	};
	for (uint32_t i = 0; i < count; i++)
		*(struct rs_directory_entry *)(at + entries + i * 160ull) =
			(struct rs_directory_entry){
				.offset = (i + 8ull) * REGION,
				.size = REGION,
				.kind = i == count - 1 ? RS_SOURCE_USER : RS_SOURCE_NONE,
				.generation = 3,
			};
	CHECK(rs_directory_take(at, head->size, RS_SOURCE_USER, 9, &place) == 0);
	CHECK(place.index == count - 1 && place.offset == (count + 7ull) * REGION);
	CHECK(((uint64_t *)(at + claims))[count - 1] == rs_directory_claim_word(3, 9));
	CHECK(rs_directory_take(at, head->size, RS_SOURCE_USER, 10, &place) == -RS_EADDRINUSE);
	free(at);
}

/* Only the directory is mapped, and its head changes later: nothing beyond is touched. */
static void test_changed_head(void)
{
	const size_t page = 4096, used = offsetof(__typeof__(memory), rest);
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rs_directory *head = (void *)at;
	struct rs_place place;

	CHECK(at != MAP_FAILED && used <= page && !mprotect(at + page, page, PROT_NONE));
	for (int i = 0; i < 3; i++) {
		lay_out();
		memcpy(at, &memory, used);
		CHECK(rs_directory_look(at, page, 1, &place) == 0);
		CHECK(rs_directory_claim(at, page, 1, 7) == 0);
		if (i == 0)
			head->claims_offset = page;
		if (i == 1)
			head->entries_offset = page;
		if (i == 2)
			head->entry_count = RS_MAX_REGIONS;
		CHECK(rs_directory_look(at, page, 1, &place) == -RS_EBADMSG);
		CHECK(rs_directory_claim(at, page, 1, 8) == -RS_EBADMSG);
		CHECK(rs_directory_leave(at, page, 1, 7) == -RS_EBADMSG);
		rs_directory_turn_away(at, page);
	}
	munmap(at, 2 * page);
}

/* Entries and claims may end where the mapped bytes do, a region where all of them do. */
static void test_fits(void)
{
	const uint64_t page = 4096, used = offsetof(__typeof__(memory), rest);
	const uint64_t entries = page - sizeof(memory.entry), claims = page - (ENTRIES + 1) * 8;
	const struct {
		uint64_t entries, claims;
		int error;
	} cases[] = {
		{2048, 1024, 0},
		{entries, 1024, 0},
		{entries + 8, 1024, -RS_EBADMSG},
		{2048, claims, 0},
		{2048, claims + 8, -RS_EBADMSG},
	};
	uint8_t *at =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rs_directory *head = (void *)at;
	struct rs_place place;

	CHECK(at != MAP_FAILED && used <= page && !mprotect(at + page, page, PROT_NONE));
	lay_out();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t *claim = (void *)(at + cases[i].claims);

		memset(at, 0, page);
		memcpy(at, &memory.head, sizeof(memory.head));
		head->entries_offset = cases[i].entries;
		head->claims_offset = cases[i].claims;
		if (!cases[i].error)
			memcpy(at + cases[i].entries, memory.entry, sizeof(memory.entry));
		CHECK(rs_directory_look(at, page, ENTRIES - 1, &place) == cases[i].error);
		CHECK(rs_directory_claim(at, page, ENTRIES - 1, 9) == cases[i].error);
		rs_directory_turn_away(at, page);
		rs_directory_turn_away(at, page);
		if (cases[i].error)
			continue;
		CHECK(place.index == ENTRIES - 1 && place.size == REGION && place.free);
		CHECK(claim[ENTRIES - 1] == rs_directory_claim_word(1, 9));
		CHECK(claim[ENTRIES] == 2); /* those who were turned away */
	}
	munmap(at, 2 * page);
	memory.entry[1].offset = SIZE;
	memory.entry[1].size = 0;
	CHECK(rs_directory_look(&memory, SIZE, 1, &place) == 0 && place.offset == SIZE);
	memory.entry[1].size = 1;
	CHECK(rs_directory_look(&memory, SIZE, 1, &place) == -RS_EBADMSG);
	memory.entry[1].offset = SIZE - REGION;
	memory.entry[1].size = REGION;
	CHECK(rs_directory_look(&memory, SIZE, 1, &place) == 0);
	memory.entry[1].size++;
	CHECK(rs_directory_look(&memory, SIZE, 1, &place) == -RS_EBADMSG);
}

/* A region that the directory has, but that is not mapped whole, is not taken. */
static void test_mapped(void)
{
	static const struct {
		uint64_t offset, size;
		int error;
	} cases[] = {
		{SIZE - REGION, REGION, 0}, {SIZE - REGION, REGION + 1, -RS_EBADMSG}, {SIZE, 0, 0},
		{SIZE, 1, -RS_EBADMSG},     {SIZE + REGION, 0, -RS_EBADMSG},
	};
	struct rs_place place;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lay_out();
		memory.head.size = SIZE + 2 * REGION;
		memory.entry[1].offset = cases[i].offset;
		memory.entry[1].size = cases[i].size;
		CHECK(take(RS_SOURCE_USER, 7, &place) == cases[i].error);
		CHECK((memory.claim[1] == 0) == (cases[i].error != 0));
		CHECK(rs_directory_look(&memory, SIZE, 1, &place) == 0);
	}
}

/* Takes, is alone there for a moment, leaves. */
static void *taker(void *data)
{
	uint32_t me = (uint32_t)(uintptr_t)data;
	struct rs_place place;

	while (takes[me] < ROUNDS) {
		int err = take(RS_SOURCE_USER, 100 + me, &place);

		if (err) {
			CHECK(err == -RS_EADDRINUSE);
			sched_yield();
			continue;
		}
		/* Plain accesses: with TSan these two lines are the test. */
		CHECK(in_use[place.index] == 0);
		in_use[place.index] = 100 + me;
		takes[me]++;
		if (takes[me] % 8 == 0)
			sched_yield();
		CHECK(in_use[place.index] == 100 + me);
		in_use[place.index] = 0;
		CHECK(rs_directory_leave(&memory, SIZE, place.index, 100 + me) == 0);
	}
	rs_shared_add32(&finished, 1);
	return NULL;
}

/* The host: what was left is "laid out anew", then free again. */
static void renew(void)
{
	for (uint32_t i = 1; i < ENTRIES; i++) {
		uint32_t generation = memory.entry[i].generation;
		uint64_t word = rs_load_acquire(&memory.claim[i]);

		if (word != rs_directory_claim_word(generation, RS_CLAIM_LEFT))
			continue;
		CHECK(in_use[i] == 0);
		rs_store_release(&memory.entry[i].generation, generation + 1);
	}
}

static void test_race(void)
{
	pthread_t threads[TAKERS];
	uint32_t rounds = 0;

	lay_out();
	for (uint32_t i = 0; i < TAKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, taker, (void *)(uintptr_t)i));
	while (rs_load_acquire(&finished) < TAKERS) {
		renew();
		sched_yield();
	}
	for (uint32_t i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	renew();
	/* Each take was one generation. */
	for (uint32_t i = 1; i < ENTRIES; i++)
		rounds += memory.entry[i].generation - 1;
	CHECK(rounds == TAKERS * ROUNDS);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {{"one-by-one", test_one_by_one},
		     {"bad", test_bad},
		     {"many", test_many},
		     {"changed-head", test_changed_head},
		     {"fits", test_fits},
		     {"mapped", test_mapped},
		     {"race", test_race}};

	puts("1..7");
	for (int i = 0; i < 7; i++) {
		tests[i].run();
		printf("ok %d %s\n", i + 1, tests[i].name);
	}
	return 0;
}
