/* Writes formats of the buffer protocol (PEP 3118). */
#ifndef BIP_EXPORT_FORMAT_H
#define BIP_EXPORT_FORMAT_H

#include "extension.h"

#define BIP_FORMAT_TEXT 8192 /* bytes of the longest format, including the NUL */

/*
 * Writes the format of the view's elements, and returns its length. Raises UnsupportedTypeError and returns -1 if the
 * element type has no format. Raises UnsupportedError if a field name has a colon, or the format is too long. Must not
 * be called for raw elements (bip_format_is_raw).
 */
int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT]);

/*
 * Returns true for elements of type void without fields. NumPy reads their format ("5x") wrongly: as a structured type
 * without fields, of which it copies no byte. If such an array exports no buffer, NumPy reads __array_struct__ instead.
 */
int bip_format_is_raw(const struct bi_view *view);

#endif
