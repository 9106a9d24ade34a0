/* SPDX-License-Identifier: MIT */
/*
 * Fixtures: what several tests need, such as a disk image or a server. A fixture is a file with a
 * command that sets it up, once for all tests of a `ringside test`, and one that takes it down when
 * the last of them is over. It has a folder, which is removed then. docs/testing.md describes the
 * file. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_FIXTURE_H
#define RS_HV_CLI_TEST_FIXTURE_H

#include <glib.h>
#include <stdbool.h>

struct rs_test_fixtures;
struct rs_test_fixture;

/* `folder`: in which each has its own. `idle` is called when one more is down. */
struct rs_test_fixtures *rs_test_fixtures_new(const char *folder, bool keep,
					      void (*idle)(void *data), void *data);
/* What is up is not taken down: it is killed. Accepts NULL. */
void rs_test_fixtures_free(struct rs_test_fixtures *fixtures);
/* Whether one is being set up or taken down. */
bool rs_test_fixtures_busy(const struct rs_test_fixtures *fixtures);
/* Asks setups that run to end. Those that are up are taken down once nobody needs them. */
void rs_test_fixtures_stop(struct rs_test_fixtures *fixtures);
/* Kills the commands that run. */
void rs_test_fixtures_kill(struct rs_test_fixtures *fixtures);
/* Whether one could not be taken down. */
bool rs_test_fixtures_failed(const struct rs_test_fixtures *fixtures);

/* For one more user. The fixtures'. NULL: RS_TRACE_SPEC_ERROR, or it cannot be read. */
struct rs_test_fixture *rs_test_fixture_use(struct rs_test_fixtures *fixtures, const char *path,
					    GError **error);
/* That user needs it no longer. Of the last one: it is taken down. */
void rs_test_fixture_release(struct rs_test_fixture *fixture);

/* The name of its file, without the suffix. */
const char *rs_test_fixture_name(const struct rs_test_fixture *fixture);
/* A whole path. It is there from the setup on. */
const char *rs_test_fixture_folder(const struct rs_test_fixture *fixture);

/* Sets it up if that was not done yet. Calls `over` when it was, never from here. */
void rs_test_fixture_await(struct rs_test_fixture *fixture, void (*over)(void *data), void *data);
/* Why it could not be set up, in one line; NULL: it is up. */
const char *rs_test_fixture_why(const struct rs_test_fixture *fixture);

#endif
