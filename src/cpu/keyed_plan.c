/* Which words a slot of a table by key has: grids fine enough for what a sample of the elements shows. */
#include "core/labels.h"
#include "cpu/keyed_job.h"

#include <math.h>

static int log2_above(int64_t count) {
    return count <= 1 ? 0 : 64 - wf_leading_zeros_u64((uint64_t)count - 1);
}

/* The ops that tables serve, of each type. */
static bool is_served(const struct wf_accumulator *empty) {
    const bool is_short = wf_type_table[empty->type].nbytes < 8;
    switch (empty->op) {
    case WF_SUM: case WF_MEAN: case WF_NORM1: case WF_MIN: case WF_MAX: case WF_ARGMIN: case WF_ARGMAX: return true;
    case WF_ANY: case WF_ALL: case WF_NONZERO: return empty->nan == WF_NAN_PROPAGATE;
    case WF_VAR: case WF_STD: return is_short && empty->parts & WF_PART_SQUARES;
    case WF_NORM2: return (is_short || wf_type_is_float(empty->type)) && empty->parts & WF_PART_SQUARES;
    case WF_DOT: return is_short || wf_type_is_float(empty->type);
    default: return false;
    }
}

/* The binades of the elements: all are less than 2^top in magnitude, and multiples of 2^low. */
struct binades {
    int top, low;
    int low_of_most; /* the same of all but the two that have the lowest bits */
};

/* Puts low in its place among the three least. */
static void note_low(int least[3], int low) {
    for (int k = 0; k < 3; k++) {
        int other = least[k];
        if (low >= other) continue;
        least[k] = low;
        low = other;
    }
}

/* The binades of an element; false: it is 0, an infinity or a NaN. */
static inline bool find_binades(struct binades *found, wf_type type, uint64_t bits) {
    const int fraction_bits = wf_type_table[type].precision - 1, exponent_bits = wf_type_table[type].exponent_bits;
    const uint64_t hidden = UINT64_C(1) << fraction_bits, most = (UINT64_C(1) << exponent_bits) - 1;
    uint64_t exponent = bits >> fraction_bits & most, mantissa = bits & (hidden - 1);
    if (exponent == most || !(exponent | mantissa)) return false;
    int unit = wf_type_low_exponent(type) + (exponent ? (int)exponent - 1 : 0);
    if (exponent) mantissa |= hidden;
    found->low = unit + __builtin_ctzll(mantissa);
    found->top = unit + 64 - __builtin_clzll(mantissa);
    return true;
}

/* The binades of an element, or of what two multiply to. */
static inline bool find_binades_at(struct binades *found, const struct keyed *job, int64_t i) {
    const struct wf_view *view = &job->view;
    const wf_type type = job->grouped->empty->type;
    struct binades one;
    *found = (struct binades){0, 0, 0};
    for (int o = 0; o < view->operands; o++) {
        if (!find_binades(&one, type, wf_keyed_bits(view->data[o] + i * view->stride_bytes[o][0], view->nbytes))) return false;
        found->top += one.top;
        found->low += one.low;
    }
    return true;
}

/* The binades of a sample of the elements; one in 32 where there are few. */
static struct binades sample_binades(const struct keyed *job) {
    enum { SAMPLES = 4096, LEAST = 128 };
    int highest = INT32_MIN, least[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
    int64_t samples = job->count / 32 + LEAST < SAMPLES ? job->count / 32 + LEAST : SAMPLES;
    int64_t step = job->count / samples + 1;
    for (int64_t i = 0; i < job->count; i += step) {
        struct binades found;
        if (!find_binades_at(&found, job, i)) continue;
        if (found.top > highest) highest = found.top;
        if (found.low < least[2]) note_low(least, found.low);
    }
    if (highest == INT32_MIN) return (struct binades){1, 0, 0};
    return (struct binades){highest, least[0], samples < SAMPLES ? least[0] : least[2]};
}

static void set_anchors(struct wf_grid *grid, int lowest) {
    for (int k = 0; k < grid->levels; k++) {
        grid->exponent[k] = lowest + (grid->levels - 1 - k) * grid->distance;
        grid->unit[k] = ldexp(1, grid->exponent[k]);
        grid->anchor[k] = grid->unit[k] * 0x1.8p52;
    }
}

/* The bits of the terms that level 0 takes, so that the units of all elements add up to less than 2^63. */
static int upper_bits(const struct keyed *job) {
    int bits = 62 - log2_above(job->terms * job->count + 1);
    return bits < 50 ? bits : 50;
}

/* Makes the grid as fine as the levels allow, from 2^top down to 2^low at least; false: it takes too many levels. */
static bool make_grid(struct wf_grid *grid, const struct keyed *job, struct binades range, int finest, int spare,
                      int levels_max) {
    int upper = upper_bits(job), needed = range.top - range.low, levels = 1;
    grid->distance = 63 - log2_above(job->terms * job->carry_interval);
    if (grid->distance > 50) grid->distance = 50;
    while (levels < levels_max && upper + (levels - 1) * grid->distance < needed + spare) levels++;
    int unneeded = upper + (levels - 1) * grid->distance - needed, lowest = range.low - unneeded * 3 / 4;
    if (unneeded < 0) return false;
    if (lowest < finest) lowest = finest;
    grid->levels = levels;
    int top = lowest + (levels - 1) * grid->distance + upper;
    if (top < range.top || top > 960 || lowest < -1000) return false;
    set_anchors(grid, lowest);
    grid->limit = ldexp(1, top);
    return true;
}

static double largest_finite(wf_type type) {
    int precision = wf_type_table[type].precision;
    return ldexp((double)((INT64_C(1) << precision) - 1), wf_type_high_exponent(type) - precision);
}

/* One level, which costs half of what two do, if next to no element has bits below it. */
static bool make_single_level(struct wf_grid *grid, const struct keyed *job, struct binades range, int finest) {
    range.low = range.low_of_most;
    return make_grid(grid, job, range, finest, 0, 1);
}

/* Those of dot products, which have twice the bits of elements. */
static bool plan_product_grid(struct keyed *job) {
    const int spare = 8, finest = 2 * wf_type_low_exponent(job->grouped->empty->type);
    return make_grid(&job->grid[0], job, sample_binades(job), finest, spare, WF_GRID_LEVELS_MAX);
}

static bool plan_float_grids(struct keyed *job) {
    wf_type type = job->grouped->empty->type;
    const int spare = 4; /* so few elements have bits below those of the sample that they are better set aside */
    int finest = wf_type_low_exponent(type);
    struct binades range = sample_binades(job);
    if (job->parts & (WF_PART_SUM | WF_PART_ABS)) {
        if (!make_single_level(&job->grid[0], job, range, finest) &&
            !make_grid(&job->grid[0], job, range, finest, spare, WF_GRID_LEVELS_MAX))
            return false;
    } else {
        job->grid[0].limit = ldexp(1, range.top + 2);
    }
    if (job->parts & WF_PART_SQUARES) {
        int top = range.top + 2;
        if (top > wf_type_high_exponent(type)) top = wf_type_high_exponent(type);
        struct binades squares = {2 * top, 2 * range.low, 2 * range.low};
        if (!make_grid(&job->grid[1], job, squares, 2 * finest, 2 * spare, WF_GRID_LEVELS_MAX)) return false;
        if (job->grid[0].limit > ldexp(1, top)) job->grid[0].limit = ldexp(1, top);
    }
    if (job->grid[0].limit > largest_finite(type)) job->grid[0].limit = largest_finite(type);
    return true;
}

/* Halves where the integers are long: see loops/integer.c. */
static bool plan_integer_grids(struct keyed *job) {
    size_t nbytes = job->view.nbytes;
    if (job->count > 1 << 30) return false;
    if (job->parts & (WF_PART_SUM | WF_PART_ABS)) job->grid[0].levels = nbytes == 8 ? 2 : 1;
    if (job->parts & WF_PART_DOT) job->grid[0].levels = nbytes == 4 ? 2 : 1;
    if (job->parts & WF_PART_SQUARES) job->grid[1].levels = nbytes == 4 ? 2 : 1;
    for (int g = 0; g < 2; g++) {
        job->grid[g].distance = 32;
        for (int k = 0; k < job->grid[g].levels; k++) {
            job->grid[g].exponent[k] = 32 * (job->grid[g].levels - 1 - k);
            job->grid[g].unit[k] = ldexp(1, job->grid[g].exponent[k]);
        }
    }
    job->carry_interval = 1 << 30;
    return true;
}

enum { KEYS_SAMPLES = 64 };

/* In how many places of a sample keys that follow each other, 2 or 4, are equal. */
static int sample_equal_keys(const struct keyed *job, size_t together) {
    int64_t key[4], step = job->count / KEYS_SAMPLES;
    int equal = 0;
    for (int64_t i = 0; step >= 4 && i < KEYS_SAMPLES; i++) {
        wf_labels_read(job->grouped->groups->labels, i * step, 4, key);
        equal += key[0] == key[1] && (together == 2 || (key[0] == key[2] && key[0] == key[3]));
    }
    return equal;
}

/* Whether nearly everywhere in a sample four keys that follow each other are equal: where fewer are, branches guessed wrong
 * cost more than is gained. */
static bool has_equal_keys_together(const struct keyed *job) {
    return sample_equal_keys(job, 4) > KEYS_SAMPLES * 3 / 4;
}

/* Sets what the sums, or counts, of a group are made of; false if there is no grid for them. */
static bool plan_grids(struct keyed *job) {
    const struct wf_accumulator *empty = job->grouped->empty;
    bool is_float = wf_type_is_float(empty->type);
    if (job->parts & (WF_PART_MIN | WF_PART_MAX)) return true;
    if (job->parts == WF_PART_NONZERO) {
        job->grid[0] = (struct wf_grid){.levels = 1};
        return job->count <= 1 << 30;
    }
    if (!is_float) return plan_integer_grids(job);
    return job->parts == WF_PART_DOT ? plan_product_grid(job) : plan_float_grids(job);
}

/* Where a NaN is the result, that must fit the results' type. */
static void plan_nans(struct keyed *job) {
    const wf_nan nan = job->grouped->empty->nan;
    const wf_type type = job->grouped->result_type;
    const bool fits = job->is_indexed ? type == WF_I64 || type == WF_U64 : wf_type_is_float(type);
    const bool are_floats = job->parts & (WF_PART_MIN | WF_PART_MAX) && wf_type_is_float(job->grouped->empty->type);
    job->nans_win = are_floats && nan == WF_NAN_PROPAGATE && fits;
    job->settles_nans = job->nans_win || (are_floats && nan == WF_NAN_OMIT);
}

/* By what elements are divided before their squares, or sums, are added up: 2 to that. */
static int shift_of(const struct keyed *job) {
    enum { LARGE = 480, OF_SQUARES = 540, OF_SUMS = 64 };
    if (job->grouped->empty->type != WF_F64) return 0;
    if (job->parts == WF_PART_DOT) return sample_binades(job).top > 2 * LARGE ? 2 * OF_SQUARES : 0;
    if (job->parts & WF_PART_SQUARES) return sample_binades(job).top > LARGE ? OF_SQUARES : 0;
    return OF_SUMS;
}

bool wf_keyed_plan_bounded(struct keyed *job) {
    const struct wf_accumulator *empty = job->grouped->empty;
    enum { RUN = 64 }; /* shorter ones take longer here than as segments */
    enum { FEW = 8, FEW_FAR = 32 }; /* squares in smaller groups, of elements far apart, leave more open */
    const int64_t ddof = empty->op == WF_VAR || empty->op == WF_STD ? empty->ddof : 0;
    const unsigned sums[] = {WF_PART_SUM, WF_PART_ABS, WF_PART_DOT, WF_PART_SQUARES, WF_PART_SUM | WF_PART_SQUARES};
    bool is_served = false;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) is_served |= empty->parts == sums[i];
    if (!is_served || !wf_type_is_float(empty->type) || job->grouped->result_type != empty->type) return false;
    if (ddof < 0 || ddof >= 1 << 26) return false;
    job->joins_equal = has_equal_keys_together(job);
    if (job->count / RUN < job->groups && sample_equal_keys(job, 2) > KEYS_SAMPLES / 4) return false;
    job->parts = empty->parts;
    job->are_bounded = true;
    job->bounded = (struct wf_bounded){empty->parts, empty->nan, empty->op == WF_MEAN, empty->op == WF_STD || empty->op == WF_NORM2,
                                       shift_of(job), (double)ddof};
    const int64_t least = job->bounded.shift ? FEW_FAR : FEW;
    if (job->parts & WF_PART_SQUARES && job->count / least < job->groups) return false;
    job->words = wf_bounded_words(job->parts);
    job->grid[0] = job->grid[1] = (struct wf_grid){.levels = 0};
    job->add_to_slots = NULL;
    job->split_products = NULL;
    job->counts = job->is_indexed = job->nans_win = job->settles_nans = false;
    job->carry_interval = job->count;
    job->lost_max = (size_t)(job->count / 32 + 64);
    return true;
}

bool wf_keyed_prefers_bounded(const struct wf_grouped *grouped, int64_t count) {
    enum { FEW = 8 }; /* in groups of less, variances are often 0, and their roots half-way between two f64 */
    const struct wf_accumulator *empty = grouped->empty;
    if (count / FEW < grouped->layout->count) return false;
    if (empty->op == WF_NORM2) return wf_type_is_float(empty->type);
    return (empty->op == WF_VAR || empty->op == WF_STD) && empty->type == WF_F64;
}

bool wf_keyed_plan(struct keyed *job) {
    const struct wf_accumulator *empty = job->grouped->empty;
    if (!is_served(empty)) return false;
    bool is_extremum = empty->parts & (WF_PART_MIN | WF_PART_MAX), is_float = wf_type_is_float(empty->type);
    int64_t interval = job->groups < job->count / 32 ? job->groups * 32 + (1 << 15) : job->count;
    job->parts = empty->parts;
    job->carry_interval = interval < job->count ? interval : job->count;
    bool are_products = job->parts == WF_PART_DOT || (empty->type == WF_F64 && job->parts == WF_PART_SQUARES);
    if (are_products) job->split_products = job->cpu->tier->split_products[empty->type];
    job->terms = are_products && empty->type == WF_F64 ? 2 : 1;
    if (!plan_grids(job)) return false;
    job->is_indexed = is_extremum && empty->op != WF_MIN && empty->op != WF_MAX;
    plan_nans(job);
    job->counts = empty->op == WF_MEAN || empty->op == WF_VAR || empty->op == WF_STD || empty->op == WF_ALL;
    job->words = is_extremum ? (size_t)1 + job->is_indexed
                            : (size_t)(job->grid[0].levels + job->grid[1].levels) + job->counts;
    bool is_float_sum = is_float && (job->parts == WF_PART_SUM || job->parts == WF_PART_ABS);
    if (is_float_sum) job->add_to_slots = job->cpu->tier->add_to_slots[empty->type];
    job->joins_equal = has_equal_keys_together(job);
    job->lost_max = (size_t)(job->count / 32 + 64);
    return true;
}
