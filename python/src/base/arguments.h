/* Sorts the arguments of functions with METH_FASTCALL | METH_KEYWORDS. */
#ifndef BIP_ARGUMENTS_H
#define BIP_ARGUMENTS_H

#include "extension.h"

#define BIP_MOST_ARGUMENTS 9

struct bip_signature {
	const char *function; /* name of the function, for messages */
	int required; /* the first `required` arguments must be given */
	int positional; /* the first `positional` arguments may be given by position; all may be given by name */
	const char *names[BIP_MOST_ARGUMENTS + 1]; /* names of the arguments; NULL ends the list */
};

/*
 * Sorts arguments by their names: values[i] is the argument names[i], borrowed, or NULL if the argument is not given.
 * `values` has as many entries as the signature has names. Raises TypeError if the arguments do not fit the signature.
 */
int bip_arguments(const struct bip_signature *signature, PyObject *const *args, Py_ssize_t count, PyObject *names,
		  PyObject **values);

/*
 * Reads the truth value of the argument `name`; NULL leaves *out as it is. Raises TypeError for None, which would count
 * as False.
 */
int bip_truth(const char *name, PyObject *value, int *out);

#endif
