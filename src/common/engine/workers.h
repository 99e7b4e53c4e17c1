/*
 * Threads that help with large copies.
 *
 * Workers are started by the first copy that is large enough, never when the library is loaded. An idle worker polls
 * for some microseconds, then sleeps. The caller waits for the last chunks in the same way. Workers run on the
 * processors that the main thread may use when they start, even if the caller is bound to one processor. All signals
 * are blocked in workers, except those of faults, because a program may have a handler for a truncated file mapping.
 *
 * If fewer threads than wanted can be started, this is no error. The workers are stopped and joined when the process
 * ends or the library is unloaded, because afterwards their code is no longer mapped. In a forked child of a process
 * that had workers, the calling thread does all work.
 */
#ifndef BI_COMMON_ENGINE_WORKERS_H
#define BI_COMMON_ENGINE_WORKERS_H

/*
 * Calls fn(arg, i) once for each i in 0..chunks - 1, on the calling thread and on workers. Returns when all calls have
 * returned; the caller then sees the bytes that they wrote. fn must not call this function. Only one job uses the
 * workers at a time: meanwhile another caller makes all its calls on its own thread, without waiting. `chunks` is at
 * most 32767. The number of threads is bi_threads() of the public header.
 */
void bi__workers_run(int chunks, void (*fn)(void *arg, int chunk), void *arg);

#endif
