/*
 * Threads that help with large copies.
 *
 * They are started by the first copy that is large enough, never at load. An idle worker polls for some microseconds,
 * then sleeps; the caller waits for the last chunks in the same way. Workers run on the processors that the main thread
 * may use when they start, not where the caller is bound. All signals are blocked in workers, except those of faults: a
 * caller that copies from a truncated file mapping may have a handler.
 *
 * Fewer threads than wanted are no error. The threads are stopped and joined when the process ends or the library is
 * unloaded, because they would wake in code that is no longer mapped. A forked child of a process that had workers does
 * all work on the calling thread.
 */
#ifndef BI_COMMON_ENGINE_WORKERS_H
#define BI_COMMON_ENGINE_WORKERS_H

/* Upper bound of the chunks of one job. The number of threads is bi_threads() of the public header. */
#define BI__WORKERS_CHUNKS 32767

/*
 * Calls fn(arg, i) once for each i in 0..chunks - 1, on the calling thread and on workers. Returns when all calls have
 * returned; the caller then sees what they wrote. fn must not call this function. Only one job runs at a time: a second
 * caller does all its chunks itself meanwhile, without waiting.
 */
void bi__workers_run(int chunks, void (*fn)(void *arg, int chunk), void *arg);

#endif
