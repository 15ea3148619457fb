#include "inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The digits at the text's beginning; NULL if there are none or the number is beyond the limit. */
static const char *parse_number(const char *text, uint64_t limit, uint64_t *number) {
    if (!isdigit((unsigned char)text[0])) return NULL;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || value > limit) return NULL;
    *number = value;
    return end;
}

bool parse_schedule(const char *text, simt_schedule *schedule, uint64_t *seed) {
    static const char random[] = "random:";
    *seed = 0;
    *schedule = SIMT_LOCKSTEP;
    if (!text || !strcmp(text, "lockstep")) return true;
    *schedule = SIMT_SPLIT;
    if (!strcmp(text, "split")) return true;
    *schedule = SIMT_RANDOM;
    if (strncmp(text, random, strlen(random))) return false;
    const char *end = parse_number(text + strlen(random), UINT64_MAX, seed);
    return end && !*end;
}

bool parse_extent(const char *text, uint32_t extent[3]) {
    for (int i = 0; i < 3; i++) extent[i] = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t number;
        text = parse_number(text, INT32_MAX, &number);
        if (!text || number == 0) return false;
        extent[i] = (uint32_t)number;
        if (!*text) return true;
        if (*text++ != ',') return false;
    }
    return false;
}
