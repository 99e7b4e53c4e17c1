/*
 * cuda_facts TOPIC [FIRST]    prints the facts of a topic from number FIRST (0) on, one line each: "topic.name: answer"
 * cuda_facts --sources        prints which facts are documented, in the order in which they are asked
 *
 * `compare --run` gives each topic a process, and goes on behind a fact that ends its process.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "array_length.h"

const struct cuda_driver *cu;

/* A question that takes longer ends the process. */
enum { SECONDS = 20 };

const char *say(const char *format, ...)
{
	static char texts[8][160];
	static unsigned next;
	char *text = texts[next++ % (int)ARRAY_LENGTH(texts)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(texts[0]), format, arguments);
	va_end(arguments);
	return text;
}

const char *code(bi__cu_result result)
{
	switch (result) {
	case BI__CU_SUCCESS:
		return "SUCCESS";
#define CODE_NAME(name, number, status) \
	case number: \
		return &#name[sizeof("ERROR_") - 1];
		BI__CU_CODES(CODE_NAME)
#undef CODE_NAME
	default:
		return say("code %u", result);
	}
}

const char *yes_or_no(int condition)
{
	return condition ? "yes" : "no";
}

/* Ends the process if a call has failed without which no question can be asked. */
static void must(bi__cu_result result, const char *what)
{
	if (result == BI__CU_SUCCESS)
		return;
	fprintf(stderr, "%s: %s\n", what, code(result));
	exit(EXIT_FAILURE);
}

int close_gate(struct objects *objects, bi__cu_stream stream)
{
	bi__cu_pointer gate;

	__atomic_store_n(objects->gate, 0, __ATOMIC_SEQ_CST);
	if (!cu->StreamWaitValue32 || cu->MemHostGetDevicePointer(&gate, objects->gate, 0) != BI__CU_SUCCESS)
		return 0;
	return cu->StreamWaitValue32(stream, gate, 1, 0) == BI__CU_SUCCESS;
}

void open_gate(struct objects *objects)
{
	__atomic_store_n(objects->gate, 1, __ATOMIC_SEQ_CST);
}

static void make_in_other(struct objects *objects)
{
	must(cu->CtxPushCurrent(objects->other), "cuCtxPushCurrent");
	must(cu->StreamCreate(&objects->other_stream, BI__CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cu->EventCreate(&objects->other_event, BI__CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	must(cu->MemAlloc(&objects->other_memory, OBJECT_BYTES), "cuMemAlloc");
	must(cu->CtxPopCurrent(&objects->other), "cuCtxPopCurrent");
}

static void make(struct objects *objects)
{
	void *pinned, *gate;

	must(cu->StreamCreate(&objects->stream, BI__CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cu->StreamCreate(&objects->second, BI__CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	must(cu->StreamCreate(&objects->blocking, BI__CU_STREAM_BLOCKING), "cuStreamCreate");
	must(cu->EventCreate(&objects->event, BI__CU_EVENT_DISABLE_TIMING), "cuEventCreate");
	must(cu->EventCreate(&objects->timed, BI__CU_EVENT_TIMED), "cuEventCreate");
	must(cu->EventCreate(&objects->timed_too, BI__CU_EVENT_TIMED), "cuEventCreate");
	must(cu->MemAlloc(&objects->memory, OBJECT_BYTES), "cuMemAlloc");
	must(cu->MemHostAlloc(&pinned, OBJECT_BYTES, BI__CU_HOST_ALLOC_PORTABLE), "cuMemHostAlloc");
	must(cu->MemHostAlloc(&gate, sizeof(*objects->gate), BI__CU_HOST_ALLOC_PORTABLE), "cuMemHostAlloc");
	memset(pinned, 0, OBJECT_BYTES);
	objects->pinned = pinned;
	objects->gate = gate;
	open_gate(objects);
	make_in_other(objects);
}

static void take_away_in_other(struct objects *objects)
{
	must(cu->CtxPushCurrent(objects->other), "cuCtxPushCurrent");
	must(cu->CtxSynchronize(), "cuCtxSynchronize of the other context");
	must(cu->StreamDestroy(objects->other_stream), "cuStreamDestroy");
	must(cu->EventDestroy(objects->other_event), "cuEventDestroy");
	must(cu->MemFree(objects->other_memory), "cuMemFree");
	must(cu->CtxPopCurrent(&objects->other), "cuCtxPopCurrent");
}

/* Also checks that the question has not broken the context: all calls would fail in a broken one. */
static void take_away(struct objects *objects)
{
	open_gate(objects);
	must(cu->CtxSynchronize(), "cuCtxSynchronize");
	must(cu->StreamDestroy(objects->stream), "cuStreamDestroy");
	must(cu->StreamDestroy(objects->second), "cuStreamDestroy");
	must(cu->StreamDestroy(objects->blocking), "cuStreamDestroy");
	must(cu->EventDestroy(objects->event), "cuEventDestroy");
	must(cu->EventDestroy(objects->timed), "cuEventDestroy");
	must(cu->EventDestroy(objects->timed_too), "cuEventDestroy");
	must(cu->MemFree(objects->memory), "cuMemFree");
	must(cu->MemFreeHost(objects->pinned), "cuMemFreeHost");
	must(cu->MemFreeHost(objects->gate), "cuMemFreeHost");
	take_away_in_other(objects);
}

static void enter(struct objects *objects)
{
	must(cu->CtxPushCurrent(objects->context), "cuCtxPushCurrent");
}

static void empty_stack(void)
{
	bi__cu_context context;

	while (cu->CtxPopCurrent(&context) == BI__CU_SUCCESS)
		continue;
}

struct asked {
	struct objects *objects;
	const struct fact *fact;
	const char *topic;
	task *run;
	void *data;
};

static void *ask_in_thread(void *data)
{
	const struct asked *asked = data;

	const char *answer;

	enter(asked->objects);
	make(asked->objects);
	answer = asked->fact->ask(asked->objects);
	empty_stack();
	enter(asked->objects);
	take_away(asked->objects);
	empty_stack();
	printf("%s.%s: %s\n", asked->topic, asked->fact->name, answer);
	return NULL;
}

/* Asks in a thread without a context. The question makes its own objects, and need not free them. */
static void *ask_bare_in_thread(void *data)
{
	const struct asked *asked = data;

	printf("%s.%s: %s\n", asked->topic, asked->fact->name, asked->fact->ask(asked->objects));
	return NULL;
}

static void *run_in_thread(void *data)
{
	const struct asked *asked = data;

	enter(asked->objects);
	asked->run(asked->objects, asked->data);
	empty_stack();
	return NULL;
}

static void in_thread(void *(*function)(void *), struct asked *asked)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, asked)) {
		fprintf(stderr, "no thread can be made\n");
		exit(EXIT_FAILURE);
	}
	pthread_join(thread, NULL);
}

void in_another_thread(struct objects *objects, task *run, void *data)
{
	struct asked asked = { .objects = objects, .run = run, .data = data };

	in_thread(run_in_thread, &asked);
}

static void ask_each(const char *topic, const struct fact *facts, void *(*ask)(void *), struct objects *objects)
{
	for (; facts->name; facts++) {
		struct asked asked = { .objects = objects, .topic = topic, .fact = facts };

		alarm(SECONDS);
		in_thread(ask, &asked);
		alarm(0);
	}
}

static void print_sources(const char *topic, const struct fact *facts)
{
	for (; facts->name; facts++)
		printf("%s.%s: %s\n", topic, facts->name, facts->source == documented ? "documented" : "assumed");
}

/*
 * Makes calls for which a driver may load code at first use. The load may wait for the device, which may wait for a
 * gate.
 */
static void warm_up(struct objects *objects)
{
	enter(objects);
	make(objects);
	must(cu->MemsetD8Async(objects->memory, 1, 16, objects->stream), "cuMemsetD8Async");
	must(cu->MemsetD16Async(objects->memory, 1, 16, objects->stream), "cuMemsetD16Async");
	must(cu->MemsetD32Async(objects->memory, 1, 16, objects->stream), "cuMemsetD32Async");
	must(cu->MemcpyAsync(objects->memory + 16, objects->memory, 16, objects->stream), "cuMemcpyAsync");
	must(cu->MemcpyDtoHAsync(objects->pinned, objects->memory, 16, objects->stream), "cuMemcpyDtoHAsync");
	must(cu->StreamSynchronize(objects->stream), "cuStreamSynchronize");
	take_away(objects);
}

/* The other context is on no thread's stack between the questions. */
static void ask_usual(const char *topic, const struct fact *facts)
{
	static struct objects objects;

	must(cu->DeviceGet(&objects.device, 0), "cuDeviceGet");
	must(cu->DevicePrimaryCtxRetain(&objects.context, objects.device), "cuDevicePrimaryCtxRetain");
	must(cu->CtxCreate(&objects.other, 0, objects.device), "cuCtxCreate");
	warm_up(&objects);
	empty_stack();
	ask_each(topic, facts, ask_in_thread, &objects);
	must(cu->CtxDestroy(objects.other), "cuCtxDestroy");
	must(cu->DevicePrimaryCtxRelease(objects.device), "cuDevicePrimaryCtxRelease");
}

/* Makes no context for the questions. */
static void ask_bare(const char *topic, const struct fact *facts)
{
	ask_each(topic, facts, ask_bare_in_thread, NULL);
}

typedef void ask_fn(const char *topic, const struct fact *facts);

static const struct topic {
	const char *name;
	const struct fact *facts;
	ask_fn *ask;
} topics[] = {
#define TOPIC_ENTRY(topic, how) { #topic, topic##_facts, ask_##how },
	FACT_TOPICS(TOPIC_ENTRY)
#undef TOPIC_ENTRY
};

static int ask_topic(const char *name, int first)
{
	const struct fact *facts;

	for (size_t i = 0; i < ARRAY_LENGTH(topics); i++) {
		if (strcmp(topics[i].name, name) != 0)
			continue;
		facts = topics[i].facts;
		while (first-- > 0 && facts->name)
			facts++;
		if (strcmp(name, "before") != 0)
			cu = cuda_driver();
		topics[i].ask(name, facts);
		return EXIT_SUCCESS;
	}
	fprintf(stderr, "cuda_facts: %s is no topic; --sources lists the facts as topic.name\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: cuda_facts TOPIC [FIRST] | --sources\n");
		return 2;
	}
	if (strcmp(argv[1], "--sources") == 0) {
		for (size_t i = 0; i < ARRAY_LENGTH(topics); i++)
			print_sources(topics[i].name, topics[i].facts);
		return EXIT_SUCCESS;
	}
	/* Each line is written out, because a driver may end the process. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	return ask_topic(argv[1], argc > 2 ? atoi(argv[2]) : 0);
}
