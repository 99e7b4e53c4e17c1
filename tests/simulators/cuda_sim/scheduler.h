/* Chooses which operation runs next. */
#ifndef BI_TESTS_CUDA_SIM_SCHEDULER_H
#define BI_TESTS_CUDA_SIM_SCHEDULER_H

#include "work.h"

/* Makes an operation. The caller owns a reference to it. Takes ownership of the references of the action. */
struct op *op_new(struct context *context, const struct action *action);
/* Makes `op` wait for `earlier`, before op_submit. Either may be NULL, and `earlier` may be done. */
void op_follow(struct op *op, struct op *earlier);
void op_submit(struct op *op);
struct op *op_retain(struct op *op);
void op_release(struct op *op);

/* Runs some operations. The seed decides how many, and which. */
void scheduler_advance(void);
/* Returns NOT_READY. Runs one operation, so that a loop of queries comes to an end. */
bi__cu_result scheduler_not_ready(void);
/* Runs all operations that may run now, and waits for host functions of other threads. */
void scheduler_settle(void);
/*
 * Run operations until this one (NULL: none) is done, or until all that were submitted so far in a context (NULL: in
 * all contexts) are done. May release the lock meanwhile. Return LAUNCH_TIMEOUT after a report if nothing can run any
 * more.
 */
bi__cu_result wait_for_op(struct op *op);
bi__cu_result wait_for_context(struct context *context);
/*
 * Makes the pending operations of a context do nothing when they run, except frees of memory. Returns the number of
 * pending operations.
 */
size_t scheduler_drop(const struct context *context);
/* Drops the operations that cannot run. Returns their number. */
size_t scheduler_forget(void);
void scheduler_choose_pace(void);

#endif
