/* SPDX-License-Identifier: MIT */
/*
 * Why a call of libringside-test has failed. Any thread.
 */
#ifndef RS_TEST_ERROR_H
#define RS_TEST_ERROR_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TEST_ERROR (rs_test_error_quark())

/**
 * RsTestError:
 * @RS_TEST_ERROR_FAILED: for another reason, which the message tells
 * @RS_TEST_ERROR_TIMEOUT: what was waited for has not come in time
 * @RS_TEST_ERROR_ENDED: the guest has ended before
 * @RS_TEST_ERROR_UNEXPECTED: what was not to happen has happened
 * @RS_TEST_ERROR_LOST: events are lost, so nobody knows
 * @RS_TEST_ERROR_NO_SUCH_EVENT: the guest has no such event, or it is not enabled
 * @RS_TEST_ERROR_BAD_ARGUMENT: an argument is wrong: an expression, a pattern, a spec
 * @RS_TEST_ERROR_NOT_RUN: the guest could not be started or traced
 * @RS_TEST_ERROR_WRONG_TIME: only before the boot, or only after it
 * @RS_TEST_ERROR_NO_SUCH_THREAD: the guest has no such thread, or it is not held
 * @RS_TEST_ERROR_NOT_SUPPORTED: this guest, or what runs it, cannot do that
 *
 * Why a call has failed. Numbers stay as they are. New ones are added at the end.
 */
typedef enum {
	RS_TEST_ERROR_FAILED,
	RS_TEST_ERROR_TIMEOUT,
	RS_TEST_ERROR_ENDED,
	RS_TEST_ERROR_UNEXPECTED,
	RS_TEST_ERROR_LOST,
	RS_TEST_ERROR_NO_SUCH_EVENT,
	RS_TEST_ERROR_BAD_ARGUMENT,
	RS_TEST_ERROR_NOT_RUN,
	RS_TEST_ERROR_WRONG_TIME,
	RS_TEST_ERROR_NO_SUCH_THREAD,
	RS_TEST_ERROR_NOT_SUPPORTED,
} RsTestError;

/**
 * rs_test_error_quark:
 *
 * The domain of these errors, %RS_TEST_ERROR in C.
 *
 * Returns: its quark
 */
GQuark rs_test_error_quark(void);

G_END_DECLS

#endif
