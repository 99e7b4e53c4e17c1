/*
 * A few threads that help with large copies.
 *
 * They are started by the first copy that is large enough, never at load. A worker that has nothing to do waits a few
 * microseconds for more, then sleeps; so does the caller for the last shares of others. They run where the main thread
 * of the process may when they are started, not where the caller is bound to. Signals are blocked in workers, but for
 * those of a fault: who copies from a file that was cut short has a handler. If the system gives no thread, fewer help;
 * that is no error. When the process ends or the library is unloaded, they are stopped and joined: sleeping threads
 * would wake in code that is gone. A forked child of a process that had them does all work on the calling thread.
 */
#ifndef BI_COMMON_ENGINE_WORKERS_H
#define BI_COMMON_ENGINE_WORKERS_H

/* The most shares of one job. How many threads take part is bi_threads() of the public header. */
#define BI__WORKERS_SHARES 32767

/*
 * Calls fn(arg, i) once for each i in 0..shares - 1, on the calling thread and on workers, and returns when all are
 * done; what they wrote is then seen by the caller. fn may not call this. There is one job at a time: a second caller
 * does its own shares alone meanwhile and waits for nobody.
 */
void bi__workers_run(int shares, void (*fn)(void *arg, int share), void *arg);

#endif
