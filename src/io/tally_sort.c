/* The order of groups by the texts of their keys. */
#include <stdlib.h>
#include <string.h>

#include "io/tally.h"

/* One column of a key. */
struct part {
    const unsigned char *text;
    size_t length;
    double number; /* of a text that is none: NaN */
};

struct sorted {
    int32_t group;
    const struct part *part; /* by_count of them */
    size_t by_count;
};

static double number_of(const unsigned char *text, size_t length) {
    double number;
    return wf_text_parse_number((const char *)text, length, WF_F64, &number) ? __builtin_nan("") : number;
}

static int compare_parts(const struct part *a, const struct part *b) {
    const bool is_a = a->number == a->number, is_b = b->number == b->number;
    if (is_a != is_b) return is_a ? -1 : 1;
    if (is_a && a->number != b->number) return a->number < b->number ? -1 : 1;
    const size_t length = a->length < b->length ? a->length : b->length;
    const int difference = memcmp(a->text, b->text, length);
    return difference ? difference : (a->length > b->length) - (a->length < b->length);
}

static int compare(const void *a, const void *b) {
    const struct sorted *x = a, *y = b;
    int difference = 0;
    for (size_t i = 0; i < x->by_count && !difference; i++) difference = compare_parts(&x->part[i], &y->part[i]);
    return difference;
}

static void set_parts(struct part *part, const struct wf_tally *tally, int32_t group) {
    size_t nbytes;
    const unsigned char *key = wf_texts_get(&tally->keys, group, &nbytes);
    for (size_t i = 0; i < tally->by_count; i++) {
        part[i].text = wf_key_part(key, nbytes, tally->by_count, i, &part[i].length);
        part[i].number = number_of(part[i].text, part[i].length);
    }
}

wf_error wf_tally_sort(wf_handle *handle, const struct wf_tally *tally, int32_t *order) {
    const int32_t count = tally->keys.count;
    const size_t by_count = tally->by_count;
    struct sorted *sorted = calloc((size_t)count + 1, sizeof *sorted);
    struct part *part = calloc((size_t)count * by_count + 1, sizeof *part);
    for (int32_t g = 0; sorted && part && g < count; g++) {
        set_parts(part + (size_t)g * by_count, tally, g);
        sorted[g] = (struct sorted){g, part + (size_t)g * by_count, by_count};
    }
    const bool has_memory = sorted && part;
    if (has_memory) qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int32_t g = 0; has_memory && g < count; g++) order[g] = sorted[g].group;
    free(sorted);
    free(part);
    return has_memory ? WF_OK : wf_fail(handle, WF_ERROR_MEMORY, "no memory to sort the groups of a table");
}
