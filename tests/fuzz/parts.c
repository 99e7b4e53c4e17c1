/* Several threads of a program, and children of the process. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

#if defined(__SANITIZE_THREAD__)
#define CAN_FORK 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAN_FORK 0
#endif
#endif
#ifndef CAN_FORK
#define CAN_FORK 1
#endif

/* A child that runs longer counts as hanging. */
#define SECONDS_OF_A_CHILD 30

/* Threads. */

static struct program parts[MOST_PARTS];

/* Gives the memory to the part. No thread writes the memory while several threads run. */
static void share_memory(struct program *part, const struct model *model)
{
	struct bi_view *view;
	struct bi_error err;

	part->memories[0] = *model;
	part->memories[0].memory = bi_memory_retain(model->memory);
	part->memories[0].is_shared = 1;
	if (view_all(&part->memories[0], &view, &err) == BI_OK)
		add_array(part, 0, view, 0);
}

static void *run_part(void *data)
{
	struct program *part = data;

	run_steps(part, 30);
	for (int i = 0; i < MOST_MEMORIES; i++)
		forget_memory(part, i);
	return NULL;
}

static int may_start_threads(const struct program *program)
{
	const struct raw *raw = kept.raw;

	if (raw && raw->is_for_one_thread && raw->is_for_one_thread())
		return 0;
	return program->is_alone && !program->may_fail && !program->is_child;
}

void step_threads(struct program *program)
{
	size_t size;
	int memory = choose_memory(program);
	pthread_t threads[MOST_PARTS];
	struct model *model;

	if (!may_start_threads(program) || memory < 0 || take(program, 4))
		return;
	model = &program->memories[memory];
	if (model->map)
		return;
	size = program->size / MOST_PARTS;
	program->is_alone = 0;
	model->is_shared = 1;
	for (int i = 1; i < MOST_PARTS; i++) {
		begin_program(&parts[i], i, program->data + (size_t)(i - 1) * size, size);
		parts[i].trace = program->trace;
		parts[i].was_refused = program->was_refused;
		share_memory(&parts[i], model);
		if (pthread_create(&threads[i], NULL, run_part, &parts[i]))
			abort();
	}
	program->data += (MOST_PARTS - 1) * size;
	program->size -= (MOST_PARTS - 1) * size;
	run_steps(program, 30);
	for (int i = 1; i < MOST_PARTS; i++)
		pthread_join(threads[i], NULL);
	/* After all threads have ended, because each thread may call release callbacks of the others. */
	for (int i = 1; i < MOST_PARTS; i++) {
		finish_program(&parts[i]);
		if (*parts[i].wrong)
			wrong(program, "thread %d: %s", i, parts[i].wrong);
	}
	model->is_shared = 0;
	program->is_alone = 1;
}

/* Children. */

static int is_mapped(const struct model *model, int rc)
{
	return model->map && rc == BI_EBUSY;
}

/* In a child, calls on device memory return BI_EFORK, and some of them BI_EBUSY if the memory is mapped. */
static void check_device_array(struct program *program, const struct array *array)
{
	struct model *model = model_of(program, array);
	size_t nbytes;
	struct bi_layout layout;
	struct bi_map *map;
	struct bi_error err;
	const unsigned char item[24] = { 0 };
	int rc;

	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	if (!nbytes || bi_layout_self_overlap(&layout))
		return;
	rc = bi_view_read(array->view, program->other, nbytes, &err);
	if (rc != BI_EFORK && !is_mapped(model, rc))
		wrong(program, "a child reads device memory: %s", bi_status_name(rc));
	rc = bi_view_write(array->view, program->other, nbytes, &err);
	if (rc != BI_EFORK && !is_mapped(model, rc))
		wrong(program, "a child writes device memory: %s", bi_status_name(rc));
	rc = bi_fill(array->view, item, NULL, &err);
	if (rc != BI_EFORK && !is_mapped(model, rc))
		wrong(program, "a child fills device memory: %s", bi_status_name(rc));
	rc = bi_view_synchronize(array->view, &err);
	if (rc != BI_EFORK)
		wrong(program, "a child synchronises device memory: %s", bi_status_name(rc));
	rc = bi_view_map(array->view, BI_MAP_READ, &map, &err);
	if (rc != BI_EFORK && !is_mapped(model, rc))
		wrong(program, "a child maps device memory: %s", bi_status_name(rc));
}

/* In a child, host memory can be read, unless it is mapped or a device may still work on it. */
static void check_host_array(struct program *program, const struct array *array)
{
	struct model *model = model_of(program, array);
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	rc = bi_view_read(array->view, program->other, nbytes, &err);
	if (is_mapped(model, rc) || is_lost(program, rc, &err) || (kept.is_device && rc == BI_EFORK))
		return;
	gather(model, &layout, program->dense);
	if (rc)
		wrong(program, "a child reads host memory: %s: %s", bi_status_name(rc), err.message);
	else if (!model->is_unknown && memcmp(program->other, program->dense, nbytes) != 0)
		wrong(program, "a child reads other bytes than the model");
}

static void check_new_host_context(struct program *program)
{
	static const int64_t shape[1] = { 100 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	struct bi_view *view = NULL;
	unsigned char bytes[100] = { 0 };
	struct bi_dtype dtype;
	struct bi_error err;
	int rc;

	options.device = "host";
	rc = bi_dtype_parse("uint8", &dtype, &err);
	rc = rc ? rc : bi_context_open(&options, &context, &err);
	rc = rc ? rc : bi_view_empty(context, dtype, 1, shape, &view, &err);
	rc = rc ? rc : bi_fill(view, "c", NULL, &err);
	rc = rc ? rc : bi_view_read(view, bytes, sizeof(bytes), &err);
	if (rc)
		wrong(program, "the host backend in a child: %s: %s", bi_status_name(rc), err.message);
	else if (bytes[0] != 'c' || bytes[99] != 'c')
		wrong(program, "the host backend in a child gives other bytes");
	bi_view_release(view);
	bi_context_release(context);
}

static void check_child(struct program *program)
{
	for (int i = 0; i < MOST_VIEWS; i++) {
		const struct array *array = &program->arrays[i];

		if (!array->view || model_of(program, array)->is_shared)
			continue;
		if (kept.is_device && !bi_memory_is_host(model_of(program, array)->memory))
			check_device_array(program, array);
		else
			check_host_array(program, array);
	}
	check_new_host_context(program);
	for (int i = 0; i < MOST_MEMORIES && program->is_alone; i++)
		forget_memory(program, i);
}

static void run_child(struct program *program, int result)
{
	alarm(SECONDS_OF_A_CHILD);
	program->is_child = 1;
	program->may_fail = FAULT_NONE;
	check_child(program);
	if (write(result, program->wrong, sizeof(program->wrong)) != (ssize_t)sizeof(program->wrong))
		_exit(1);
	_exit(0);
}

void step_fork(struct program *program)
{
	char answer[sizeof(program->wrong)] = "";
	int ends[2], status = 0;
	ssize_t size;
	pid_t child;

	if (!CAN_FORK || program->is_child || program->may_fail || take(program, 32))
		return;
	if (pipe(ends) || (child = fork()) < 0)
		abort();
	if (child == 0)
		run_child(program, ends[1]);
	close(ends[1]);
	size = read(ends[0], answer, sizeof(answer));
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		wrong(program, WTERMSIG(status) == SIGALRM ? "a child hangs" : "a child crashes");
	else if (size != (ssize_t)sizeof(answer))
		wrong(program, "a child ends early");
	else if (*answer)
		wrong(program, "%s", answer);
}
