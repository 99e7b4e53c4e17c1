/*
 * Contexts of the library that imports share
 *
 * A context is opened once for each device, and adopted once for each cl_context and device, and kept for the next
 * import. Adopted ones hold the cl_context of somebody else, so there is a limit: the one that was not used for longest
 * makes room. An adopted one keeps the queue that led to it last as well: while it is held its handle is no other
 * queue's, so that nothing has to be asked about it again. So is the object that named it, if that names no other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contexts.h"
#include "backends.h"
#include "errors.h"

#define MOST 16

struct entry {
	struct bi_context *context; /* NULL: free */
	struct bi_location location; /* as it was asked for */
	int cuda; /* ordinal of a device that was opened, not adopted; else -1 */
	struct bi_stream *queue; /* the last one that was found in it, held; or NULL */
	PyObject *named_by; /* the object whose handle that is, held; or NULL */
	uint64_t used;
};

/* What a word such as "auto" or "opencl" has opened, so that it is not opened again to be asked. */
#define WORDS 8

struct word {
	char text[64];
	struct bi_location location;
	pid_t process; /* a forked child opens anew, because it cannot use what was opened before */
};

static struct entry entries[MOST];
static struct word words[WORDS];
static uint64_t clock_of_uses;

/* The GIL is the lock of all this, where there is one. Nothing that can wait, or run Python code, happens under it. */
#ifdef Py_GIL_DISABLED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void enter(void)
{
#ifdef Py_GIL_DISABLED
	pthread_mutex_lock(&lock);
#endif
}

static void leave(void)
{
#ifdef Py_GIL_DISABLED
	pthread_mutex_unlock(&lock);
#endif
}

static int is_same(const struct bi_location *a, const struct bi_location *b)
{
	return a->context == b->context && strcmp(a->device, b->device) == 0;
}

/* Locked. */
static void touch(int i)
{
	entries[i].used = ++clock_of_uses;
}

/* Locked. Retained. */
static struct bi_context *use(int i)
{
	touch(i);
	return bi_context_retain(entries[i].context);
}

/* Locked. Retained, or NULL. */
static struct bi_context *find(const struct bi_location *location)
{
	for (int i = 0; i < MOST; i++)
		if (entries[i].context && is_same(&entries[i].location, location))
			return use(i);
	return NULL;
}

/* Locked. The same by number: no text is made for an import. */
static struct bi_context *find_cuda(int ordinal)
{
	for (int i = 0; i < MOST; i++)
		if (entries[i].context && entries[i].cuda == ordinal)
			return use(i);
	return NULL;
}

/* Retained, or NULL. */
static struct bi_context *look_up_cuda(int ordinal)
{
	struct bi_context *found;

	enter();
	found = find_cuda(ordinal);
	leave();
	return found;
}

/* Retained, or NULL. */
static struct bi_context *look_up(const struct bi_location *location)
{
	struct bi_context *found;

	enter();
	found = find(location);
	leave();
	return found;
}

/* Locked. */
static int is_cached(const struct bi_context *context)
{
	for (int i = 0; i < MOST; i++)
		if (entries[i].context == context)
			return 1;
	return 0;
}

int bip_context_is_cached(const struct bi_context *context)
{
	int found;

	enter();
	found = is_cached(context);
	leave();
	return found;
}

/* Drops a reference to a context that is cached, which cannot be the last one. 0: it is not cached. */
static int release_kept(struct bi_context *context)
{
	int is_kept;

	enter();
	is_kept = is_cached(context);
	if (is_kept)
		bi_context_release(context);
	leave();
	return is_kept;
}

/* The last reference closes it, which waits for work on memory that was released. */
static void release_last(struct bi_context *context)
{
	struct bip_raised raised = bip_put_aside();

	Py_BEGIN_ALLOW_THREADS
	bi_context_release(context);
	Py_END_ALLOW_THREADS
	bip_put_back(raised);
}

void bip_release_context(struct bi_context *context)
{
	if (context && !release_kept(context))
		release_last(context);
}

/* Devices' own contexts stay while there are adopted ones: their streams have been told to others. */
static int is_before(const struct entry *a, const struct entry *b)
{
	int is_adopted = a->location.context != 0;

	return is_adopted == (b->location.context != 0) ? a->used < b->used : is_adopted;
}

static struct entry *free_or_oldest(void)
{
	struct entry *oldest = &entries[0];

	for (int i = 0; i < MOST; i++) {
		if (!entries[i].context)
			return &entries[i];
		if (is_before(&entries[i], oldest))
			oldest = &entries[i];
	}
	return oldest;
}

/* Of a device's own context. */
static int cuda_ordinal(const struct bi_location *location, const struct bi_context *context)
{
	const struct bi_device *device = bi_context_device(context);

	return !location->context && bip_backend_of(context).handle == BI_HANDLE_CUDA ? device->ordinal : -1;
}

/*
 * Keeps a context that was just opened, and gives it back; or, if another thread has opened the same meanwhile, that
 * one, so that a device has one context stream. The reference to `context` is taken.
 */
static struct bi_context *remember(const struct bi_location *location, struct bi_context *context)
{
	struct entry dropped = { .context = context };
	struct bi_context *kept;
	struct entry *entry;

	enter();
	kept = find(location);
	if (!kept) {
		kept = bi_context_retain(context);
		entry = free_or_oldest();
		dropped = *entry;
		*entry = (struct entry){ context, *location, cuda_ordinal(location, context),
					 NULL,    NULL,      ++clock_of_uses };
	}
	leave();
	bi_stream_release(dropped.queue);
	bip_release_context(dropped.context);
	Py_XDECREF(dropped.named_by);
	return kept;
}

static int open_location(const struct bi_location *location, const char *device, struct bi_context **out)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error err;
	int rc;

	options.device = device;
	options.adopt_context = location->context;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_context_open(&options, out, &err);
	Py_END_ALLOW_THREADS
	if (rc) {
		bip_raise(rc, &err);
		return -1;
	}
	return 0;
}

static int context_at(const struct bi_location *location, struct bi_context **out)
{
	struct bi_context *opened;

	*out = look_up(location);
	if (*out)
		return 0;
	if (open_location(location, location->device, &opened))
		return -1;
	*out = remember(location, opened);
	return 0;
}

struct bi_context *bip_host_context(void)
{
	static const struct bi_location host = { "host", 0 };
	static _Atomic(struct bi_context *) kept;
	struct bi_context *context = atomic_load_explicit(&kept, memory_order_acquire);

	if (!context && !context_at(&host, &context))
		atomic_store_explicit(&kept, context, memory_order_release);
	return context;
}

int bip_context_host(struct bi_context **out)
{
	struct bi_context *context = bip_host_context();

	*out = context ? bi_context_retain(context) : NULL;
	return context ? 0 : -1;
}

int bip_context_cuda(int ordinal, struct bi_context **out)
{
	struct bi_location location = { "", 0 };

	if (ordinal < 0) {
		PyErr_Format(bip_InvalidArrayError, "device is %d, no ordinal of a CUDA device, which is 0 or above",
			     ordinal);
		return -1;
	}
	*out = look_up_cuda(ordinal);
	if (*out)
		return 0;
	PyOS_snprintf(location.device, sizeof(location.device), "cuda:%d", ordinal);
	return context_at(&location, out);
}

/* Locked. Retained, or NULL. */
static struct bi_context *find_word(const char *text)
{
	for (int i = 0; i < WORDS; i++)
		if (*text && strcmp(words[i].text, text) == 0 && words[i].process == getpid())
			return find(&words[i].location);
	return NULL;
}

/* The name of a device, or a word that was opened before. Retained, or NULL. */
static struct bi_context *look_up_text(const char *text)
{
	struct bi_location named = { "", 0 };
	struct bi_context *found = NULL;

	if (strlen(text) < sizeof(named.device))
		memcpy(named.device, text, strlen(text) + 1);
	enter();
	if (*named.device)
		found = find(&named);
	if (!found)
		found = find_word(text);
	leave();
	return found;
}

/* In the place of the same word, or in turn of another. */
static void remember_word(const char *text, const struct bi_location *location)
{
	static int next;
	int place = 0;

	if (strlen(text) >= sizeof(words->text))
		return;
	enter();
	while (place < WORDS && strcmp(words[place].text, text))
		place++;
	if (place == WORDS) {
		place = next;
		next = (next + 1) % WORDS;
	}
	memcpy(words[place].text, text, strlen(text) + 1);
	words[place].location = *location;
	words[place].process = getpid();
	leave();
}

/* "auto" is the device that the environment names, if it does. */
static const char *word_for(const char *device)
{
	const char *named = getenv("BI_DEVICE");

	return strcmp(device, "auto") == 0 && named && *named ? named : device;
}

/* A word is kept with the name of the device that it turned out to be. */
int bip_context_open(const char *device, struct bi_context **out)
{
	struct bi_location location = { "", 0 };
	const char *word = word_for(device);
	struct bi_context *opened;

	*out = look_up_text(word);
	if (*out)
		return 0;
	if (open_location(&location, word, &opened))
		return -1;
	memcpy(location.device, bi_context_device(opened)->spec, sizeof(location.device));
	*out = remember(&location, opened);
	remember_word(word, &location);
	return 0;
}

static int context_at_found(int rc, const struct bi_location *location, const struct bi_error *err,
			    struct bi_context **out)
{
	if (rc == BI_OK)
		return context_at(location, out);
	bip_raise_import(rc, err);
	return -1;
}

/* Locked. Retained, or NULL. */
static struct bi_stream *find_queue(uintptr_t queue)
{
	for (int i = 0; i < MOST; i++) {
		if (!entries[i].queue || bi_stream_handle(entries[i].queue) != queue)
			continue;
		touch(i);
		return bi_stream_retain(entries[i].queue);
	}
	return NULL;
}

/* Unless the context has left the cache meanwhile. What makes room is let go. */
static void keep_queue(struct bi_stream *queue)
{
	struct entry before = { .queue = NULL, .named_by = NULL };

	enter();
	for (int i = 0; i < MOST; i++) {
		if (entries[i].context != bi_stream_context(queue))
			continue;
		before = entries[i];
		entries[i].queue = bi_stream_retain(queue);
		entries[i].named_by = NULL;
		break;
	}
	leave();
	bi_stream_release(before.queue);
	Py_XDECREF(before.named_by);
}

static int wrap_queue(uintptr_t queue, struct bi_stream **out)
{
	struct bi_context *context;
	struct bi_error err;
	int rc;

	if (bip_context_of_queue(queue, &context))
		return -1;
	rc = bi_stream_wrap(context, queue, NULL, NULL, out, &err);
	bip_release_context(context);
	if (rc) {
		bip_raise_import(rc, &err);
		return -1;
	}
	keep_queue(*out);
	return 0;
}

int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out)
{
	enter();
	*out = find_queue(queue);
	leave();
	return *out ? 0 : wrap_queue(queue, out);
}

/* Locked. -1: none. */
static int find_named(const PyObject *object)
{
	for (int i = 0; i < MOST; i++)
		if (entries[i].named_by == object)
			return i;
	return -1;
}

struct bi_stream *bip_stream_named_by(const PyObject *object)
{
	struct bi_stream *found = NULL;
	int i;

	enter();
	i = find_named(object);
	if (i >= 0) {
		touch(i);
		found = bi_stream_retain(entries[i].queue);
	}
	leave();
	return found;
}

void bip_name_stream(struct bi_stream *stream, PyObject *object)
{
	PyObject *before = Py_NewRef(object);

	enter();
	for (int i = 0; i < MOST; i++) {
		PyObject *named_by = entries[i].named_by;

		if (entries[i].queue != stream)
			continue;
		entries[i].named_by = before;
		before = named_by;
		break;
	}
	leave();
	Py_XDECREF(before);
}

int bip_context_of_queue(uintptr_t queue, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;

	return context_at_found(bi_locate_queue(BI_STREAM_KIND_CL_QUEUE, queue, &location, &err), &location, &err, out);
}

int bip_context_of_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;

	return context_at_found(bi_locate_memory(kind, handle, &location, &err), &location, &err, out);
}

/* Retained copies of what is cached; what is to be dropped leaves the cache and its references are handed over. */
static int take(struct entry taken[MOST], int all)
{
	int count = 0;

	enter();
	for (int i = 0; i < MOST; i++) {
		if (!entries[i].context)
			continue;
		taken[count++] = entries[i];
		entries[i].queue = NULL;
		entries[i].named_by = NULL;
		if (all || entries[i].location.context)
			entries[i].context = NULL;
		else
			bi_context_retain(entries[i].context);
	}
	leave();
	return count;
}

void bip_contexts_close(int all)
{
	struct entry taken[MOST];
	int count = take(taken, all);

	Py_BEGIN_ALLOW_THREADS
	for (int i = 0; i < count; i++) {
		bi_stream_release(taken[i].queue);
		bi_context_trim(taken[i].context, 0, NULL);
		bi_context_release(taken[i].context);
	}
	Py_END_ALLOW_THREADS
	for (int i = 0; i < count; i++)
		Py_XDECREF(taken[i].named_by);
}
