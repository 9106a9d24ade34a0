/* SPDX-License-Identifier: MIT */
#include "session/owners.h"

#include "filter/filter.h"
#include <errno.h>
#include <string.h>

/* ---- owners ---- */

struct rs_owners {
	GPtrArray *list; /* owns struct rs_owner, in order of name */
};

static void rule_free(gpointer data)
{
	struct rs_rule *rule = data;

	g_free(rule->glob);
	rs_trace_event_glob_free(rule->match);
	g_free(rule->expression);
	g_free(rule->place);
	g_free(rule);
}

struct rs_owner *rs_owner_new(const char *name)
{
	struct rs_owner *owner = g_new0(struct rs_owner, 1);

	owner->name = g_strdup(name);
	owner->rules = g_ptr_array_new_with_free_func(rule_free);
	return owner;
}

void rs_owner_free(struct rs_owner *owner)
{
	if (!owner)
		return;
	g_ptr_array_unref(owner->rules);
	g_free(owner->name);
	g_free(owner);
}

int rs_owner_check_name(const char *name, struct rs_error *err)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++) {
		if (!g_ascii_isalnum(name[i]) && !strchr("._-", name[i]))
			return rs_error_set(err, EINVAL,
					    "an owner's name is made of letters, digits, '.', '_' "
					    "and '-'");
	}
	if (length < 1 || length > RS_OWNER_NAME_MAX)
		return rs_error_set(err, EINVAL, "an owner's name has 1 to %u characters",
				    RS_OWNER_NAME_MAX);
	return 0;
}

static void owner_free(gpointer data)
{
	rs_owner_free(data);
}

struct rs_owners *rs_owners_new(void)
{
	struct rs_owners *owners = g_new0(struct rs_owners, 1);

	owners->list = g_ptr_array_new_with_free_func(owner_free);
	return owners;
}

void rs_owners_free(struct rs_owners *owners)
{
	if (!owners)
		return;
	g_ptr_array_unref(owners->list);
	g_free(owners);
}

unsigned int rs_owners_count(const struct rs_owners *owners)
{
	return owners->list->len;
}

struct rs_owner *rs_owners_nth(const struct rs_owners *owners, unsigned int n)
{
	return owners->list->pdata[n];
}

struct rs_owner *rs_owners_find(const struct rs_owners *owners, const char *name)
{
	for (guint i = 0; i < owners->list->len; i++) {
		struct rs_owner *owner = owners->list->pdata[i];

		if (strcmp(owner->name, name) == 0)
			return owner;
	}
	return NULL;
}

/* "host" can always be there: it is not counted. */
static bool full(const struct rs_owners *owners)
{
	return owners->list->len - (rs_owners_find(owners, RS_OWNER_HOST) != NULL) >= RS_OWNERS_MAX;
}

int rs_owners_get(struct rs_owners *owners, const char *name, struct rs_owner **out,
		  struct rs_error *err)
{
	int ret = rs_owner_check_name(name, err);
	struct rs_owner *owner;
	guint at = 0;

	if (ret)
		return ret;
	owner = rs_owners_find(owners, name);
	if (!owner) {
		if (strcmp(name, RS_OWNER_HOST) != 0 && full(owners))
			return rs_error_set(err, EUSERS,
					    "there are %u owners already: one that wants nothing "
					    "and has no filter makes room",
					    RS_OWNERS_MAX);
		owner = rs_owner_new(name);
		while (at < owners->list->len && strcmp(rs_owners_nth(owners, at)->name, name) < 0)
			at++;
		g_ptr_array_insert(owners->list, (gint)at, owner);
	}
	*out = owner;
	return 0;
}

void rs_owners_prune(struct rs_owners *owners)
{
	for (guint i = owners->list->len; i-- > 0;) {
		const struct rs_owner *owner = owners->list->pdata[i];

		if (!owner->uses && !owner->rules->len)
			g_ptr_array_remove_index(owners->list, i);
	}
}

/* ---- rules ---- */

static bool replaces(enum rs_rule_kind kind, const char *glob, const struct rs_rule *old)
{
	bool same = (kind == RS_RULE_FILTER) == (old->kind == RS_RULE_FILTER);

	return same && (strcmp(glob, "*") == 0 || strcmp(glob, old->glob) == 0);
}

static bool gives(enum rs_rule_kind kind, const char *expression)
{
	return kind == RS_RULE_ENABLE || (kind == RS_RULE_FILTER && expression);
}

/*
 * Without any rule an event is neither wanted nor filtered. So what takes away is worth keeping
 * only if a rule is left from which it takes.
 */
static bool worth_keeping(const struct rs_owner *owner, enum rs_rule_kind kind, const char *glob,
			  const char *expression)
{
	bool filters = kind == RS_RULE_FILTER;

	for (guint i = 0; i < owner->rules->len; i++) {
		const struct rs_rule *rule = owner->rules->pdata[i];

		if ((rule->kind == RS_RULE_FILTER) == filters &&
		    gives(rule->kind, rule->expression) && !replaces(kind, glob, rule))
			return true;
	}
	return gives(kind, expression);
}

int rs_owner_check_room(const struct rs_owner *owner, enum rs_rule_kind kind, const char *glob,
			const char *expression, struct rs_error *err)
{
	guint left = owner->rules->len;

	for (guint i = 0; i < owner->rules->len; i++)
		left -= replaces(kind, glob, owner->rules->pdata[i]);
	if (left < RS_OWNER_MAX_RULES || !worth_keeping(owner, kind, glob, expression))
		return 0;
	return rs_error_set(err, ENOSPC,
			    "more than %u globs are kept for '%s': \"disable '*'\" and "
			    "\"filter -c '*'\" clear them",
			    RS_OWNER_MAX_RULES, owner->name);
}

struct rs_rule *rs_owner_add_rule(struct rs_owner *owner, enum rs_rule_kind kind, const char *glob,
				  const char *expression)
{
	struct rs_rule *rule;

	for (guint i = owner->rules->len; i-- > 0;) {
		if (replaces(kind, glob, owner->rules->pdata[i]))
			g_ptr_array_remove_index(owner->rules, i);
	}
	if (!worth_keeping(owner, kind, glob, expression))
		return NULL;
	rule = g_new0(struct rs_rule, 1);
	rule->kind = kind;
	rule->glob = g_strdup(glob);
	rule->expression = g_strdup(expression);
	g_ptr_array_add(owner->rules, rule);
	return rule;
}

bool rs_owner_ends_rule(const struct rs_owner *owner, enum rs_rule_kind kind, const char *glob)
{
	for (guint i = 0; i < owner->rules->len; i++) {
		const struct rs_rule *rule = owner->rules->pdata[i];

		if (replaces(kind, glob, rule) && gives(rule->kind, rule->expression))
			return true;
	}
	return false;
}

void rs_owner_clear_rules(struct rs_owner *owner)
{
	g_ptr_array_set_size(owner->rules, 0);
}

void rs_owner_copy_rules(struct rs_owner *to, const struct rs_owner *from)
{
	rs_owner_clear_rules(to);
	for (guint i = 0; i < from->rules->len; i++) {
		const struct rs_rule *rule = from->rules->pdata[i];
		struct rs_rule *copy = g_memdup2(rule, sizeof(*rule));

		copy->glob = g_strdup(rule->glob);
		copy->match = NULL;
		copy->expression = g_strdup(rule->expression);
		copy->place = g_strdup(rule->place);
		g_ptr_array_add(to->rules, copy);
	}
}

static bool rule_matches(struct rs_rule *rule, const char *source, const RsTraceEvent *event)
{
	if (!rule->match)
		rule->match = rs_trace_event_glob_new(rule->glob, NULL);
	return rs_trace_event_glob_matches(rule->match, source, event);
}

void rs_owner_drop_compiled(struct rs_owner *owner)
{
	for (guint i = 0; i < owner->rules->len; i++) {
		struct rs_rule *rule = owner->rules->pdata[i];

		g_clear_pointer(&rule->match, rs_trace_event_glob_free);
	}
}

const struct rs_rule *rs_owner_enable_of(const struct rs_owner *owner, const char *source,
					 const RsTraceEvent *event)
{
	for (guint i = owner->rules->len; i-- > 0;) {
		struct rs_rule *rule = owner->rules->pdata[i];

		if (rule->kind == RS_RULE_FILTER || !rule_matches(rule, source, event))
			continue;
		rule->met = true;
		return rule->kind == RS_RULE_ENABLE ? rule : NULL;
	}
	return NULL;
}

bool rs_owner_wants(const struct rs_owner *owner, const char *source, const RsTraceEvent *event)
{
	return rs_owner_enable_of(owner, source, event);
}

struct rs_rule *rs_owner_filter_of(const struct rs_owner *owner, const char *source,
				   const RsTraceEvent *event)
{
	for (guint i = owner->rules->len; i-- > 0;) {
		struct rs_rule *rule = owner->rules->pdata[i];

		if (rule->kind == RS_RULE_FILTER && rule_matches(rule, source, event))
			return rule->expression ? rule : NULL;
	}
	return NULL;
}

/* ---- wishes ---- */

static struct rs_wish *wish_new(struct rs_owner *owner)
{
	struct rs_wish *wish = g_new0(struct rs_wish, 1);

	wish->owner = owner;
	owner->uses++;
	return wish;
}

static void wish_free(struct rs_wish *wish)
{
	wish->owner->uses--;
	g_clear_pointer(&wish->program, rs_program_unref);
	g_clear_pointer(&wish->filter, g_ref_string_release);
	g_free(wish);
}

void rs_wishes_clear(struct rs_wishes *wishes)
{
	while (wishes->first) {
		struct rs_wish *wish = wishes->first;

		wishes->first = wish->next;
		wish_free(wish);
	}
}

void rs_wishes_copy(struct rs_wishes *to, const struct rs_wishes *from)
{
	struct rs_wish **link = &to->first;

	for (const struct rs_wish *wish = from->first; wish; wish = wish->next) {
		struct rs_wish *copy = wish_new(wish->owner);

		copy->wanted = wish->wanted;
		copy->stack = wish->stack;
		copy->filter = wish->filter ? g_ref_string_acquire(wish->filter) : NULL;
		copy->program = wish->program ? rs_program_ref(wish->program) : NULL;
		*link = copy;
		link = &copy->next;
	}
}

static int rank(const struct rs_owner *owner)
{
	if (strcmp(owner->name, RS_OWNER_HOST) == 0)
		return 0;
	return strcmp(owner->name, RS_OWNER_GUEST) == 0 ? 2 : 1;
}

static bool stands_before(const struct rs_owner *a, const struct rs_owner *b)
{
	return rank(a) != rank(b) ? rank(a) < rank(b) : strcmp(a->name, b->name) < 0;
}

/* Where the owner's wish is, or would be. */
static struct rs_wish **find(struct rs_wishes *wishes, const struct rs_owner *owner)
{
	struct rs_wish **link = &wishes->first;

	while (*link && (*link)->owner != owner && stands_before((*link)->owner, owner))
		link = &(*link)->next;
	return link;
}

static struct rs_wish *find_or_make(struct rs_wishes *wishes, struct rs_owner *owner)
{
	struct rs_wish **link = find(wishes, owner), *wish = *link;

	if (!wish || wish->owner != owner) {
		wish = wish_new(owner);
		wish->next = *link;
		*link = wish;
	}
	return wish;
}

void rs_wishes_forget(struct rs_wishes *wishes, const struct rs_owner *owner)
{
	struct rs_wish **link = find(wishes, owner), *wish = *link;

	if (!wish || wish->owner != owner)
		return;
	*link = wish->next;
	wish_free(wish);
}

const struct rs_wish *rs_wishes_of(const struct rs_wishes *wishes, const struct rs_owner *owner)
{
	const struct rs_wish *wish = wishes->first;

	while (wish && wish->owner != owner)
		wish = wish->next;
	return wish;
}

static void forget_if_empty(struct rs_wishes *wishes, const struct rs_wish *wish)
{
	if (!wish->wanted && !wish->filter)
		rs_wishes_forget(wishes, wish->owner);
}

void rs_wishes_set_wanted(struct rs_wishes *wishes, struct rs_owner *owner, bool wanted)
{
	struct rs_wish *wish = find_or_make(wishes, owner);

	wish->wanted = wanted;
	wish->stack = 0;
	forget_if_empty(wishes, wish);
}

void rs_wishes_set_stack(struct rs_wishes *wishes, struct rs_owner *owner, uint32_t stack)
{
	struct rs_wish *wish = find_or_make(wishes, owner);

	wish->wanted = true;
	wish->stack = stack;
}

void rs_wishes_set_filter(struct rs_wishes *wishes, struct rs_owner *owner, const char *filter,
			  struct rs_program *program)
{
	struct rs_wish *wish = find_or_make(wishes, owner);

	g_clear_pointer(&wish->program, rs_program_unref);
	g_clear_pointer(&wish->filter, g_ref_string_release);
	wish->filter = filter ? g_ref_string_new_intern(filter) : NULL;
	wish->program = program ? rs_program_ref(program) : NULL;
	forget_if_empty(wishes, wish);
}

bool rs_owner_guest_may(const GByteArray *program)
{
	const struct rs_filter_program *head = (const struct rs_filter_program *)program->data;

	return head->insn_count <= RS_FILTER_MAX_INSNS / 2 &&
	       head->size <= RS_FILTER_MAX_SIZE / 2 &&
	       rs_filter_steps(program->data) <= RS_FILTER_MAX_STEPS / 2;
}

bool rs_wishes_wanted(const struct rs_wishes *wishes)
{
	for (const struct rs_wish *wish = wishes->first; wish; wish = wish->next) {
		if (wish->wanted)
			return true;
	}
	return false;
}

uint32_t rs_wishes_stack(const struct rs_wishes *wishes)
{
	uint32_t most = 0;

	for (const struct rs_wish *wish = wishes->first; wish; wish = wish->next)
		most = MAX(most, wish->stack);
	return most;
}

int rs_wishes_program(const struct rs_wishes *wishes, const RsTraceEvent *event,
		      GByteArray **joined, struct rs_error *err)
{
	g_autoptr(GPtrArray) programs = g_ptr_array_new();
	struct rs_filter_error why = {0};
	int ret;

	*joined = NULL;
	for (const struct rs_wish *wish = wishes->first; wish; wish = wish->next) {
		if (!wish->wanted)
			continue;
		if (!wish->program)
			return 0;
		g_ptr_array_add(programs, wish->program->bytes);
	}
	if (!programs->len)
		return 0;
	ret = rs_filter_join(event, (GByteArray *const *)programs->pdata, programs->len, joined,
			     &why);
	return ret ? rs_error_set(err, why.code, "%s", why.message) : 0;
}

char *rs_wishes_expression(const struct rs_wishes *wishes)
{
	g_autoptr(GPtrArray) texts = g_ptr_array_new();
	bool wanted = rs_wishes_wanted(wishes);
	GString *all = g_string_new(NULL);

	for (const struct rs_wish *wish = wishes->first; wish; wish = wish->next) {
		if (wish->wanted != wanted)
			continue;
		if (!wish->filter)
			return g_string_free(all, TRUE);
		if (!g_ptr_array_find(texts, wish->filter, NULL))
			g_ptr_array_add(texts, wish->filter);
	}
	if (texts->len == 1)
		g_string_assign(all, texts->pdata[0]);
	for (guint i = 0; texts->len > 1 && i < texts->len; i++)
		g_string_append_printf(all, "%s(%s)", i ? " || " : "", (char *)texts->pdata[i]);
	return g_string_free(all, texts->len == 0);
}
