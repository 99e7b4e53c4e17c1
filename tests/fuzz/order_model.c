/*
 * A model of the rules for readers and writers (docs/ordering.md, row 38) and for ends that the driver refuses (row
 * 19). Streams, events and memories are sets of work; there is no driver. The model runs random programs, whose steps
 * use one to three memories of two contexts. For each piece of work the model has the set of all work before it. So it
 * finds all pairs of conflicting pieces of work that are not ordered, whatever their timing.
 *
 *     order_model [programs] [seed]
 *
 * The rules as they are implemented (order.c, points.c) must have no race. Each wrong rule of `wrong_rules` must have a
 * race, which shows that the model distinguishes it from the right rule.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array_length.h"

typedef uint64_t set; /* of pieces of work */

enum access { READ = 1, WRITE = 2 };

/* S and T are context streams, U is out-of-order, K belongs to a producer. T and X belong to the second context. */
enum stream_name { S, W, V, U, K, T, X, STREAMS };
enum { PRIVATE, OTHER, SECOND, FOREIGN, MEMORIES };

static const int homes[MEMORIES] = { S, S, T, K };

#define READS 2 /* the library has more; a short table is full more often */
#define MOST_USES 3 /* memories of a step */
#define STEPS 14
#define MOST_WORK 60
#define LONGER 20 /* factor for wrong rules: some fail only after two refusals in a row */

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
	REFUSED_END_IS_FORGOTTEN,
	BEGIN_OUTLIVES_AN_EARLIER_END,
	END_OUTLIVES_AN_EARLIER_END,
	GATHERED_HOME_COUNTS_AS_FOLLOWED,
	EVENT_OF_THE_HOME_STANDS_FOR_A_WAIT_OF_IT,
	EVENT_OF_THE_STEP_OUTLIVES_A_WAIT,
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
	[REFUSED_END_IS_FORGOTTEN] = "the end of a use that the driver refused is forgotten",
	[BEGIN_OUTLIVES_AN_EARLIER_END] = "a beginning relies on its waits from before it recorded an earlier end",
	[END_OUTLIVES_AN_EARLIER_END] = "an end relies on an event from before it recorded an earlier end",
	[GATHERED_HOME_COUNTS_AS_FOLLOWED] = "a stream does not wait again for a home stream that has waited since",
	[EVENT_OF_THE_HOME_STANDS_FOR_A_WAIT_OF_IT] =
		"in an end, the wait for the home stream counts as a wait of the home stream",
	[EVENT_OF_THE_STEP_OUTLIVES_A_WAIT] =
		"the event of an end stands for work that its stream has waited for since",
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
	int unrecorded; /* the end of the use on this stream was refused; -1: none */
	uint64_t epoch; /* 1, and the number of uses that have ended */
	struct point written, reads[READS];
	/* For the check: work so far, and how it accessed the memory. */
	set readers, writers;
	int users[STREAMS]; /* access of the open use on each stream; 0: none */
};

/* The beginning or the end of a use of several memories. Models struct bi__step. */
struct step {
	int stream;
	set last; /* the last work of the use */
	bool has_home, has_end;
	set home, end; /* events */
	bool followed[STREAMS];
	set events[8];
	int event_count;
};

/* Memories of one use, each once. */
struct uses {
	int count;
	struct memory *memories[MOST_USES];
	int access[MOST_USES];
};

static struct model {
	enum rule rule;
	struct stream streams[STREAMS];
	struct memory memories[MEMORIES];
	set host; /* work whose completion the host has seen */
	unsigned count; /* pieces of work */
	unsigned refused; /* number of the call of the driver, from now on, that fails; 0: none */
	/* Chosen for each program, so that rare combinations occur together in some programs. */
	int used_streams[4];
	unsigned refusals, favourite, memory_count;
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

static set end_of(int stream)
{
	return model.streams[stream].work | model.streams[stream].after;
}

static bool is_refused(void)
{
	return model.refused && --model.refused == 0;
}

static bool record(int on, set *event)
{
	if (is_refused())
		return false;
	*event = end_of(on);
	return true;
}

static bool wait_for(int waiter, set event)
{
	if (is_refused())
		return false;
	model.streams[waiter].after |= event;
	return true;
}

static bool follow(int waiter, int on)
{
	set event;

	if (waiter == on && !model.streams[on].out_of_order)
		return true;
	return record(on, &event) && wait_for(waiter, event);
}

static void check(const struct memory *memory, int access, set before)
{
	set conflicting = memory->writers | (access & WRITE ? memory->readers : 0);

	model.raced |= (conflicting & ~before) != 0;
}

/* Enqueues one piece of work on all of the memories. Returns it. */
static set work(int on, const struct uses *uses)
{
	struct stream *stream = &model.streams[on];
	set self = (set)1 << model.count++;
	set before = model.host | stream->after | (stream->out_of_order ? 0 : stream->work);

	stream->work |= before | self;
	for (int i = 0; i < uses->count; i++) {
		struct memory *memory = uses->memories[i];

		check(memory, uses->access[i], before);
		*(uses->access[i] & WRITE ? &memory->writers : &memory->readers) |= self;
	}
	return self;
}

static void work_on(int on, struct memory *memory, int access)
{
	work(on, &(struct uses){ 1, { memory }, { access } });
}

/* ----------------------------------------------------------------------------------------------------------- rules */

static struct step step_on(int stream)
{
	return (struct step){ .stream = stream };
}

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

static void clear_points_in(struct step *step, struct memory *memory)
{
	step->has_home = false;
	step->event_count = 0;
	clear_points(memory);
}

static bool wait_for_point(const struct point *point, struct step *step)
{
	if (!point->event || is_own(point, step->stream))
		return true;
	for (int i = 0; i < step->event_count; i++)
		if (step->events[i] == point->event)
			return true;
	if (!wait_for(step->stream, point->event))
		return false;
	if (step->event_count < (int)ARRAY_LENGTH(step->events))
		step->events[step->event_count++] = point->event;
	return true;
}

/* Each read comes after the last write, so a wait for the reads includes the write. */
static bool wait_for_all(const struct memory *memory, struct step *step)
{
	bool has_reads = false;

	for (int i = 0; i < READS && model.rule != WRITE_IGNORES_READS; i++) {
		has_reads |= memory->reads[i].event != 0;
		if (!wait_for_point(&memory->reads[i], step))
			return false;
	}
	return has_reads || wait_for_point(&memory->written, step);
}

static bool gather(struct memory *memory)
{
	struct step step = step_on(memory->home);

	if (!memory->spread)
		return true;
	if (!wait_for_all(memory, &step))
		return false;
	clear_points(memory);
	return true;
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
	struct point *reads = memory->reads, *entry = find_entry(memory, stream);

	if (entry)
		return entry;
	for (int i = 0; i < READS; i++)
		if (!reads[i].event && (!entry || (entry->stream >= 0 && reads[i].stream < 0)))
			entry = &reads[i];
	if (entry)
		*entry = (struct point){ .stream = stream };
	return entry;
}

static bool spread_out(struct memory *memory, struct step *step)
{
	set event = 0;

	if (memory->spread)
		return true;
	if (memory->pending && !step->has_home && !record(memory->home, &step->home))
		return false;
	if (memory->pending) {
		step->has_home = true;
		event = step->home;
	}
	clear_points(memory);
	memory->written = (struct point){ .stream = memory->home, .event = event };
	memory->spread = memory->home_seen = true;
	return true;
}

static bool begin_on_home(struct memory *memory, int access, struct step *step)
{
	if (!memory->spread)
		return true;
	if (access & WRITE) {
		if (!wait_for_all(memory, step))
			return false;
		clear_points_in(step, memory);
		return true;
	}
	if (!memory->home_seen && model.rule != READ_IGNORES_WRITTEN && !wait_for_point(&memory->written, step))
		return false;
	memory->home_seen = true;
	return true;
}

static void note_followed_home(const struct memory *memory, struct step *step)
{
	if (step->has_home && memory->written.event && memory->written.event == step->home)
		step->followed[memory->home] = true;
}

static bool begin_elsewhere(struct memory *memory, int access, struct step *step)
{
	int stream = step->stream;
	struct point *entry;
	bool done = spread_out(memory, step);

	if (done && access & WRITE)
		done = wait_for_all(memory, step);
	else if (done && !find_entry(memory, stream) && model.rule != READ_IGNORES_WRITTEN)
		done = wait_for_point(&memory->written, step);
	if (!done)
		return false;
	if (model.rule == EVENT_OF_THE_HOME_STANDS_FOR_A_WAIT_OF_IT)
		note_followed_home(memory, step);
	entry = take_entry(memory, stream);
	if (!(access & WRITE))
		return true;
	if (memory->home_reads && model.rule != WRITE_IGNORES_HOME_READS && !follow(stream, memory->home))
		return false;
	if (entry)
		entry->seen = memory->epoch;
	return true;
}

/* Returns true if the memory was not exported, and the stream belongs to its context. */
static bool is_private(const struct memory *memory, int stream)
{
	return !memory->shared && (stream >= T) == (memory->home >= T);
}

static bool begin_shared(struct memory *memory, struct step *step)
{
	if (memory->spread && model.rule != GATHERED_HOME_COUNTS_AS_FOLLOWED)
		memset(step->followed, 0, sizeof(step->followed));
	if (!gather(memory))
		return false;
	if (!memory->pending || step->followed[memory->home])
		return true;
	if (!follow(step->stream, memory->home))
		return false;
	step->followed[memory->home] = true;
	return true;
}

static void catch_up(struct memory *memory);

static void catch_up_in(struct step *step, struct memory *memory, enum rule keeps)
{
	if (memory->unrecorded < 0)
		return;
	catch_up(memory);
	if (model.rule == keeps)
		return;
	step->has_home = step->has_end = false;
	step->event_count = 0;
	memset(step->followed, 0, sizeof(step->followed));
}

static bool begin_one(struct memory *memory, int access, struct step *step)
{
	catch_up_in(step, memory, BEGIN_OUTLIVES_AN_EARLIER_END);
	if (!memory->pending)
		return true;
	if (!is_private(memory, step->stream))
		return begin_shared(memory, step);
	if (step->stream == memory->home)
		return begin_on_home(memory, access, step);
	if (!begin_elsewhere(memory, access, step))
		return false;
	note_followed_home(memory, step);
	return true;
}

static bool begin(const struct uses *uses, int stream)
{
	struct step step = step_on(stream);

	for (int i = 0; i < uses->count; i++)
		if (!begin_one(uses->memories[i], uses->access[i], &step))
			return false;
	return true;
}

static void clear_before_write(struct memory *memory, struct step *step)
{
	int streams[READS];

	for (int i = 0; i < READS; i++)
		streams[i] = memory->reads[i].stream;
	clear_points_in(step, memory);
	memory->spread = true;
	for (int i = 0; i < READS && model.rule == SEEN_OUTLIVES_A_WRITE; i++)
		memory->reads[i].stream = streams[i];
}

/* Records one event for all memories of the step. */
static bool record_end(struct step *step)
{
	if (step->has_end)
		return true;
	if (!record(step->stream, &step->end))
		return false;
	if (model.rule == EVENT_OF_THE_LAST_WORK_ALONE && !keeps_order(step->stream))
		step->end = step->last;
	step->has_end = true;
	return true;
}

static bool note_write(struct memory *memory, struct step *step)
{
	const struct point *entry = memory->spread ? find_entry(memory, step->stream) : NULL;

	if (memory->pending && !(entry && entry->seen == memory->epoch) && model.rule != END_TRUSTS_THAT_IT_BEGAN) {
		if (model.rule != EVENT_OF_THE_STEP_OUTLIVES_A_WAIT)
			step->has_end = false;
		if (!begin_elsewhere(memory, WRITE, step))
			return false;
	}
	if (!spread_out(memory, step) || !record_end(step))
		return false;
	clear_before_write(memory, step);
	memory->written = (struct point){ .stream = step->stream, .event = step->end };
	return true;
}

static bool has_seen_write(struct memory *memory, int stream)
{
	return !memory->written.event || is_own(&memory->written, stream) || find_entry(memory, stream) ||
	       model.rule == END_OF_READ_TRUSTS_THAT_IT_BEGAN;
}

static bool note_read(struct memory *memory, struct step *step)
{
	struct point *entry;

	if (!spread_out(memory, step))
		return false;
	if (!has_seen_write(memory, step->stream))
		return note_write(memory, step);
	entry = take_entry(memory, step->stream);
	if (!entry && model.rule == FULL_TABLE_JOINS_ON_HOME)
		return record_end(step) && wait_for(memory->home, step->end);
	if (!entry)
		return note_write(memory, step);
	if (!record_end(step))
		return false;
	entry->event = step->end;
	return true;
}

static bool end_on_home(struct memory *memory, int access, struct step *step)
{
	bool done = begin_on_home(memory, access, step);

	memory->home_reads |= memory->spread;
	return done;
}

static bool end_shared(struct memory *memory, int access, struct step *step)
{
	set event;

	if (!gather(memory))
		return false;
	if (step->followed[memory->home] || (model.rule == PRODUCER_IS_READ_ONLY && access == READ) ||
	    (step->stream == memory->home && keeps_order(memory->home)))
		return true;
	if (!record(step->stream, &event))
		return false;
	if (model.rule == EVENT_OF_THE_LAST_WORK_ALONE && !keeps_order(step->stream))
		event = step->last;
	if (!wait_for(memory->home, event))
		return false;
	step->followed[memory->home] = true;
	return true;
}

static bool note_end(struct memory *memory, int access, struct step *step)
{
	bool done;

	if (!is_private(memory, step->stream))
		done = end_shared(memory, access, step);
	else if (step->stream == memory->home)
		done = end_on_home(memory, access, step);
	else
		done = access & WRITE ? note_write(memory, step) : note_read(memory, step);
	memory->pending = true;
	return done;
}

/* If the driver refuses again, the host waits for the stream. */
static void catch_up(struct memory *memory)
{
	struct step step;

	if (memory->unrecorded < 0)
		return;
	step = step_on(memory->unrecorded);
	step.last = end_of(step.stream);
	if (!note_end(memory, WRITE, &step))
		model.host |= end_of(step.stream);
	memory->unrecorded = -1;
}

/* `last` is the last work of the use. */
static void end(const struct uses *uses, int stream, set last)
{
	struct step step = step_on(stream);

	step.last = last | model.streams[stream].after;
	for (int i = 0; i < uses->count; i++) {
		struct memory *memory = uses->memories[i];

		catch_up_in(&step, memory, END_OUTLIVES_AN_EARLIER_END);
		if (!note_end(memory, uses->access[i], &step) && model.rule != REFUSED_END_IS_FORGOTTEN)
			memory->unrecorded = stream;
		memory->epoch++;
	}
}

/* Returns true if no read of the memory is stored for another stream, so the end of `stream` is the end of all. */
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

/* Enqueues nothing if the beginning is refused. */
static void use(const struct uses *uses, int stream)
{
	if (begin(uses, stream))
		end(uses, stream, work(stream, uses));
}

static void open_by_hand(const struct uses *uses, int stream)
{
	for (int i = 0; i < uses->count; i++)
		if (uses->memories[i]->users[stream])
			return;
	if (!begin(uses, stream))
		return;
	for (int i = 0; i < uses->count; i++)
		uses->memories[i]->users[stream] = uses->access[i];
}

/* Ends some of the uses that are open on the stream. They need not have begun together. */
static void close_by_hand(int stream)
{
	int first = (int)pick(MEMORIES);
	struct uses uses = { 0 };

	for (int i = 0; i < MEMORIES && uses.count < MOST_USES; i++) {
		struct memory *memory = &model.memories[(first + i) % MEMORIES];

		if (!memory->users[stream] || (uses.count && !pick(3)))
			continue;
		uses.memories[uses.count] = memory;
		uses.access[uses.count++] = memory->users[stream];
		memory->users[stream] = 0;
	}
	if (uses.count)
		end(&uses, stream, work(stream, &uses));
}

static bool has_open_use(int stream)
{
	for (int i = 0; i < MEMORIES; i++)
		if (model.memories[i].users[stream])
			return true;
	return false;
}

/* The program orders its work by itself, and only informs the library of the end. */
static void end_without_begin(const struct uses *uses, int stream)
{
	for (int i = 0; i < uses->count; i++)
		if (is_open(uses->memories[i]))
			return;
	for (int i = 0; i < STREAMS; i++)
		model.streams[stream].after |= end_of(i);
	end(uses, stream, work(stream, uses));
}

/* Code that was given the home stream enqueues work there without the library, unless an end is not recorded. */
static void work_of_others(struct memory *memory)
{
	if (memory->shared && memory->unrecorded < 0)
		work_on(memory->home, memory, pick(2) ? READ : WRITE);
}

/* The host waits for each stored event of the memory. */
static void finish_points(struct memory *memory)
{
	model.host |= memory->written.event;
	for (int i = 0; i < READS; i++)
		model.host |= memory->reads[i].event;
	clear_points(memory);
}

static void export_memory(struct memory *memory)
{
	catch_up(memory);
	if (model.rule == EXPORT_NAMES_HOME_AT_ONCE)
		clear_points(memory);
	else if (model.rule != EXPORTED_READS_STAY_APART && !gather(memory))
		finish_points(memory);
	memory->shared = true;
	memory->pending = true;
	work_of_others(memory);
	if (model.rule == EXPORTED_READS_STAY_APART && memory->spread)
		memory->shared = false;
}

static void host_waits(struct memory *memory)
{
	struct step step = step_on(memory->home);

	catch_up(memory);
	if (model.rule == HOST_WAITS_FOR_WRITTEN_ALONE && memory->spread)
		wait_for_point(&memory->written, &step);
	else
		gather(memory);
	model.host |= end_of(memory->home);
	clear_points(memory);
	memory->pending = memory->shared;
}

/* The calling thread copies in idle memory. */
static void work_of_host(const struct memory *memory)
{
	if (!memory->pending && memory->unrecorded < 0)
		check(memory, WRITE, model.host);
}

/* A copy to host memory, for whose end the host waits. */
static void read_value(struct memory *memory, int stream)
{
	use(&(struct uses){ 1, { memory }, { READ } }, stream);
	if (memory->unrecorded >= 0)
		return;
	model.host |= end_of(stream);
	if (is_private(memory, stream) && (comes_last(memory, stream) || model.rule == ONE_READ_ENDS_ALL)) {
		clear_points(memory);
		memory->pending = false;
	}
}

/* The next owner takes over the block with its state. */
static void pool(struct memory *memory)
{
	catch_up(memory);
	if (model.rule == POOL_FORGETS)
		clear_points(memory);
}

/* The driver frees and allocates in the order of the home stream. */
static void free_in_order(struct memory *memory)
{
	struct step step = step_on(memory->home);

	catch_up(memory);
	if (memory->spread && model.rule == FREE_WAITS_FOR_WRITTEN_ALONE)
		wait_for_point(&memory->written, &step);
	else
		gather(memory);
	clear_points(memory);
	work_on(memory->home, memory, WRITE);
	memory->pending = true;
}

static void step_with_end(const struct uses *uses, int stream)
{
	switch (pick(2) ? model.favourite : pick(12)) {
	case 0:
	case 1:
		open_by_hand(uses, stream);
		break;
	case 2:
		model.refused = 0;
		read_value(uses->memories[0], stream);
		break;
	case 3:
		end_without_begin(uses, stream);
		break;
	default:
		use(uses, stream);
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

static struct memory *pick_memory(void)
{
	return &model.memories[pick(8) ? pick(2) : pick(model.memory_count)];
}

/* Returns up to three memories, in any order, whose use is legal now. */
static struct uses pick_uses(void)
{
	int count = 1 + (int)pick(MOST_USES);
	struct uses uses = { 0 };

	for (int i = 0; i < count; i++) {
		struct memory *memory = i ? &model.memories[pick(model.memory_count)] : pick_memory();
		int access = pick(3) ? READ : WRITE, known = 0;

		while (known < uses.count && uses.memories[known] != memory)
			known++;
		if (known < uses.count || !may_begin(memory, access))
			continue;
		uses.memories[uses.count] = memory;
		uses.access[uses.count++] = access;
	}
	return uses;
}

static void run_step(void)
{
	int stream = model.used_streams[pick(ARRAY_LENGTH(model.used_streams))];
	struct memory *memory = pick_memory();
	struct uses uses;

	model.refused = pick(6) < model.refusals ? 1 + pick(6) : 0;
	if (has_open_use(stream) && pick(2)) {
		close_by_hand(stream);
		return;
	}
	if (pick(4)) {
		uses = pick_uses();
		if (uses.count)
			step_with_end(&uses, stream);
		return;
	}
	if (!is_open(memory)) {
		model.refused = 0;
		step_alone(memory);
	}
}

static void reset(enum rule rule, uint64_t seed)
{
	uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15u;

	model = (struct model){ .rule = rule, .random = random ? random : 1 };
	model.streams[U].out_of_order = true;
	for (size_t i = 0; i < ARRAY_LENGTH(model.used_streams); i++)
		model.used_streams[i] = (int)(pick(6) ? pick(K + 1) : T + pick(2));
	model.refusals = pick(4);
	model.favourite = pick(12);
	model.memory_count = pick(2) ? MEMORIES : 2;
	for (int i = 0; i < MEMORIES; i++) {
		model.memories[i].home = homes[i];
		model.memories[i].shared = model.memories[i].pending = i == FOREIGN;
		model.memories[i].epoch = 1;
		model.memories[i].unrecorded = -1;
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
		first = find_race(rule, LONGER * programs, seed);
		failed += first == LONGER * programs;
		printf("%s %s: program %llu\n", first < LONGER * programs ? "found" : "MISSED", wrong_rules[rule],
		       (unsigned long long)first);
	}
	return failed != 0;
}
