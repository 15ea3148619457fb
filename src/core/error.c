#include "core/error.h"
#include "core/handle.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/printable.h"

wf_error wf_fail(wf_handle *handle, wf_error error, const char *format, ...) {
    if (handle) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(handle->message, sizeof handle->message, format, arguments);
        va_end(arguments);
        wf_printable_here(handle->message, sizeof handle->message, WF_LINES_ESCAPED);
    }
    return error;
}

wf_error wf_check_nbytes(wf_handle *handle, const char *name, const void *structure, size_t nbytes, size_t known) {
    enum { NBYTES_MAX = 4096 }; /* beyond any version's: the field was not set */
    const unsigned char *bytes = structure;
    if (nbytes < known || nbytes > NBYTES_MAX)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "nbytes of a %s is %zu: set it to sizeof(%s)", name, nbytes, name);
    for (size_t i = known; i < nbytes; i++)
        if (bytes[i])
            return wf_fail(handle, WF_ERROR_ARGUMENT, "a %s sets fields that this version, %s, does not know", name,
                           wf_version());
    return WF_OK;
}

const char *wf_error_text(wf_error error) {
    switch (error) {
    case WF_OK: return "no error";
    case WF_ERROR_ARGUMENT: return "bad argument";
    case WF_ERROR_UNSUPPORTED: return "not defined for this type or these options";
    case WF_ERROR_DEVICE: return "no such device, or it cannot be used";
    case WF_ERROR_MEMORY: return "out of memory";
    case WF_ERROR_EMPTY: return "the result is undefined for so few elements";
    case WF_ERROR_RANGE: return "the result does not fit";
    case WF_ERROR_NAN: return "NaN in the input";
    case WF_ERROR_MERGE: return "accumulators that cannot be merged";
    case WF_ERROR_FORMAT: return "damaged or unknown format";
    case WF_ERROR_IO: return "input or output failed";
    }
    return "unknown error";
}
