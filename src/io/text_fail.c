/* Messages about texts, which name the place. */
#include <stdarg.h>
#include <stdio.h>

#include "core/handle.h"
#include "io/text_fields.h"

_Static_assert(WF_TEXT_FIELD_NBYTES_MAX == 65536, "the messages below state this number");

static const char *const find_errors[] = {
    [WF_FIND_TOO_LONG] = "a field of more than 65536 bytes",
    [WF_FIND_UNCLOSED] = "a quoted field that has no end within 65536 bytes",
    [WF_FIND_UNSEPARATED] = "a quoted field with something other than a delimiter after it",
};

wf_error wf_text_fail(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                      const void *at, wf_error error, const char *format, ...) {
    char what[WF_MESSAGE_NBYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    int64_t offset = wf_source_offset(source) + ((const unsigned char *)at - wf_source_window(source));
    return wf_fail(handle, error, "%s:%lld:%lld: %s", source->name, (long long)text->line,
                   (long long)(offset - text->line_offset + 1), what);
}

wf_error wf_text_fail_find(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                           enum wf_find found) {
    return wf_text_fail(handle, text, source, wf_source_window(source), WF_ERROR_FORMAT, "%s", find_errors[found]);
}
