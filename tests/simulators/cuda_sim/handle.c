#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "sim.h"

/* Bytes of addresses that are reserved for handles, and the bytes for each. */
#define ROOM ((size_t)4 << 30)
#define STEP ((size_t)16)

static const char *const type_names[OBJECT_TYPES] = {
	[OBJECT_CONTEXT] = "context", [OBJECT_STREAM] = "stream",         [OBJECT_EVENT] = "event",
	[OBJECT_MODULE] = "module",   [OBJECT_FUNCTION] = "function",     [OBJECT_GRAPH] = "graph",
	[OBJECT_NODE] = "node",       [OBJECT_EXEC] = "executable graph", [OBJECT_POOL] = "memory pool",
};

static struct entry_of {
	void *object; /* NULL: destroyed */
	uint64_t made; /* call that made it, or destroyed it */
	enum object_type type;
} * entries;
static char *base;
static size_t first, count,
	capacity; /* entries[i] belongs to handle number first + i; those before are of earlier runs */

static void set_room_aside(void)
{
	base = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		abort();
	first = 1;
}

void *handle_make(enum object_type type, void *object)
{
	if (!base)
		set_room_aside();
	if (first + count == ROOM / STEP)
		abort();
	if (count == capacity) {
		capacity = capacity ? 2 * capacity : 256;
		entries = must_grow(entries, capacity, sizeof(*entries));
	}
	entries[count] = (struct entry_of){ object, thread_self()->call, type };
	return base + STEP * (first + count++);
}

/* The entry of a handle of this run, or NULL. */
static struct entry_of *entry_at(const void *handle)
{
	size_t offset = (size_t)((uintptr_t)handle - (uintptr_t)base);
	size_t number = offset / STEP;

	if (!base || offset >= ROOM || offset % STEP || number < first || number - first >= count)
		return NULL;
	return &entries[number - first];
}

/* Seen on an H100 with driver 580.159.04: NULL is an invalid value where a context or a graph is expected. */
static bi__cu_result code_of_unknown(enum object_type type, const void *handle)
{
	if (!handle && (type == OBJECT_CONTEXT || type == OBJECT_GRAPH || type == OBJECT_EXEC))
		return BI__CU_ERROR_INVALID_VALUE;
	return type == OBJECT_CONTEXT ? BI__CU_ERROR_INVALID_CONTEXT : BI__CU_ERROR_INVALID_HANDLE;
}

void *handle_find(enum object_type type, const void *handle, bi__cu_result *code)
{
	const struct entry_of *entry = entry_at(handle);

	*code = code_of_unknown(type, handle);
	if (!entry || entry->type != type) {
		report(REPORT_UNKNOWN_HANDLE, "%p is no %s of this run%s%s", handle, type_names[type],
		       entry ? ", it is a " : "", entry ? type_names[entry->type] : "");
		return NULL;
	}
	if (!entry->object && type == OBJECT_STREAM && switched(SWITCH_stream_crashes)) {
		fprintf(stderr, "cuda_sim: %s (call %ju) with a destroyed stream\n", entry_name(thread_self()->entry),
			(uintmax_t)thread_self()->call);
		abort();
	}
	if (!entry->object) {
		report(REPORT_DESTROYED_HANDLE, "destroyed %s: %p was destroyed by call %ju", type_names[type], handle,
		       (uintmax_t)entry->made);
		return NULL;
	}
	*code = BI__CU_SUCCESS;
	return entry->object;
}

void handle_destroy(const void *handle)
{
	struct entry_of *entry = entry_at(handle);

	entry->object = NULL;
	entry->made = thread_self()->call;
}

void *handle_rebind(void *handle, void *object)
{
	struct entry_of *entry = entry_at(handle);

	entry->object = object;
	entry->made = thread_self()->call;
	return handle;
}

void *handle_reuse(enum object_type type, void *object)
{
	for (size_t i = count; i-- > 0;)
		if (entries[i].type == type && !entries[i].object)
			return handle_rebind(base + STEP * (first + i), object);
	return NULL;
}

void handles_forget(void)
{
	first += count;
	count = capacity = 0;
	free(entries);
	entries = NULL;
}
