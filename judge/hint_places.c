/* Of an array: right values at other places, sums of a scan that begin elsewhere, and places where alone it is wrong. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "hint_kinds.h"

/* Of wrong elements that are right ones of other places: as many are no accident; more need not be looked at. */
enum { MOVED_LEAST = 8, MOVED_MOST = 64 };

static bool is_equal(long double value, long double other) { return value == other || (isnan(value) && isnan(other)); }

static uint64_t wrong_count(const struct wrong_result *wrong) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < wrong->expected->count; i++) count += wrong->is_wrong[i];
    return count;
}

/* ---- right values at other places -------------------------------------------------------------------- */

static bool is_among(const struct expected *expected, long double value) {
    uint64_t i = 0;
    while (i < expected->count && !is_equal(expected->values[i], value)) i++;
    return i < expected->count;
}

/* The only element of the output that must be so; or UINT64_MAX. */
static uint64_t place_of(const struct expected *expected, long double value) {
    uint64_t place = UINT64_MAX, count = 0;
    for (uint64_t i = 0; i < expected->count; i++) {
        if (expected->values[i] != value) continue;
        place = i;
        count++;
    }
    return count == 1 ? place : UINT64_MAX;
}

static uint64_t from_next(const struct wrong_result *wrong, uint64_t i) { return i + 1 < wrong->expected->count ? i + 1 : i; }
static uint64_t from_previous(const struct wrong_result *wrong, uint64_t i) {
    (void)wrong;
    return i ? i - 1 : i;
}
static uint64_t from_end(const struct wrong_result *wrong, uint64_t i) { return wrong->expected->count - 1 - i; }

static const struct move {
    uint64_t (*from)(const struct wrong_result *wrong, uint64_t i);
    const char *text;
} moves[MOVES] = {
    {from_next, "each is what belongs one place further on: the index that is stored to, or that of what is loaded, is off by one"},
    {from_previous, "each is what belongs one place before: the index that is stored to, or that of what is loaded, is off by one"},
    {from_end, "each is what belongs as far from the other end: an index counts down where it must count up"},
};

static bool is_moved(const struct wrong_result *wrong, const struct move *move, uint64_t i) {
    const uint64_t from = move->from ? move->from(wrong, i) : i;
    if (!move->from) return is_among(wrong->expected, wrong->values[i]);
    return from != i && is_equal(wrong->values[i], wrong->expected->values[from]);
}

static bool are_moved(const struct wrong_result *wrong, const struct move *move) {
    uint64_t looked_at = 0;
    for (uint64_t i = 0; i < wrong->expected->count && looked_at < MOVED_MOST; i++) {
        if (wrong->is_wrong[i] && !is_moved(wrong, move, i)) return false;
        looked_at += wrong->is_wrong[i];
    }
    return true;
}

enum hint_says hint_is_moved(const struct wrong_result *wrong, size_t number, char *text) {
    const struct move *move = &moves[number];
    const bool has_places = wrong->task->reference.kind != REFERENCE_OP || wrong->task->reference.by_row;
    if (!has_places || wrong_count(wrong) < MOVED_LEAST) return HINT_SILENT;
    if (!are_moved(wrong, move)) return HINT_FAILS;
    const uint64_t place = place_of(wrong->expected, wrong->values[wrong->element]);
    const char *output = wrong->task->arguments[wrong->task->reference.output].name;
    if (move->from) snprintf(text, HINT_CAPACITY, "; %s", move->text);
    else if (place == UINT64_MAX || wrong->task->reference.kind != REFERENCE_ELEMENTS) return HINT_SILENT;
    else snprintf(text, HINT_CAPACITY, "; that belongs in %s[%" PRIu64 "]: an index, of what is loaded or of where it is stored, is another element's, "
                  "say one whose row and column have to change places", output, place);
    return HINT_HOLDS;
}

/* ---- scans that begin elsewhere ----------------------------------------------------------------------- */

/* A scan's element where that of i begins at `begin`. */
static long double sum_from(const struct expected *expected, uint64_t begin, uint64_t i) {
    return expected->values[i] - (begin ? expected->values[begin - 1] : 0);
}

static long double in_parts(const struct expected *expected, uint64_t i, uint64_t length) { return sum_from(expected, i / length * length, i); }
static long double in_window(const struct expected *expected, uint64_t i, uint64_t length) {
    return sum_from(expected, i + 1 < length ? 0 : i + 1 - length, i);
}
static long double from_behind(const struct expected *expected, uint64_t i, uint64_t unused) {
    (void)unused;
    return expected->values[expected->count - 1] - (i ? expected->values[i - 1] : 0);
}
static long double without_first(const struct expected *expected, uint64_t i, uint64_t unused) {
    (void)unused;
    return expected->values[i] - expected->values[0];
}

static const char parts[] = "each is the sum from the last multiple of %" PRIu64 " on: what comes before must be added, too";
static const char window[] = "each is the sum of the last %" PRIu64 " elements alone: the steps must go on to a distance of half of all elements";

static const struct scan {
    long double (*value)(const struct expected *expected, uint64_t i, uint64_t length);
    uint64_t length, halvings; /* the length; 0: that of a block, halved */
    const char *text;
} scans[SCANS] = {
    {in_parts, 32, 0, parts},   {in_parts, 0, 0, parts},    {in_window, 0, 1, window},  {in_window, 0, 2, window},
    {in_window, 2, 0, window},  {in_window, 32, 0, window}, {from_behind, 1, 0, "each is the sum from its own element to the last: the index goes the wrong way"},
    {without_first, 1, 0, "each lacks the first element: the first index is 0"}};

static bool is_scan(const struct wrong_result *wrong, const struct scan *scan, uint64_t length) {
    const struct expected *expected = wrong->expected;
    for (uint64_t i = 0; i < expected->count; i++)
        if (wrong->values[i] != scan->value(expected, i, length)) return false;
    return true;
}

enum hint_says hint_is_other_scan(const struct wrong_result *wrong, size_t number, char *text) {
    const struct scan *scan = &scans[number];
    const struct reference *reference = &wrong->task->reference;
    const uint64_t length = scan->length ? scan->length : wrong->scope->block >> scan->halvings;
    if (reference->kind != REFERENCE_SCAN || !reference->is_inclusive || !wrong->is_whole || !wrong->is_finite) return HINT_SILENT;
    if (!length || !is_scan(wrong, scan, length)) return HINT_FAILS;
    const size_t begin = (size_t)snprintf(text, HINT_CAPACITY, "; ");
    snprintf(text + begin, HINT_CAPACITY - begin, scan->text, length);
    return HINT_HOLDS;
}

/* ---- places where alone it is wrong --------------------------------------------------------------------- */

struct array {
    uint64_t count, block;
};

static bool is_last(const struct array *array, uint64_t i) { return i + 1 == array->count; }
static bool is_end(const struct array *array, uint64_t i) { return i == 0 || is_last(array, i); }
static bool is_first_of_block(const struct array *array, uint64_t i) { return !(i % array->block); }
static bool is_border(const struct array *array, uint64_t i) { return is_first_of_block(array, i) || is_first_of_block(array, i + 1); }
static bool is_of_last_block(const struct array *array, uint64_t i) { return i >= (array->count - 1) / array->block * array->block; }
static bool is_behind_first_block(const struct array *array, uint64_t i) { return i >= array->block; }

/* From the fewest on: where several have all wrong elements, the first is told. */
static const struct place {
    bool (*has)(const struct array *array, uint64_t i);
    bool needs_blocks; /* of threads with an element each */
    const char *text;
} places[PLACES] = {
    {is_last, false, "only the last element is wrong: a guard leaves it out, or it lacks a neighbour"},
    {is_end, false, "only the first element or the last is wrong: each lacks a neighbour there, in whose place stands something else than the task wants"},
    {is_first_of_block, true, "only elements of each block's first thread are wrong: the neighbour before it is another block's, and must be loaded, too"},
    {is_border, true, "only elements at the borders of blocks are wrong: the neighbour there is another block's, and must be loaded, too"},
    {is_of_last_block, true, "only elements of the last block are wrong: it must do as all others do, but for what is beyond the end"},
    {is_behind_first_block, true, "only elements of the first block are right: the others lack what comes before them, or take its elements"},
};

enum hint_says hint_is_at(const struct wrong_result *wrong, size_t number, char *text) {
    const struct place *place = &places[number];
    const struct array array = {wrong->expected->count, wrong->scope->block};
    const bool has_blocks = wrong->scope->grid > 1 && array.count > (wrong->scope->grid - 1) * array.block && array.count <= wrong->scope->grid * array.block;
    uint64_t of_place = 0, wrong_ones = 0;
    if (array.count < MOVED_LEAST || (place->needs_blocks && !has_blocks)) return HINT_SILENT;
    for (uint64_t i = 0; i < array.count; i++) {
        const bool is_there = place->has(&array, i);
        if (wrong->is_wrong[i] && !is_there) return HINT_FAILS;
        of_place += is_there;
        wrong_ones += wrong->is_wrong[i];
    }
    if (place->has == is_behind_first_block && 2 * wrong_ones < of_place) return HINT_FAILS;
    snprintf(text, HINT_CAPACITY, "; %s", place->text);
    return HINT_HOLDS;
}
