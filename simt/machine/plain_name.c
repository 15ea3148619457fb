/* Names of variables as their source has them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
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

/* "sum" of "_Z3sumIfEvPT_i" and "_ZN2ns3sumEPf"; any other name is as it is. */
void simt_plain_kernel(const char *mangled, char *plain, size_t nbytes) {
    const bool is_nested = !strncmp(mangled, "_ZN", 3);
    const char *at = mangled + (is_nested ? 3 : 2), *name = mangled;
    size_t length = strlen(mangled);
    for (bool goes_on = !strncmp(mangled, "_Z", 2); goes_on && isdigit((unsigned char)*at); goes_on = is_nested) {
        char *begin;
        const unsigned long own = strtoul(at, &begin, 10);
        if (own > strlen(begin)) break;
        name = begin;
        length = own;
        at = begin + own;
    }
    snprintf(plain, nbytes, "%.*s", (int)length, name);
}
