/* The dictionary that an array keeps to give copies of. */
#include "export.h"

/* Does it stand for the memory as it is? What is described is seen outside, and a forked child is refused. */
static int is_valid(const struct bi_view *view)
{
	struct bi_exchange ignored;

	return view && bi_view_is_idle(view) && bi_view_describe(view, &ignored, NULL) == BI_OK;
}

PyObject *bip_copy_pattern(PyObject *object, int is_cuda)
{
	struct bip_object *self = (struct bip_object *)object;
	PyObject *pattern = NULL, *dict;

	BIP_LOCK(object)
	if (self->pattern && self->is_cuda == is_cuda && is_valid(self->view))
		pattern = Py_NewRef(self->pattern);
	BIP_UNLOCK()
	if (!pattern)
		return NULL;
	dict = PyDict_Copy(pattern);
	Py_DECREF(pattern);
	if (!dict)
		PyErr_Clear();
	return dict;
}

/* A list could be changed by whoever gets it, and a mask is let go with the array. */
static int can_be_kept(const struct bip_object *self, PyObject *dict)
{
	return self->view && !self->mask && !PyDict_GetItemWithError(dict, bip_name.descr);
}

/* Locked. A new reference, or NULL. */
static PyObject *make_pattern(struct bip_object *self, PyObject *dict)
{
	PyObject *pattern = NULL;

	if (self->pattern || !can_be_kept(self, dict))
		return NULL;
	if (self->was_asked)
		pattern = PyDict_Copy(dict);
	self->was_asked = 1;
	if (!pattern)
		PyErr_Clear();
	return pattern;
}

void bip_keep_pattern(PyObject *object, PyObject *dict, int is_cuda)
{
	struct bip_object *self = (struct bip_object *)object;
	PyObject *pattern;

	BIP_LOCK(object)
	pattern = make_pattern(self, dict);
	if (pattern) {
		self->pattern = pattern;
		self->is_cuda = (char)is_cuda;
	}
	BIP_UNLOCK()
}
