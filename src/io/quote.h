#ifndef WF_IO_QUOTE_H
#define WF_IO_QUOTE_H

#include <stddef.h>

/* The bytes in quotes for a message: shortened, with escapes for all but printable UTF-8 (common/printable.h). */
struct wf_quoted {
    char text[64];
};
struct wf_quoted wf_quote(const void *bytes, size_t length);

#endif
