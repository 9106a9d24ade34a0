/* SPDX-License-Identifier: MIT */
#include "session/owners.h"

#include "filter/filter.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

static const RsTraceField fields[] = {
	{.name = "a", .type = "u32", .kind = RS_KIND_UINT, .size = 4},
	{.name = "b", .type = "u64", .kind = RS_KIND_UINT, .size = 8, .offset = 8},
	{.name = "s",
	 .type = "__data_loc char[]",
	 .kind = RS_KIND_DYN_STRING,
	 .size = 4,
	 .offset = 4},
};
static const RsTraceEvent event = {
	.id = RS_FIRST_EVENT_ID,
	.system = "sched",
	.name = "switch",
	.entry_size = 16,
	.n_fields = G_N_ELEMENTS(fields),
	.fields = fields,
};

static GByteArray *compile(const char *expression)
{
	GByteArray *program = NULL;

	g_assert_cmpint(
		rs_filter_compile((const RsTraceEvent *[]){&event}, 1, expression, &program, NULL),
		==, 0);
	return program;
}

static unsigned int insns(const GByteArray *program)
{
	return ((const struct rs_filter_program *)program->data)->insn_count;
}

static void test_names(void)
{
	g_autofree char *longest = g_strnfill(RS_OWNER_NAME_MAX, 'a');
	g_autofree char *longer = g_strnfill(RS_OWNER_NAME_MAX + 1, 'a');

	g_assert_cmpint(rs_owner_check_name("view-1.b_C", NULL), ==, 0);
	g_assert_cmpint(rs_owner_check_name(longest, NULL), ==, 0);
	g_assert_cmpint(rs_owner_check_name(longer, NULL), ==, -EINVAL);
	g_assert_cmpint(rs_owner_check_name("", NULL), ==, -EINVAL);
	g_assert_cmpint(rs_owner_check_name("a b", NULL), ==, -EINVAL);
	g_assert_cmpint(rs_owner_check_name("a\n", NULL), ==, -EINVAL);
}

static void test_table(void)
{
	struct rs_owners *owners = rs_owners_new();
	struct rs_owner *owner = NULL, *again = NULL;
	struct rs_wishes wishes = {0};
	struct rs_error err = {0};

	for (unsigned int i = 0; i < RS_OWNERS_MAX; i++) {
		g_autofree char *name = g_strdup_printf("o%u", i);

		g_assert_cmpint(rs_owners_get(owners, name, &owner, NULL), ==, 0);
		rs_owner_add_rule(owner, RS_RULE_ENABLE, "a:*", NULL);
	}
	g_assert_cmpint(rs_owners_get(owners, "late", &owner, &err), ==, -EUSERS);
	g_assert_cmpint(rs_owners_get(owners, "no name", &owner, &err), ==, -EINVAL);
	/* an existing owner is found, and the host always has a place */
	g_assert_cmpint(rs_owners_get(owners, "o3", &owner, NULL), ==, 0);
	g_assert_cmpint(rs_owners_get(owners, "o3", &again, NULL), ==, 0);
	g_assert_true(owner == again);
	g_assert_cmpint(rs_owners_get(owners, RS_OWNER_HOST, &again, NULL), ==, 0);
	/* one that has neither rules nor wishes makes room */
	rs_owner_clear_rules(owner);
	rs_wishes_set_wanted(&wishes, owner, true);
	rs_owners_prune(owners);
	g_assert_nonnull(rs_owners_find(owners, "o3"));
	rs_wishes_clear(&wishes);
	rs_owners_prune(owners);
	g_assert_null(rs_owners_find(owners, "o3"));
	g_assert_null(rs_owners_find(owners, RS_OWNER_HOST));
	g_assert_cmpint(rs_owners_get(owners, "late", &owner, &err), ==, 0);
	for (unsigned int i = 1; i < rs_owners_count(owners); i++)
		g_assert_cmpstr(rs_owners_nth(owners, i - 1)->name, <,
				rs_owners_nth(owners, i)->name);
	rs_owners_free(owners);
}

static void test_rules(void)
{
	struct rs_owner *owner = rs_owner_new("x");

	g_assert_false(rs_owner_wants(owner, "k", &event));
	rs_owner_add_rule(owner, RS_RULE_ENABLE, "sched:*", NULL);
	g_assert_true(rs_owner_wants(owner, "k", &event));
	rs_owner_add_rule(owner, RS_RULE_DISABLE, "switch", NULL);
	g_assert_false(rs_owner_wants(owner, "k", &event));
	/* given again, it becomes the last rule */
	rs_owner_add_rule(owner, RS_RULE_ENABLE, "sched:*", NULL);
	g_assert_true(rs_owner_wants(owner, "k", &event));
	g_assert_cmpuint(owner->rules->len, ==, 2);
	/* another kind */
	g_assert_null(rs_owner_filter_of(owner, "k", &event));
	rs_owner_add_rule(owner, RS_RULE_FILTER, "*", "a > 1");
	rs_owner_add_rule(owner, RS_RULE_FILTER, "k/sched:switch", "a > 2");
	g_assert_cmpstr(rs_owner_filter_of(owner, "k", &event)->expression, ==, "a > 2");
	g_assert_cmpstr(rs_owner_filter_of(owner, "other", &event)->expression, ==, "a > 1");
	rs_owner_add_rule(owner, RS_RULE_FILTER, "switch", NULL);
	g_assert_null(rs_owner_filter_of(owner, "k", &event));
	g_assert_true(rs_owner_wants(owner, "k", &event));
	/* a rule without effect is not kept */
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_DISABLE, "*", NULL));
	g_assert_false(rs_owner_wants(owner, "k", &event));
	g_assert_cmpuint(owner->rules->len, ==, 3);
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_FILTER, "*", NULL));
	g_assert_cmpuint(owner->rules->len, ==, 0);
	rs_owner_free(owner);
}

/* What takes away is kept while there is something from which it takes. */
static void test_rules_without_effect_are_not_kept(void)
{
	struct rs_owner *owner = rs_owner_new("x");

	g_assert_null(rs_owner_add_rule(owner, RS_RULE_DISABLE, "sched:*", NULL));
	rs_owner_add_rule(owner, RS_RULE_FILTER, "*", "a > 1");
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_DISABLE, "sched:*", NULL));
	rs_owner_add_rule(owner, RS_RULE_ENABLE, "late:*", NULL);
	g_assert_true(rs_owner_ends_rule(owner, RS_RULE_DISABLE, "late:*"));
	g_assert_true(rs_owner_ends_rule(owner, RS_RULE_DISABLE, "*"));
	g_assert_false(rs_owner_ends_rule(owner, RS_RULE_DISABLE, "late:a"));
	g_assert_false(rs_owner_ends_rule(owner, RS_RULE_FILTER, "late:*"));
	g_assert_nonnull(rs_owner_add_rule(owner, RS_RULE_DISABLE, "late:a", NULL));
	g_assert_false(rs_owner_ends_rule(owner, RS_RULE_DISABLE, "late:a"));
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_DISABLE, "*", NULL));
	g_assert_cmpuint(owner->rules->len, ==, 1);
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_FILTER, "*", NULL));
	g_assert_cmpuint(owner->rules->len, ==, 0);
	/* It takes the only one away. */
	rs_owner_add_rule(owner, RS_RULE_ENABLE, "late:*", NULL);
	g_assert_null(rs_owner_add_rule(owner, RS_RULE_DISABLE, "late:*", NULL));
	g_assert_cmpuint(owner->rules->len, ==, 0);
	rs_owner_free(owner);
}

/* A full table refuses only new rules. */
static void test_room(void)
{
	struct rs_owner *owner = rs_owner_new("x");
	struct rs_error err = {0};

	for (unsigned int i = 0; i < RS_OWNER_MAX_RULES; i++) {
		g_autofree char *glob = g_strdup_printf("e%u", i);
		enum rs_rule_kind kind = i % 2 ? RS_RULE_ENABLE : RS_RULE_FILTER;

		g_assert_cmpint(rs_owner_check_room(owner, kind, glob, "a", NULL), ==, 0);
		rs_owner_add_rule(owner, kind, glob, "a");
	}
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_ENABLE, "new", NULL, &err), ==, -ENOSPC);
	g_assert_nonnull(strstr(err.message, "'x'"));
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_DISABLE, "new", NULL, &err), ==,
			-ENOSPC);
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_ENABLE, "e1", NULL, &err), ==, 0);
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_ENABLE, "*", NULL, &err), ==, 0);
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_DISABLE, "*", NULL, &err), ==, 0);
	g_assert_cmpint(rs_owner_check_room(owner, RS_RULE_FILTER, "*", NULL, &err), ==, 0);
	rs_owner_add_rule(owner, RS_RULE_DISABLE, "*", NULL);
	g_assert_cmpuint(owner->rules->len, ==, RS_OWNER_MAX_RULES / 2);
	rs_owner_free(owner);
}

struct three {
	struct rs_owner *host, *guest, *view;
	struct rs_wishes wishes;
	GByteArray *a, *b;
	struct rs_program_room room;
};

static void set_up(struct three *t, gconstpointer data)
{
	t->host = rs_owner_new(RS_OWNER_HOST);
	t->guest = rs_owner_new(RS_OWNER_GUEST);
	t->view = rs_owner_new("view");
	t->a = compile("a > 1");
	t->b = compile("b < 5 && a != 3");
}

static void tear_down(struct three *t, gconstpointer data)
{
	rs_wishes_clear(&t->wishes);
	g_assert_cmpuint(t->room.used, ==, 0);
	g_assert_cmpuint(t->host->uses + t->guest->uses + t->view->uses, ==, 0);
	rs_owner_free(t->host);
	rs_owner_free(t->guest);
	rs_owner_free(t->view);
	g_byte_array_unref(t->a);
	g_byte_array_unref(t->b);
}

static void set_filter(struct three *t, struct rs_owner *owner, const char *text, GByteArray *bytes)
{
	struct rs_program *program = rs_program_new(&t->room, bytes, false);

	rs_wishes_set_filter(&t->wishes, owner, text, program);
	rs_program_unref(program);
}

/* Comparisons of the program in force; 0: everything is recorded. */
static unsigned int in_force(struct three *t)
{
	g_autoptr(GByteArray) program = NULL;

	g_assert_cmpint(rs_wishes_program(&t->wishes, &event, &program, NULL), ==, 0);
	return program ? insns(program) : 0;
}

static void check_expression(struct three *t, const char *want)
{
	g_autofree char *have = rs_wishes_expression(&t->wishes);

	g_assert_cmpstr(have, ==, want);
}

static void test_wanted(struct three *t, gconstpointer data)
{
	g_assert_false(rs_wishes_wanted(&t->wishes));
	rs_wishes_set_wanted(&t->wishes, t->guest, true);
	rs_wishes_set_wanted(&t->wishes, t->view, true);
	rs_wishes_set_wanted(&t->wishes, t->host, true);
	/* the order does not depend on who came first */
	g_assert_true(t->wishes.first->owner == t->host);
	g_assert_true(t->wishes.first->next->owner == t->view);
	g_assert_true(t->wishes.first->next->next->owner == t->guest);
	rs_wishes_set_wanted(&t->wishes, t->host, false);
	g_assert_null(rs_wishes_of(&t->wishes, t->host));
	rs_wishes_forget(&t->wishes, t->host);
	rs_wishes_set_wanted(&t->wishes, t->view, false);
	g_assert_true(rs_wishes_wanted(&t->wishes));
	rs_wishes_forget(&t->wishes, t->guest);
	g_assert_false(rs_wishes_wanted(&t->wishes));
	g_assert_null(t->wishes.first);
}

#define MANY 5u

/* The order of owners is the same, whoever comes first, and each is found in it. */
static void test_order(struct three *t, gconstpointer data)
{
	static const char *const names[MANY] = {RS_OWNER_HOST, "a", "b", "view", RS_OWNER_GUEST};
	struct rs_owner *owners[MANY];

	for (unsigned int i = 0; i < MANY; i++)
		owners[i] = rs_owner_new(names[i]);
	/* Each order in which they can come, or only some of them: n counts with MANY digits. */
	for (unsigned int n = 0; n < MANY * MANY * MANY * MANY * MANY; n++) {
		const struct rs_wish *wish;
		unsigned int digits = n, there = 0;

		for (unsigned int k = 0; k < MANY; k++, digits /= MANY) {
			there |= 1u << digits % MANY;
			rs_wishes_set_wanted(&t->wishes, owners[digits % MANY], true);
		}
		wish = t->wishes.first;
		for (unsigned int i = 0; i < MANY; i++) {
			if (!(there & 1u << i)) {
				g_assert_null(rs_wishes_of(&t->wishes, owners[i]));
				rs_wishes_forget(&t->wishes, owners[i]);
				continue;
			}
			g_assert_true(wish && wish->owner == owners[i]);
			g_assert_true(rs_wishes_of(&t->wishes, owners[i]) == wish);
			wish = wish->next;
		}
		g_assert_null(wish);
		/* One goes, and only that one. */
		rs_wishes_forget(&t->wishes, owners[n % MANY]);
		for (unsigned int i = 0; i < MANY; i++)
			g_assert_cmpint(rs_wishes_of(&t->wishes, owners[i]) != NULL, ==,
					i != n % MANY && (there & 1u << i));
		rs_wishes_clear(&t->wishes);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		g_assert_cmpuint(owners[i]->uses, ==, 0);
		rs_owner_free(owners[i]);
	}
}

static void test_program(struct three *t, gconstpointer data)
{
	/* a filter of one who does not want the event is kept, and does nothing */
	set_filter(t, t->view, "a > 1", t->a);
	g_assert_cmpuint(in_force(t), ==, 0);
	check_expression(t, "a > 1");
	rs_wishes_set_wanted(&t->wishes, t->host, true);
	g_assert_cmpuint(in_force(t), ==, 0);
	check_expression(t, NULL);
	/* every one of those who want it has a filter */
	set_filter(t, t->host, "b < 5 && a != 3", t->b);
	g_assert_cmpuint(in_force(t), ==, 2);
	check_expression(t, "b < 5 && a != 3");
	rs_wishes_set_wanted(&t->wishes, t->view, true);
	g_assert_cmpuint(in_force(t), ==, 3);
	check_expression(t, "(b < 5 && a != 3) || (a > 1)");
	/* one has none: everything */
	rs_wishes_set_wanted(&t->wishes, t->guest, true);
	g_assert_cmpuint(in_force(t), ==, 0);
	check_expression(t, NULL);
	set_filter(t, t->guest, "a > 1", t->a);
	g_assert_cmpuint(in_force(t), ==, 3);
	check_expression(t, "(b < 5 && a != 3) || (a > 1)");
	rs_wishes_set_filter(&t->wishes, t->host, NULL, NULL);
	g_assert_cmpuint(in_force(t), ==, 0);
	rs_wishes_forget(&t->wishes, t->host);
	g_assert_cmpuint(in_force(t), ==, 1);
	check_expression(t, "a > 1");
}

static void test_copy(struct three *t, gconstpointer data)
{
	struct rs_wishes copy = {0};

	rs_wishes_set_wanted(&t->wishes, t->host, true);
	set_filter(t, t->guest, "a > 1", t->a);
	rs_wishes_copy(&copy, &t->wishes);
	rs_wishes_set_wanted(&copy, t->host, false);
	rs_wishes_set_filter(&copy, t->guest, NULL, NULL);
	g_assert_null(copy.first);
	g_assert_true(rs_wishes_of(&t->wishes, t->host)->wanted);
	g_assert_cmpstr(rs_wishes_of(&t->wishes, t->guest)->filter, ==, "a > 1");
	rs_wishes_copy(&copy, &t->wishes);
	rs_wishes_clear(&t->wishes);
	g_assert_true(rs_wishes_of(&copy, t->host)->wanted);
	g_assert_true(rs_wishes_of(&copy, t->guest)->program->bytes == t->a);
	rs_wishes_clear(&copy);
}

/* `terms` comparisons; `from` makes them differ. */
static GByteArray *compile_many(unsigned int from, unsigned int terms)
{
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned int i = 0; i < terms; i++)
		g_string_append_printf(s, "%sb == %u", i ? " || " : "", from + i);
	return compile(s->str);
}

static void test_too_large(struct three *t, gconstpointer data)
{
	g_autoptr(GByteArray) half = compile_many(0, RS_FILTER_MAX_INSNS / 2);
	g_autoptr(GByteArray) more = compile_many(1000, RS_FILTER_MAX_INSNS / 2 + 1);
	GByteArray *program = half;

	g_assert_true(rs_owner_guest_may(half));
	g_assert_false(rs_owner_guest_may(more));
	rs_wishes_set_wanted(&t->wishes, t->host, true);
	set_filter(t, t->host, "more", more);
	set_filter(t, t->view, "half", half);
	g_assert_cmpuint(in_force(t), ==, RS_FILTER_MAX_INSNS / 2 + 1);
	rs_wishes_set_wanted(&t->wishes, t->view, true);
	g_assert_cmpint(rs_wishes_program(&t->wishes, &event, &program, NULL), ==, -E2BIG);
	g_assert_null(program);
}

static void test_too_slow(struct three *t, gconstpointer data)
{
	g_autoptr(GByteArray) half = compile("s ~ *a?* || s ~ *b?* || s ~ *c?*");
	g_autoptr(GByteArray) more = compile("s ~ *a?* || s ~ *b?* || s ~ *c?* || s ~ *d?*");
	g_autoptr(GByteArray) other = compile("s ~ *e?* || s ~ *f?* || s ~ *g?* || s ~ *h?*");
	struct rs_error err = {0};
	GByteArray *program = half;

	g_assert_true(rs_owner_guest_may(half));
	g_assert_false(rs_owner_guest_may(more));
	rs_wishes_set_wanted(&t->wishes, t->host, true);
	rs_wishes_set_wanted(&t->wishes, t->view, true);
	set_filter(t, t->host, "half", half);
	set_filter(t, t->view, "more", more);
	g_assert_cmpuint(in_force(t), ==, 7);
	set_filter(t, t->host, "other", other);
	g_assert_cmpint(rs_wishes_program(&t->wishes, &event, &program, &err), ==, -E2BIG);
	g_assert_nonnull(strstr(err.message, "32776 steps"));
	g_assert_null(program);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct three *t, gconstpointer data);
	} tests[] = {
		{"/owners/wanted", test_wanted},       {"/owners/order", test_order},
		{"/owners/program", test_program},     {"/owners/copy", test_copy},
		{"/owners/too-large", test_too_large}, {"/owners/too-slow", test_too_slow},
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/owners/names", test_names);
	g_test_add_func("/owners/table", test_table);
	g_test_add_func("/owners/rules", test_rules);
	g_test_add_func("/owners/rules-without-effect", test_rules_without_effect_are_not_kept);
	g_test_add_func("/owners/room", test_room);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].name, struct three, NULL, set_up, tests[i].run, tear_down);
	return g_test_run();
}
