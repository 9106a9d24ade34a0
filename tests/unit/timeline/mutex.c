/* SPDX-License-Identifier: MIT */
/*
 * GLib's mutex as a POSIX one: a sanitizer of threads knows what that orders, and knows nothing of
 * GLib's own, which is not compiled for it.
 */
#include <glib.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t *of(GMutex *mutex)
{
	pthread_mutex_t *there = __atomic_load_n(&mutex->p, __ATOMIC_ACQUIRE), *made;
	gpointer none = NULL;

	if (there)
		return there;
	made = calloc(1, sizeof(*made));
	if (!made)
		abort();
	pthread_mutex_init(made, NULL);
	if (__atomic_compare_exchange_n(&mutex->p, &none, made, FALSE, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	free(made);
	return none;
}

void g_mutex_init(GMutex *mutex)
{
	mutex->p = NULL;
}

void g_mutex_clear(GMutex *mutex)
{
	if (mutex->p)
		pthread_mutex_destroy(mutex->p);
	free(mutex->p);
	mutex->p = NULL;
}

void g_mutex_lock(GMutex *mutex)
{
	pthread_mutex_lock(of(mutex));
}

void g_mutex_unlock(GMutex *mutex)
{
	pthread_mutex_unlock(of(mutex));
}
