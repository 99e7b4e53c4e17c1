/*
 * Threads that help with large copies, and with large launches of kernels on the host.
 *
 * Workers are started by the first job that needs them, never when the library is loaded. An idle worker polls for 50
 * microseconds, then sleeps. The caller waits for the last chunks in the same way. On Linux, workers run on the
 * processors that the main thread may use when they start, even if the caller is bound to one processor. All signals
 * are blocked in workers, except those of faults, because a program may have a handler for a truncated file mapping.
 *
 * If fewer threads than wanted can be started, this is no error. The workers are stopped and joined when the process
 * ends or the library is unloaded, because afterwards their code is no longer mapped. The calling thread does all work
 * in a forked child of a process that had workers (bi_threads lists the other cases).
 */
#ifndef BI_COMMON_ENGINE_WORKERS_H
#define BI_COMMON_ENGINE_WORKERS_H

/*
 * Calls fn(arg, i) once for each i in 0..chunks - 1, on the calling thread and on workers. Returns when all calls have
 * returned; the caller then sees the bytes that they wrote. Only one job uses the workers at a time. If another job is
 * started meanwhile, also by fn, all its calls are made on the thread that starts it, without waiting. `chunks` is at
 * most 32767. There are at most as many threads as bi_threads() of the public header returns.
 */
void bi__workers_run(int chunks, void (*fn)(void *arg, int chunk), void *arg);

#endif
