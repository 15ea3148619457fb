#include "private.h"

#include <stdarg.h>
#include <stdio.h>

simt_error explain_fail(simt_message *message, simt_error error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    return error;
}

simt_error explain_fail_memory(simt_message *message) {
    return explain_fail(message, SIMT_ERROR_MEMORY, "out of memory");
}

void explain_list_observers(const simt_observer *recorder,
                            const simt_observer *observers[EXPLAIN_OBSERVERS_MAX]) {
    size_t count = 0;
    for (; simt_observers[count] && count < EXPLAIN_OBSERVERS_MAX - 2; count++)
        observers[count] = simt_observers[count];
    observers[count++] = recorder;
    observers[count] = NULL;
}
