/*
 * Refuses arrays whose memory does not hold their elements yet
 *
 * PyTorch conjugates and negates lazily: x.conj() and x.conj().imag share the memory of x, and only a flag of the
 * tensor says that each element is conjugated or negated when it is read. Neither the CUDA Array Interface nor DLPack
 * has such a flag, and PyTorch's dictionary and DLPack table export these tensors as if the flag were not set.
 */
#include "import/import.h"
#include "base/errors.h"
#include "base/names.h"

/* Calls a method without arguments. Returns the truth of the result, 0 without the method, or -1 with an exception. */
static int ask(PyObject *object, PyObject *name)
{
	PyObject *method, *answer;
	int truth;

	if (!bip_type_has(Py_TYPE(object), name))
		return 0;
	if (bip_attribute(object, name, &method))
		return -1;
	answer = method ? PyObject_CallNoArgs(method) : NULL;
	truth = answer ? PyObject_IsTrue(answer) : method ? -1 : 0;
	Py_XDECREF(answer);
	Py_XDECREF(method);
	return truth;
}

static int refuse_lazy(PyObject *object, PyObject *name, const char *done, const char *remedy)
{
	int is_lazy = ask(object, name);

	if (is_lazy > 0)
		return bip_refuse(PyExc_BufferError,
				  "the elements of this %.100s are %s when they are read, and the memory does not hold "
				  "the result: pass x.%s()",
				  Py_TYPE(object)->tp_name, done, remedy);
	return is_lazy;
}

int bip_check_resolved(PyObject *object, const struct bip_found *found)
{
	/* Only complex numbers are conjugated. */
	int is_complex = bi_dtype_kind(bi_view_dtype(found->view)) == 'c';

	return (is_complex && refuse_lazy(object, bip_name.is_conj, "conjugated", "resolve_conj")) ||
			       refuse_lazy(object, bip_name.is_neg, "negated", "resolve_neg")
		       ? -1
		       : 0;
}
