/* SPDX-License-Identifier: MIT */
/*
 * Changes text while the guest runs. Every change is an exchange of the aligned word that holds the
 * patch: it compares the old bytes at that moment, and what others change beside it is not lost.
 *
 * Where the CPU fetches an aligned word whole, one exchange is all. Elsewhere a breakpoint comes
 * over the first byte, then every CPU serializes, then the rest of the bytes change behind it, then
 * every CPU serializes, then the first byte becomes what it is to be. A vCPU that comes by
 * meanwhile runs the old instruction, meets the breakpoint, which the agent passes over as the NOP,
 * or runs the new one. ADR 37 says by which documents that is so.
 *
 * The kernel makes the CPUs serialize (membarrier): those that run a thread of ours get an
 * interrupt, and a vCPU that it takes out of the guest goes back at once. No thread of ours waits
 * for another.
 */
#define _GNU_SOURCE
#include "vmm/internal.h"

#include "target/fetch.h"

#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define WORD sizeof(uint64_t)

static const uint8_t breakpoint = 0xcc;

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/*
 * Kernels before 5.10 leave the caller's own CPU out. With page-table isolation there is no step
 * that serializes a CPU which goes from its idle task to a thread of ours, and then into the guest.
 */
static bool kernel_serializes_all(void)
{
	g_autofree char *meltdown = NULL;
	struct utsname name;
	unsigned int major, minor;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 5 ||
	    (major == 5 && minor < 10))
		return false;
	return !g_file_get_contents("/sys/devices/system/cpu/vulnerabilities/meltdown", &meltdown,
				    NULL, NULL) ||
	       !strstr(meltdown, "PTI");
}

void rs_vmm_live_init(struct rs_vmm *vmm, enum rs_vmm_way way)
{
	vmm->way = way;
	if (way == RS_VMM_ANY)
		vmm->way = rs_fetch_is_whole() ? RS_VMM_WORD : RS_VMM_BREAKPOINT;
	if (g_strcmp0(g_getenv("RINGSIDE_GUEST_TEXT"), "stop") == 0) /* a test's switch */
		vmm->way = RS_VMM_STOP;
	vmm->barrier = kernel_serializes_all() &&
		       !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}

static bool in_one_word(struct rs_vmm *vmm, const struct rs_text_patch *patch)
{
	const struct rs_text_piece piece = {.at = patch->at_phys, .size = patch->size};

	return patch->at_phys.v % WORD + patch->size <= WORD && rs_vmm_text_at(vmm, &piece);
}

static bool all_unused(const struct rs_text_patch *patches, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!patches[i].unused)
			return false;
	return true;
}

bool rs_vmm_writes_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			int failed)
{
	struct rs_vmm *vmm = (struct rs_vmm *)target;
	bool may = vmm->barrier && vmm->way != RS_VMM_STOP && !target->pauses;

	if (all_unused(patches, count))
		return !failed && !target->pauses;
	if (vmm->way == RS_VMM_BREAKPOINT)
		may &= target->switching != NULL;
	for (size_t i = 0; i < count && may; i++)
		may = in_one_word(vmm, &patches[i]) &&
		      (vmm->way == RS_VMM_WORD || patches[i].is_site);
	return may;
}

/* False: the text does not hold `from`, and is left alone. */
static bool exchange(struct rs_vmm *vmm, rs_gpa_t at, size_t size, const uint8_t *from,
		     const uint8_t *to)
{
	const unsigned int shift = at.v % WORD;
	uint64_t *word = (uint64_t *)(vmm->ram + (at.v - shift));
	uint64_t now = rs_load(word), then;

	do {
		if (memcmp((const uint8_t *)&now + shift, from, size))
			return false;
		then = now;
		memcpy((uint8_t *)&then + shift, to, size);
	} while (!rs_shared_cas64(word, &now, then));
	return true;
}

/* Every CPU that runs the guest, or comes to run it, has serialized since the call. */
static void serialize(struct rs_vmm *vmm)
{
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE))
		return;
	/* The kernel had no memory for it. A pause does it, too, and does not fail: none is on. */
	rs_target_pause(&vmm->target, NULL);
	rs_target_resume(&vmm->target, NULL, NULL);
}

/*
 * ---- a breakpoint first ----
 *
 * A patch fails if the guest changes its bytes meanwhile. Its breakpoint is taken back then.
 */

static bool exchange_behind(struct rs_vmm *vmm, const struct rs_text_patch *patch)
{
	const rs_gpa_t rest = {patch->at_phys.v + 1};

	if (exchange(vmm, rest, patch->size - 1u, patch->old_bytes + 1, patch->new_bytes + 1))
		return true;
	exchange(vmm, patch->at_phys, 1, &breakpoint, patch->old_bytes);
	return false;
}

/* If the guest has put a byte of its own over our breakpoint, the others become what they were. */
static bool exchange_first(struct rs_vmm *vmm, const struct rs_text_patch *patch)
{
	const rs_gpa_t rest = {patch->at_phys.v + 1};

	if (exchange(vmm, patch->at_phys, 1, &breakpoint, patch->new_bytes))
		return true;
	exchange(vmm, rest, patch->size - 1u, patch->new_bytes + 1, patch->old_bytes + 1);
	return false;
}

static void write_behind(struct rs_vmm *vmm, const struct rs_text_patch *patches, size_t count,
			 bool *bad)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t covered[RS_TEXT_MAX];

		memcpy(covered, patches[i].old_bytes, sizeof(covered));
		covered[0] = breakpoint;
		bad[i] = !exchange(vmm, patches[i].at_phys, patches[i].size, patches[i].old_bytes,
				   covered);
	}
	serialize(vmm);
	for (size_t i = 0; i < count; i++)
		bad[i] = bad[i] || !exchange_behind(vmm, &patches[i]);
	serialize(vmm);
	for (size_t i = 0; i < count; i++)
		bad[i] = bad[i] || !exchange_first(vmm, &patches[i]);
}

/* ---- where an aligned word is fetched whole ---- */

static void write_words(struct rs_vmm *vmm, const struct rs_text_patch *patches, size_t count,
			bool *bad)
{
	for (size_t i = 0; i < count; i++)
		bad[i] = !exchange(vmm, patches[i].at_phys, patches[i].size, patches[i].old_bytes,
				   patches[i].new_bytes);
	serialize(vmm);
}

/* No vCPU has been there, so the order of the stores does not matter to any. */
static void write_unused(struct rs_vmm *vmm, const struct rs_text_patch *patches, size_t count,
			 bool *bad)
{
	for (size_t i = 0; i < count; i++)
		bad[i] = !rs_vmm_write_patch(vmm, &patches[i]);
	if (vmm->barrier)
		serialize(vmm);
}

int rs_vmm_write_live(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
		      bool *bad, struct rs_error *err)
{
	struct rs_vmm *vmm = (struct rs_vmm *)target;

	if (all_unused(patches, count)) {
		write_unused(vmm, patches, count, bad);
		return 0;
	}
	if (vmm->way == RS_VMM_WORD) {
		write_words(vmm, patches, count, bad);
		return 0;
	}
	/* Odd before the first breakpoint is there, even after the last one. */
	rs_store_release(target->switching, ++vmm->switches);
	write_behind(vmm, patches, count, bad);
	rs_store_release(target->switching, ++vmm->switches);
	return 0;
}
