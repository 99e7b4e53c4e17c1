/*
 * The life of a process: what happens to the library, and to work under way, when threads are cancelled, the process
 * forks, executes another program, exits or receives signals.
 *
 *     process CASE DEVICE
 *     process endurance DEVICE ROUNDS
 *
 * Each case is a process of its own, because it may end in any way. It prints one line and exits with 0 if all went as
 * the headers say. A hang ends by an alarm.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))
#ifdef __SANITIZE_ADDRESS__
#define SIDE 760 /* the sanitizer slows the copies; from 2 MiB on, several threads share them */
#else
#define SIDE 1500
#endif
#define LARGE ((size_t)SIDE * SIDE * 4)
#define SECONDS 300

const char *device;
unsigned long rounds;
static atomic_int must_stop;

void fail(const char *text, const struct bi_error *err)
{
	printf("wrong: %s (%s)\n", text, err ? err->message : "");
	fflush(stdout);
	_exit(1);
}

/* Two arrays of one context, the transpose of one being the source of a large copy. */
struct work {
	struct bi_context *context;
	struct bi_view *array, *transposed, *dense;
	int32_t *numbers; /* SIDE * SIDE of them */
};

static int open_work(struct work *work, const char *name, struct bi_error *err)
{
	const int64_t shape[2] = { SIDE, SIDE };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_dtype dtype;
	int rc;

	memset(work, 0, sizeof(*work));
	work->numbers = malloc(LARGE);
	if (!work->numbers)
		fail("no memory for the test", NULL);
	options.device = name;
	rc = bi_context_open(&options, &work->context, err);
	rc = rc ? rc : bi_dtype_parse("int32", &dtype, err);
	rc = rc ? rc : bi_view_empty(work->context, dtype, 2, shape, &work->array, err);
	rc = rc ? rc : bi_view_permute(work->array, NULL, &work->transposed, err);
	return rc ? rc : bi_view_empty(work->context, dtype, 2, shape, &work->dense, err);
}

static void close_work(struct work *work)
{
	free(work->numbers);
	bi_view_release(work->dense);
	bi_view_release(work->transposed);
	bi_view_release(work->array);
	bi_context_release(work->context);
}

/* One large copy and a look at its result. */
static int use_work(struct work *work, struct bi_error *err)
{
	int32_t *numbers = work->numbers;
	int rc;

	for (int i = 0; i < SIDE * SIDE; i++)
		numbers[i] = i;
	rc = bi_view_write(work->array, numbers, LARGE, err);
	rc = rc ? rc : bi_copy(work->dense, work->transposed, NULL, err);
	rc = rc ? rc : bi_view_read(work->dense, numbers, LARGE, err);
	for (int i = 0; i < SIDE * SIDE && !rc; i += 997)
		if (numbers[i] != i % SIDE * SIDE + i / SIDE)
			fail("a copy gives wrong elements", NULL);
	return rc;
}

static void must_use(struct work *work)
{
	struct bi_error err;

	if (use_work(work, &err))
		fail("a copy fails", &err);
}

static void must_open(struct work *work, const char *name)
{
	struct bi_error err;

	if (open_work(work, name, &err))
		fail("a context does not open", &err);
}

/*
 * AddressSanitizer's allocator hangs in a child that was forked while another thread was inside of it. With it, no copy
 * is under way when the process forks.
 */
static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;

static void hold_copies(void)
{
#ifdef __SANITIZE_ADDRESS__
	pthread_mutex_lock(&copying);
#endif
}

static void let_copies_go(void)
{
#ifdef __SANITIZE_ADDRESS__
	pthread_mutex_unlock(&copying);
	usleep(100); /* the other threads get their turn */
#else
	(void)copying;
#endif
}

static int use_unless_held(struct work *work, struct bi_error *err)
{
	int rc;

	hold_copies();
	rc = use_work(work, err);
	let_copies_go();
	return rc;
}

/* Copies until the process ends or must_stop is set. */
static void *copy_for_ever(void *data)
{
	struct work *work = data;
	struct bi_error err;

	while (!atomic_load(&must_stop))
		if (use_unless_held(work, &err))
			fail("a copy of a thread fails", &err);
	return NULL;
}

pthread_t start(void *(*run)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, data))
		fail("no thread", NULL);
	return thread;
}

/* Cases. */

/* Copies without looking at the result: the thread may be cancelled anywhere in it. */
static void *copy_until_cancelled(void *data)
{
	struct work *work = data;

	for (;;) {
		bi_copy(work->dense, work->transposed, NULL, NULL);
		pthread_testcancel();
	}
	return NULL;
}

/* Threads are cancelled in the middle of copies; other threads go on, and the process exits. */
static void case_cancel(void)
{
	struct work ours, theirs;

	must_open(&ours, device);
	must_open(&theirs, device);
	for (int round = 0; round < 30; round++) {
		pthread_t thread = start(copy_until_cancelled, &theirs);

		usleep((useconds_t)(round * 700 + 100));
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		must_use(&ours);
	}
	must_use(&theirs);
	close_work(&theirs);
	close_work(&ours);
	cancel_small_calls();
	cancel_files();
}

/* In the child device objects are refused in words, and host objects made there work. */
static int check_child(struct work *ours)
{
	struct bi_error err;
	struct work host;
	int is_host = strcmp(device, "host") == 0;
	int rc;

	alarm(SECONDS / 2);
	rc = bi_fill(ours->dense, &(int32_t){ 1 }, NULL, &err);
	if (!is_host && rc != BI_EFORK)
		return 10;
	if (open_work(&host, "host", &err) || use_work(&host, &err))
		return 11;
	close_work(&host);
	close_work(ours);
	return 0;
}

/* The process forks while other threads copy. */
static void case_fork(void)
{
	struct work ours, theirs[2];
	pthread_t threads[ARRAY_LENGTH(theirs)];

	must_open(&ours, device);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		must_open(&theirs[i], device);
		threads[i] = start(copy_for_ever, &theirs[i]);
	}
	for (int round = 0; round < 20; round++) {
		pid_t child;
		int status;

		hold_copies();
		child = fork();
		if (child == 0)
			_exit(check_child(&ours));
		let_copies_go();
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
			printf("wrong: the child ended with %#x\n", (unsigned)status);
			_exit(1);
		}
	}
	atomic_store(&must_stop, 1);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		pthread_join(threads[i], NULL);
		close_work(&theirs[i]);
	}
	must_use(&ours);
	close_work(&ours);
}

/* The process becomes another program while other threads copy. */
static void case_exec(void)
{
	static struct work theirs;

	must_open(&theirs, device);
	start(copy_for_ever, &theirs);
	usleep(20000);
	execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
	fail("no other program", NULL);
}

static void *exit_now(void *data)
{
	usleep(20000);
	printf("exit from a thread\n");
	exit(0);
	return data;
}

/* Copies that may fail: a driver that has been shut down refuses them. */
static void *copy_until_exit(void *data)
{
	for (;;)
		use_work(data, NULL);
	return NULL;
}

/* A thread ends the process while others copy; the destructors of the library and of drivers run then. */
static void case_exit(void)
{
	static struct work first, second;

	must_open(&first, device);
	must_open(&second, device);
	start(copy_until_exit, &first);
	start(exit_now, NULL);
	copy_until_exit(&second);
}

static pthread_barrier_t all_started;

static void *open_and_use(void *data)
{
	const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_view *view;
	struct bi_error err;

	options.device = device;
	pthread_barrier_wait(&all_started);
	if (bi_context_open(&options, &context, &err) ||
	    bi_view_empty(context, byte, 1, &(int64_t){ 16 }, &view, &err) || bi_fill(view, "x", NULL, &err))
		fail("one of the first contexts does not work", &err);
	bi_view_release(view);
	bi_context_release(context);
	return data;
}

/* Threads open the first contexts of a process at the same time. */
static void open_in_threads(void)
{
	pthread_t threads[8];

	pthread_barrier_init(&all_started, NULL, ARRAY_LENGTH(threads));
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		threads[i] = start(open_and_use, NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
}

/* Only the first contexts of a process are looked at, so there are several processes. */
static void case_first(void)
{
	for (int round = 0; round < 5; round++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			alarm(SECONDS / 2);
			open_in_threads();
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status) {
			printf("wrong: the child ended with %#x\n", (unsigned)status);
			_exit(1);
		}
	}
}

static void count_signal(int number)
{
	(void)number;
}

/* Signals arrive every millisecond; system calls that they interrupt are not the caller's business. */
static void case_signals(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	struct work work;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int round = 0; round < 20; round++) {
		must_open(&work, device);
		must_use(&work);
		close_work(&work);
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &often, NULL);
}

size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total = 0, now = 0;

	if (!file || fscanf(file, "%lu %lu", &total, &now) != 2)
		fail("/proc/self/statm cannot be read", NULL);
	fclose(file);
	return now * (size_t)sysconf(_SC_PAGESIZE);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "cancel", case_cancel },       { "fork", case_fork },       { "exec", case_exec },
	{ "exit", case_exit },           { "signals", case_signals }, { "pressure", case_pressure },
	{ "endurance", case_endurance }, { "first", case_first },
};

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: process CASE DEVICE [ROUNDS]\n");
		return 2;
	}
	device = argv[2];
	rounds = argc == 4 ? strtoul(argv[3], NULL, 10) : 20000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			/* Signals has its own alarms; a long endurance run takes as long as it takes. */
			if (strcmp(argv[1], "signals") != 0 && argc == 3)
				alarm(SECONDS);
			cases[i].run();
			printf("%s on %s: as it should be\n", argv[1], device);
			return 0;
		}
	fprintf(stderr, "no case is called %s\n", argv[1]);
	return 2;
}
