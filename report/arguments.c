#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void arguments_name(char *message, size_t nbytes, const char *const names[], size_t count) {
    static const char word[] = "`argument ";
    for (char *at = message; (at = strstr(at, word)); at++) {
        char *end;
        const size_t number = strtoul(at + strlen(word), &end, 10);
        const char *name = number < count ? names[number] : NULL;
        const size_t length = name ? strlen(name) : 0, rest = strlen(end) + 1;
        if (!length || (size_t)(at - message) + 1 + length + rest > nbytes) continue;
        memmove(at + 1 + length, end, rest);
        memcpy(at + 1, name, length);
    }
}

void bounds_add_cure(char *message, size_t nbytes, int64_t index, const char *source, const struct guard_access *access) {
    const char *bounds = strstr(message, " of an allocation of ");
    const size_t length = strlen(message);
    if (!bounds || strstr(bounds, " freed")) return;
    if (index >= 0 && source && guard_find_fault(source, access, message + length, nbytes - length)) return;
    snprintf(message + length, nbytes - length, "%s", index < 0 ? "; no element comes before the first: leave it out there, or correct the index"
             : "; a guard such as if (i < n) must leave that out, unless the index is calculated wrongly or too little is allocated");
}
