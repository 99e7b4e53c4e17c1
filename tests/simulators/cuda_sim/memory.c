#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"

/* Bytes of each device; few, so that tests can use them up. */
#define TOTAL ((size_t)64 << 20)

static const char *const kind_names[] = {
	[MEMORY_DEVICE] = "device memory", [MEMORY_POOL] = "pool memory",
	[MEMORY_MAPPED] = "mapped memory", [MEMORY_MANAGED] = "managed memory",
	[MEMORY_PINNED] = "pinned memory", [MEMORY_REGISTERED] = "registered memory",
};

static struct allocation *allocations;
static struct table registered;
static size_t in_use[SIM_DEVICES];
static uint64_t live;

static struct table *table_at(uint64_t address)
{
	struct arena *arena = arena_at(address);

	return arena ? &arena->table : &registered;
}

/* Returns how many allocations start at or before the address. */
static size_t count_before(const struct table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->list[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void take_out(struct table *table, size_t i)
{
	table->count--;
	memmove(table->list + i, table->list + i + 1, (table->count - i) * sizeof(*table->list));
}

static void put_in(struct table *table, struct allocation *allocation)
{
	size_t i = count_before(table, allocation->start);

	if (table->count == table->capacity) {
		table->capacity = table->capacity ? 2 * table->capacity : 64;
		table->list = must_grow(table->list, table->capacity, sizeof(struct allocation *));
	}
	memmove(table->list + i + 1, table->list + i, (table->count - i) * sizeof(*table->list));
	table->list[i] = allocation;
	table->count++;
}

static int shares(const struct allocation *allocation, struct pages pages)
{
	return allocation->pages.start < pages.start + pages.nbytes &&
	       pages.start < allocation->pages.start + allocation->pages.nbytes;
}

/* Removes freed allocations from the table, because their addresses are used again. */
static void take_out_freed(struct table *table, struct pages pages)
{
	size_t i = count_before(table, pages.start + pages.nbytes - 1);

	while (i-- > 0 && shares(table->list[i], pages))
		take_out(table, i);
}

static struct allocation *live_in(const struct table *table, struct pages pages)
{
	size_t i = pages.nbytes ? count_before(table, pages.start + pages.nbytes - 1) : 0;

	while (i-- > 0 && shares(table->list[i], pages))
		if (!table->list[i]->is_freed || table->list[i]->is_leaving)
			return table->list[i];
	return NULL;
}

int memory_overlaps(uint64_t start, size_t nbytes)
{
	return live_in(table_at(start), (struct pages){ start, nbytes }) != NULL;
}

struct pages memory_take(struct arena *arena, size_t nbytes)
{
	struct pages pages = arena_take(arena, nbytes);
	const struct allocation *other;
	int is_second = 0;

	while (!pages.start || (other = live_in(&arena->table, pages)) != NULL) {
		if (pages.start)
			arena->next = (size_t)(other->pages.start - (uintptr_t)arena->seen) + other->pages.nbytes +
				      page_size();
		else if (is_second++)
			return pages;
		else
			arena->next = page_size();
		pages = arena_take(arena, nbytes);
	}
	return pages;
}

struct allocation *memory_add(enum memory_kind kind, int device, struct context *context, uint64_t start, size_t nbytes,
			      struct pages pages, struct stamp *writer)
{
	struct allocation *allocation = must_alloc(1, sizeof(*allocation));

	allocation->start = start;
	allocation->nbytes = nbytes;
	allocation->pages = pages;
	allocation->kind = kind;
	allocation->device = device;
	allocation->context = context;
	allocation->made = place_now(PLACE_HOST);
	allocation->next = allocations;
	allocations = allocation;
	history_init(&allocation->history, nbytes, writer);
	stamp_release(writer);
	take_out_freed(table_at(start), pages);
	put_in(table_at(start), allocation);
	live++;
	return allocation;
}

struct allocation *memory_near(uint64_t address)
{
	const struct table *table = table_at(address);
	size_t i = count_before(table, address);
	struct allocation *allocation = i ? table->list[i - 1] : NULL;
	size_t guard = allocation && allocation->kind != MEMORY_REGISTERED ? page_size() : 0;

	return allocation && address - allocation->pages.start < allocation->pages.nbytes + guard ? allocation : NULL;
}

struct allocation *memory_at(uint64_t address)
{
	struct allocation *allocation = memory_near(address = host_address(address));

	return allocation && address - allocation->start < allocation->nbytes ? allocation : NULL;
}

void memory_scramble(const struct allocation *allocation)
{
	/* More would take too long. */
	const size_t most = (size_t)64 << 10;

	memset(bytes_at(allocation->start), 0xa5 ^ (int)(random_next() & 0x5a),
	       allocation->nbytes < most ? allocation->nbytes : most);
}

struct allocation *memory_to_free(uint64_t start, bi__cu_result *code)
{
	struct allocation *allocation = memory_at(start);
	char text[128];

	*code = BI__CU_ERROR_INVALID_VALUE;
	if (!allocation) {
		report(REPORT_WRONG_FREE, "nothing was allocated at 0x%llx", (unsigned long long)start);
		return NULL;
	}
	if (allocation->is_freed) {
		report(REPORT_DOUBLE_FREE, "%s, which call %ju freed", memory_name(allocation, text),
		       (uintmax_t)allocation->freed.call);
		return NULL;
	}
	if (allocation->start != start) {
		report(REPORT_WRONG_FREE, "a pointer into %s", memory_name(allocation, text));
		return NULL;
	}
	*code = BI__CU_SUCCESS;
	return allocation;
}

/* Registered memory belongs to the program, so it is removed from the table: later accesses are not checked. */
void memory_free(struct allocation *allocation)
{
	allocation->is_freed = 1;
	allocation->freed = place_now(PLACE_HOST);
	history_clear(&allocation->history);
	live--;
	if (allocation->kind == MEMORY_REGISTERED)
		take_out(&registered, count_before(&registered, allocation->start) - 1);
	if (allocation->kind == MEMORY_DEVICE || allocation->kind == MEMORY_POOL)
		memory_refund(allocation->device, allocation->nbytes);
}

void memory_free_of(const struct context *context)
{
	for (struct allocation *a = allocations; a; a = a->next) {
		char text[128];

		if (a->is_freed || a->context != context)
			continue;
		report(REPORT_LEFT, "%s, when its context was destroyed", memory_name(a, text));
		if (a->kind == MEMORY_PINNED || a->kind == MEMORY_MANAGED)
			arena_close(a->pages);
		memory_free(a);
	}
}

int is_host_memory(const struct allocation *allocation)
{
	return allocation->kind == MEMORY_PINNED || allocation->kind == MEMORY_REGISTERED;
}

const char *memory_name(const struct allocation *allocation, char text[128])
{
	snprintf(text, 128, "%s of %zu bytes by %s (call %ju)", kind_names[allocation->kind], allocation->nbytes,
		 entry_name(allocation->made.entry), (uintmax_t)allocation->made.call);
	return text;
}

uint64_t memory_live(void)
{
	return live;
}

size_t memory_total(void)
{
	return TOTAL;
}

size_t memory_in_use(int device)
{
	return in_use[device];
}

size_t memory_rounded(size_t nbytes)
{
	return (nbytes + 511) / 512 * 512;
}

int memory_charge(int device, size_t nbytes)
{
	if (nbytes > TOTAL || memory_rounded(nbytes) > TOTAL - in_use[device])
		return 0;
	in_use[device] += memory_rounded(nbytes);
	return 1;
}

void memory_refund(int device, size_t nbytes)
{
	in_use[device] -= memory_rounded(nbytes);
}

void memory_report_left(void)
{
	char text[128];

	for (const struct allocation *a = allocations; a; a = a->next)
		if (!a->is_freed)
			report(REPORT_LEFT, "%s", memory_name(a, text));
}

void memory_forget(void)
{
	while (allocations) {
		struct allocation *allocation = allocations;

		allocations = allocation->next;
		history_clear(&allocation->history);
		free(allocation);
	}
	free(registered.list);
	registered = (struct table){ NULL, 0, 0 };
	memset(in_use, 0, sizeof(in_use));
	live = 0;
	arenas_forget();
}
