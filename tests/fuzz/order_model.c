/*
 * A model of the rules for readers and writers (docs/ordering.md, row 38): streams, events and memories as sets of
 * work, without a driver. Random programs run on it. The model knows for each piece of work what comes before it, so it
 * finds every two conflicting pieces of work that are not ordered, whatever their timing.
 *
 *     order_model [programs] [seed]
 *
 * First the rules as they are implemented (order.c) must have no race. Then each wrong rule of `wrong_rules` must have
 * one: the model can tell it from the right rule.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "array_length.h"

typedef uint64_t set; /* of pieces of work */

enum access { READ = 1, WRITE = 2 };

/* S is the context stream, U is out-of-order, K belongs to a producer. */
enum stream_name { S, W, V, U, K, STREAMS };
enum { PRIVATE, OTHER, FOREIGN, MEMORIES };

#define READS 2 /* the library has more; a short table is full more often */
#define STEPS 14
#define MOST_WORK 60

enum rule {
	RIGHT,
	READ_IGNORES_WRITTEN,
	WRITE_IGNORES_READS,
	WRITE_IGNORES_HOME_READS,
	OWN_READS_COUNT_OUT_OF_ORDER,
	EVENT_OF_THE_LAST_WORK_ALONE,
	EXPORT_NAMES_HOME_AT_ONCE,
	EXPORTED_READS_STAY_APART,
	END_TRUSTS_THAT_IT_BEGAN,
	END_OF_READ_TRUSTS_THAT_IT_BEGAN,
	POOL_FORGETS,
	FREE_WAITS_FOR_WRITTEN_ALONE,
	HOST_WAITS_FOR_WRITTEN_ALONE,
	FULL_TABLE_JOINS_ON_HOME,
	PRODUCER_IS_READ_ONLY,
	SEEN_OUTLIVES_A_WRITE,
	ONE_READ_ENDS_ALL,
	RULES
};

static const char *const wrong_rules[RULES] = {
	[READ_IGNORES_WRITTEN] = "a read does not wait for the last write",
	[WRITE_IGNORES_READS] = "a write does not wait for reads on other streams",
	[WRITE_IGNORES_HOME_READS] = "a write does not wait for reads on the home stream",
	[OWN_READS_COUNT_OUT_OF_ORDER] = "a write on an out-of-order stream does not wait for its own reads",
	[EVENT_OF_THE_LAST_WORK_ALONE] = "the event of a read on an out-of-order stream covers that read alone",
	[EXPORT_NAMES_HOME_AT_ONCE] = "an export names the home stream, which waits for nothing",
	[EXPORTED_READS_STAY_APART] = "exported memory is still private",
	[END_TRUSTS_THAT_IT_BEGAN] = "the end of a write clears reads for which its stream did not wait",
	[END_OF_READ_TRUSTS_THAT_IT_BEGAN] =
		"the end of a read is noted although its stream did not wait for the write",
	[POOL_FORGETS] = "the next owner of pooled memory waits for the home stream alone",
	[FREE_WAITS_FOR_WRITTEN_ALONE] = "memory is freed when the last write is complete",
	[HOST_WAITS_FOR_WRITTEN_ALONE] = "memory is idle when the last write is complete",
	[FULL_TABLE_JOINS_ON_HOME] = "a read that finds no entry is joined on the home stream",
	[PRODUCER_IS_READ_ONLY] = "a producer does not wait for reads of memory that it calls read-only",
	[SEEN_OUTLIVES_A_WRITE] = "a stream that has waited for one write does not wait for the next",
	[ONE_READ_ENDS_ALL] = "memory is idle when one read is complete",
};

struct stream {
	bool out_of_order;
	set after; /* later work comes after these */
	set work; /* all work, with all that comes before it */
};

struct point {
	int stream; /* -1: unused */
	set event;
	uint64_t seen; /* the stream has waited for all work up to this epoch; 0: for the last write alone */
};

struct memory {
	int home;
	bool shared, pending, spread, home_seen, home_reads;
	uint64_t epoch; /* number of pieces of work, and 1 */
	struct point written, reads[READS];
	/* For the check: work so far, and how it accessed the memory. */
	set readers, writers;
	int users[STREAMS]; /* open uses by hand: accesses */
};

static struct model {
	enum rule rule;
	struct stream streams[STREAMS];
	struct memory memories[MEMORIES];
	set host; /* what the host knows to be complete */
	unsigned count; /* pieces of work */
	bool raced;
	uint64_t random;
} model;

static unsigned pick(unsigned count)
{
	model.random ^= model.random << 13;
	model.random ^= model.random >> 7;
	model.random ^= model.random << 17;
	return (unsigned)(model.random >> 33) % count;
}

/* ---------------------------------------------------------------------------------------------------------- driver */

static set record(int on)
{
	return model.streams[on].work | model.streams[on].after;
}

static void wait_for(int waiter, set event)
{
	model.streams[waiter].after |= event;
}

static void check(struct memory *memory, int access, set before)
{
	set conflicting = memory->writers | (access & WRITE ? memory->readers : 0);

	model.raced |= (conflicting & ~before) != 0;
}

static void work(int on, struct memory *memory, int access)
{
	struct stream *stream = &model.streams[on];
	set self = (set)1 << model.count++;
	set before = model.host | stream->after | (stream->out_of_order ? 0 : stream->work);

	check(memory, access, before);
	stream->work |= before | self;
	*(access & WRITE ? &memory->writers : &memory->readers) |= self;
}

/* ----------------------------------------------------------------------------------------------------------- rules */

static bool keeps_order(int stream)
{
	return !model.streams[stream].out_of_order;
}

static bool is_own(const struct point *point, int stream)
{
	return point->stream == stream && (keeps_order(stream) || model.rule == OWN_READS_COUNT_OUT_OF_ORDER);
}

static void clear_points(struct memory *memory)
{
	memory->spread = memory->home_reads = memory->home_seen = false;
	memory->written = (struct point){ .stream = -1 };
	for (int i = 0; i < READS; i++)
		memory->reads[i] = (struct point){ .stream = -1 };
}

static void wait_for_point(const struct point *point, int stream)
{
	if (point->stream >= 0 && !is_own(point, stream))
		wait_for(stream, point->event);
}

/* Each read comes after the last write, so the reads stand for it. */
static void wait_for_all(const struct memory *memory, int stream)
{
	bool has_reads = false;

	for (int i = 0; i < READS && model.rule != WRITE_IGNORES_READS; i++) {
		has_reads |= memory->reads[i].event != 0;
		wait_for_point(&memory->reads[i], stream);
	}
	if (!has_reads)
		wait_for_point(&memory->written, stream);
}

static void gather(struct memory *memory)
{
	if (!memory->spread)
		return;
	wait_for_all(memory, memory->home);
	clear_points(memory);
}

static struct point *find_entry(struct memory *memory, int stream)
{
	for (int i = 0; i < READS; i++)
		if (memory->reads[i].stream == stream)
			return &memory->reads[i];
	return NULL;
}

static struct point *take_entry(struct memory *memory, int stream)
{
	struct point *entry = find_entry(memory, stream);

	for (int i = 0; i < READS && !entry; i++)
		if (!memory->reads[i].event)
			entry = &memory->reads[i];
	if (entry && entry->stream != stream)
		*entry = (struct point){ .stream = stream };
	return entry;
}

static void spread_out(struct memory *memory)
{
	if (memory->spread)
		return;
	clear_points(memory);
	memory->spread = true;
	if (memory->pending)
		memory->written = (struct point){ .stream = memory->home, .event = record(memory->home) };
	memory->home_seen = true;
}

static void begin_on_home(struct memory *memory, int access)
{
	if (!memory->spread)
		return;
	if (access & WRITE) {
		wait_for_all(memory, memory->home);
		clear_points(memory);
		return;
	}
	if (!memory->home_seen && model.rule != READ_IGNORES_WRITTEN)
		wait_for_point(&memory->written, memory->home);
	memory->home_seen = true;
}

static void begin_elsewhere(struct memory *memory, int stream, int access)
{
	struct point *entry;

	spread_out(memory);
	if (access & WRITE)
		wait_for_all(memory, stream);
	else if (!find_entry(memory, stream) && model.rule != READ_IGNORES_WRITTEN)
		wait_for_point(&memory->written, stream);
	entry = take_entry(memory, stream);
	if (!(access & WRITE))
		return;
	if (memory->home_reads && model.rule != WRITE_IGNORES_HOME_READS)
		wait_for(stream, record(memory->home));
	if (entry)
		entry->seen = memory->epoch;
}

static bool is_private(const struct memory *memory)
{
	return !memory->shared;
}

static void begin(struct memory *memory, int stream, int access)
{
	if (!memory->pending)
		return;
	if (!is_private(memory)) {
		gather(memory);
		if (stream != memory->home)
			wait_for(stream, record(memory->home));
	} else if (stream == memory->home) {
		begin_on_home(memory, access);
	} else {
		begin_elsewhere(memory, stream, access);
	}
}

static void clear_before_write(struct memory *memory)
{
	int streams[READS];

	for (int i = 0; i < READS; i++)
		streams[i] = memory->reads[i].stream;
	clear_points(memory);
	memory->spread = true;
	for (int i = 0; i < READS && model.rule == SEEN_OUTLIVES_A_WRITE; i++)
		memory->reads[i].stream = streams[i];
}

static void note_write(struct memory *memory, int stream)
{
	struct point *entry = find_entry(memory, stream);

	if (memory->pending && !(entry && entry->seen == memory->epoch) && model.rule != END_TRUSTS_THAT_IT_BEGAN)
		begin(memory, stream, WRITE);
	clear_before_write(memory);
	memory->written = (struct point){ .stream = stream, .event = record(stream) };
}

static bool has_seen_write(struct memory *memory, int stream)
{
	return memory->written.stream < 0 || is_own(&memory->written, stream) || find_entry(memory, stream) ||
	       model.rule == END_OF_READ_TRUSTS_THAT_IT_BEGAN;
}

static void note_read(struct memory *memory, int stream, set event)
{
	struct point *entry;

	spread_out(memory);
	if (!has_seen_write(memory, stream)) {
		note_write(memory, stream);
		return;
	}
	entry = take_entry(memory, stream);
	if (entry)
		entry->event = event;
	else if (model.rule == FULL_TABLE_JOINS_ON_HOME)
		wait_for(memory->home, event);
	else
		note_write(memory, stream);
}

static void end_on_home(struct memory *memory, int access)
{
	begin_on_home(memory, access);
	memory->home_reads |= memory->spread;
}

/* `last` is the last work of the use. */
static void end(struct memory *memory, int stream, int access, set last)
{
	set event = model.rule == EVENT_OF_THE_LAST_WORK_ALONE && !keeps_order(stream) ? last : record(stream);

	if (!is_private(memory)) {
		gather(memory);
		if (stream != memory->home && !(model.rule == PRODUCER_IS_READ_ONLY && access == READ))
			wait_for(memory->home, event);
	} else if (stream == memory->home) {
		end_on_home(memory, access);
	} else if (access & WRITE) {
		note_write(memory, stream);
	} else {
		note_read(memory, stream, event);
	}
	memory->pending = true;
	memory->epoch++;
}

/* Only the last use of the memory has an end that covers everything. */
static bool comes_last(const struct memory *memory, int stream)
{
	if (memory->spread && memory->home_reads && stream != memory->home)
		return false;
	for (int i = 0; i < READS && memory->spread; i++)
		if (memory->reads[i].event && memory->reads[i].stream != stream)
			return false;
	return true;
}

/* -------------------------------------------------------------------------------------------------------- programs */

/* A legal program begins no use beside an open use that conflicts. */
static bool may_begin(const struct memory *memory, int access)
{
	for (int i = 0; i < STREAMS; i++)
		if (memory->users[i] && (memory->users[i] | access) & WRITE)
			return false;
	return true;
}

static bool is_open(const struct memory *memory)
{
	return !may_begin(memory, WRITE);
}

static void use(struct memory *memory, int stream, int access)
{
	begin(memory, stream, access);
	work(stream, memory, access);
	end(memory, stream, access, (set)1 << (model.count - 1) | model.streams[stream].after);
}

static void open_by_hand(struct memory *memory, int stream, int access)
{
	if (memory->users[stream])
		return;
	begin(memory, stream, access);
	memory->users[stream] = access;
}

static void close_by_hand(struct memory *memory, int stream)
{
	int access = memory->users[stream];

	if (!access)
		return;
	work(stream, memory, access);
	end(memory, stream, access, (set)1 << (model.count - 1) | model.streams[stream].after);
	memory->users[stream] = 0;
}

/* The program orders its work by itself, and only informs the library of the end. */
static void end_without_begin(struct memory *memory, int stream, int access)
{
	for (int i = 0; i < STREAMS; i++)
		wait_for(stream, record(i));
	work(stream, memory, access);
	end(memory, stream, access, (set)1 << (model.count - 1) | model.streams[stream].after);
}

/* Code that knows the home stream works there without the library. */
static void work_of_others(struct memory *memory)
{
	if (memory->shared)
		work(memory->home, memory, pick(2) ? READ : WRITE);
}

static void export_memory(struct memory *memory)
{
	if (model.rule == EXPORT_NAMES_HOME_AT_ONCE)
		clear_points(memory);
	else if (model.rule != EXPORTED_READS_STAY_APART)
		gather(memory);
	memory->shared = true;
	memory->pending = true;
	work_of_others(memory);
	if (model.rule == EXPORTED_READS_STAY_APART && memory->spread)
		memory->shared = false;
}

static void host_waits(struct memory *memory)
{
	if (model.rule == HOST_WAITS_FOR_WRITTEN_ALONE && memory->spread)
		wait_for_point(&memory->written, memory->home);
	else
		gather(memory);
	model.host |= record(memory->home);
	clear_points(memory);
	memory->pending = memory->shared;
}

/* The calling thread copies in idle memory. */
static void work_of_host(struct memory *memory)
{
	if (!memory->pending)
		check(memory, WRITE, model.host);
}

/* A copy to host memory, for whose end the host waits. */
static void read_value(struct memory *memory, int stream)
{
	use(memory, stream, READ);
	model.host |= record(stream);
	if (is_private(memory) && (comes_last(memory, stream) || model.rule == ONE_READ_ENDS_ALL)) {
		clear_points(memory);
		memory->pending = false;
	}
}

/* The next owner has the same block, and finds its state. */
static void pool(struct memory *memory)
{
	if (model.rule == POOL_FORGETS)
		clear_points(memory);
}

/* The driver frees and allocates in the order of the home stream. */
static void free_in_order(struct memory *memory)
{
	if (memory->spread && model.rule == FREE_WAITS_FOR_WRITTEN_ALONE)
		wait_for_point(&memory->written, memory->home);
	else
		gather(memory);
	clear_points(memory);
	work(memory->home, memory, WRITE);
	memory->pending = true;
}

static void step_with_end(struct memory *memory, int stream, int access)
{
	switch (pick(12)) {
	case 0:
		open_by_hand(memory, stream, access);
		break;
	case 1:
		read_value(memory, stream);
		break;
	case 2:
		if (!is_open(memory))
			end_without_begin(memory, stream, access);
		break;
	default:
		use(memory, stream, access);
	}
}

static void step_alone(struct memory *memory)
{
	switch (pick(6)) {
	case 0:
		host_waits(memory);
		break;
	case 1:
		work_of_host(memory);
		break;
	case 2:
		memory->shared ? work_of_others(memory) : pool(memory);
		break;
	case 3:
		memory->shared ? work_of_others(memory) : free_in_order(memory);
		break;
	case 4:
		if (!pick(3))
			export_memory(memory);
		break;
	default:
		work_of_others(memory);
	}
}

static void run_step(void)
{
	struct memory *memory = &model.memories[pick(8) ? pick(2) : FOREIGN];
	int stream = (int)pick(STREAMS), access = pick(3) ? READ : WRITE;

	if (memory->users[stream])
		close_by_hand(memory, stream);
	else if (pick(4) && may_begin(memory, access))
		step_with_end(memory, stream, access);
	else if (!is_open(memory))
		step_alone(memory);
}

static void reset(enum rule rule, uint64_t seed)
{
	uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15u;

	model = (struct model){ .rule = rule, .random = random ? random : 1 };
	model.streams[U].out_of_order = true;
	for (int i = 0; i < MEMORIES; i++) {
		model.memories[i].home = i == FOREIGN ? K : S;
		model.memories[i].shared = model.memories[i].pending = i == FOREIGN;
		model.memories[i].epoch = 1;
		clear_points(&model.memories[i]);
	}
}

static bool has_race(enum rule rule, uint64_t seed)
{
	reset(rule, seed);
	for (int i = 0; i < STEPS && model.count < MOST_WORK && !model.raced; i++)
		run_step();
	return model.raced;
}

/* Returns the number of the first program that has a race, or `programs`. */
static uint64_t find_race(enum rule rule, uint64_t programs, uint64_t seed)
{
	uint64_t i = 0;

	while (i < programs && !has_race(rule, seed + i))
		i++;
	return i;
}

int main(int argc, char **argv)
{
	uint64_t programs = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, first;
	int failed = 0;

	first = find_race(RIGHT, programs, seed);
	failed += first < programs;
	printf("%s the rules: %llu programs\n", first < programs ? "RACE " : "ok   ", (unsigned long long)first);
	for (enum rule rule = RIGHT + 1; rule < RULES; rule++) {
		first = find_race(rule, programs, seed);
		failed += first == programs;
		printf("%s %s: program %llu\n", first < programs ? "found" : "MISSED", wrong_rules[rule],
		       (unsigned long long)first);
	}
	return failed != 0;
}
