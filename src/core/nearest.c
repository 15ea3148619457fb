#include "core/nearest.h"

#include <stdbool.h>
#include <string.h>

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* The cost of each kind of edit; two swapped letters are the likeliest. */
enum { SWAPPED = 1, WRONG = 2 };

/* What it costs to make b of a: of letters that are one too many, missing, wrong, or swapped.  Upper and
 * lower case are alike.  (The "optimal string alignment" distance.) */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][WF_NEAREST_LENGTH_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b_length; j++) last[j] = WRONG * j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = WRONG * (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            bool differ = fold(a[i - 1]) != fold(b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + WRONG, last[j - 1] + (differ ? WRONG : 0));
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
                row[j] = least(row[j], before[j - 2] + SWAPPED);
        }
        unsigned *next = before;
        before = last;
        last = row;
        row = next;
    }
    return last[b_length];
}

/* Whether one name begins with the other, as "variance" with "var": a match, though many letters differ. */
static bool begins_alike(const char *a, size_t a_length, const char *b, size_t b_length) {
    enum { TELLING_LENGTH = 3 };
    size_t length = a_length < b_length ? a_length : b_length, i = 0;
    while (i < length && fold(a[i]) == fold(b[i])) i++;
    return i == length && length >= TELLING_LENGTH;
}

void wf_nearest_begin(struct wf_nearest *nearest, const char *wanted, size_t length) {
    *nearest = (struct wf_nearest){.wanted = wanted, .length = length};
    nearest->distance = WRONG * (unsigned)((length + 1) / 3) + 1; /* beyond what is near */
}

void wf_nearest_offer(struct wf_nearest *nearest, const char *name, size_t length) {
    if (nearest->length > WF_NEAREST_LENGTH_MAX || length > WF_NEAREST_LENGTH_MAX || length == 0) return;
    unsigned found = distance(nearest->wanted, nearest->length, name, length);
    if (found > WRONG && begins_alike(nearest->wanted, nearest->length, name, length)) found = WRONG;
    if (found >= nearest->distance) return;
    nearest->distance = found;
    memcpy(nearest->name, name, length);
    nearest->name[length] = 0;
}
