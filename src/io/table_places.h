/* The places in a text where fields end. */
#ifndef WF_IO_TABLE_PLACES_H
#define WF_IO_TABLE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places of bytes in a text, rising; those before next have been passed. */
struct wf_places {
    uint32_t *at;
    size_t next, count, capacity; /* at has room for one more than capacity */
};

/* The bytes that may end fields, and quotes; and those of them that are no delimiters: line breaks and quotes.  Both have
 * the same capacity, 64 or more. */
struct wf_specials {
    struct wf_places all, fence; /* after the last fence stands UINT32_MAX */
    size_t looked_at;            /* bytes of the text whose places are known */
};

/* Drops the places that have been passed, and finds more in the text's nbytes, as many as there is room for.  63 bytes
 * after the text may be read. */
typedef void wf_places_function(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter);

/* For a tier of this name, or, if it is NULL, the fastest that this processor has. */
wf_places_function *wf_places_choose(const char *tier);

/* Passes the places before `to`, those that are not known included. */
static inline void wf_specials_pass(struct wf_specials *specials, size_t to) {
    struct wf_places *all = &specials->all, *fence = &specials->fence;
    if (specials->looked_at < to) specials->looked_at = to;
    while (all->next < all->count && all->at[all->next] < to) all->next++;
    while (fence->next < fence->count && fence->at[fence->next] < to) fence->next++;
}

#endif
