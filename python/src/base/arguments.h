/* Arguments of functions with METH_FASTCALL | METH_KEYWORDS. */
#ifndef BIP_ARGUMENTS_H
#define BIP_ARGUMENTS_H

#include "extension.h"

#define BIP_MOST_ARGUMENTS 8

struct bip_signature {
	const char *function; /* its name, for messages */
	int required; /* the first `required` arguments must be given */
	int positional; /* the first `positional` may be given by position, all of them by name */
	const char *names[BIP_MOST_ARGUMENTS + 1]; /* ends with NULL */
};

/*
 * Sorts arguments by their names: values[i] is the argument names[i], borrowed, or NULL if it is not given. `values`
 * has as many entries as the signature has names. TypeError if the arguments do not fit the signature.
 */
int bip_arguments(const struct bip_signature *signature, PyObject *const *args, Py_ssize_t count, PyObject *names,
		  PyObject **values);

#endif
