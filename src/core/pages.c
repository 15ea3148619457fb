#define _GNU_SOURCE /* mremap */
#include "core/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LARGE_NBYTES = 1 << 22,
    KEPT_NBYTES_MIN = 1 << 16, /* what is less has no pages of its own to be given back and taken again */
    KEPT_NBYTES_MAX = 1 << 25, /* the system takes longer to clear pages than to clear them here */
};

static struct wf_pages allocate(size_t nbytes) {
    void *at = calloc(1, nbytes);
    return at ? (struct wf_pages){.at = at, .nbytes = nbytes} : (struct wf_pages){0};
}

static struct wf_pages map(size_t nbytes) {
    void *at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return (struct wf_pages){0};
#ifdef MADV_HUGEPAGE
    madvise(at, nbytes, MADV_HUGEPAGE); /* as far as there are any */
#endif
    return (struct wf_pages){.at = at, .nbytes = nbytes, .are_mapped = true};
}

struct wf_pages wf_pages_take(struct wf_pages *kept, size_t nbytes) {
    struct wf_pages pages = *kept;
    if (nbytes < KEPT_NBYTES_MIN) nbytes = KEPT_NBYTES_MIN;
    if (pages.nbytes < nbytes) return nbytes < LARGE_NBYTES ? allocate(nbytes) : map(nbytes);
    *kept = (struct wf_pages){0};
    return pages;
}

/* Where the system cannot move pages, their bytes are copied. */
static struct wf_pages grow_mapped(struct wf_pages pages, size_t nbytes) {
#ifdef MREMAP_MAYMOVE
    void *at = mremap(pages.at, pages.nbytes, nbytes, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) return (struct wf_pages){0};
    return (struct wf_pages){.at = at, .nbytes = nbytes, .are_mapped = true, .are_used = true};
#else
    struct wf_pages grown = map(nbytes);
    if (!grown.at) return grown;
    memcpy(grown.at, pages.at, pages.nbytes);
    munmap(pages.at, pages.nbytes);
    return grown;
#endif
}

struct wf_pages wf_pages_grow(struct wf_pages pages, size_t nbytes) {
    if (pages.are_mapped) return grow_mapped(pages, nbytes);
    if (nbytes < LARGE_NBYTES) return (struct wf_pages){.at = realloc(pages.at, nbytes), .nbytes = nbytes, .are_used = true};
    struct wf_pages grown = map(nbytes);
    if (!grown.at) return grown;
    if (pages.at) memcpy(grown.at, pages.at, pages.nbytes);
    free(pages.at);
    return grown;
}

void wf_pages_free(struct wf_pages pages) {
    if (pages.are_mapped)
        munmap(pages.at, pages.nbytes);
    else
        free(pages.at);
}

void wf_pages_leave(struct wf_pages *kept, struct wf_pages pages) {
    bool are_worth_it = pages.nbytes >= KEPT_NBYTES_MIN && pages.nbytes <= KEPT_NBYTES_MAX && pages.nbytes > kept->nbytes;
    pages.are_used = true;
    wf_pages_free(are_worth_it ? *kept : pages);
    if (are_worth_it) *kept = pages;
}
