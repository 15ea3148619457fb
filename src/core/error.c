#include "core/error.h"
#include "core/handle.h"

#include <stdarg.h>
#include <stdio.h>

wf_error wf_fail(wf_handle *handle, wf_error error, const char *format, ...) {
    if (handle) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(handle->message, sizeof handle->message, format, arguments);
        va_end(arguments);
    }
    return error;
}

const char *wf_error_text(wf_error error) {
    switch (error) {
    case WF_OK: return "no error";
    case WF_ERROR_ARGUMENT: return "bad argument";
    case WF_ERROR_UNSUPPORTED: return "not defined for this type or these options";
    case WF_ERROR_DEVICE: return "no such device, or it cannot be used";
    case WF_ERROR_MEMORY: return "out of memory";
    case WF_ERROR_EMPTY: return "no value for so few elements";
    case WF_ERROR_RANGE: return "the result does not fit";
    case WF_ERROR_NAN: return "NaN in the input";
    case WF_ERROR_MERGE: return "accumulators that cannot be merged";
    case WF_ERROR_FORMAT: return "damaged or unknown format";
    case WF_ERROR_IO: return "input or output failed";
    }
    return "unknown error";
}
