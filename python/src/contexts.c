/*
 * Contexts of the library that imports share, and streams that users give
 *
 * A context is opened once for each device, and adopted once for each cl_context and device, and kept for the next
 * import. Adopted ones hold the cl_context of somebody else, so there is a limit: the one that was not used for longest
 * makes room.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer.h"

#define MOST 16

struct entry {
	struct bi_context *context; /* NULL: free */
	struct bi_location location; /* as it was asked for */
	int cuda; /* ordinal of a device that was opened, not adopted; else -1 */
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
static int recent; /* the entry that was found last, which mostly is the next one */
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

/* Locked. Retained. */
static struct bi_context *use(int i)
{
	recent = i;
	entries[i].used = ++clock_of_uses;
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
	if (entries[recent].context && entries[recent].cuda == ordinal)
		return use(recent);
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
	if (entries[recent].context == context)
		return 1;
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

	return !location->context && strcmp(device->backend, "cuda") == 0 ? device->ordinal : -1;
}

/*
 * Keeps a context that was just opened, and gives it back; or, if another thread has opened the same meanwhile, that
 * one, so that a device has one context stream. The reference to `context` is taken.
 */
static struct bi_context *remember(const struct bi_location *location, struct bi_context *context)
{
	struct bi_context *kept, *dropped = context;
	struct entry *entry;

	enter();
	kept = find(location);
	if (!kept) {
		kept = bi_context_retain(context);
		entry = free_or_oldest();
		dropped = entry->context;
		*entry = (struct entry){ context, *location, cuda_ordinal(location, context), ++clock_of_uses };
	}
	leave();
	bip_release_context(dropped);
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

int bip_context_of_queue(uintptr_t queue, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;

	return context_at_found(bi_locate_queue(queue, &location, &err), &location, &err, out);
}

int bip_context_of_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_context **out)
{
	struct bi_location location;
	struct bi_error err;

	return context_at_found(bi_locate_memory(kind, handle, &location, &err), &location, &err, out);
}

/* Retained copies of what is cached; what is to be dropped leaves the cache and its reference is handed over. */
static int take(struct bi_context *contexts[MOST], int all)
{
	int count = 0;

	enter();
	for (int i = 0; i < MOST; i++) {
		if (!entries[i].context)
			continue;
		contexts[count++] = entries[i].context;
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
	struct bi_context *contexts[MOST];
	int count = take(contexts, all);

	Py_BEGIN_ALLOW_THREADS
	for (int i = 0; i < count; i++) {
		bi_context_trim(contexts[i], 0, NULL);
		bi_context_release(contexts[i]);
	}
	Py_END_ALLOW_THREADS
}

/* Streams */

/* The legacy default stream, which most libraries call 0. */
#define LEGACY 1

/* As an int, or None; texts and floats, which int() takes as well, are no handles. */
static PyObject *as_number(PyObject *handle)
{
	const PyNumberMethods *number = Py_TYPE(handle)->tp_as_number;

	if (handle == Py_None || PyLong_CheckExact(handle))
		return Py_NewRef(handle);
	if (PyIndex_Check(handle))
		return PyNumber_Index(handle);
	if (number && number->nb_int && !PyFloat_Check(handle))
		return PyNumber_Long(handle);
	PyErr_Format(PyExc_TypeError, "the handle of a stream is of type %.100s, which is no number",
		     Py_TYPE(handle)->tp_name);
	return NULL;
}

/*
 * An attribute of a stream object: an int or what becomes one, as the driver's own wrappers do, or a ctypes pointer
 * with a `value` that is None for 0.
 */
static int read_handle(PyObject *handle, uintptr_t *out)
{
	PyObject *value = NULL, *number;

	if (!PyLong_CheckExact(handle) && bip_attribute(handle, bip_name.value, &value))
		return -1;
	number = as_number(value ? value : handle);
	Py_XDECREF(value);
	if (!number)
		return -1;
	*out = number == Py_None ? 0 : PyLong_AsSize_t(number);
	Py_DECREF(number);
	return PyErr_Occurred() ? -1 : 0;
}

/* __cuda_stream__() gives (version, handle). */
static int read_protocol(PyObject *method, uintptr_t *out)
{
	PyObject *pair = PyCallable_Check(method) ? PyObject_CallNoArgs(method) : Py_NewRef(method);
	int rc = -1;

	if (!pair)
		return -1;
	if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2)
		PyErr_Format(PyExc_TypeError, "__cuda_stream__ gives %R, not a tuple of version and handle", pair);
	else
		rc = read_handle(PyTuple_GET_ITEM(pair, 1), out);
	Py_DECREF(pair);
	return rc;
}

/* The first of the attributes that the object has. 1: read, 0: it has none. */
static int read_object(PyObject *object, int is_cuda, uintptr_t *out)
{
	PyObject *cuda[] = { bip_name.__cuda_stream__, bip_name.cuda_stream, bip_name.ptr, bip_name.handle };
	PyObject *opencl[] = { bip_name.int_ptr };
	PyObject **names = is_cuda ? cuda : opencl;
	size_t count = is_cuda ? Py_ARRAY_LENGTH(cuda) : Py_ARRAY_LENGTH(opencl);

	for (size_t i = 0; i < count; i++) {
		PyObject *found;
		int rc;

		if (bip_attribute(object, names[i], &found))
			return -1;
		if (!found)
			continue;
		rc = is_cuda && i == 0 ? read_protocol(found, out) : read_handle(found, out);
		Py_DECREF(found);
		return rc ? -1 : 1;
	}
	return 0;
}

static int read_cuda_int(const char *name, PyObject *number, uintptr_t *out)
{
	int64_t value = PyLong_AsLongLong(number);

	if (value == -1 && PyErr_Occurred())
		return -1;
	if (value <= 0) {
		PyErr_Format(PyExc_ValueError,
			     "%s is %lld; a stream is 1 (legacy default), 2 (per-thread default) or a handle, "
			     "and 0 could mean either default [C6]",
			     name, (long long)value);
		return -1;
	}
	*out = (uintptr_t)value;
	return 0;
}

/* Numbers of other types, such as NumPy's. */
static int read_cuda_number(const char *name, PyObject *object, uintptr_t *out)
{
	PyObject *number = PyNumber_Index(object);
	int rc = number ? read_cuda_int(name, number, out) : -1;

	Py_XDECREF(number);
	return rc;
}

static int raise_no_stream(const char *name, PyObject *object, const char *backend, int is_cuda)
{
	PyErr_Format(PyExc_TypeError, "%s is of type %.100s, which is no stream of %s%s", name,
		     Py_TYPE(object)->tp_name, backend,
		     is_cuda ? "" : "; a command queue is taken as an object with int_ptr");
	return -1;
}

static int read_stream(const char *name, PyObject *object, const char *backend, uintptr_t *out)
{
	int is_cuda = strcmp(backend, "cuda") == 0, rc;

	if (strcmp(backend, "host") == 0) {
		PyErr_Format(PyExc_ValueError, "%s is given, but host memory has no streams", name);
		return -1;
	}
	if (is_cuda && PyLong_CheckExact(object))
		return read_cuda_int(name, object, out);
	rc = read_object(object, is_cuda, out);
	if (rc == 0 && is_cuda && PyIndex_Check(object) && !PyBool_Check(object))
		return read_cuda_number(name, object, out);
	if (rc == 0)
		return raise_no_stream(name, object, backend, is_cuda);
	if (rc == 1 && is_cuda && *out == 0)
		*out = LEGACY;
	return rc == 1 ? 0 : -1;
}

int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out)
{
	return bip_stream_named("stream", object, context, out);
}

int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out)
{
	struct bi_error err;
	uintptr_t handle;
	int rc;

	*out = NULL;
	if (!object || object == Py_None)
		return 0;
	if (read_stream(name, object, bi_context_device(context)->backend, &handle))
		return -1;
	if (handle == bi_stream_handle(bi_context_stream(context))) {
		*out = bi_stream_retain(bi_context_stream(context));
		return 0;
	}
	rc = bi_stream_wrap(context, handle, bip_drop, Py_NewRef(object), out, &err);
	if (rc) {
		Py_DECREF(object);
		bip_raise(rc, &err);
		return -1;
	}
	return 0;
}
