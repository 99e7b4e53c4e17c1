#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_cases.h"
#include "check_child.h"

#define ELEMENTS_SIZE 4096
#define CANARY 0xa5

/*
 * The array that the consumer is given. Its pages are a guard, the memory, a guard, the numbers (shape, strides and
 * descr), and a guard. After the release no page can be accessed.
 */
static struct stage {
	const struct check_case *now;
	unsigned char *pages, *memory, *numbers; /* `pages`: all five */
	size_t page;
	int releases;
	union {
		struct bi_exchange x;
		unsigned char bytes[BI_ABI_SIZE_MAX + 64];
	} given;
} stage;

static void release_stage(struct bi_exchange *self)
{
	self->release = NULL;
	stage.releases++;
	mprotect(stage.pages, 5 * stage.page, PROT_NONE);
}

static int is_illegal(void)
{
	return stage.now->rule != NULL;
}

static const char *elements_rule(void)
{
	return stage.now - check_cases < CASE_PLAIN ? "bi.takes" : "bi.odd";
}

/*
 * Handles a fault. The step ends with a broken rule in two cases: the address is in the pages of the stage; or the
 * array is illegal and is not released yet. Any other fault is a crash.
 */
static void judge_fault(int number, siginfo_t *info, void *context)
{
	const char *name = stage.now->name;
	uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)stage.pages;

	(void)context;
	if (at >= 5 * stage.page && !(is_illegal() && !stage.releases)) {
		signal(number, SIG_DFL); /* the instruction is repeated, and ends the process */
		return;
	}
	if (stage.releases)
		judge("B-40", 0, "an array with %s is used after its release", name);
	else if (is_illegal())
		judge(stage.now->rule, 0, "an array with %s is used: address 0x%llx is read or written", name,
		      (unsigned long long)(uintptr_t)info->si_addr);
	else if (at / stage.page == 1)
		judge("B-11", 0, "an array with %s is written", name);
	else if (at / stage.page == 3)
		judge("B-12", 0, "shape, strides or descr of an array with %s are written", name);
	else
		judge(elements_rule(), 0, "bytes outside of the memory of an array with %s are used", name);
	judge_end();
}

static void catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = judge_fault, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

/*
 * Writes shape, strides and descr to their page. If the ndim of `now` is -1, they are those of `plain`, with the
 * changes of `now`.
 */
static void write_numbers(struct bi_exchange *x, const struct check_case *now, const struct check_case *plain)
{
	const struct check_case *from = now->ndim < 0 ? plain : now;
	int64_t *shape = (int64_t *)(void *)stage.numbers, *strides = shape + CASE_AXES;

	x->ndim = (uint8_t)from->ndim;
	for (int i = 0; i < from->ndim; i++) {
		shape[i] = from->shape[i];
		strides[i] = from->strides[i] * x->item_size;
	}
	if (now->ndim < 0 && now->shape[0])
		shape[0] = now->shape[0];
	if (now->ndim < 0 && now->strides[0])
		strides[0] = now->strides[0] * x->item_size;
	x->shape = shape;
	x->strides = strides;
	if (now->descr)
		x->descr = strcpy((char *)(strides + CASE_AXES), now->descr);
}

static void fill_exchange(struct bi_exchange *x, const struct check_case *now, const struct case_type *type)
{
	memset(&stage.given, 0, sizeof(stage.given)); /* 0 for members that this version does not have (B-8) */
	*x = (struct bi_exchange)BI_EXCHANGE_INIT;
	x->release = release_stage;
	x->handle = (uintptr_t)stage.memory;
	x->item_size = type->bits / 8u;
	x->offset = now->offset * x->item_size;
	x->size = CASE_COUNT * x->item_size;
	x->device_type = BI_EXCHANGE_DEVICE_CPU;
	x->handle_kind = BI_HANDLE_HOST;
	x->type_code = type->code;
	x->type_bits = type->bits;
	x->type_lanes = 1;
}

/* Makes the array of a case. The memory ends `shift` bytes before the end of its page. */
static void set_stage(const struct check_case *now, const struct case_type *type, const struct check_case *plain)
{
	struct bi_exchange *x = &stage.given.x;

	stage.now = now;
	stage.releases = 0;
	stage.page = (size_t)sysconf(_SC_PAGESIZE);
	stage.pages = mmap(NULL, 5 * stage.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stage.pages == MAP_FAILED)
		judge_fatal("no memory for an array");
	stage.memory = stage.pages + 2 * stage.page - (size_t)(CASE_COUNT * type->bits / 8) - now->shift;
	stage.numbers = stage.pages + 3 * stage.page;
	mprotect(stage.pages + stage.page, stage.page, PROT_READ | PROT_WRITE);
	mprotect(stage.numbers, stage.page, PROT_READ | PROT_WRITE);
	for (int i = 0; i < CASE_COUNT; i++)
		case_write_number(type, stage.memory + i * (type->bits / 8), i + 1);
	fill_exchange(x, now, type);
	write_numbers(x, now, plain);
	for (int i = 0; i < 3; i++)
		case_write_integer(stage.given.bytes + now->changes[i].offset, now->changes[i].size,
				   now->changes[i].value);
	if (x->type_code == 3)
		x->type_lanes = (uint16_t)x->item_size;
	mprotect(stage.numbers, stage.page, PROT_READ);
	if (x->flags & BI_READONLY)
		mprotect(stage.pages + stage.page, stage.page, PROT_READ);
}

/* Writes the numbers of the elements in C order. Returns their count. */
static int list_elements(const struct check_case *now, const struct check_case *plain, int numbers[CASE_COUNT])
{
	const struct check_case *from = now->ndim < 0 ? plain : now;
	int count = 1;

	for (int i = 0; i < from->ndim; i++)
		count *= (int)from->shape[i];
	for (int k = 0; k < count; k++) {
		int64_t at = (int64_t)now->offset;

		for (int i = from->ndim - 1, rest = k; i >= 0; rest /= (int)from->shape[i--])
			at += rest % from->shape[i] * from->strides[i];
		numbers[k] = (int)at + 1;
	}
	return count;
}

static void list_as_text(char *text, size_t size, const int *numbers, int count)
{
	size_t used = 0;

	snprintf(text, size, "none");
	for (int i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, numbers[i] < 0 ? "%sother" : "%s%d", i ? ", " : "",
					 numbers[i]);
}

static void judge_elements(const struct case_type *type, const struct check_case *plain, const unsigned char *elements)
{
	int wanted[CASE_COUNT], found[CASE_COUNT], count = list_elements(stage.now, plain, wanted);
	char said[100], right[100];

	for (int i = 0; i < count; i++)
		found[i] = case_read_number(type, elements + i * (type->bits / 8));
	list_as_text(said, sizeof(said), found, count);
	list_as_text(right, sizeof(right), wanted, count);
	judge(elements_rule(), !memcmp(wanted, found, (size_t)count * sizeof(*wanted)),
	      "the elements of an array with %s are %s, and should be %s", stage.now->name, said, right);
}

static void judge_overflow(const unsigned char *elements, size_t size)
{
	for (size_t i = size; i < ELEMENTS_SIZE; i++)
		if (elements[i] != CANARY) {
			judge(elements_rule(), 0,
			      "byte %zu of `elements` is written for an array with %s, and `size` is %zu", i,
			      stage.now->name, size);
			return;
		}
}

/* Passes the array of the stage to the consumer. Judges B-12 and B-39. Returns the result of the consumer. */
static int call_consumer(const struct check_task *task, unsigned char *elements)
{
	struct bi_exchange before = stage.given.x;
	int code;

	memset(elements, CANARY, ELEMENTS_SIZE);
	code = ((check_consumer_fn *)task->entry)(&stage.given.x, elements, CASE_COUNT * CASE_ITEM_MAX);
	judge_overflow(elements, CASE_COUNT * CASE_ITEM_MAX);
	judge("B-39", stage.releases == 1,
	      "release is called %d times for an array with %s%s, and has to be called once", stage.releases,
	      stage.now->name, code ? ", which is refused" : "");
	before.release = stage.given.x.release = NULL;
	judge("B-12", !memcmp(&before, &stage.given.x, sizeof(before)), "the structure of an array with %s is written",
	      stage.now->name);
	return code;
}

/* Passes an array of the case to the consumer, and judges the elements. Returns the result of the consumer. */
static int pass_case(const struct check_task *task, const struct check_case *now)
{
	const struct case_type *type = &case_types[task->choice / CASE_PLAIN];
	const struct check_case *plain = &check_cases[task->choice % CASE_PLAIN];
	static unsigned char elements[ELEMENTS_SIZE];
	int code;

	set_stage(now, type, plain);
	code = call_consumer(task, elements);
	if (!code && !is_illegal())
		judge_elements(type, plain, elements);
	if (!code && !is_illegal())
		judge("B-40", 1, "%s", "");
	return code;
}

/* Judges that the array is accepted, if the consumer accepts the last array before it that has no `permits`. */
static void judge_permitted(const struct check_task *task, const struct check_case *now)
{
	const struct check_case *base = now - 1;

	while (base->permits)
		base--;
	if (pass_case(task, base))
		judge_skip(now->permits, "an array with %s is refused", base->name);
	else
		judge(now->permits, !pass_case(task, now), "an array with %s is refused, and one with %s is not",
		      now->name, base->name);
}

static void step_case(const struct check_task *task)
{
	const struct check_case *now = task->data;

	catch_faults();
	if (now->permits)
		judge_permitted(task, now);
	else if (now->rule)
		judge(now->rule, pass_case(task, now) != 0, "an array with %s is accepted", now->name);
	else if (pass_case(task, now))
		judge_skip(elements_rule(), "an array with %s is refused", now->name);
}

/* Notes the number of the plain array that the consumer accepts, or that ended the child. */
static void step_choice(const struct check_task *task)
{
	struct check_task trial = *task;

	catch_faults();
	for (trial.choice = 0; case_types[trial.choice / CASE_PLAIN].name; trial.choice++) {
		judge_note(trial.choice);
		if (pass_case(&trial, &check_cases[trial.choice % CASE_PLAIN]) == 0)
			return;
	}
	judge_fatal(
		"%s refuses plain arrays of float32, float64, int8 to int64 and uint8 to uint64 with one and with two "
		"dimensions. Check a consumer that takes one of them, and returns 0 for it.",
		task->symbol);
}

enum check_end check_consumer(struct check_task *task, struct check_report *report)
{
	static const struct check_step choice = { "the first call", step_choice, 20, NULL, NULL, NULL };
	static const struct check_step pending = { "a call with pending work", step_pending, 1, NULL, NULL, "B-34" };
	struct check_result alive = { .rule = "all.alive", .array = task->symbol };
	enum check_end end = check_run_step(task, &choice, report);

	if (end != CHECK_ENDED)
		return end == CHECK_FATAL ? end : CHECK_ENDED;
	task->choice = task->note;
	for (const struct check_case *now = check_cases; now->name; now++) {
		char name[100];
		struct check_step step = { name, step_case, 2, now, now->rule ? now->rule : now->permits, NULL };

		snprintf(name, sizeof(name), "a call with %s", now->name);
		if (check_run_step(task, &step, report) == CHECK_FATAL)
			return CHECK_FATAL;
	}
	if (check_run_step(task, &pending, report) == CHECK_FATAL)
		return CHECK_FATAL;
	check_report_add(report, &alive);
	return CHECK_ENDED;
}
