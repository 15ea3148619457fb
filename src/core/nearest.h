/* Finds the existing name that a misspelt name stands for. */
#ifndef WF_CORE_NEAREST_H
#define WF_CORE_NEAREST_H

#include <stddef.h>

/* No longer name is ever near. */
#define WF_NEAREST_LENGTH_MAX 40

struct wf_nearest {
    const char *wanted; /* as it was given: not closed by a 0 */
    size_t length;
    unsigned distance;                    /* of name */
    char name[WF_NEAREST_LENGTH_MAX + 1]; /* "": none was near enough */
};

void wf_nearest_begin(struct wf_nearest *nearest, const char *wanted, size_t length);

/* Considers one of the names that exist; of equally near ones the first stays. */
void wf_nearest_offer(struct wf_nearest *nearest, const char *name, size_t length);

#endif
