/* SPDX-License-Identifier: MIT */
/*
 * Processes that take a region in memory that the session holds. Each becomes a source, as long as
 * it has the region. Nobody reports them, so the session looks at the claims now and then.
 *
 * A region goes through these states:
 *     FREE     nobody has it
 *     CLAIMED  a process has it, whose agent has not reported yet
 *     LIVE     it has a source
 *     LEFT     its process has gone; the source has ended, and stays while there is room
 * It becomes FREE again by being laid out anew.
 */
#include "session/private.h"

#include "target/passive.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A region that was left stays for readers this long in us, while another region is free. */
#define GRACE_US 1000000
/* A number of processes that a machine may have had; more is what somebody has written there. */
#define TURNED_AWAY_MAX 1000000u
/* One region is kept free, and one more for every so many regions. */
#define FREE_PART 4u

enum member_state { FREE, CLAIMED, LIVE, LEFT };

struct member {
	enum member_state state;
	RsTraceRegion *region; /* CLAIMED */
	struct rs_source *source;
	uint32_t owner;
	bool local;     /* its process was seen to run on this host */
	gint64 left_at; /* monotonic, us */
};

struct memory {
	struct rs_session *session;
	struct rs_source *machine; /* the source that we started on this memory */
	struct rs_regions *regions;
	bool same_host;
	uint32_t count;       /* regions */
	uint64_t turned_away; /* as last told */
	struct member *members;
};

/* ---- coming ---- */

/*
 * Whether the process that had the region still has it. If not, the region is marked as left, so
 * that a program which that process executes takes another region.
 */
static bool still_there(struct memory *memory, uint32_t index)
{
	struct member *member = &memory->members[index];
	uint32_t owner;

	/*
	 * Its forks have the region mapped too, and so may a thread that is exiting. The lock
	 * covers all of them. Only processes of this host have locks that we see.
	 */
	member->local |= memory->same_host || rs_regions_held(memory->regions, index);
	if (member->local)
		return !rs_regions_leave_unheld(memory->regions, index);
	return rs_regions_owner(memory->regions, index, &owner) && owner == member->owner &&
	       !memory->machine->ended;
}

static void claim_seen(struct memory *memory, uint32_t index)
{
	struct member *member = &memory->members[index];
	struct rs_error err = {0};

	member->left_at = g_get_monotonic_time();
	member->local = false;
	if (!rs_regions_owner(memory->regions, index, &member->owner))
		return;
	/* It was taken and left since the last look. */
	if (member->owner == RS_CLAIM_LEFT) {
		member->state = LEFT;
	} else if (rs_regions_map(memory->regions, index, &member->region, &err) == 0) {
		member->state = CLAIMED;
	} else {
		rs_session_say(memory->session, "a process cannot join: %s", err.message);
		member->state = LEFT;
	}
}

static void give_up(struct member *member)
{
	g_clear_pointer(&member->region, rs_trace_region_free);
	member->state = LEFT;
	member->left_at = g_get_monotonic_time();
}

static void join(struct memory *memory, struct member *member, const struct rs_guest_info *info)
{
	g_autofree char *program = memory->same_host && info->owner_pid
					   ? g_strdup_printf("/proc/%u/exe", info->owner_pid)
					   : NULL;
	struct rs_source_config config = {
		.kernel = info->name, .program = program, .self_patch = true};
	struct rs_session *session = memory->session;
	struct rs_target *machine = memory->machine->target;
	struct rs_target *target =
		rs_passive_create("process", "a process that joined", machine->vcpus, machine);
	struct rs_error err = {0};
	int ret = rs_source_create(session, &config, memory->machine, member->region, target,
				   &member->source, &err);

	if (ret) {
		target->ops->destroy(target);
		rs_session_say(session, "a process cannot join: %s", err.message);
		give_up(member);
		return;
	}
	member->region = NULL;
	member->state = LIVE;
	rs_source_start(member->source, NULL);
	rs_session_share_clocks(member->source);
	g_ptr_array_add(session->sources, member->source);
	rs_source_say_added(member->source);
	rs_source_refresh(member->source);
}

static void await_agent(struct memory *memory, uint32_t index)
{
	struct member *member = &memory->members[index];
	struct rs_guest_info info;

	if (rs_trace_region_guest_info(member->region, &info, NULL))
		join(memory, member, &info);
	else if (!still_there(memory, index))
		give_up(member);
}

/* ---- going ---- */

static void leave(struct memory *memory, uint32_t index)
{
	struct member *member = &memory->members[index];
	const struct rs_target_end end = {.reason = RS_END_GONE};

	rs_source_poll_mailboxes(member->source);
	rs_source_set_ended(member->source, &end);
	member->state = LEFT;
	member->left_at = g_get_monotonic_time();
}

static void renew(struct memory *memory, struct member *member)
{
	struct rs_error err = {0};
	uint32_t index = (uint32_t)(member - memory->members);

	if (member->source)
		rs_session_drop_source(memory->session, member->source);
	member->source = NULL;
	rs_regions_leave(memory->regions, index);
	if (rs_regions_renew(memory->regions, index, &err))
		rs_session_say(memory->session, "a region cannot be used again: %s", err.message);
	member->state = FREE;
}

/* Of the regions that can be laid out anew now, the one that was left first. */
static struct member *oldest_left(struct memory *memory, gint64 before)
{
	struct member *oldest = NULL;

	for (uint32_t i = 0; i < memory->count; i++) {
		struct member *member = &memory->members[i];

		if (member->state != LEFT || member->left_at > before ||
		    (member->source && member->source->holds) ||
		    rs_regions_held(memory->regions, i))
			continue;
		if (!oldest || member->left_at < oldest->left_at)
			oldest = member;
	}
	return oldest;
}

/* One at least; the next look goes on once the turn is over. */
static void keep_some_free(struct memory *memory, gint64 now)
{
	struct rs_turn *turn = &memory->session->turn;
	uint32_t all = 0, free = 0;

	for (uint32_t i = 0; i < memory->count; i++) {
		all += rs_regions_kind(memory->regions, i) == RS_SOURCE_USER;
		free += rs_regions_kind(memory->regions, i) == RS_SOURCE_USER &&
			memory->members[i].state == FREE;
	}
	for (; free < all && free < 1 + all / FREE_PART; free++) {
		struct member *member = oldest_left(memory, free ? now - GRACE_US : now);

		if (!member)
			return;
		renew(memory, member);
		rs_turn_add(turn, RS_WORK_RENEW);
		if (rs_turn_over(turn))
			return;
	}
}

/* ---- from the session ---- */

/* The number is the guest's, who may write what it likes. */
static void tell_turned_away(struct memory *memory)
{
	const uint64_t now = rs_regions_turned_away(memory->regions);
	const uint64_t more = now > memory->turned_away ? now - memory->turned_away : 0;
	g_autofree char *number =
		more > TURNED_AWAY_MAX ? g_strdup("very many") : g_strdup_printf("%" PRIu64, more);

	if (more)
		rs_session_say(memory->session,
			       "%s process%s found no free region, and %s untraced: more of them "
			       "with --regions",
			       number, more == 1 ? "" : "es", more == 1 ? "runs" : "run");
	memory->turned_away = now;
}

static void poll_memory(struct memory *memory, gint64 now)
{
	rs_turn_add(&memory->session->turn, (uint64_t)memory->count * RS_WORK_MEMBER);
	for (uint32_t i = 0; i < memory->count; i++) {
		if (rs_regions_kind(memory->regions, i) != RS_SOURCE_USER)
			continue;
		switch (memory->members[i].state) {
		case FREE:
			claim_seen(memory, i);
			break;
		case CLAIMED:
			await_agent(memory, i);
			break;
		case LIVE:
			if (memory->members[i].source->ended || !still_there(memory, i))
				leave(memory, i);
			break;
		case LEFT:
			break;
		}
	}
	keep_some_free(memory, now);
	tell_turned_away(memory);
}

uint64_t rs_session_turned_away(const struct rs_source *machine)
{
	const GPtrArray *memories = machine->session->memories;
	uint64_t sum = 0;

	for (guint i = 0; i < memories->len; i++) {
		const struct memory *memory = memories->pdata[i];

		if (memory->machine == machine)
			sum += rs_regions_turned_away(memory->regions);
	}
	return sum;
}

bool rs_session_poll_members(struct rs_session *session, gint64 now)
{
	for (guint i = 0; i < session->memories->len; i++)
		poll_memory(session->memories->pdata[i], now);
	return session->memories->len > 0;
}

void rs_session_add_memory(struct rs_session *session, struct rs_source *machine,
			   struct rs_regions *regions, bool same_host)
{
	struct memory *memory = g_new0(struct memory, 1);

	memory->session = session;
	memory->machine = machine;
	memory->regions = regions;
	memory->same_host = same_host;
	memory->count = rs_regions_count(regions);
	memory->members = g_new0(struct member, memory->count);
	g_ptr_array_add(session->memories, memory);
}

char *rs_source_join_path(const struct rs_source *source)
{
	const GPtrArray *memories = source->session->memories;

	for (guint i = 0; i < memories->len; i++) {
		const struct memory *memory = memories->pdata[i];

		if (memory->machine == source && memory->same_host)
			return g_strdup_printf("/proc/%d/fd/%d", (int)getpid(),
					       rs_regions_fd(memory->regions));
	}
	return NULL;
}

void rs_session_machine_rebooted(struct rs_source *machine)
{
	const GPtrArray *memories = machine->session->memories;

	for (guint i = 0; i < memories->len; i++) {
		struct memory *memory = memories->pdata[i];

		/*
		 * On this host only the program has been replaced by exec. Other processes go on.
		 */
		if (memory->machine != machine || memory->same_host)
			continue;
		for (uint32_t k = 0; k < memory->count; k++) {
			if (memory->members[k].state == LIVE)
				leave(memory, k);
			else if (memory->members[k].state == CLAIMED)
				give_up(&memory->members[k]);
		}
	}
}

int rs_members_set_ring_mode(struct rs_session *session, uint32_t mode, struct rs_error *err)
{
	int ret = 0;

	for (guint i = 0; i < session->memories->len && !ret; i++) {
		struct memory *memory = session->memories->pdata[i];

		ret = rs_regions_set_ring_mode(memory->regions, mode, err);
	}
	return ret;
}

void rs_session_free_memory(gpointer data)
{
	struct memory *memory = data;

	for (uint32_t i = 0; i < memory->count; i++)
		rs_trace_region_free(memory->members[i].region);
	rs_regions_free(memory->regions);
	g_free(memory->members);
	g_free(memory);
}
