/* The private dictionary of an array interface, of which copies are exported (pattern.h). */
#include "export/pattern.h"
#include "object.h"
#include "base/names.h"

/* Returns a copy of the pattern, or NULL without an exception. Takes ownership of the pattern. NULL has no copy. */
static PyObject *copy_and_release(PyObject *pattern)
{
	PyObject *dict = pattern ? PyDict_Copy(pattern) : NULL;

	Py_XDECREF(pattern);
	if (!dict)
		PyErr_Clear();
	return dict;
}

/* Returns a new reference to the pattern if it belongs to this attribute, else NULL. */
static PyObject *find_pattern_locked(const struct bip_object *self, int is_cuda)
{
	return self->pattern && self->is_cuda == is_cuda ? Py_NewRef(self->pattern) : NULL;
}

PyObject *bip_copy_pattern(PyObject *self, int is_cuda)
{
	PyObject *pattern;

	BIP_LOCK(self)
	pattern = find_pattern_locked((struct bip_object *)self, is_cuda);
	BIP_UNLOCK()
	return copy_and_release(pattern);
}

/*
 * Returns true if no work is pending on the memory and an export succeeds. Calls bi_view_export for its effects: it
 * marks the memory as exported, and it fails for memory of a device in a forked child.
 */
static int is_ready(const struct bi_view *view)
{
	struct bi_exchange ignored = BI_EXCHANGE_INIT;

	return view && bi_view_is_idle(view) && bi_view_export(view, BI_ACQUIRE_BORROW, &ignored, NULL) == BI_OK;
}

PyObject *bip_copy_idle_pattern(PyObject *self, int is_cuda)
{
	PyObject *pattern;

	BIP_LOCK(self)
	pattern = find_pattern_locked((struct bip_object *)self, is_cuda);
	if (pattern && !is_ready(((struct bip_object *)self)->view))
		Py_CLEAR(pattern); /* not the last reference, so no code runs */
	BIP_UNLOCK()
	return copy_and_release(pattern);
}

/*
 * Returns true if the array was not released, and copies of the dictionary are independent. A dictionary with the list
 * `descr` is refused, because all copies would share the list, and a consumer could change it.
 */
static int can_be_pattern(const struct bip_object *self, PyObject *dict)
{
	return self->view && !PyDict_GetItemWithError(dict, bip_name.descr);
}

static PyObject *make_pattern(PyObject *dict, int is_cuda)
{
	PyObject *pattern = PyDict_Copy(dict);

	if (pattern && is_cuda && PyDict_SetItem(pattern, bip_name.stream, Py_None))
		Py_CLEAR(pattern);
	if (!pattern)
		PyErr_Clear();
	return pattern;
}

static void keep_pattern_locked(struct bip_object *self, PyObject *dict, int is_cuda)
{
	PyObject *pattern;

	if (self->pattern || !can_be_pattern(self, dict))
		return;
	if (!self->was_asked) {
		self->was_asked = 1;
		return;
	}
	/* An allocation of Python 3.11 may run any code, which may release the array, or export its dictionary. */
	pattern = make_pattern(dict, is_cuda);
	if (self->pattern || !self->view) {
		Py_XDECREF(pattern);
		return;
	}
	self->pattern = pattern;
	self->is_cuda = (char)is_cuda;
}

void bip_keep_pattern(PyObject *self, PyObject *dict, int is_cuda)
{
	BIP_LOCK(self)
	keep_pattern_locked((struct bip_object *)self, dict, is_cuda);
	BIP_UNLOCK()
}
