/* Arrays that grow. */
#ifndef EXPLAIN_ARRAY_H
#define EXPLAIN_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* The array with room for `needed` elements, maybe elsewhere.  NULL: no memory, *out_of_memory is set, and
 * the array is as it was. */
static inline void *array_grow(void *array, size_t element_nbytes, size_t needed, size_t *capacity,
                               bool *out_of_memory) {
    if (array && needed <= *capacity) return array;
    size_t larger = 2 * needed;
    void *grown = realloc(array, larger * element_nbytes);
    if (grown)
        *capacity = larger;
    else
        *out_of_memory = true;
    return grown;
}

#endif
