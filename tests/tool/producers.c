/*
 * Producers for the test of `bi check`: one that keeps all rules, and for each rule some that break it. The name of a
 * function begins with the rule.
 */
#define _GNU_SOURCE

#include <buffer_interface/abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct array {
	int64_t shape[2], strides[2];
	int32_t numbers[6];
	struct bi_exchange *place; /* where the structure was filled */
	pid_t process;
};

static const int64_t long_strides[2] = { 48, 16 };
static char long_numbers[96];
static char shared_descr[] = "[[\"a\", \"<i4\"]]";
static int64_t shared_shape[2] = { 2, 3 }, one_shape[2] = { 2, 3 };

static void release(struct bi_exchange *self)
{
	self->release = NULL;
	free(self->owner);
}

/* Three bytes at the end of the memory that can be read. */
static const char *text_without_nul;

/* Made when the library is loaded, because several threads use it. */
__attribute__((constructor)) static void make_text_without_nul(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *text = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(text + page, page, PROT_NONE); /* a hole would be filled by the next mapping */
	text_without_nul = memcpy(text + page - 3, "\"|V", 3);
}

static int make(uint32_t wishes, struct bi_exchange *out)
{
	const uint32_t size = out->struct_size;
	struct bi_exchange x = BI_EXCHANGE_INIT;
	struct array *array;

	if (size >= 16)
		out->release = NULL;
	if (out->version != BI_ABI_VERSION || size < sizeof(x) || size > BI_ABI_SIZE_MAX ||
	    (wishes & 0xffff & ~BI_ACQUIRE_READY))
		return -1;
	array = malloc(sizeof(*array));
	if (!array)
		return -1;
	*array = (struct array){ { 2, 3 }, { 12, 4 }, { 1, 2, 3, 4, 5, 6 }, out, getpid() };
	x.struct_size = size;
	x.release = release;
	x.owner = array;
	x.shape = array->shape;
	x.strides = array->strides;
	x.handle = (uintptr_t)array->numbers;
	x.size = sizeof(array->numbers);
	x.flags = BI_C_CONTIGUOUS;
	x.device_type = BI_EXCHANGE_DEVICE_CPU;
	x.item_size = 4;
	x.type_bits = 32;
	x.type_lanes = 1;
	x.ndim = 2;
	x.handle_kind = BI_HANDLE_HOST;
	memset(out, 0, size);
	memcpy(out, &x, sizeof(x));
	return 0;
}

/* A producer that changes the structure of the right one. */
#define CHANGES(name, ...) \
	int name(uint32_t wishes, struct bi_exchange *out) \
	{ \
		int rc = make(wishes, out); \
		if (!rc) { \
			__VA_ARGS__; \
		} \
		return rc; \
	}
#define ARRAY ((struct array *)out->owner)

int buffer_interface_acquire(uint32_t wishes, struct bi_exchange *out)
{
	return make(wishes, out);
}

int B7_version(uint32_t wishes, struct bi_exchange *out)
{
	out->version = BI_ABI_VERSION;
	return make(wishes, out);
}

int B7_size(uint32_t wishes, struct bi_exchange *out)
{
	out->struct_size = sizeof(*out);
	return make(wishes, out);
}

int B7_longer(uint32_t wishes, struct bi_exchange *out)
{
	if (out->struct_size == sizeof(*out))
		return make(wishes, out);
	out->release = NULL;
	return -1;
}

int B7_release(uint32_t wishes, struct bi_exchange *out)
{
	int rc = make(wishes, out);

	if (rc)
		out->release = release;
	return rc;
}

int B7_holds(uint32_t wishes, struct bi_exchange *out)
{
	int rc = make(wishes, out);
	void *volatile lost = rc ? malloc(64) : NULL;

	(void)lost;
	return rc;
}

int B8_event(uint32_t wishes, struct bi_exchange *out)
{
	uint64_t event = out->event;
	int rc = make(wishes, out);

	out->event = event;
	return rc;
}

int B8_longer(uint32_t wishes, struct bi_exchange *out)
{
	uint32_t size = out->struct_size;
	int rc;

	if (size > sizeof(*out) && size <= BI_ABI_SIZE_MAX)
		out->struct_size = sizeof(*out);
	rc = make(wishes, out);
	out->struct_size = size;
	return rc;
}

CHANGES(B8_behind, ((char *)out)[out->struct_size] = 0)
CHANGES(B8_size, out->struct_size = 96)
CHANGES(B9_version, out->version = 0x90000)
CHANGES(B11_flag, out->flags |= 1 << 9)
CHANGES(B11_reserved, out->reserved = 1)
CHANGES(B12_shape, out->shape = shared_shape; shared_shape[0]++)
CHANGES(B12_descr, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4; out->descr = shared_descr;
	shared_descr[9] ^= 'i' ^ 'u')
CHANGES(B14_null, out->shape = NULL)
CHANGES(B14_garbage, out->strides = (int64_t *)8)
CHANGES(B14_ndim, out->ndim = 65)
CHANGES(B14_end, out->size = UINT64_MAX)
CHANGES(B15_extent, ARRAY->shape[0] = -2)
CHANGES(B16_extent, ARRAY->shape[0] = INT64_MAX)
CHANGES(B17_size, out->size = 8)
CHANGES(B17_offset, out->offset = (uint64_t)-8)
CHANGES(B18_flag, out->flags = BI_F_CONTIGUOUS)
CHANGES(B19_handle, out->handle = 8)
CHANGES(B21_device, out->device_type = BI_EXCHANGE_DEVICE_CUDA)
CHANGES(B21_context, out->context = 8)
CHANGES(B23_device, out->device_id = 1)
CHANGES(B25_code, out->type_code = 99)
CHANGES(B26_descr, out->descr = "\"|V4\"")
CHANGES(B26_bits, out->type_code = 3; out->descr = "\"|V4\"")
CHANGES(B27_item, out->item_size = 3)
CHANGES(B28_descr, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4; out->descr = "[[\"a\", \"<i4\"]")
CHANGES(B28_endless, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4; out->descr = text_without_nul)
CHANGES(B28_garbage, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4; out->descr = (char *)8)
CHANGES(B29_descr, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4; out->descr = "\"|V8\"")
CHANGES(B32_kind, out->order_kind = BI_ORDER_OPENCL)
CHANGES(B32_stream, out->stream = 8)
CHANGES(B38_stream, if (wishes & BI_ACQUIRE_READY) { out->order_kind = BI_ORDER_OPENCL; out->stream = 8; })
CHANGES(B49_shape, if (wishes & BI_ACQUIRE_BORROW) ARRAY->shape[0] = 1)
CHANGES(B39_null, out->release = NULL)
/* The check repairs B-21. The repair must not break B-23, which is judged before. */
CHANGES(device, out->device_type = 2; out->device_id = 1; out->handle_kind = BI_HANDLE_CL_MEM; out->size = 8)
/* Several rules are broken; all are found. */
CHANGES(several, out->reserved = 1; out->device_type = 2; out->order_kind = 3; out->type_bits = 0; out->size = 8;
	out->flags |= BI_F_CONTIGUOUS; out->device_id = -1)

/* Each call frees the shape of the call before. The first bytes of a freed block change in any case. */
int B12_freed(uint32_t wishes, struct bi_exchange *out)
{
	static int64_t *before;
	int64_t *block = malloc(6 * sizeof(*block));
	int rc = make(wishes, out);

	if (rc || !block) {
		free(block);
		return rc;
	}
	free(before);
	before = block;
	block[4] = 2;
	block[5] = 3;
	out->shape = block + 4;
	return rc;
}

static void release_at_place(struct bi_exchange *self)
{
	((struct array *)self->owner)->place->release = NULL;
}
CHANGES(B13_place, out->release = release_at_place)

static void release_and_stay(struct bi_exchange *self)
{
	(void)self;
}
CHANGES(B39_stays, out->release = release_and_stay)

static void release_in_one_process(struct bi_exchange *self)
{
	if (((struct array *)self->owner)->process != getpid())
		abort();
	release(self);
}
CHANGES(B42_release, out->release = release_in_one_process)

static void release_shared(struct bi_exchange *self)
{
	one_shape[0] = 1;
	release(self);
}
CHANGES(B43_shared, out->release = release_shared; out->shape = one_shape)

static void release_without_free(struct bi_exchange *self)
{
	self->release = NULL;
}
CHANGES(B51_leak, out->release = release_without_free)

static int done_with_all(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event)
{
	(void)self, (void)order_kind, (void)stream, (void)event;
	return 0;
}
CHANGES(B37_all, out->done = done_with_all)

static int done_with_none(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event)
{
	return done_with_all(self, order_kind, stream, event) - 1;
}
CHANGES(right_done, out->done = done_with_none)

int B46_thread(uint32_t wishes, struct bi_exchange *out)
{
	static pthread_t first;
	int rc = make(wishes, out);

	if (!first)
		first = pthread_self();
	if (!rc && !pthread_equal(first, pthread_self()))
		out->reserved = 1;
	return rc;
}

int B48_demand(uint32_t wishes, struct bi_exchange *out)
{
	return make(wishes & ~0xffffu, out);
}

int B48_promise(uint32_t wishes, struct bi_exchange *out)
{
	return make(wishes >> 16 & ~3u ? 1u << 15 : wishes, out);
}

int alive_first(uint32_t wishes, struct bi_exchange *out)
{
	(void)wishes, (void)out;
	abort();
}

int alive_version(uint32_t wishes, struct bi_exchange *out)
{
	if (out->version != BI_ABI_VERSION)
		abort();
	return make(wishes, out);
}

int alive_exit(uint32_t wishes, struct bi_exchange *out)
{
	if (wishes)
		exit(7);
	return make(wishes, out);
}

int alive_hang(uint32_t wishes, struct bi_exchange *out)
{
	while (wishes & BI_ACQUIRE_BORROW)
		pause();
	return make(wishes, out);
}

int hangs(uint32_t wishes, struct bi_exchange *out)
{
	(void)wishes, (void)out;
	for (;;)
		pause();
}

int refuses(uint32_t wishes, struct bi_exchange *out)
{
	(void)wishes;
	out->release = NULL;
	return -5;
}

/* Right producers that look unusual. */
static int32_t live_numbers[6];
CHANGES(right_live, for (int i = 0; i < 6; i++) live_numbers[i]++; out->handle = (uintptr_t)live_numbers)
CHANGES(right_pinned, out->device_type = 3; out->release = release_in_one_process)
CHANGES(right_long_double, out->type_code = 3; out->type_bits = 8; out->type_lanes = 16; out->item_size = 16;
	out->descr = "\"<f16\""; out->size = 96; out->handle = (uintptr_t)long_numbers;
	out->strides = (int64_t *)(uintptr_t)long_strides)
CHANGES(right_fields, out->type_code = 3; out->type_bits = 8; out->type_lanes = 4;
	out->descr = "[[\"a\", \"<i2\"], [\"\", \"|V2\"]]")
CHANGES(right_slow, usleep(10000))

int right_frames(uint32_t wishes, struct bi_exchange *out)
{
	static int calls;
	int rc = make(wishes, out);

	if (!rc)
		ARRAY->shape[0] = 1 + calls++ % 2;
	return rc;
}

/* Gives one array at a time. */
static int is_held;
static void release_held(struct bi_exchange *self)
{
	is_held = 0;
	release(self);
}

int right_one(uint32_t wishes, struct bi_exchange *out)
{
	int rc;

	if (is_held && out->struct_size >= 16)
		out->release = NULL;
	rc = is_held ? -1 : make(wishes, out);
	if (!rc) {
		is_held = 1;
		out->release = release_held;
	}
	return rc;
}

/* Gives one array in all. */
int right_last(uint32_t wishes, struct bi_exchange *out)
{
	static int calls;

	if (out->version != BI_ABI_VERSION || !calls++)
		return make(wishes, out);
	out->release = NULL;
	return -1;
}

/* Frees the memory of the array of the call before. */
int B12_memory(uint32_t wishes, struct bi_exchange *out)
{
	static void *before;
	int rc = make(wishes, out);

	if (rc)
		return rc;
	out->handle = (uintptr_t)memset(malloc(512), 1, 512);
	free(before);
	before = (void *)(uintptr_t)out->handle;
	out->size = 512;
	return rc;
}

/* Libraries that disturb the report. */
CHANGES(writes_report, for (int fd = 3; fd < 1024; fd++) if (write(fd, "h B-17 \nx\nf - forged\n", 20) < 0) continue)
CHANGES(B26_colours, out->descr = "\033[31m\r")
CHANGES(alive_group, if (wishes) kill(0, SIGTERM))
CHANGES(alive_process, if (wishes) { pid_t child = fork(); if (!child) for (;;) pause();
	fprintf(stderr, "process %d waits for ever\n", (int)child); abort(); })

/* Finds the memory that the check shares with the process of the step, and writes to it without end. */
int forges(uint32_t wishes, struct bi_exchange *out)
{
	unsigned long start = 0, end = 0;
	char line[300];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps) && !strstr(line, " rw-s "))
		continue;
	if (maps)
		sscanf(line, "%lx-%lx", &start, &end);
	for (;; usleep(20000))
		memset((void *)start, 0x7f, end - start);
	return make(wishes, out);
}

int closes_all(uint32_t wishes, struct bi_exchange *out)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	return make(wishes, out);
}

int closes_and_hangs(uint32_t wishes, struct bi_exchange *out)
{
	int rc = closes_all(wishes, out);

	while (rc == 0)
		pause();
	return rc;
}

/* Returns 0 and fills nothing. */
int B8_nothing(uint32_t wishes, struct bi_exchange *out)
{
	(void)wishes, (void)out;
	return 0;
}
