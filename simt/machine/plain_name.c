/* Names of variables as their source has them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

/* Whether the name's bytes from `at` to `end` are a name with its length before it, "4tile"; no literal, "Li4E". */
static bool is_counted(const char *name, size_t at, size_t end) {
    char count[24];
    const size_t digits = (size_t)snprintf(count, sizeof count, "%zu", end - at);
    return at >= digits + 2 && !memcmp(name + at - digits, count, digits) && name[at - digits - 2] != 'L';
}

/* "tile" of "_ZZ3sumPfE4tile", "_ZZ3sumPfE4tile_0" and "_ZN2ns4tileE"; any other name is as it is. */
void simt_plain_name(const char *mangled, char *plain, size_t nbytes) {
    const size_t length = strlen(mangled);
    size_t end = length, begin = 0;
    for (int stripped = 0; stripped < 2 && !begin && !strncmp(mangled, "_Z", 2); stripped++) {
        for (size_t at = 3; at < end && !begin; at++)
            if (is_counted(mangled, at, end)) begin = at;
        if (begin) break;
        while (end > 2 && isdigit((unsigned char)mangled[end - 1])) end--;
        end--;
    }
    if (!begin) end = length;
    snprintf(plain, nbytes, "%.*s", (int)(end - begin), mangled + begin);
}
