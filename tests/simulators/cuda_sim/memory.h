/*
 * What has been allocated, and where. Memory of a device has two addresses: the one that callers get, which the CPU
 * cannot use, and the one at which the simulator reads and writes it. Memory that the CPU may use has one.
 */
#ifndef BI_TESTS_CUDA_SIM_MEMORY_H
#define BI_TESTS_CUDA_SIM_MEMORY_H

#include "race.h"
#include "sim.h"

struct context;

enum memory_kind {
	MEMORY_DEVICE, /* cuMemAlloc */
	MEMORY_POOL, /* cuMemAllocAsync */
	MEMORY_MAPPED, /* cuMemMap */
	MEMORY_MANAGED,
	MEMORY_PINNED, /* cuMemHostAlloc */
	MEMORY_REGISTERED
};

/* Whole pages. */
struct pages {
	uint64_t start;
	size_t nbytes;
};

struct allocation {
	struct allocation *next; /* in the list of all of the run */
	uint64_t start;
	size_t nbytes;
	struct pages pages; /* that nothing else lies in; of registered memory just its bytes */
	enum memory_kind kind;
	int device;
	struct context *context; /* NULL: of no context (pools, mappings) */
	struct place made, freed; /* the calls */
	int is_freed;
	bi__cu_pool pool; /* NULL: the usual one, or none */
	int is_portable; /* of registered memory: for all contexts */
	int is_leaving; /* freed, but the stream has not come to it */
	unsigned access[SIM_DEVICES]; /* of a mapping: CUmemAccess_flags */
	struct history history;
};

/* Allocations in the order of their addresses; none overlap. */
struct table {
	struct allocation **list;
	size_t count, capacity;
};

/* arena.c: ranges of addresses. */

/* The whole of a device's memory, that of mappings, and what the CPU may use too. */
struct arena {
	char *seen; /* what callers get */
	char *bytes; /* the same for the simulator */
	size_t size;
	size_t next; /* offset of the first byte that has not been given out yet */
	int fd; /* of the memory behind both, -1: none of its own */
	struct table table;
};

struct arena *arena_of_device(int device);
struct arena *arena_of_mappings(void);
struct arena *arena_of_host(void);
/* The arena that the address lies in, or NULL. */
struct arena *arena_at(uint64_t address);
/* Takes pages for so many bytes, and one more that stays empty. No pages: there is no room behind what was taken last.
 */
struct pages arena_take(struct arena *arena, size_t nbytes);
/* Where the CPU of the simulator finds the byte. */
char *bytes_at(uint64_t address);
/* Lets the CPU (or nobody any more) at the addresses that callers got. */
void arena_open(struct pages pages);
void arena_close(struct pages pages);
/* The contents are given back. */
void arena_empty(struct pages pages);
void arenas_forget(void);
/* Takes the memory of devices from a forked child, which cannot use them. */
void arenas_leave_child(void);
size_t page_size(void);

/* memory.c: what lies where. */

/* Pages that are not in use: unused ones, and when there are none left those of memory that was freed long ago. */
struct pages memory_take(struct arena *arena, size_t nbytes);
/* Enters what was made at an address. `writer` is taken: the allocation as an operation, or NULL. */
struct allocation *memory_add(enum memory_kind kind, int device, struct context *context, uint64_t start, size_t nbytes,
			      struct pages pages, struct stamp *writer);
/* The allocation, freed ones too, that the byte belongs to, or NULL. */
struct allocation *memory_at(uint64_t address);
/* The allocation in whose pages the address lies, or which ends just before them. */
struct allocation *memory_near(uint64_t address);
/* Is any live memory in the range? */
int memory_overlaps(uint64_t start, size_t nbytes);
/* What fresh memory holds is not zero. */
void memory_scramble(const struct allocation *allocation);
/*
 * The live allocation that starts there and is to be freed; NULL after a report, with *code set. Freed memory stays
 * known, so that it can be told.
 */
struct allocation *memory_to_free(uint64_t start, bi__cu_result *code);
/* From here on it counts as freed by the current call. */
void memory_free(struct allocation *allocation);
/* The context is gone, and with it what belongs to it. */
void memory_free_of(const struct context *context);
int is_host_memory(const struct allocation *allocation);
const char *memory_name(const struct allocation *allocation, char text[128]);
/* Bytes of a device that are in use and that there are. */
size_t memory_in_use(int device);
size_t memory_total(void);
/* Takes note of bytes that the device gives (or gets back, if negative); 0: it has no such number left. */
int memory_charge(int device, size_t nbytes);
/* Returns the bytes that an allocation of `nbytes` takes from the device. */
size_t memory_rounded(size_t nbytes);
void memory_refund(int device, size_t nbytes);
/* Reports and forgets everything. */
void memory_report_left(void);
void memory_forget(void);
uint64_t memory_live(void);

/* device_memory.c */
void pools_report_left(void);
/* A synchronisation: pools give unused memory back to the system. */
void pools_shrink(void);
void pools_forget(void);

/* mapping.c */
void mappings_report_left(void);
void mappings_forget(void);
uint64_t mappings_live(void);
int is_reserved(uint64_t address, uint64_t *start, size_t *nbytes);

#endif
