/* Writing formats of the buffer protocol (PEP 3118). */
#ifndef BIP_EXPORT_FORMAT_H
#define BIP_EXPORT_FORMAT_H

#include "extension.h"

/* Writes one into `text`; UnsupportedError if the type has none. */
#define BIP_FORMAT_TEXT 256
int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT]);

#endif
