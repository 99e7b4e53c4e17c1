/*
 * The cache of contexts
 *
 * The cache has one opened context for each device, and one adopted context for each pair of native context and device.
 * An adopted context keeps a native context of another library alive, so the cache is small. If it is full, a new entry
 * replaces the adopted entry that was unused for longest, or an opened entry if none is adopted.
 *
 * The entry of an adopted context also keeps the command queue by which the context was found last. No other queue gets
 * the handle meanwhile, so the next import with the same handle calls no driver. The entry also keeps the Python object
 * that stands for the queue, so the next import with the same object does not read the handle.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contexts.h"
#include "lifetime.h"
#include "base/backends.h"
#include "base/errors.h"

#define MOST 16

struct entry {
	struct bi_context *context; /* NULL: the entry is free */
	struct bi_location location; /* the key */
	int cuda; /* ordinal of the CUDA device if the context was opened, not adopted; else -1 */
	struct bi_stream *queue; /* the queue by which the context was found last, owned; or NULL */
	PyObject *named_by; /* the Python object that stands for `queue`, owned; or NULL */
	uint64_t used; /* value of clock_of_uses at the last use of the entry */
};

/*
 * A word such as "auto" or "opencl", and the device that was opened for it. Without this table, the device would have
 * to be opened again to find out which device the word means.
 */
#define WORDS 8

struct word {
	char text[256];
	struct bi_location location;
	pid_t process; /* the process that stored the word; a forked child cannot use the parent's devices */
};

static struct entry entries[MOST];
static struct word words[WORDS];
static uint64_t clock_of_uses;

/*
 * The lock of the cache. It is the GIL if there is one. Its holder does not wait, and runs no Python code. In a forked
 * child it is free: os.fork() stops the other threads first, and a thread that holds the lock cannot be stopped.
 */
#ifdef Py_GIL_DISABLED
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock_cache(void)
{
#ifdef Py_GIL_DISABLED
	pthread_mutex_lock(&cache_lock);
#endif
}

static void unlock_cache(void)
{
#ifdef Py_GIL_DISABLED
	pthread_mutex_unlock(&cache_lock);
#endif
}

static int is_same_location(const struct bi_location *a, const struct bi_location *b)
{
	return a->context == b->context && strcmp(a->device, b->device) == 0;
}

/* Marks entry i as used. Returns an owned reference to its context. */
static struct bi_context *use_context_locked(int i)
{
	entries[i].used = ++clock_of_uses;
	return bi_context_retain(entries[i].context);
}

/* Marks entry i as used. Returns an owned reference to its queue. */
static struct bi_stream *use_queue_locked(int i)
{
	entries[i].used = ++clock_of_uses;
	return bi_stream_retain(entries[i].queue);
}

/* Finds a context by its location. Returns an owned reference, or NULL. */
static struct bi_context *find_context_locked(const struct bi_location *location)
{
	for (int i = 0; i < MOST; i++)
		if (entries[i].context && is_same_location(&entries[i].location, location))
			return use_context_locked(i);
	return NULL;
}

/* Finds the opened context of a CUDA device, without a device string. Returns an owned reference, or NULL. */
static struct bi_context *look_up_cuda(int ordinal)
{
	struct bi_context *found = NULL;

	lock_cache();
	for (int i = 0; i < MOST && !found; i++)
		if (entries[i].context && entries[i].cuda == ordinal)
			found = use_context_locked(i);
	unlock_cache();
	return found;
}

static struct bi_context *look_up(const struct bi_location *location)
{
	struct bi_context *found;

	lock_cache();
	found = find_context_locked(location);
	unlock_cache();
	return found;
}

/*
 * Returns true if entry `a` is replaced before entry `b`. Adopted contexts are replaced first, because other libraries
 * may still use the streams of opened contexts.
 */
static int is_replaced_before(const struct entry *a, const struct entry *b)
{
	int is_adopted = a->location.context != 0;

	return is_adopted == (b->location.context != 0) ? a->used < b->used : is_adopted;
}

static struct entry *choose_entry_locked(void)
{
	struct entry *oldest = &entries[0];

	for (int i = 0; i < MOST; i++) {
		if (!entries[i].context)
			return &entries[i];
		if (is_replaced_before(&entries[i], oldest))
			oldest = &entries[i];
	}
	return oldest;
}

/* Returns the ordinal of the CUDA device if the context was opened, not adopted; else -1. */
static int cuda_ordinal(const struct bi_location *location, const struct bi_context *context)
{
	const struct bi_device *device = bi_context_device(context);

	return !location->context && bip_backend_of(context).handle == BI_HANDLE_CUDA ? device->ordinal : -1;
}

/*
 * Adds a new context to the cache, and returns an owned reference to it. If another thread has added a context for the
 * same location meanwhile, returns an owned reference to that one, so that a device has one context stream. Takes
 * ownership of `context`.
 */
static struct bi_context *add_to_cache(const struct bi_location *location, struct bi_context *context)
{
	struct entry dropped = { .context = context };
	struct bi_context *kept;
	struct entry *entry;

	lock_cache();
	kept = find_context_locked(location);
	if (!kept) {
		kept = bi_context_retain(context);
		entry = choose_entry_locked();
		dropped = *entry;
		*entry = (struct entry){ .context = context,
					 .location = *location,
					 .cuda = cuda_ordinal(location, context),
					 .used = ++clock_of_uses };
	}
	unlock_cache();
	bi_stream_release(dropped.queue);
	bi_context_release(dropped.context);
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
	options.around_close = bip_close_context;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_context_open(&options, out, &err);
	Py_END_ALLOW_THREADS
	return bip_check(rc, &err, bip_raise);
}

static int context_at(const struct bi_location *location, struct bi_context **out)
{
	struct bi_context *opened;

	*out = look_up(location);
	if (*out)
		return 0;
	if (open_location(location, location->device, &opened))
		return -1;
	*out = add_to_cache(location, opened);
	return 0;
}

struct bi_context *bip_host_context(void)
{
	static const struct bi_location host = { "host", 0 };
	static _Atomic(struct bi_context *) kept; /* owned; never released */
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

	if (ordinal < 0)
		return bip_refuse(bip_InvalidArrayError,
				  "device is %d, no ordinal of a CUDA device, which is 0 or above", ordinal);
	*out = look_up_cuda(ordinal);
	if (*out)
		return 0;
	PyOS_snprintf(location.device, sizeof(location.device), "cuda:%d", ordinal);
	return context_at(&location, out);
}

/* Finds the context that was opened for a word in this process. Returns an owned reference, or NULL. */
static struct bi_context *find_word_locked(const char *text)
{
	for (int i = 0; i < WORDS; i++)
		if (*text && strcmp(words[i].text, text) == 0 && words[i].process == getpid())
			return find_context_locked(&words[i].location);
	return NULL;
}

/* Finds a context by its device string, or by a stored word. Returns an owned reference, or NULL. */
static struct bi_context *look_up_text(const char *text)
{
	struct bi_location named = { "", 0 };
	struct bi_context *found = NULL;

	if (strlen(text) < sizeof(named.device))
		memcpy(named.device, text, strlen(text) + 1);
	lock_cache();
	if (*named.device)
		found = find_context_locked(&named);
	if (!found)
		found = find_word_locked(text);
	unlock_cache();
	return found;
}

/*
 * Stores the device that was opened for a word. Replaces the entry with the same word. If there is none, the entries
 * are replaced in rotation. Does nothing if the word is empty or too long.
 */
static void remember_word(const char *text, const struct bi_location *location)
{
	static int next;
	int place = 0;

	if (!*text || strlen(text) >= sizeof(words->text))
		return;
	lock_cache();
	while (place < WORDS && strcmp(words[place].text, text))
		place++;
	if (place == WORDS) {
		place = next;
		next = (next + 1) % WORDS;
	}
	memcpy(words[place].text, text, strlen(text) + 1);
	words[place].location = *location;
	words[place].process = getpid();
	unlock_cache();
}

/*
 * Writes the word under which the device of "auto" is stored, or "" if the word is too long. The word contains the
 * value of the environment variable BI_DEVICE, because the value may change. Only the library interprets the value.
 */
static void write_auto(char word[sizeof(words->text)])
{
	const char *value = getenv("BI_DEVICE");

	if (PyOS_snprintf(word, sizeof(words->text), "auto %s", value ? value : "") >= (int)sizeof(words->text))
		*word = '\0';
}

/* The key of a new entry is the device string of the opened device, not the word. */
int bip_context_open(const char *device, struct bi_context **out)
{
	int is_auto = strcmp(device, "auto") == 0;
	struct bi_location location = { "", 0 };
	char auto_word[sizeof(words->text)];
	const char *word = device;
	struct bi_context *opened;

	if (is_auto) {
		write_auto(auto_word);
		word = auto_word;
	}
	*out = look_up_text(word);
	if (*out)
		return 0;
	if (open_location(&location, is_auto ? NULL : device, &opened))
		return -1;
	memcpy(location.device, bi_context_device(opened)->spec, sizeof(location.device));
	*out = add_to_cache(&location, opened);
	remember_word(word, &location);
	return 0;
}

static int context_at_found(int rc, const struct bi_location *location, const struct bi_error *err,
			    struct bi_context **out)
{
	if (rc == BI_OK)
		return context_at(location, out);
	return bip_check(rc, err, bip_raise_import);
}

/*
 * Stores the queue in the entry of its context. Releases the queue that was stored there before, and its Python object.
 * Does nothing if the context is no longer in the cache.
 */
static void keep_queue(struct bi_stream *queue)
{
	struct entry before = { .queue = NULL, .named_by = NULL };

	lock_cache();
	for (int i = 0; i < MOST; i++) {
		if (entries[i].context != bi_stream_context(queue))
			continue;
		before = entries[i];
		entries[i].queue = bi_stream_retain(queue);
		entries[i].named_by = NULL;
		break;
	}
	unlock_cache();
	bi_stream_release(before.queue);
	Py_XDECREF(before.named_by);
}

static int wrap_queue(uintptr_t queue, struct bi_stream **out)
{
	struct bi_context *context = NULL;
	struct bi_error err;
	int rc;

	if (bip_context_of_queue(queue, &context))
		return -1;
	rc = bi_stream_wrap(context, queue, NULL, NULL, out, &err);
	bi_context_release(context);
	if (rc)
		return bip_check(rc, &err, bip_raise_import);
	keep_queue(*out);
	return 0;
}

int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out)
{
	*out = NULL;
	lock_cache();
	for (int i = 0; i < MOST && !*out; i++)
		if (entries[i].queue && bi_stream_handle(entries[i].queue) == queue)
			*out = use_queue_locked(i);
	unlock_cache();
	return *out ? 0 : wrap_queue(queue, out);
}

struct bi_stream *bip_stream_named_by(const PyObject *object)
{
	struct bi_stream *found = NULL;

	lock_cache();
	for (int i = 0; i < MOST && !found; i++)
		if (entries[i].named_by == object)
			found = use_queue_locked(i);
	unlock_cache();
	return found;
}

void bip_name_stream(struct bi_stream *stream, PyObject *object)
{
	PyObject *before = Py_NewRef(object);

	lock_cache();
	for (int i = 0; i < MOST; i++) {
		PyObject *named_by = entries[i].named_by;

		if (entries[i].queue != stream)
			continue;
		entries[i].named_by = before;
		before = named_by;
		break;
	}
	unlock_cache();
	Py_XDECREF(before);
}

int bip_context_native(const char *backend, uint64_t native, int position, struct bi_context **out)
{
	struct bi_location location = { "", 0 };

	if (bip_as_handle("context", native, &location.context))
		return -1;
	PyOS_snprintf(location.device, sizeof(location.device), "%s:%d", backend, position);
	return context_at(&location, out);
}

int bip_context_of_queue(uint64_t queue, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;
	uintptr_t handle;

	if (bip_as_handle("stream", queue, &handle))
		return -1;
	return context_at_found(bi_locate_queue(BI_ORDER_OPENCL, handle, &location, &err), &location, &err, out);
}

int bip_context_of_memory(enum bi_handle_kind kind, uint64_t memory, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;
	uintptr_t handle;

	if (bip_as_handle("handle", memory, &handle))
		return -1;
	return context_at_found(bi_locate_memory(kind, handle, &location, &err), &location, &err, out);
}

/*
 * Copies every entry to `taken`, and returns the number of entries. Removes the adopted entries from the cache, or with
 * `all` all entries. Entries that stay lose their queue. The caller owns all references in `taken`.
 */
static int take_entries(struct entry taken[MOST], int all)
{
	int count = 0;

	lock_cache();
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
	unlock_cache();
	return count;
}

void bip_contexts_close(int all)
{
	struct entry taken[MOST];
	int count = take_entries(taken, all);

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
