#define _GNU_SOURCE

#include "check_child.h"

#include <buffer_interface/check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define CANARY 0xa5
#define BEHIND 64 /* bytes behind the structure that must not be written */
#define LONGER 40 /* bytes of members that this version does not have */
#define THREADS 4
#define ROUNDS 50
#define LEAK_ROUNDS 128
#define SEVERAL 8
#define FREED 0x5a /* is written to memory that was freed */

/* A structure that the function filled. The bytes behind it are a canary. */
struct taken {
	union {
		struct bi_exchange x;
		unsigned char bytes[BI_ABI_SIZE_MAX + BEHIND];
	};
	int code; /* that the function returned */
};

/* The arguments of a call, and the rule that it tests. */
struct call {
	const char *name; /* NULL ends a list */
	uint32_t version, struct_size, wishes;
	const char *rule; /* the rule by which the call must be refused, or accepted */
	int is_refused;
};

#define SIZE ((uint32_t)sizeof(struct bi_exchange))
#define KNOWN BI_ABI_VERSION, SIZE
static const struct call plain = { "", KNOWN, 0, NULL, 0 }, unknown = { "", 0x70000, SIZE, 0, NULL, 1 },
			 borrow = { "the promise BORROW", KNOWN, BI_ACQUIRE_BORROW, "B-49", 0 },
			 ready = { "", KNOWN, BI_ACQUIRE_READY, "B-38", 0 };
static const struct call versions[] = {
	{ "version 7.0", 0x70000, SIZE, 0, "B-7", 1 },
	{ "a struct_size of one byte less", BI_ABI_VERSION, SIZE - 1, 0, "B-7", 1 },
	{ "a struct_size of 0", BI_ABI_VERSION, 0, 0, "B-7", 1 },
	{ "a struct_size of 4097", BI_ABI_VERSION, BI_ABI_SIZE_MAX + 1, 0, "B-7", 1 },
	{ "a structure that is 40 bytes longer", BI_ABI_VERSION, SIZE + LONGER, 0, "B-7", 0 },
	{ NULL, 0, 0, 0, NULL, 0 },
};
static const struct call wishes[] = {
	{ "the unknown demand 0x8000", KNOWN, 1u << 15, "B-48", 1 },
	{ "promises", KNOWN, 1u << 30 | BI_ACQUIRE_READING, "B-48", 0 },
	{ NULL, 0, 0, 0, NULL, 0 },
};

static void make_call(const struct check_task *task, struct taken *taken, const struct call *call, int canary)
{
	memset(taken->bytes, canary, sizeof(taken->bytes));
	taken->x.version = call->version;
	taken->x.struct_size = call->struct_size;
	taken->code = ((check_producer_fn *)task->entry)(call->wishes, &taken->x);
	judge_alive();
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
	judge_alive();
}

/* Takes a structure by a plain call. Ends the child if the producer refuses, because it may refuse a later call. */
static void take_array(const struct check_task *task, struct taken *taken)
{
	make_call(task, taken, &plain, CANARY);
	if (taken->code)
		judge_end();
}

/*
 * Judges whether the producer accepts `call`, which differs from a plain call. A refusal breaks the rule only if the
 * producer accepts a plain call after it. Returns 1 if the producer accepts `call`.
 */
static int judge_accepted(const struct check_task *task, const struct taken *taken, const struct call *call)
{
	struct taken again;

	if (!taken->code)
		return judge(call->rule, 1, "%s", "");
	make_call(task, &again, &plain, CANARY);
	if (again.code)
		judge_skip(call->rule, "the function refuses later calls");
	else
		judge(call->rule, 0, "a call with %s returns %d, and a plain call returns 0", call->name, taken->code);
	release_taken(&again);
	return 0;
}

#define SNAPSHOT_DESCR 1024 /* bytes of descr that are compared */

/* All that must not change until release. The elements may change: B-12 is about the structure. */
struct snapshot {
	struct bi_exchange x;
	int64_t shape[64], strides[64];
	char descr[SNAPSHOT_DESCR];
	int is_freed; /* the memory cannot be read, or looks as if it was freed */
};

/*
 * Returns 1 if host memory cannot be read, or has the bytes of freed memory in its middle. Its ends are not compared,
 * because malloc writes to them.
 */
static int is_memory_freed(const struct bi_exchange *x)
{
	if (x->handle_kind != BI_HANDLE_HOST || !x->handle)
		return 0;
	if (!check_is_readable(x->handle, x->size))
		return 1;
	return x->size >= 128 && !x->order_kind &&
	       is_canary((const unsigned char *)(uintptr_t)x->handle + x->size / 2, (size_t)(x->size / 4), FREED);
}

/* Returns the size of shape, which is that of strides, or 0 if one of them cannot be read. */
static size_t numbers_size(const struct bi_exchange *x)
{
	size_t size = x->ndim * sizeof(int64_t);

	return x->ndim <= 64 && check_is_readable((uintptr_t)x->shape, size) &&
			       check_is_readable((uintptr_t)x->strides, size)
		       ? size
		       : 0;
}

static const char *descr_of(const struct bi_exchange *x)
{
	return x->descr ? x->descr : "";
}

/* Returns the bytes of descr that are compared. */
static size_t descr_size(const struct bi_exchange *x)
{
	return check_readable_length(descr_of(x), SNAPSHOT_DESCR);
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
	memcpy(snapshot->descr, descr_of(x), descr_size(x));
	snapshot->is_freed = is_memory_freed(x);
}

static int is_same_shape(const struct snapshot *a, const struct snapshot *b)
{
	return a->x.ndim == b->x.ndim && a->x.item_size == b->x.item_size &&
	       !memcmp(a->shape, b->shape, sizeof(a->shape));
}

/* Writes to memory that was freed, so that a later read of it finds other bytes. */
static void overwrite_freed_memory(void)
{
	void *blocks[64];

	for (size_t size = 24; size <= 65536; size += size < 1024 ? 16 : size) {
		for (int i = 0; i < 64; i++) {
			blocks[i] = malloc(size);
			if (blocks[i])
				memset(blocks[i], FREED, size);
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
	if (memcmp(before->descr, descr_of(x), descr_size(x)) != 0)
		return "descr";
	return is_memory_freed(x) && !before->is_freed ? "the memory, which is freed," : NULL;
}

/* Judges that two calls, one over each canary, have written all bytes of the structure. */
static void judge_written(const struct taken *first, const struct taken *second)
{
	size_t start = 0, end;

	while (start < SIZE && !(first->bytes[start] == CANARY && second->bytes[start] == FREED))
		start++;
	for (end = start; end < SIZE && first->bytes[end] == CANARY && second->bytes[end] == FREED;)
		end++;
	judge("B-8", start == SIZE, "the bytes %zu to %zu of the structure are not written", start, end - 1);
}

/*
 * Judges B-8 broken if the sizes are wrong after a call has filled a structure of `size` bytes. judge_written says
 * whether the rule holds.
 */
static void judge_size(const struct taken *taken, uint32_t size)
{
	if (taken->x.struct_size != size)
		judge("B-8", 0, "struct_size was %u and is %u", size, taken->x.struct_size);
	if (!is_canary(taken->bytes + SIZE, size - SIZE, 0))
		judge("B-8", 0, "in a longer structure unknown members are not 0");
	if (!is_canary(taken->bytes + size, BEHIND, CANARY))
		judge("B-8", 0, "bytes behind a structure of %u are written", size);
}

/* Notes 1 if judge_structure returns 1, else 0. Notes nothing if no later step is possible. */
static void step_structure(const struct check_task *task)
{
	struct taken first, kept, second;
	int is_right;

	make_call(task, &first, &plain, CANARY);
	if (first.code)
		judge_fatal("%s returns %d for a plain call, so there is no array to check", task->symbol, first.code);
	kept = first;
	judge_size(&first, SIZE);
	if (is_canary(&first.x.release, sizeof(first.x.release), CANARY)) {
		judge("B-8", 0, "`release` is not written");
		return;
	}
	is_right = judge_structure(&first.x);
	release_taken(&first);
	judge("B-39", !first.x.release, "release is not NULL after release");
	make_call(task, &second, &plain, FREED);
	if (second.code)
		judge_skip("B-8", "the function refuses a second array");
	else
		judge_written(&kept, &second);
	release_taken(&second);
	judge_note(is_right);
}

static void step_calls(const struct check_task *task)
{
	struct taken taken;

	for (const struct call *call = task->data; call->name; call++) {
		make_call(task, &taken, call, CANARY);
		if (!call->is_refused) {
			if (judge_accepted(task, &taken, call))
				judge_size(&taken, call->struct_size);
		} else if (judge(call->rule, taken.code != 0, "a call with %s returns 0", call->name) &&
			   call->struct_size) {
			judge("B-7", !taken.x.release, "release is not NULL after a call with %s failed", call->name);
		}
		release_taken(&taken);
	}
}

static void step_ready(const struct check_task *task)
{
	struct taken taken;

	make_call(task, &taken, &ready, CANARY);
	if (taken.code)
		judge_skip("B-38", "the demand READY is refused");
	else
		judge("B-38", !taken.x.order_kind && !taken.x.stream && !taken.x.event,
		      "order_kind is %u, stream 0x%llx, event 0x%llx", taken.x.order_kind,
		      (unsigned long long)taken.x.stream, (unsigned long long)taken.x.event);
	release_taken(&taken);
}

/* Judges that BORROW gives an array of the shape and item size of plain calls, if two plain calls agree in them. */
static void step_borrow(const struct check_task *task)
{
	struct snapshot seen[3];
	struct taken taken;

	for (int i = 0; i < 3; i++) {
		make_call(task, &taken, i == 2 ? &borrow : &plain, CANARY);
		if (taken.code && i < 2)
			return;
		if (taken.code && !judge_accepted(task, &taken, &borrow))
			return;
		take_snapshot(&seen[i], &taken.x);
		release_taken(&taken);
	}
	if (!is_same_shape(&seen[0], &seen[1]))
		judge_skip("B-49", "the arrays of plain calls differ in shape or item_size");
	else
		judge("B-49", is_same_shape(&seen[0], &seen[2]),
		      "ndim is %u, extent 0 %lld, item_size %u, and those of a plain call are %u, %lld and %u",
		      seen[2].x.ndim, (long long)seen[2].shape[0], seen[2].x.item_size, seen[0].x.ndim,
		      (long long)seen[0].shape[0], seen[0].x.item_size);
}

/* Judges that the first of several structures does not change while others are acquired and released. */
static void step_several(const struct check_task *task)
{
	static struct taken several[SEVERAL];
	struct snapshot before;
	const char *change;
	int count = 1;

	take_array(task, &several[0]);
	take_snapshot(&before, &several[0].x);
	while (count < SEVERAL) {
		make_call(task, &several[count], &plain, CANARY);
		if (several[count].code)
			break;
		count++;
	}
	change = find_change(&before, &several[0].x);
	judge("B-12", !change, "%s has changed after more calls of the function", change);
	if (!change && count == 1)
		judge_skip("B-43", "the function refuses a second array");
	if (!change && count > 1) {
		for (int i = count - 1; i > 0; i--)
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

/* Judges that another thread can release a structure that was moved. */
static void step_move(const struct check_task *task)
{
	struct taken taken;
	struct bi_exchange moved;
	pthread_t thread;

	take_array(task, &taken);
	if (!taken.x.release)
		return; /* breaks B-39, which step_structure judges */
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

/* Returns the time when the rounds of a step end, at a quarter of the time of a call. */
static uint64_t end_of_rounds(const struct check_task *task)
{
	return milliseconds_now() + task->seconds * 250;
}

/* Makes many calls, and counts the arrays that they give. Returns 0 if they take too long to be repeated. */
static int repeat_call(const struct check_task *task, const struct call *call, int *arrays)
{
	static struct taken taken;
	uint64_t end = end_of_rounds(task);

	*arrays = 0;
	for (int i = 0; i < LEAK_ROUNDS; i++) {
		make_call(task, &taken, call, CANARY);
		*arrays += !taken.code;
		release_taken(&taken);
		if (milliseconds_now() > end)
			return 0;
	}
	return 1;
}

/* Judges that many calls leave less than one allocated byte each. A thread may free memory up to 0.2 s later. */
static void judge_leaks(const struct check_task *task, const struct call *call, const char *rule)
{
	const struct timespec pause = { 0, 50000000 };
	int arrays, is_done = repeat_call(task, call, &arrays);
	size_t before = allocated_bytes();

	if (!is_done || !repeat_call(task, call, &arrays)) {
		judge_skip(rule, "%d calls take too long", LEAK_ROUNDS);
		return;
	}
	if (!call->is_refused && arrays < LEAK_ROUNDS) {
		judge_skip(rule, "the function refuses later calls");
		return;
	}
	for (int i = 0; i < 4 && allocated_bytes() >= before + LEAK_ROUNDS; i++)
		nanosleep(&pause, NULL);
	judge(rule, allocated_bytes() < before + LEAK_ROUNDS, "%d calls and releases leave %zu bytes allocated",
	      LEAK_ROUNDS, allocated_bytes() - before);
}

static void step_leaks(const struct check_task *task)
{
	if (!counts_memory()) {
		judge_skip("B-51", "the C library does not count its memory");
		return;
	}
	judge_leaks(task, &plain, "B-51");
	judge_leaks(task, &unknown, "B-7");
}

enum { CHILD_READS = 211, CHILD_RELEASE = 212 }; /* the exit status of a forked child */

static void step_fork(const struct check_task *task)
{
	struct snapshot before;
	struct taken taken;
	pid_t child;
	int status;

	take_array(task, &taken);
	if (taken.x.handle_kind != BI_HANDLE_HOST || taken.x.device_type != BI_EXCHANGE_DEVICE_CPU) {
		judge_skip("B-42", "no array is in host memory that no driver allocated");
		return;
	}
	take_snapshot(&before, &taken.x);
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(task->seconds / 2 + 1);
		if (find_change(&before, &taken.x))
			_exit(CHILD_READS);
		release_taken(&taken);
		_exit(taken.x.release ? CHILD_RELEASE : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		judge_skip("B-42", "no process can be started");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		judge("B-42", 0, "the child goes on for more than %u s", task->seconds / 2 + 1);
	else if (WIFSIGNALED(status))
		judge("B-42", 0, "the child ends with signal %d: %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		judge("B-42", !status, "the child %s (status %d)",
		      WEXITSTATUS(status) == CHILD_READS     ? "reads other numbers, or its memory is lost"
		      : WEXITSTATUS(status) == CHILD_RELEASE ? "cannot release"
							     : "is ended by the library",
		      WEXITSTATUS(status));
	release_taken(&taken);
}

struct crowd {
	const struct check_task *task;
	atomic_int waiting; /* threads that have not started yet */
	atomic_int filled; /* structures; a call may be refused */
	atomic_int wrong; /* structures that break a rule */
};

static void *call_often(void *data)
{
	struct crowd *crowd = data;
	struct taken taken;
	uint64_t end = end_of_rounds(crowd->task);

	atomic_fetch_sub(&crowd->waiting, 1);
	while (atomic_load(&crowd->waiting) > 0)
		continue;
	for (int i = 0; i < ROUNDS && milliseconds_now() < end; i++) {
		make_call(crowd->task, &taken, &plain, CANARY);
		atomic_fetch_add(&crowd->filled, !taken.code);
		atomic_fetch_add(&crowd->wrong, !taken.code && crowd->task->choice && bi_exchange_check(&taken.x));
		release_taken(&taken);
	}
	return NULL;
}

static void step_threads(const struct check_task *task)
{
	struct crowd crowd = { task, THREADS, 0, 0 };
	pthread_t threads[THREADS];
	int started = 0;

	while (started < THREADS && !pthread_create(&threads[started], NULL, call_often, &crowd))
		started++;
	atomic_fetch_sub(&crowd.waiting, THREADS - started);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (!task->choice)
		judge_skip("B-46", "the structure breaks other rules, also without threads");
	else if (crowd.filled)
		judge("B-46", !crowd.wrong, "%d of the %d structures that %d threads get break a rule", crowd.wrong,
		      crowd.filled, started);
	else
		judge_skip("B-46", "the function refuses calls of other threads");
}

static void step_done(const struct check_task *task)
{
	static const struct {
		uint32_t order_kind;
		uint64_t stream, event;
	} refused[] = { { BI_ORDER_NONE, 8, 0 },   { BI_ORDER_CUDA, 0, 0 }, { BI_ORDER_CUDA, 2, 0 },
			{ BI_ORDER_OPENCL, 0, 0 }, { BI_ORDER_HIP, 8, 0 },  { 99, 8, 0 } };
	struct taken taken;

	take_array(task, &taken);
	if (!taken.x.done)
		judge_skip("B-37", "`done` is NULL");
	for (size_t i = 0; taken.x.done && i < sizeof(refused) / sizeof(refused[0]); i++) {
		judge("B-37", taken.x.done(&taken.x, refused[i].order_kind, refused[i].stream, refused[i].event) != 0,
		      "done(order_kind %u, stream %llu, event 0), which B-32 forbids, returns 0", refused[i].order_kind,
		      (unsigned long long)refused[i].stream);
		judge_alive();
	}
	release_taken(&taken);
}

enum check_end check_producer(struct check_task *task, struct check_report *report)
{
	static const struct check_step steps[] = {
		{ "the first call", step_structure, 2, NULL, NULL, NULL },
		{ "a call with another version or size", step_calls, 6, versions, NULL, NULL },
		{ "a call with wishes", step_calls, 3, wishes, NULL, NULL },
		{ "a call with the demand READY", step_ready, 1, NULL, NULL, NULL },
		{ "a call with the promise BORROW", step_borrow, 4, NULL, NULL, NULL },
		{ "one of several structures at a time", step_several, SEVERAL, NULL, NULL, NULL },
		{ "the release of a structure that was moved", step_move, 2, NULL, NULL, NULL },
		{ "one of many calls", step_leaks, 6, NULL, NULL, NULL },
		{ "a forked child", step_fork, 3, NULL, NULL, NULL },
		{ "one of several threads", step_threads, 2, NULL, NULL, NULL },
		{ "a call of done", step_done, 8, NULL, NULL, NULL },
	};
	struct check_result alive = { .rule = "all.alive", .array = task->symbol };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		enum check_end end = check_run_step(task, &steps[i], report);

		if (end == CHECK_FATAL || (i == 0 && (end != CHECK_ENDED || task->note < 0)))
			return end == CHECK_FATAL ? end : CHECK_ENDED;
		task->choice = i == 0 ? task->note : task->choice;
	}
	check_report_add(report, &alive);
	return CHECK_ENDED;
}
