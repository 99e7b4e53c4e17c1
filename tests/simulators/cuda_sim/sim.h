/*
 * Declarations that the files of the simulated driver share. One lock is held from enter() to leave() of each call. All
 * other functions are called under this lock, unless their comment says otherwise.
 */
#ifndef BI_TESTS_CUDA_SIM_SIM_H
#define BI_TESTS_CUDA_SIM_SIM_H

#include "cuda_driver.h"
#include "decisions.h"

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_DEVICES 8

/* The functions that are defined, with the prototypes that callers see. */
#define SIM_DECLARE(name, symbol, necessity, parameters) SIM_EXPORT bi__cu_result symbol parameters;
BI__CU_API(SIM_DECLARE)
CUDA_DRIVER_MORE(SIM_DECLARE)
#undef SIM_DECLARE

#define SIM_DECLARE(name) SIM_EXPORT cuda_sim_##name##_fn cuda_sim_##name;
CUDA_SIM_MAP(SIM_DECLARE)
#undef SIM_DECLARE

enum entry {
#define SIM_ENTRY(name, symbol, necessity, parameters) ENTRY_##symbol,
	BI__CU_API(SIM_ENTRY) CUDA_DRIVER_MORE(SIM_ENTRY)
#undef SIM_ENTRY
		ENTRY_COUNT,
	ENTRY_TOUCH = ENTRY_COUNT, /* cuda_sim_touch, which is no call of the driver */
	ENTRY_END, /* cuda_sim_end */
	ENTRY_THREAD /* a thread ends */
};

struct sim {
	struct cuda_sim_options options;
	unsigned switches; /* bits 1 << enum sim_switch */
	struct cuda_sim_counts counts;
	int is_initialised; /* cuInit has succeeded */
	int is_resetting; /* a context is being reset: what it leaves behind is not reported */
};

extern struct sim sim;

struct context;
struct stream;

struct current {
	struct context *context;
	bi__cu_context handle; /* by which the context was made current */
};

/* The state of a thread that has called the simulator. */
struct thread {
	struct thread *next;
	unsigned number; /* 1: the first */
	struct current *stack; /* the current context is the last */
	size_t depth, capacity;
	unsigned capture_mode;
	enum entry entry; /* of its present call */
	uint64_t call;
	int in_host_function;
};

/* Returns true if the switch is on. */
static inline int switched(enum sim_switch which)
{
	return sim.switches >> which & 1;
}

/* call.c: the beginning and the end of calls. */

/* Takes the lock and counts the call. Returns 0, or the code with which the call fails, which leave() then gets. */
bi__cu_result enter(enum entry entry);
#define ENTER(symbol) enter(ENTRY_##symbol)
/* Runs some operations, releases the lock, and returns the code. */
bi__cu_result leave(bi__cu_result code);
const char *entry_name(enum entry entry);
/* Take and release the lock for the control interface. In a forked child, enter_control returns 0 without the lock. */
int enter_control(void);
void leave_control(void);
/* Release and take the lock during a call, to wait or to call foreign code. */
void sim_unlock(void);
void sim_lock(void);
/* Counts that the calling thread had to wait in this call, or could have had to. */
void count_host_wait(void);
const char *host_wait_name(uint64_t i);
const char *call_name(uint64_t n);
void shut_down(uint64_t from_call, int code);
void arm_faults(uint64_t fail_call, int fail_code, uint64_t drop_wait);
void arm_faults_from(uint64_t nth, uint64_t count, int code);
void interrupt(const char *name, uint64_t nth, void (*run)(void *data), void *data);
/* Counts an accepted wait. Returns 1 if it is the one to ignore. */
int drops_wait(void);
void forget_calls(void);

/* options.c */
/* NULL: those of the environment. */
void switches_choose(const char *names);
void options_from_environment(struct cuda_sim_options *options);

/* random.c: the seed's numbers. */
void random_seed(uint64_t seed);
uint64_t random_next(void);

/* Memory of the simulator itself: never NULL. */
void *must_alloc(size_t count, size_t size);
void *must_grow(void *old, size_t count, size_t size);

/* report.c */

/* The kinds of reports, and the words with which a report starts. */
#define SIM_REPORTS(X) \
	X(USE_AFTER_FREE, "use after free") \
	X(DOUBLE_FREE, "double free") \
	X(WRONG_FREE, "free of what was not allocated") \
	X(WRONG_CONTEXT, "wrong context") \
	X(NO_CONTEXT, "no current context") \
	X(DESTROYED_CONTEXT, "destroyed context") \
	X(DESTROYED_HANDLE, "destroyed handle") \
	X(UNKNOWN_HANDLE, "unknown handle") \
	X(OUTSIDE, "outside of an allocation") \
	X(UNREACHABLE, "unreachable memory") \
	X(OVERLAP, "overlap") \
	X(RACE, "race") \
	X(MANAGED, "managed memory in use") \
	X(UNLOADED, "module in use") \
	X(HOST_FUNCTION, "call in a host function") \
	X(UNJOINED, "unjoined capture") \
	X(DEADLOCK, "deadlock") \
	X(LEFT, "left behind") \
	X(CONTEXT_STACK, "context stack")

enum report {
#define SIM_REPORT(name, words) REPORT_##name,
	SIM_REPORTS(SIM_REPORT)
#undef SIM_REPORT
};

/* Adds a report, which names the call of this thread: "race: cuMemcpyAsync (call 12): …". */
__attribute__((format(printf, 2, 3))) void report(enum report what, const char *format, ...);
const char *report_text(uint64_t i);
void forget_reports(void);

/* thread.c */
struct thread *thread_self(void);
/* Reports stacks that are not empty and empties them. */
void forget_stacks(void);
/* Returns true in a forked child. Called without the lock too. */
int is_forked(void);
void watch_forks(void);
void thread_push(struct context *context, bi__cu_context handle);
/* Return NULL if no context is current. */
bi__cu_context thread_top_handle(void);
struct context *thread_top(void);

/* handle.c: handles are addresses that cannot be read. handle_make returns none twice. */

enum object_type {
	OBJECT_CONTEXT,
	OBJECT_STREAM,
	OBJECT_EVENT,
	OBJECT_MODULE,
	OBJECT_FUNCTION,
	OBJECT_GRAPH,
	OBJECT_NODE,
	OBJECT_EXEC,
	OBJECT_POOL,
	OBJECT_TYPES
};

void *handle_make(enum object_type type, void *object);
/* Returns the object, or NULL after a report, with *code set. */
void *handle_find(enum object_type type, const void *handle, bi__cu_result *code);
void handle_destroy(const void *handle);
/* Binds the handle of a destroyed object to this object. Returns the handle. */
void *handle_rebind(void *handle, void *object);
/* Binds the newest handle of a destroyed object of the type. Returns NULL if there is none. */
void *handle_reuse(enum object_type type, void *object);
void handles_forget(void);

/* control.c */
void run_begin(const struct cuda_sim_options *options);

#endif
