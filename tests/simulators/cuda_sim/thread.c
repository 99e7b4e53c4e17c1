#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "context.h"
#include "memory.h"
#include "sim.h"

static struct thread *threads;
static unsigned last_number;
static pthread_key_t key; /* frees the state of a thread at its end */
/* Each call reads this variable, so its access must not need a function call. */
static _Thread_local struct thread *own __attribute__((tls_model("initial-exec")));
static atomic_int forked;

static void in_child(void)
{
	atomic_store(&forked, 1);
	arenas_leave_child();
}

/* Called once per process, in the first call. */
void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

int is_forked(void)
{
	return atomic_load(&forked);
}

static void unlink_thread(struct thread *thread)
{
	struct thread **place = &threads;

	while (*place != thread)
		place = &(*place)->next;
	*place = thread->next;
	free(thread->stack);
	free(thread);
}

/* Called at the end of a thread. */
static void end_thread(void *data)
{
	struct thread *thread = data;

	if (is_forked())
		return;
	sim_lock();
	thread->entry = ENTRY_THREAD;
	if (thread->depth)
		report(REPORT_CONTEXT_STACK, "thread %u ends with %zu contexts on its stack", thread->number,
		       thread->depth);
	unlink_thread(thread);
	own = NULL;
	sim_unlock();
}

static struct thread *meet_thread(void)
{
	struct thread *self;

	if (!last_number)
		pthread_key_create(&key, end_thread);
	self = must_alloc(1, sizeof(*self));
	self->number = ++last_number;
	self->entry = ENTRY_END;
	self->next = threads;
	threads = self;
	pthread_setspecific(key, self);
	own = self;
	return self;
}

struct thread *thread_self(void)
{
	return own ? own : meet_thread();
}

void forget_stacks(void)
{
	for (struct thread *thread = threads; thread; thread = thread->next) {
		if (thread->depth)
			report(REPORT_CONTEXT_STACK,
			       "thread %u has %zu contexts on its stack, the last is of device %d", thread->number,
			       thread->depth, thread->stack[thread->depth - 1].context->device);
		thread->depth = 0;
		thread->capture_mode = BI__CU_CAPTURE_MODE_GLOBAL;
	}
}

void thread_push(struct context *context, bi__cu_context handle)
{
	struct thread *thread = thread_self();

	if (thread->depth == thread->capacity) {
		thread->capacity = thread->capacity ? 2 * thread->capacity : 8;
		thread->stack = must_grow(thread->stack, thread->capacity, sizeof(*thread->stack));
	}
	thread->stack[thread->depth++] = (struct current){ context, handle };
}

struct context *thread_top(void)
{
	const struct thread *thread = thread_self();

	return thread->depth ? thread->stack[thread->depth - 1].context : NULL;
}

bi__cu_context thread_top_handle(void)
{
	const struct thread *thread = thread_self();

	return thread->depth ? thread->stack[thread->depth - 1].handle : NULL;
}
