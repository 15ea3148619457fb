#include "races_shadow.h"

#include <stdlib.h>

const uint8_t simt_races_conflicts[HISTORIES] = {
    [PLAIN_READS] = 1 << PLAIN_WRITES | 1 << ATOMIC_WRITES,
    [ATOMIC_READS] = 1 << PLAIN_WRITES,
    [PLAIN_WRITES] = 1 << PLAIN_READS | 1 << ATOMIC_READS | 1 << PLAIN_WRITES | 1 << ATOMIC_WRITES,
    [ATOMIC_WRITES] = 1 << PLAIN_READS | 1 << PLAIN_WRITES,
};

static size_t cell_count(const struct shadow_page *page) {
    return (size_t)PAGE_NBYTES >> page->cell_bits;
}

/* ---- pages */

static struct shadow_page **bucket_of(const struct shadow *shadow, uint64_t number) {
    uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15);
    return &shadow->buckets[(hash >> 32) & (shadow->bucket_count - 1)];
}

static bool grow(struct shadow *shadow) {
    struct shadow old = *shadow;
    size_t count = old.bucket_count ? 2 * old.bucket_count : 16;
    struct shadow_page **buckets = calloc(count, sizeof *buckets);
    if (!buckets) return false;
    *shadow = (struct shadow){buckets, count, old.page_count};
    for (size_t i = 0; i < old.bucket_count; i++)
        for (struct shadow_page *page = old.buckets[i], *next; page; page = next) {
            struct shadow_page **bucket = bucket_of(shadow, page->number);
            next = page->next;
            page->next = *bucket;
            *bucket = page;
        }
    free(old.buckets);
    return true;
}

struct shadow_page *simt_shadow_page(struct shadow *shadow, uint64_t number) {
    if (shadow->bucket_count)
        for (struct shadow_page *page = *bucket_of(shadow, number); page; page = page->next)
            if (page->number == number) return page;
    if (shadow->page_count == shadow->bucket_count && !grow(shadow)) return NULL;
    struct shadow_page *page = calloc(1, sizeof *page);
    if (!page) return NULL;
    struct shadow_page **bucket = bucket_of(shadow, number);
    *page = (struct shadow_page){.next = *bucket, .number = number, .cell_bits = CELL_BITS_MAX};
    *bucket = page;
    shadow->page_count++;
    return page;
}

static void release_destroy(struct release *release) {
    if (!release) return;
    for (int scope = 0; scope < SCOPES; scope++) {
        simt_clock_drop(&release->clocks[scope]);
        simt_clock_drop(&release->fenced[scope]);
    }
    free(release);
}

static void page_destroy(struct shadow_page *page) {
    for (int history = 0; history < HISTORIES; history++)
        for (int i = 0; i < 2; i++) free(page->stamps[history][i]);
    free(page->values);
    free(page->updates);
    free(page->updated);
    for (size_t cell = 0; page->releases && cell < cell_count(page); cell++)
        release_destroy(page->releases[cell]);
    free(page->releases);
    free(page);
}

void simt_shadow_clear(struct shadow *shadow) {
    for (size_t i = 0; i < shadow->bucket_count; i++)
        for (struct shadow_page *page = shadow->buckets[i], *next; page; page = next) {
            next = page->next;
            page_destroy(page);
        }
    free(shadow->buckets);
    *shadow = (struct shadow){0};
}

/* ---- planes */

bool simt_page_ensure(const struct shadow_page *page, uint64_t **plane) {
    if (!*plane) *plane = calloc(cell_count(page), sizeof **plane);
    return *plane != NULL;
}

/* Copies a plane into one with more cells, every entry to all parts of its cell; parts of a value are its
 * bytes. */
static void spread(uint64_t *fine, const uint64_t *coarse, size_t count, uint32_t parts,
                   uint32_t value_bits) {
    uint64_t mask = (UINT64_C(1) << value_bits) - 1;
    for (size_t i = 0; i < count; i++)
        for (uint32_t part = 0; part < parts; part++) {
            uint64_t value = (uint32_t)coarse[i] >> part * value_bits & mask;
            fine[i * parts + part] = value_bits ? value | (coarse[i] & VALUE_MIXED) : coarse[i];
        }
}

enum { VALUES = 2, PLANES = VALUES + 1 + 2 * HISTORIES }; /* those of values come first */

static uint64_t **plane_of(struct shadow_page *page, uint32_t i) {
    uint64_t **const others[] = {&page->values, &page->updated, &page->updates};
    return i <= VALUES ? others[i] : &page->stamps[(i - VALUES - 1) / 2][(i - VALUES - 1) % 2];
}

bool simt_page_refine(struct shadow_page *page, uint32_t cell_bits) {
    struct shadow_page fine = {.next = page->next, .number = page->number, .cell_bits = cell_bits};
    size_t count = cell_count(page);
    uint32_t parts = 1u << (page->cell_bits - cell_bits);
    bool is_done = true;
    for (uint32_t i = 0; i < PLANES && is_done; i++)
        if (*plane_of(page, i)) is_done = simt_page_ensure(&fine, plane_of(&fine, i));
    if (is_done && page->releases) {
        fine.releases = calloc(count * parts, sizeof *fine.releases);
        is_done = fine.releases != NULL;
    }
    if (!is_done) {
        for (uint32_t i = 0; i < PLANES; i++) free(*plane_of(&fine, i));
        return false;
    }
    for (uint32_t i = 0; i < PLANES; i++) {
        if (*plane_of(page, i))
            spread(*plane_of(&fine, i), *plane_of(page, i), count, parts, i < VALUES ? 8u << cell_bits : 0);
        free(*plane_of(page, i));
    }
    for (size_t cell = 0; page->releases && cell < count; cell++)
        fine.releases[cell * parts] = page->releases[cell];
    free(page->releases);
    *page = fine;
    return true;
}

/* ---- releases */

struct release *simt_page_release(struct shadow_page *page, uint64_t address) {
    if (!page->releases) page->releases = calloc(cell_count(page), sizeof *page->releases);
    if (!page->releases) return NULL;
    struct release **release = &page->releases[page_cell(page, address)];
    if (!*release) *release = calloc(1, sizeof **release);
    return *release;
}

const struct release *simt_page_released(const struct shadow_page *page, uint64_t address) {
    return page->releases ? page->releases[page_cell(page, address)] : NULL;
}
