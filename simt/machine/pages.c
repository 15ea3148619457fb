/* Addresses whose memory is mapped later, page by page, as cuMemMap does.
 *
 * The memory is a file without a name, mapped where the host has set addresses aside in the same order: so neighbouring
 * pages are neighbours there, too, whatever memory they are of, and the same memory can be at several addresses.
 * Neighbours that the same devices may use are a run, and accesses see a run as one allocation. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, MAP_ANONYMOUS */
#endif
#include "pages.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = SIMT_PAGE_NBYTES };

/* Of a run the first one has the allocations that accesses see. */
struct page {
    bool is_mapped;
    uint32_t readers, writers; /* a bit for each device */
    size_t first;              /* the run's */
    struct allocation whole, read_only, denied;
};

struct page_table {
    unsigned char *bytes, *written; /* where the host has set addresses aside */
    size_t count;
    struct page *pages; /* zeroed memory that the host need not have until it is used */
    struct allocation unmapped;
};

/* ---- memory: the bytes, and as many that say which of them were written */

struct simt_pages {
    int file;
    size_t nbytes;
};

simt_error simt_pages_create(size_t nbytes, simt_pages **result) {
    *result = NULL;
    if (!nbytes || nbytes % PAGE || nbytes > SIMT_ALLOCATION_MAX) return SIMT_ERROR_ARGUMENT;
    simt_pages *pages = calloc(1, sizeof *pages);
    if (!pages) return SIMT_ERROR_MEMORY;
    *pages = (simt_pages){memfd_create("simulated memory", MFD_CLOEXEC), nbytes};
    if (pages->file >= 0 && !ftruncate(pages->file, (off_t)(2 * nbytes))) *result = pages;
    else simt_pages_destroy(pages);
    return *result ? SIMT_OK : SIMT_ERROR_MEMORY;
}

void simt_pages_destroy(simt_pages *pages) {
    if (!pages) return;
    if (pages->file >= 0) close(pages->file);
    free(pages);
}

/* ---- addresses */

static void *set_aside(void *at, size_t nbytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
    void *bytes = mmap(at, nbytes, PROT_NONE, flags, -1, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

void simt_page_table_destroy(struct page_table *table) {
    if (!table) return;
    if (table->bytes) munmap(table->bytes, table->count * PAGE);
    if (table->written) munmap(table->written, table->count * PAGE);
    free(table->pages);
    free(table);
}

struct page_table *simt_page_table_create(uint64_t nbytes) {
    struct page_table *table = calloc(1, sizeof *table);
    if (!table) return NULL;
    table->count = nbytes / PAGE;
    table->bytes = set_aside(NULL, nbytes);
    table->written = set_aside(NULL, nbytes);
    table->pages = calloc(table->count, sizeof *table->pages);
    table->unmapped = (struct allocation){.backing = BACKING_PAGES,
                                          .devices = SIMT_ALL_DEVICES,
                                          .refusal = "where no memory is mapped (cuMemMap)"};
    if (table->bytes && table->written && table->pages) return table;
    simt_page_table_destroy(table);
    return NULL;
}

struct allocation *simt_page_find(const struct memory *memory, const struct allocation *reserved, uint64_t address) {
    struct page_table *table = reserved->table;
    const size_t number = (address - reserved->address) / PAGE;
    if (number >= table->count || !table->pages[number].is_mapped) return &table->unmapped;
    struct page *page = &table->pages[table->pages[number].first];
    const uint32_t device = UINT32_C(1) << memory->device;
    return page->writers & device ? &page->whole : page->readers & device ? &page->read_only : &page->denied;
}

/* ---- runs */

static bool are_alike(const struct page *page, const struct page *other) {
    return page->is_mapped == other->is_mapped && page->readers == other->readers && page->writers == other->writers;
}

static void make_run(const struct allocation *reserved, size_t first, size_t end) {
    struct page_table *table = reserved->table;
    struct page *page = &table->pages[first];
    for (size_t p = first; p < end; p++) table->pages[p].first = first;
    page->whole = (struct allocation){.bytes = table->bytes + first * PAGE,
                                      .written = table->written + first * PAGE,
                                      .nbytes = (end - first) * PAGE,
                                      .address = reserved->address + first * PAGE,
                                      .backing = BACKING_PAGES,
                                      .devices = SIMT_ALL_DEVICES};
    page->read_only = page->denied = page->whole;
    page->read_only.is_read_only = true;
    page->read_only.refusal = "which the device may only read (cuMemSetAccess)";
    page->denied.nbytes = 0;
    page->denied.refusal = "to which the device has no access (cuMemSetAccess)";
}

/* The pages have changed: runs that they are in or beside are other ones. */
static void make_runs(const struct allocation *reserved, size_t first, size_t end) {
    const struct page_table *table = reserved->table;
    if (first && table->pages[first - 1].is_mapped) first = table->pages[first - 1].first;
    if (end < table->count && table->pages[end].is_mapped)
        do end++;
        while (end < table->count && are_alike(&table->pages[end], &table->pages[end - 1]));
    for (size_t next; first < end; first = next) {
        next = first + 1;
        while (next < end && are_alike(&table->pages[next], &table->pages[first])) next++;
        if (table->pages[first].is_mapped) make_run(reserved, first, next);
    }
}

/* ---- changes */

/* Pages of a reservation. */
struct span {
    struct allocation *reserved;
    size_t first, end;
};

static bool find_span(const simt_machine *machine, uint64_t address, size_t nbytes, struct span *span) {
    span->reserved = simt_memory_slot(&machine->memory, address);
    if (!span->reserved || !span->reserved->table || !nbytes || nbytes % PAGE) return false;
    const uint64_t offset = address - span->reserved->address;
    span->first = offset / PAGE;
    span->end = span->first + nbytes / PAGE;
    return offset % PAGE == 0 && nbytes <= span->reserved->nbytes && offset <= span->reserved->nbytes - nbytes;
}

static bool are_mapped(const struct span *span, bool wanted) {
    for (size_t p = span->first; p < span->end; p++)
        if (span->reserved->table->pages[p].is_mapped != wanted) return false;
    return true;
}

static bool map_file(unsigned char *at, const simt_pages *pages, size_t nbytes, size_t offset) {
    return mmap(at, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages->file, (off_t)offset) != MAP_FAILED;
}

simt_error simt_machine_map_pages(simt_machine *machine, uint64_t address, size_t nbytes, const simt_pages *pages) {
    struct span span;
    if (!find_span(machine, address, nbytes, &span) || nbytes > pages->nbytes || !are_mapped(&span, false))
        return SIMT_ERROR_ARGUMENT;
    struct page_table *table = span.reserved->table;
    unsigned char *bytes = table->bytes + span.first * PAGE, *written = table->written + span.first * PAGE;
    if (!map_file(bytes, pages, nbytes, 0)) return SIMT_ERROR_MEMORY;
    if (!map_file(written, pages, nbytes, pages->nbytes)) {
        set_aside(bytes, nbytes);
        return SIMT_ERROR_MEMORY;
    }
    for (size_t p = span.first; p < span.end; p++) table->pages[p] = (struct page){.is_mapped = true};
    make_runs(span.reserved, span.first, span.end);
    return SIMT_OK;
}

simt_error simt_machine_unmap_pages(simt_machine *machine, uint64_t address, size_t nbytes) {
    struct span span;
    if (!find_span(machine, address, nbytes, &span) || !are_mapped(&span, true)) return SIMT_ERROR_ARGUMENT;
    struct page_table *table = span.reserved->table;
    set_aside(table->bytes + span.first * PAGE, nbytes);
    set_aside(table->written + span.first * PAGE, nbytes);
    for (size_t p = span.first; p < span.end; p++) table->pages[p] = (struct page){0};
    make_runs(span.reserved, span.first, span.end);
    return SIMT_OK;
}

simt_error simt_machine_protect_pages(simt_machine *machine, uint64_t address, size_t nbytes, uint32_t readers,
                                      uint32_t writers) {
    struct span span;
    if (!find_span(machine, address, nbytes, &span) || !are_mapped(&span, true)) return SIMT_ERROR_ARGUMENT;
    for (size_t p = span.first; p < span.end; p++) {
        span.reserved->table->pages[p].readers = readers;
        span.reserved->table->pages[p].writers = writers;
    }
    make_runs(span.reserved, span.first, span.end);
    return SIMT_OK;
}
