#define _GNU_SOURCE

#include "check_steps.h"

#include <buffer_interface/check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "check_structure.h"

#define CANARY 0xa5
#define BEHIND 64 /* bytes behind the structure that must not be written */
#define LONGER 40 /* bytes of members that no producer knows */
#define THREADS 4
#define ROUNDS 50
#define LEAK_ROUNDS 128
#define SEVERAL 8
#define MOST_BYTES 65536 /* of the memory, that are compared */

/* A structure that the function filled, between bytes of a canary. */
struct taken {
	union {
		struct bi_exchange x;
		unsigned char bytes[BI_ABI_SIZE_MAX + BEHIND];
	};
	int code; /* that the function returned */
};

/* A call as the caller of the function makes it. */
struct call {
	const char *name;
	uint32_t version, struct_size, wishes;
};

#define SIZE ((uint32_t)sizeof(struct bi_exchange))
static const struct call plain = { "a plain call", BI_ABI_VERSION, SIZE, 0 };

static void make_call(const struct check_task *task, struct taken *taken, const struct call *call, int canary)
{
	memset(taken->bytes, canary, sizeof(taken->bytes));
	taken->x.version = call->version;
	taken->x.struct_size = call->struct_size;
	taken->code = ((check_producer_fn *)task->entry)(call->wishes, &taken->x);
}

static int is_canary(const void *bytes, size_t size, int canary)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		if (at[i] != canary)
			return 0;
	return 1;
}

static void release_taken(struct taken *taken)
{
	if (!taken->code && taken->x.release && !is_canary(&taken->x.release, sizeof(taken->x.release), CANARY))
		taken->x.release(&taken->x);
}

/* Takes a structure by a plain call. Ends the child if there is none. */
static void take_array(const struct check_task *task, struct taken *taken)
{
	make_call(task, taken, &plain, CANARY);
	if (!judge("B-46", !taken->code, "a plain call returns %d, and returned 0 before", taken->code))
		judge_end();
}

/* All that must not change until release. */
struct snapshot {
	struct bi_exchange x;
	int64_t shape[64], strides[64];
	uint64_t sum; /* of the bytes of the memory, if the CPU can read them */
};

static uint64_t sum_memory(const struct bi_exchange *x)
{
	uint64_t size = x->size < MOST_BYTES ? x->size : MOST_BYTES, sum = 14695981039346656037u;

	if (x->handle_kind != BI_HANDLE_HOST || !x->handle || x->order_kind || !check_is_readable(x->handle, x->size))
		return 0;
	for (uint64_t i = 0; i < size; i++)
		sum = (sum ^ ((const unsigned char *)(uintptr_t)x->handle)[i]) * 1099511628211u;
	return sum;
}

/* Returns the bytes of shape, and of strides, that can be read. */
static size_t numbers_size(const struct bi_exchange *x)
{
	size_t size = x->ndim * sizeof(int64_t);

	return x->ndim <= 64 && check_is_readable((uintptr_t)x->shape, size) &&
			       check_is_readable((uintptr_t)x->strides, size)
		       ? size
		       : 0;
}

static void take_snapshot(struct snapshot *snapshot, const struct bi_exchange *x)
{
	size_t size = numbers_size(x);

	memset(snapshot, 0, sizeof(*snapshot));
	memcpy(&snapshot->x, x, sizeof(*x));
	if (size) {
		memcpy(snapshot->shape, x->shape, size);
		memcpy(snapshot->strides, x->strides, size);
	}
	snapshot->sum = sum_memory(x);
}

/* Writes to memory that was freed, so that a late look at it finds other bytes. */
static void overwrite_freed_memory(void)
{
	void *blocks[64];

	for (size_t size = 24; size <= 65536; size += size < 1024 ? 16 : size) {
		for (int i = 0; i < 64; i++) {
			blocks[i] = malloc(size);
			if (blocks[i])
				memset(blocks[i], 0x5a, size);
		}
		for (int i = 0; i < 64; i++)
			free(blocks[i]);
	}
}

/* Returns the name of the first part that is not as in the snapshot, or NULL. */
static const char *find_change(const struct snapshot *before, const struct bi_exchange *x)
{
	size_t size = numbers_size(x);

	overwrite_freed_memory();
	if (memcmp(&before->x, x, sizeof(*x)) != 0)
		return "the structure";
	if (size && memcmp(before->shape, x->shape, size) != 0)
		return "shape";
	if (size && memcmp(before->strides, x->strides, size) != 0)
		return "strides";
	return sum_memory(x) == before->sum ? NULL : "the memory";
}

/* Judges that a struct which two calls filled was written whole. Returns 0 if `release` is not written. */
static int judge_written(struct taken *first, struct taken *second)
{
	size_t start = 0, end;

	while (start < SIZE && !(first->bytes[start] == CANARY && second->bytes[start] == 0x5a))
		start++;
	for (end = start; end < SIZE && first->bytes[end] == CANARY && second->bytes[end] == 0x5a;)
		end++;
	judge("B-8", start == SIZE, "the bytes %zu to %zu of the structure are not written", start, end - 1);
	judge("B-8", is_canary(first->bytes + SIZE, BEHIND, CANARY), "bytes behind the structure are written");
	judge("B-8", first->x.struct_size == SIZE, "struct_size was %u and is %u", SIZE, first->x.struct_size);
	return !is_canary(&first->x.release, sizeof(first->x.release), CANARY);
}

/* Notes 1 if the structure is good enough for the other steps. */
static void step_structure(const struct check_task *task, const void *data)
{
	struct taken first, second;
	int is_right;

	(void)data;
	make_call(task, &first, &plain, CANARY);
	if (first.code)
		judge_fatal("%s returns %d for a plain call, so there is no array to check", task->symbol, first.code);
	make_call(task, &second, &plain, 0x5a);
	judge("B-46", !second.code, "a second call returns %d", second.code);
	if (second.code || !judge_written(&first, &second))
		return;
	is_right = judge_structure(&first.x);
	release_taken(&second);
	release_taken(&first);
	judge("B-39", !first.x.release, "release is not NULL after release");
	judge_note(is_right);
}

static void step_negotiation(const struct check_task *task, const void *data)
{
	static const struct call refused[] = {
		{ "version 7.0", 0x70000, SIZE, 0 },
		{ "a struct_size of one byte less", BI_ABI_VERSION, SIZE - 1, 0 },
		{ "a struct_size of 0", BI_ABI_VERSION, 0, 0 },
		{ "a struct_size of 4097", BI_ABI_VERSION, BI_ABI_SIZE_MAX + 1, 0 },
	};
	static const struct call longer = { "a longer structure", BI_ABI_VERSION, SIZE + LONGER, 0 };
	struct taken taken;

	(void)data;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		make_call(task, &taken, &refused[i], CANARY);
		if (judge("B-7", taken.code != 0, "a call with %s returns 0", refused[i].name) &&
		    refused[i].struct_size)
			judge("B-7", !taken.x.release, "release is not NULL after a call with %s failed",
			      refused[i].name);
		release_taken(&taken);
	}
	make_call(task, &taken, &longer, CANARY);
	if (!judge("B-7", !taken.code, "a call with a structure that is %d bytes longer returns %d", LONGER,
		   taken.code))
		return;
	judge("B-8", taken.x.struct_size == SIZE + LONGER, "struct_size was %u and is %u", SIZE + LONGER,
	      taken.x.struct_size);
	judge("B-8", is_canary(taken.bytes + SIZE, LONGER, 0), "in a longer structure unknown members are not 0");
	judge("B-8", is_canary(taken.bytes + SIZE + LONGER, BEHIND, CANARY),
	      "bytes behind a longer structure are written");
	release_taken(&taken);
}

static void step_wishes(const struct check_task *task, const void *data)
{
	struct taken first, taken;

	(void)data;
	make_call(task, &taken, &(struct call){ "", BI_ABI_VERSION, SIZE, 1u << 15 }, CANARY);
	if (judge("B-48", taken.code != 0, "the unknown demand 0x8000 is accepted"))
		judge("B-7", !taken.x.release, "release is not NULL after a call with an unknown demand failed");
	release_taken(&taken);
	make_call(task, &taken, &(struct call){ "", BI_ABI_VERSION, SIZE, 1u << 30 | BI_ACQUIRE_READING }, CANARY);
	judge("B-48", !taken.code, "a call with promises returns %d", taken.code);
	release_taken(&taken);
	make_call(task, &taken, &(struct call){ "", BI_ABI_VERSION, SIZE, BI_ACQUIRE_READY }, CANARY);
	if (taken.code)
		judge_skip("B-38", "the demand READY is refused");
	else
		judge("B-38", !taken.x.order_kind && !taken.x.stream && !taken.x.event,
		      "order_kind is %u, stream 0x%llx, event 0x%llx", taken.x.order_kind,
		      (unsigned long long)taken.x.stream, (unsigned long long)taken.x.event);
	release_taken(&taken);
	take_array(task, &first);
	make_call(task, &taken, &(struct call){ "", BI_ABI_VERSION, SIZE, BI_ACQUIRE_BORROW }, CANARY);
	if (judge("B-49", !taken.code, "a call with the promise BORROW returns %d", taken.code))
		judge("B-49",
		      taken.x.ndim == first.x.ndim && taken.x.item_size == first.x.item_size &&
			      !memcmp(taken.x.shape, first.x.shape, numbers_size(&first.x)),
		      "shape or item_size is another one");
	release_taken(&taken);
	release_taken(&first);
}

/* Several structures at a time: none changes while others are acquired and released. */
static void step_several(const struct check_task *task, const void *data)
{
	static struct taken several[SEVERAL];
	struct snapshot before;
	const char *change;

	(void)data;
	take_array(task, &several[0]);
	take_snapshot(&before, &several[0].x);
	for (int i = 1; i < SEVERAL; i++)
		take_array(task, &several[i]);
	change = find_change(&before, &several[0].x);
	judge("B-12", !change, "%s has changed after more calls of the function", change);
	if (!change) {
		for (int i = SEVERAL - 1; i > 0; i--)
			release_taken(&several[i]);
		change = find_change(&before, &several[0].x);
		judge("B-43", !change, "%s has changed after the release of other structures", change);
	}
	release_taken(&several[0]);
}

static void *release_on_thread(void *x)
{
	struct bi_exchange *exchange = x;

	exchange->release(exchange);
	return NULL;
}

/* A structure is moved and released by another thread. */
static void step_move(const struct check_task *task, const void *data)
{
	struct taken taken;
	struct bi_exchange moved;
	pthread_t thread;

	(void)data;
	take_array(task, &taken);
	memcpy(&moved, &taken.x, sizeof(moved));
	memset(&taken.x, CANARY, sizeof(taken.x));
	if (pthread_create(&thread, NULL, release_on_thread, &moved)) {
		judge_skip("B-13", "no thread can be started");
		return;
	}
	pthread_join(thread, NULL);
	judge("B-13", !moved.release, "release does not set the member `release` at the new place");
	judge("B-13", is_canary(&taken.x, sizeof(taken.x), CANARY), "release writes to the place before the move");
	judge("B-39", !moved.release, "release is not NULL after a release on another thread");
}

/* Returns the bytes that malloc has given and that are not freed, or 0 if the C library does not count them. */
static size_t allocated_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
#else
	return 0;
#endif
}

static int counts_memory(void)
{
	size_t before = allocated_bytes();
	void *volatile block = malloc(1 << 20);
	int counts = block && allocated_bytes() > before;

	free(block);
	return counts;
}

/* Returns the bytes that are still allocated for each call after many calls. */
static size_t leaked_bytes(const struct check_task *task, const struct call *call)
{
	static struct taken taken;
	size_t before = 0;

	for (int i = -LEAK_ROUNDS; i < LEAK_ROUNDS; i++) {
		if (i == 0)
			before = allocated_bytes();
		make_call(task, &taken, call, CANARY);
		release_taken(&taken);
	}
	return allocated_bytes() <= before ? 0 : (allocated_bytes() - before) / LEAK_ROUNDS;
}

static void step_leaks(const struct check_task *task, const void *data)
{
	static const struct call unknown = { "version 7.0", 0x70000, SIZE, 0 };
	size_t leaked;

	(void)data;
	if (!counts_memory()) {
		judge_skip("B-51", "the C library does not count its memory");
		return;
	}
	leaked = leaked_bytes(task, &plain);
	judge("B-51", !leaked, "each call and its release leave about %zu bytes allocated", leaked);
	leaked = leaked_bytes(task, &unknown);
	judge("B-7", !leaked, "each call that fails leaves about %zu bytes allocated", leaked);
}

static void step_fork(const struct check_task *task, const void *data)
{
	struct snapshot before;
	struct taken taken;
	pid_t child;
	int status;

	(void)data;
	take_array(task, &taken);
	if (taken.x.handle_kind != BI_HANDLE_HOST) {
		judge_skip("B-42", "no array is in host memory");
		return;
	}
	take_snapshot(&before, &taken.x);
	child = fork();
	if (child == 0) {
		alarm(task->seconds / 2 + 1);
		if (find_change(&before, &taken.x))
			_exit(1);
		release_taken(&taken);
		_exit(taken.x.release ? 2 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		judge_skip("B-42", "no process can be started");
	else if (WIFSIGNALED(status))
		judge("B-42", 0, "the child ends with signal %d: %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		judge("B-42", !status,
		      WEXITSTATUS(status) == 1 ? "the child reads other elements" : "the child cannot release");
	release_taken(&taken);
}

struct crowd {
	const struct check_task *task;
	atomic_int waiting; /* threads that have not started yet */
	atomic_int refused; /* calls that failed */
	atomic_int wrong; /* structures that break a rule */
};

static void *call_often(void *data)
{
	struct crowd *crowd = data;
	struct taken taken;

	atomic_fetch_sub(&crowd->waiting, 1);
	while (atomic_load(&crowd->waiting) > 0)
		continue;
	for (int i = 0; i < ROUNDS; i++) {
		make_call(crowd->task, &taken, &plain, CANARY);
		atomic_fetch_add(&crowd->refused, taken.code != 0);
		atomic_fetch_add(&crowd->wrong, !taken.code && crowd->task->choice && bi_exchange_check(&taken.x));
		release_taken(&taken);
	}
	return NULL;
}

static void step_threads(const struct check_task *task, const void *data)
{
	struct crowd crowd = { task, THREADS, 0, 0 };
	pthread_t threads[THREADS];
	int started = 0;

	(void)data;
	while (started < THREADS && !pthread_create(&threads[started], NULL, call_often, &crowd))
		started++;
	atomic_fetch_sub(&crowd.waiting, THREADS - started);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	judge("B-46", !crowd.refused && !crowd.wrong,
	      "of %d calls on %d threads, %d fail and %d fill a structure that breaks a rule", started * ROUNDS,
	      started, crowd.refused, crowd.wrong);
}

static void step_done(const struct check_task *task, const void *data)
{
	static const struct {
		uint32_t order_kind;
		uint64_t stream, event;
	} refused[] = { { BI_ORDER_NONE, 8, 0 },   { BI_ORDER_CUDA, 0, 0 }, { BI_ORDER_CUDA, 2, 0 },
			{ BI_ORDER_OPENCL, 0, 0 }, { BI_ORDER_HIP, 8, 0 },  { 99, 8, 0 } };
	struct taken taken;

	(void)data;
	take_array(task, &taken);
	if (!taken.x.done)
		judge_skip("B-37", "`done` is NULL");
	for (size_t i = 0; taken.x.done && i < sizeof(refused) / sizeof(refused[0]); i++)
		judge("B-37", taken.x.done(&taken.x, refused[i].order_kind, refused[i].stream, refused[i].event) != 0,
		      "done(order_kind %u, stream %llu, event 0), which B-32 forbids, returns 0", refused[i].order_kind,
		      (unsigned long long)refused[i].stream);
	release_taken(&taken);
}

enum check_end check_producer(struct check_task *task, struct check_report *report)
{
	static const struct check_step first = { "the first call", "all.alive", step_structure, NULL };
	static const struct check_step steps[] = {
		{ "a call with another version or size", "all.alive", step_negotiation, NULL },
		{ "a call with wishes", "all.alive", step_wishes, NULL },
		{ "one of several structures at a time", "all.alive", step_several, NULL },
		{ "the release of a structure that was moved", "all.alive", step_move, NULL },
		{ "one of many calls", "all.alive", step_leaks, NULL },
		{ "a forked child", "all.alive", step_fork, NULL },
		{ "one of several threads", "all.alive", step_threads, NULL },
		{ "a call of done", "all.alive", step_done, NULL },
	};
	struct check_result alive = { .rule = "all.alive", .array = task->symbol };
	enum check_end end = check_run_step(task, &first, report);

	if (end != CHECK_ENDED || task->note < 0)
		return end == CHECK_FATAL ? end : CHECK_ENDED;
	task->choice = task->note;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (check_run_step(task, &steps[i], report) == CHECK_FATAL)
			return CHECK_FATAL;
	check_report_add(report, &alive);
	return CHECK_ENDED;
}
