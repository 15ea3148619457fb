/* How the verifier says what is wrong. */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool simt_verify_refuse(const struct verifier *verifier, const char *format, ...) {
    simt_message *message = verifier->message;
    if (!message) return false;
    const simt_place *place = &verifier->module->places[verifier->pc];
    int length = snprintf(message->text, sizeof message->text, "%.1000s:%u: %.200s: ", verifier->module->name,
                          (unsigned)place->ptx_line, verifier->instruction->opcode);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text + length, sizeof message->text - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

bool simt_has_all(const struct instruction *instruction, const char *list) {
    char modifier[32];
    for (size_t length; *list; list += length + (list[length] == ' ')) {
        length = strcspn(list, " ");
        snprintf(modifier, sizeof modifier, "%.*s", (int)length, list);
        if (!simt_has(instruction, modifier)) return false;
    }
    return true;
}
