/* SPDX-License-Identifier: MIT */
/*
 * GLib's mutex and condition as POSIX ones: a sanitizer of threads knows what those order, and
 * knows nothing of GLib's own, which are not compiled for it.
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

gboolean g_mutex_trylock(GMutex *mutex)
{
	return !pthread_mutex_trylock(of(mutex));
}

/* Made by g_cond_init(), before any thread has it. */
void g_cond_init(GCond *cond)
{
	cond->p = calloc(1, sizeof(pthread_cond_t));
	if (!cond->p)
		abort();
	pthread_cond_init(cond->p, NULL);
}

void g_cond_clear(GCond *cond)
{
	pthread_cond_destroy(cond->p);
	free(cond->p);
	cond->p = NULL;
}

void g_cond_wait(GCond *cond, GMutex *mutex)
{
	pthread_cond_wait(cond->p, of(mutex));
}

void g_cond_broadcast(GCond *cond)
{
	pthread_cond_broadcast(cond->p);
}
