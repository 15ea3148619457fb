#include "io/quote.h"
#include "common/printable.h"

#include <stdio.h>

struct wf_quoted wf_quote(const void *bytes, size_t length) {
    enum { SHOWN_MAX = 40, READ_MAX = 2 * SHOWN_MAX }; /* bytes; any text longer than READ_MAX is shortened */
    struct wf_quoted quoted;
    char shown[SHOWN_MAX + 1];
    size_t needed = wf_printable(bytes, length < READ_MAX ? length : READ_MAX, WF_LINES_ESCAPED, shown, sizeof shown);
    snprintf(quoted.text, sizeof quoted.text, "'%s%s'", shown, needed > SHOWN_MAX ? "..." : "");
    return quoted;
}
