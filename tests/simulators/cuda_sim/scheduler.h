/* Which operation runs next. */
#ifndef BI_TESTS_CUDA_SIM_SCHEDULER_H
#define BI_TESTS_CUDA_SIM_SCHEDULER_H

#include "work.h"

/* A new operation, held once by the caller; takes over what the action holds. */
struct op *op_new(struct context *context, const struct action *action);
/* Before submission: op (NULL: nobody) waits for `earlier`, which may be NULL or done. */
void op_follow(struct op *op, struct op *earlier);
void op_submit(struct op *op);
struct op *op_retain(struct op *op);
void op_release(struct op *op);

/* Lets some operations run, how many and which is the seed's choice. */
void scheduler_advance(void);
/* A caller that polls was told that something is not done: one operation runs, so that polling comes to an end. */
bi__cu_result scheduler_not_ready(void);
/* Runs everything that may run now, and lets host functions of other threads end. */
void scheduler_settle(void);
/*
 * Run until the operation (NULL: nothing), everything submitted so far of a context, or of all contexts (NULL) is done.
 * The lock may be given away meanwhile. LAUNCH_TIMEOUT, after a report: nothing moves any more.
 */
bi__cu_result wait_for_op(struct op *op);
bi__cu_result wait_for_context(struct context *context);
/*
 * The pending operations of a context do nothing when their time comes, but that memory is freed, which is of no
 * context. Returns how many there were.
 */
size_t scheduler_drop(const struct context *context);
/* Drops what could not run. Returns how many there were. */
size_t scheduler_forget(void);
void scheduler_choose_pace(void);

#endif
