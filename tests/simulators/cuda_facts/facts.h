/*
 * Questions about the behaviour of the CUDA driver that BI_CUDA_LIBRARY names. The answers are words, without addresses
 * and names, so that those of the simulated driver can be compared with those of hardware.
 *
 * Each question is a function in a table of its topic, marked as `documented` (NVIDIA's reference or programming guide
 * gives the answer) or `assumed` (it does not, or not completely). A question may end its process. Another process then
 * asks the rest.
 *
 * expected.txt holds the answers of the simulated driver. accepted.txt lists the answers of hardware that are known to
 * differ, with the reasons.
 */
#ifndef BI_TESTS_CUDA_FACTS_H
#define BI_TESTS_CUDA_FACTS_H

#include "cuda_driver.h"

enum source { documented, assumed };

enum { OBJECT_BYTES = 4096 };

/*
 * The objects for a question. The question runs in a thread of its own, whose context stack has only the primary
 * context of device 0. Contexts that it leaves on the stack are removed. Most questions free the other objects that
 * they make.
 */
struct objects {
	bi__cu_device device;
	bi__cu_context context; /* the primary one */
	bi__cu_context other; /* another of the same device */
	bi__cu_stream stream, second; /* non-blocking */
	bi__cu_stream blocking;
	bi__cu_stream other_stream; /* of the other context, non-blocking */
	bi__cu_event event; /* without timing, not recorded */
	bi__cu_event timed, timed_too; /* not recorded */
	bi__cu_event other_event; /* of the other context */
	bi__cu_pointer memory, other_memory; /* OBJECT_BYTES, by cuMemAlloc */
	unsigned char *pinned; /* OBJECT_BYTES */
	unsigned char pageable[OBJECT_BYTES];
	uint32_t *gate; /* pinned; 0: closed */
};

typedef const char *question(struct objects *objects);

struct fact {
	const char *name;
	enum source source;
	question *ask;
};

/* An entry of a table; the question is the function of the same name. */
#define FACT(name, source) \
	{ \
#name, source, name \
	}

/*
 * Topic, whose table ends with an empty entry, and how its questions run: usual (with the objects above) or bare
 * (without objects and contexts).
 */
#define FACT_TOPICS(X) \
	X(no_context, bare) \
	X(before, bare) \
	X(gated, usual) \
	X(programmatic, usual) \
	X(errors, usual) \
	X(devices, usual) \
	X(contexts, usual) \
	X(current, usual) \
	X(memory, usual) \
	X(pointers, usual) \
	X(ranges, usual) \
	X(pageable, usual) \
	X(partly, usual) \
	X(mapped, usual) \
	X(streams, usual) \
	X(events, usual) \
	X(copies, usual) \
	X(modules, usual) \
	X(launches, usual) \
	X(capture, usual) \
	X(prohibitions, usual) \
	X(graphs, usual) \
	X(green, usual) \
	X(destroyed, usual) \
	X(reset, bare) \
	X(host_functions, usual) \
	X(times, usual)
#define FACT_TABLE(topic, how) extern const struct fact topic##_facts[];
FACT_TOPICS(FACT_TABLE)
#undef FACT_TABLE

/* The driver. NULL in the topic `before`, whose questions are about a driver that is not initialised. */
extern const struct cuda_driver *cu;

/* Returns "INVALID_VALUE", "SUCCESS", or "code 712" if the code has no name in BI__CU_CODES. */
const char *code(bi__cu_result result);
/* Formats an answer. It is valid until the eighth call after this one. */
__attribute__((format(printf, 1, 2))) const char *say(const char *format, ...);
const char *yes_or_no(int condition);

/* Makes the stream wait until the gate is opened. Returns 0 if the driver cannot do that. */
int close_gate(struct objects *objects, bi__cu_stream stream);
void open_gate(struct objects *objects);
/* The answer of a question that needs a gate if the driver has none. */
#define NO_GATE "not asked: cuStreamWaitValue32 is missing"

/* Runs the function in another thread, which has the primary context as its only one, and waits for its end. */
typedef void task(struct objects *objects, void *data);
void in_another_thread(struct objects *objects, task *run, void *data);

#endif
