/*
 * What Python cannot do itself: call a function on a thread that no interpreter knows, and count calls of a deleter
 * without one. Loaded with ctypes.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

struct call {
	void (*function)(void *);
	void *argument;
	int milliseconds;
};

static void *run(void *data)
{
	const struct call *call = data;

	call->function(call->argument);
	return NULL;
}

/* Calls on a new thread and waits for its end. 0: done. */
int peer_call(void (*function)(void *), void *argument)
{
	struct call call = { function, argument, 0 };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, &call))
		return -1;
	return pthread_join(thread, NULL);
}

/* One call at a time can be on its way. */
static struct call later;

static void *run_later(void *data)
{
	const struct call *call = data;
	const struct timespec time = { call->milliseconds / 1000, call->milliseconds % 1000 * 1000000L };

	nanosleep(&time, NULL);
	return run(data);
}

/* Calls on a new thread after a while; nobody waits for it. */
int peer_call_later(void (*function)(void *), void *argument, int milliseconds)
{
	pthread_t thread;

	later = (struct call){ function, argument, milliseconds };
	if (pthread_create(&thread, NULL, run_later, &later))
		return -1;
	return pthread_detach(thread);
}

/* The head of a DLManagedTensor behind its tensor, and of a DLManagedTensorVersioned. */
struct managed {
	char tensor[48];
	_Atomic long *count;
};

struct versioned {
	int version[2];
	_Atomic long *count;
};

/* Deleters: add one to the long behind manager_ctx. */
void peer_delete(struct managed *self)
{
	atomic_fetch_add(self->count, 1);
}

void peer_delete_versioned(struct versioned *self)
{
	atomic_fetch_add(self->count, 1);
}

static struct call last;

static void run_last(void)
{
	last.function(last.argument);
}

/* Calls when the process ends, behind what is registered later. One call at a time can be registered. */
int peer_at_exit(void (*function)(void *), void *argument)
{
	last = (struct call){ function, argument, 0 };
	return atexit(run_last);
}
