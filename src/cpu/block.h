/* The unit of work of the loops, and what a thread works with. */
#ifndef WF_CPU_BLOCK_H
#define WF_CPU_BLOCK_H

#include "core/strided.h"
#include "core/partial_words.h"
#include "core/parts.h"
#include "cpu/bins.h"

/* The unit of work: a block of contiguous elements that stays in the first-level cache while each part takes
 * its pass over it. */
#define WF_BLOCK_NBYTES 32768

/* Several blocks in a row that are tried in one pass, so that what a pass begins and ends with is paid once.
 */
#define WF_RUN_NBYTES (4 * WF_BLOCK_NBYTES)

/* Part of a block, about which is decided by itself where the elements of a block are of several kinds. */
#define WF_STRETCH_NBYTES 4096

/* The ranges of the last two blocks whose range was scanned, for each operand: all elements were less than
 * 2^top in magnitude and multiples of 2^low.  From them the range of the next block is guessed
 * (loops/guess.h). */
struct wf_guess {
    int known; /* the number of ranges that are known: 0, 1 or 2 */
    int next;
    unsigned uses;            /* the number of guesses since the last wrong one */
    unsigned wait;            /* the number of blocks until a run is tried again */
    unsigned wait_next;       /* from which the next wait follows, should that run fail */
    int changes;              /* for that many blocks to come, data of another kind are expected */
    int specials;             /* for that many blocks to come, infinities and NaNs are expected */
    int outliers;             /* for that many blocks to come, outliers are expected; negative: none of use */
    int top[2][2], low[2][2]; /* [block][operand] */
};

/* What blocks are expected to be of which sums lack something: loops/lossy.h. */
struct wf_lossy_guess {
    bool is_new; /* a call that has had no block yet */
    int blocks;  /* for that many blocks to come, sums will lack something */
    int top[3];  /* of each operand, and of products, of blocks before: all were less than 2^top in magnitude */
    int waits;   /* for that many calls to come, no sum will */
    int refused; /* from which the next wait follows */
    bool is_deep; /* a call whose sums lack less than others', through more levels */
    int deep;     /* for that many calls to come, sums will */
    int deepened; /* from which the next number of these follows */
};

/* The working memory of a thread. */
struct wf_scratch {
    /* For each operand, room for a copy of a block that was not contiguous, or without its infinities, NaNs
     * or outliers.  If there is less room than a block takes, such blocks are taken in parts. */
    unsigned char *copy[2];
    size_t copy_nbytes; /* of each */
    unsigned char *scaled[2]; /* the same, for elements that are multiplied by a power of two */
    size_t scaled_nbytes;     /* a multiple of 64 */
    struct wf_bins *bins; /* [WF_BINS_SETS]; NULL if so little is summed that clearing them would cost more than they save */
    struct wf_guess guess;
    int passes, pass; /* the number of passes over the current block: of all, and of those that have begun */
    struct wf_lossy_guess lossy;
};

/* If both sums of values and of magnitudes are asked for, the bins of values are those of magnitudes, too.  Powers: values
 * and their squares. */
enum { WF_BINS_OF_SUM, WF_BINS_OF_ABS, WF_BINS_OF_PRODUCTS, WF_BINS_OF_POWERS, WF_BINS_SETS };

/* Adds the parts of count elements of x (paired with y, or NULL), contiguous at any alignment and at most a
 * block, the first of index `index`.  The environment is as wf_environment_enter sets it. */
typedef void wf_block_function(struct wf_open_partial *into, struct wf_scratch *scratch, const void *x,
                               const void *y, size_t count, int64_t index);

/* Adds the parts of a run of blocks if one pass through a guessed window can; returns whether it did.  If it
 * did not, nothing was added, and add_block must be called for each of the blocks. */
typedef bool wf_run_function(struct wf_open_partial *into, struct wf_scratch *scratch, const void *x, size_t count,
                             int64_t index);

/* A tile: rows of elements side by side, each column of which is another group's.  Its rows are as many columns long as
 * WF_COLUMNS_STEP divides; what fills them up is zero.  So few rows that no level of sums can overflow, which products bring nearer, and that
 * a byte counts them. */
#define WF_COLUMNS_MAX 64
#define WF_COLUMNS_STEP 32
#define WF_TILE_ROWS_MAX 128
#define WF_TILE_ROWS_OF_PRODUCTS_MAX 63
#define WF_WHOLE_TILE_ROWS_MAX 511 /* where it has all elements of its groups, of 4 bytes or more, without products */

struct wf_tile {
    const unsigned char *x, *y; /* y is NULL except for pairs */
    size_t rows, columns, pitch; /* in elements */
    int64_t index; /* of the first row's elements */
};

/* Adds the elements of each column to into[column], all at once; returns whether it did.  If it did not, since
 * some element or part needs more, nothing was added, and add_block must be called for each of the columns. */
typedef bool wf_columns_function(struct wf_open_partial *into, const struct wf_tile *tile);

/* Of columns that are only added up: notes what is infinite or NaN in into[column], and puts zeros in its place that add
 * nothing; returns whether there was any.  x and y: where the tile's elements lie. */
typedef bool wf_clean_columns_function(struct wf_open_partial *into, const struct wf_tile *tile, unsigned char *x,
                                       unsigned char *y);

/* Puts those bits in place of NaNs where a tile's elements lie, at x; returns whether there were any.  nans: how many, for each
 * column. */
typedef bool wf_leave_out_nans_function(const struct wf_tile *tile, unsigned char *x, uint64_t instead, int64_t *nans);

/* Fills a tile with segments of a vector, whose elements lie side by side: from offset[c] to offset[c + 1] for column c <
 * count.  Shorter ones are filled up with the bits, or, if these are NULL, with their first element; empty ones, and the
 * columns after them, are all 0.  Up to 7 rows more are written. */
typedef void wf_fill_segments_function(unsigned char *tile, size_t pitch, size_t rows, const unsigned char *x,
                                       const int64_t *offset, size_t count, const uint64_t *bits);

/* The results of one part for each column, where all of a group is in one tile: the sum, or how many elements are nonzero.
 * Writes to results as many elements as there are columns: of the tile's type, of sums of integers int64_t, or uint64_t
 * if the type is unsigned or magnitudes are added, of counts uint64_t.  False, and nothing of use written, if some element
 * or part needs more. */
typedef bool wf_results_function(const struct wf_tile *tile, enum wf_part part, void *results);

/* Rows whose elements lie side by side, each of which is another group's: at most WF_COLUMNS_MAX rows, of at most
 * WF_ROW_COUNT_MAX elements, so that what a level adds up to is an f64. */
#define WF_ROW_COUNT_MAX 2048
#define WF_ROWS_NBYTES 12288 /* of all, about: two times that should stay in the first-level cache */

struct wf_rows {
    const unsigned char *x; /* the first row, or, of segments, the vector */
    size_t rows;
    int64_t count, stride_bytes; /* of each row, and from one to the next; or, of segments: */
    const int64_t *offset;       /* where each begins, and the last ends, in elements; else NULL */
};

/* The sums of values or magnitudes (part) of each row, or how many of its elements are nonzero, as wf_results_function writes them. */
typedef bool wf_row_results_function(const struct wf_rows *rows, enum wf_part part, void *results);

/* The exact sums of each column, in units of 2^exponent, where all of a group is in one tile. */
struct wf_column_totals {
    wf_i128 sum[WF_COLUMNS_MAX], squares[WF_COLUMNS_MAX];
    int32_t sum_exponent, squares_exponent;
    bool is_minus_zero[WF_COLUMNS_MAX]; /* the sum, where it is 0 */
};

/* Finds them.  parts: WF_PART_SUM, with WF_PART_SQUARES or without.  False, and nothing of use written, if some element
 * or part needs more. */
typedef bool wf_totals_function(const struct wf_tile *tile, unsigned parts, struct wf_column_totals *totals);

/* The same of rows: the part, values or magnitudes, in sum. */
typedef bool wf_row_totals_function(const struct wf_rows *rows, enum wf_part part, struct wf_column_totals *totals);

/* A panel: neighbouring columns, whose rows are read where they lie.  It is cut into strips of a multiple of
 * WF_STRIP_COLUMNS, so that what a window does not cover spoils its strip alone. */
#define WF_PANEL_COLUMNS_MAX 1024
#define WF_STRIP_COLUMNS 64
#define WF_PANEL_ROWS_MAX (1 << 20)
#define WF_PANEL_ROWS 8 /* that are scanned, and then added, at a time */

/* How columns lie that are not side by side, and where WF_PANEL_ROWS rows, with gaps between them, are copied to. */
#define WF_PANEL_GAP 128
struct wf_apart {
    int64_t stride_bytes; /* from one column to the next */
    unsigned char *rows;
    wf_copy_strided_function *copy;
};

struct wf_panel {
    const unsigned char *x;
    int64_t stride_bytes; /* from one row to the next */
    size_t rows, columns;
    size_t rest; /* columns that one more row has */
    const unsigned char *y; /* of pairs, else NULL */
    int64_t y_stride_bytes;
    const struct wf_apart *apart; /* NULL: columns lie side by side, as they do for most functions */
};

struct wf_panel_sums {
    _Alignas(64) double sum[2][WF_PANEL_COLUMNS_MAX]; /* in progress, from the level's anchor on */
    int64_t unit[2][WF_PANEL_COLUMNS_MAX];            /* in units of 2^(exponent - 52) */
    unsigned char copy[WF_PANEL_ROWS * WF_STRIP_COLUMNS * sizeof(uint64_t)]; /* of the rows of a strip that is not full */
    int32_t exponent[2];
    bool is_scaled; /* the exponents are those of elements that were multiplied first (loops/scaled.h) */
    int64_t count; /* of each column's elements, at most */
    bool has_failed[WF_PANEL_COLUMNS_MAX / WF_STRIP_COLUMNS];
};

/* Adds up the columns' values or magnitudes (part); false, and nothing of use done, if no window covers what a sample of
 * the rows shows, or all strips have failed. */
typedef bool wf_sum_panel_function(struct wf_panel_sums *sums, const struct wf_panel *panel, enum wf_part part);

/* Their results, of at most WF_COLUMNS_MAX columns from the first on, of which none has failed: as
 * wf_results_function and wf_totals_function have it, but that no 0 is -0.  False: results need more than an f64.
 * has_zero: whether any is 0. */
typedef bool wf_panel_results_function(const struct wf_panel_sums *sums, size_t first, size_t columns, void *results,
                                       bool *has_zero);
typedef bool wf_panel_totals_function(const struct wf_panel_sums *sums, size_t first, size_t columns,
                                      struct wf_column_totals *totals);

/* What is made of the sums of a column's elements: that of values, magnitudes or products, values perhaps divided, or, with
 * WF_PART_SQUARES, (count * squares - sum^2) / divisor, or the root of that; without WF_PART_SUM the root of squares. */
struct wf_quotient {
    unsigned parts;
    double count, divisor; /* natural numbers */
    bool is_divided;
    bool is_power;         /* the divisor is a power of two */
    bool is_root;
    bool gives_nan;        /* where an element is NaN */
    bool omits_nan;        /* leaves out elements that are NaN; with neither they are errors */
    const double *counts, *divisors; /* of each column of a tile, where they differ; else NULL */
    double ddof;           /* variances need more elements than that; so do means, of which it is 0 */
    bool has_fill;         /* the result of those that have no more, by its bits: */
    uint64_t fill;
};

#define WF_FEW_ROWS_MAX 63
#define WF_INTEGER_ROWS_MAX (1 << 18)

/* Finds that of at most WF_FEW_ROWS_MAX rows, or WF_INTEGER_ROWS_MAX of integers, of WF_COLUMNS_STEP columns or of
 * WF_STRIP_COLUMNS and more, of which the last are not used.  Results have the op's type.  has_failed: of each strip,
 * whether some element or result needs more, so that nothing of use has been written. */
typedef void wf_few_rows_function(const struct wf_panel *rows, size_t used, const struct wf_quotient *asked, void *results,
                                  bool *has_failed);

/* What is asked for of each of a panel's columns, as wf_few_rows_function has it, whatever the range of
 * the floats: of so many rows that what they lose adds up to a bound that is small.  has_failed: of each, whether it needs
 * more. */
#define WF_BOUNDED_ROWS_MAX (1 << 16)

typedef void wf_column_bounds_function(const struct wf_panel *panel, size_t used, const struct wf_quotient *asked,
                                       void *results, bool *has_failed);

/* What is asked for, except for products, of each of at most WF_COLUMNS_MAX rows of floats; has_failed: of each, whether its
 * result needs more.  Where the number of rows is no multiple of 8, more results are written. */
typedef void wf_row_quotients_function(const struct wf_rows *rows, const struct wf_quotient *asked, void *results,
                                       bool *has_failed);

#define WF_ROWS_APART_MAX 4 /* elements, of 4 or 8 bytes; of others, and of segments, 1 */
/* Finds the sums of values or magnitudes, or the means, of at most WF_COLUMNS_MAX rows of floats whose elements are `apart`
 * elements apart.  False, and nothing of use written, if not all are known to be exact; if rows are no multiple of 8, more
 * results are written. */
typedef bool wf_exact_rows_function(const struct wf_rows *rows, int64_t apart, const struct wf_quotient *asked, void *results);

/* Grids onto which elements are split, so that what each level takes is an integer, in units of 2^exponent; a level
 * is 2^distance of the next one's units apart. */
#define WF_GRID_LEVELS_MAX 4

struct wf_grid {
    int levels, distance;
    int32_t exponent[WF_GRID_LEVELS_MAX]; /* the largest first */
    double unit[WF_GRID_LEVELS_MAX];
    double anchor[WF_GRID_LEVELS_MAX]; /* 1.5 * 2^52 units */
    double limit;                         /* elements up to this magnitude fit */
};

/* Elements as integers, to be added, or compared, in tables by key. */
#define WF_UNITS_MAX 256
#define WF_UNITS_WORDS_MAX (2 * WF_GRID_LEVELS_MAX)

struct wf_units {
    _Alignas(64) int64_t word[WF_UNITS_WORDS_MAX][WF_UNITS_MAX];
    int64_t lost[WF_UNITS_MAX]; /* all ones where an element does not fit: its words are 0, or INT64_MAX for a key */
    bool any_lost, any_minus_zero;
};

/* What zeros of either sign make of a sum. */
enum wf_mark { WF_MARK_MINUS_ZERO = 1, WF_MARK_OTHER = 2 };

/* Splits at most WF_UNITS_MAX elements.  parts: WF_PART_SUM, ABS, SQUARES, or SUM and SQUARES: grid[0] has levels for the
 * former, grid[1] for squares, and words come in this order.  WF_PART_MIN, MAX: word 0 is a signed key, the least for
 * the extreme.  None, of floats: word 0 is an enum wf_mark, 0 for a NaN. */
typedef void wf_split_function(struct wf_units *units, const struct wf_grid grid[2], unsigned parts, const void *x,
                               size_t count);

/* A table by key: copies of its slots, which neighbouring elements go to by turns. */
struct wf_slots {
    int64_t *word;             /* [copies][slots][words] */
    int64_t last;              /* slot that a key may have */
    size_t words;              /* of a slot: of each level, and perhaps one that counts elements */
    size_t copies, copy_words; /* how many there are, and how many words each has */
    bool joins_equal;          /* where the keys of a vector are equal, its elements are added up first */
};

#define WF_KEYS_AHEAD 32

static inline bool wf_has_bad_key(const int64_t *key, size_t count, int64_t last) {
    int64_t any = 0; /* the sign of a key below 0, or of what is left of the last one above it */
    for (size_t i = 0; i < count; i++) any |= key[i] | (int64_t)((uint64_t)last - (uint64_t)key[i]);
    return any < 0;
}

enum wf_seen { WF_SEEN_LOST = 1, WF_SEEN_MINUS_ZERO = 2, WF_SEEN_BAD_KEY = 4 };

/* Splits elements, or their magnitudes, onto a grid, and adds them to the slots of their keys: what
 * wf_split_function and adding its words does, but faster.  Returns enum wf_seen of all; of those that are lost only the
 * count has been added.  BAD_KEY: some key is not 0 to last; nothing has been added. */
typedef unsigned wf_slots_function(const struct wf_slots *slots, const struct wf_grid *grid, bool magnitudes, const void *x,
                                   const int64_t *key, size_t count);

/* The name of a tier's function for a type: wf_add_block_F32_avx2.  Either may be a macro, such as
 * -DTYPE=F32. */
#define WF_LOOPS_NAME_(verb, TYPE, tier) wf_##verb##_##TYPE##_##tier
#define WF_LOOPS_NAME(verb, TYPE, tier) WF_LOOPS_NAME_(verb, TYPE, tier)

#endif
