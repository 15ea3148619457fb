#include "cpu/columns.h"
#include "core/accumulator.h"
#include "cpu/guessed.h"

#include <stdlib.h>

/* Of two vectors of four, by turns: the first two of each, and the last two. */
#ifdef __clang__
#define INTERLEAVE_LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define INTERLEAVE_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define FIRSTS(a, b) __builtin_shufflevector(a, b, 0, 2) /* of two vectors of two */
#define SECONDS(a, b) __builtin_shufflevector(a, b, 1, 3)
#else
#define INTERLEAVE_LOW(a, b) __builtin_shuffle(a, b, (v4u32){0, 4, 1, 5})
#define INTERLEAVE_HIGH(a, b) __builtin_shuffle(a, b, (v4u32){2, 6, 3, 7})
#define FIRSTS(a, b) __builtin_shuffle(a, b, (v2u64){0, 2})
#define SECONDS(a, b) __builtin_shuffle(a, b, (v2u64){1, 3})
#endif

#define TILE_NBYTES ((WF_WHOLE_TILE_ROWS_MAX + 1) * WF_COLUMNS_STEP * sizeof(uint64_t)) /* a row more: wf_columns_minmax */
_Static_assert(TILE_NBYTES >= WF_TILE_ROWS_MAX * WF_COLUMNS_MAX * sizeof(uint64_t), "tiles of parts of groups fit, too");

struct wf_columns {
    _Alignas(64) unsigned char tile[2][TILE_NBYTES];
    unsigned char copy[2][WF_TILE_ROWS_MAX * sizeof(uint64_t)]; /* of a column */
    unsigned char cleaned[2][WF_TILE_ROWS_MAX * sizeof(uint64_t)], scaled[2][WF_TILE_ROWS_MAX * sizeof(uint64_t)];
    const unsigned char *address[WF_TILE_ROWS_MAX * WF_COLUMNS_MAX]; /* of the first column's elements */
    struct wf_tile whole; /* that has all elements of its groups */
    bool has_lost_nans;
    int64_t row_offset[WF_COLUMNS_MAX + 1]; /* of segments that have been copied to the tiles' places */
    struct wf_scratch scratch; /* for columns that must be added one by one */
    struct guessed guessed;    /* from whose elements, in scratch */
    struct wf_open_partial open[WF_COLUMNS_MAX];
    struct wf_accumulator accumulator[WF_COLUMNS_MAX];
    struct wf_panel_sums panel;
};

struct wf_columns *wf_columns_create(void) {
    struct wf_columns *columns = NULL;
    if (posix_memalign((void **)&columns, 64, sizeof *columns)) return NULL;
    columns->scratch = (struct wf_scratch){.copy = {columns->cleaned[0], columns->cleaned[1]},
                                           .copy_nbytes = sizeof columns->cleaned[0],
                                           .scaled = {columns->scaled[0], columns->scaled[1]},
                                           .scaled_nbytes = sizeof columns->scaled[0]};
    columns->guessed.type = WF_TYPE_DEFAULT;
    return columns;
}

void wf_columns_destroy(struct wf_columns *columns) {
    free(columns);
}

struct wf_accumulator *wf_columns_accumulators(struct wf_columns *columns) {
    return columns->accumulator;
}

struct wf_panel_sums *wf_columns_panel(struct wf_columns *columns) {
    return &columns->panel;
}

_Static_assert(TILE_NBYTES >= WF_PANEL_ROWS * (WF_PANEL_COLUMNS_MAX * sizeof(uint64_t) + WF_PANEL_GAP), "see struct wf_apart");

unsigned char *wf_columns_rows(struct wf_columns *columns) {
    return columns->tile[0];
}

/* ---- filling a tile ---- */

/* How tiles are cut: in each row that many elements of each group lie side by side, those of the first element first.
 * More than one only where indices do not matter, so that few groups fill a row. */
struct cut {
    size_t groups, side_by_side, pitch;
};

static int64_t rows_max(unsigned parts) {
    return parts & (WF_PART_SQUARES | WF_PART_DOT) ? WF_TILE_ROWS_OF_PRODUCTS_MAX : WF_TILE_ROWS_MAX;
}

static struct cut cut_of(size_t groups, bool is_indexed, int64_t count) {
    size_t side_by_side = is_indexed ? 1 : WF_COLUMNS_MAX / groups;
    if ((int64_t)side_by_side > count) side_by_side = (size_t)count;
    size_t columns = groups * side_by_side;
    return (struct cut){groups, side_by_side, (columns + WF_COLUMNS_STEP - 1) / WF_COLUMNS_STEP * WF_COLUMNS_STEP};
}

static inline size_t cell_of(struct cut cut, size_t element) {
    return element / cut.side_by_side * cut.pitch + element % cut.side_by_side * cut.groups;
}

/* Elements of one row of the tile, or of one column if each row has one element of a group.  nbytes is a constant where
 * this is called, so that an element is copied by one instruction. */
static inline __attribute__((always_inline)) void copy_elements(unsigned char *tile, const unsigned char *const *address,
                                                                int64_t stride_bytes, size_t groups, size_t step,
                                                                size_t count, size_t nbytes) {
    for (size_t c = 0; c < groups; c++)
        for (size_t e = 0; e < count; e++)
            memcpy(tile + (e * step + c) * nbytes, address[e] + (int64_t)c * stride_bytes, nbytes);
}

static void copy_any(unsigned char *tile, const unsigned char *const *address, int64_t stride_bytes, size_t groups,
                     size_t step, size_t count, size_t nbytes) {
    switch (nbytes) {
    case 1: copy_elements(tile, address, stride_bytes, groups, step, count, 1); break;
    case 2: copy_elements(tile, address, stride_bytes, groups, step, count, 2); break;
    case 4: copy_elements(tile, address, stride_bytes, groups, step, count, 4); break;
    default: copy_elements(tile, address, stride_bytes, groups, step, count, 8);
    }
}

/* Whether elements of a group lie side by side, so that a tile's rows are a matrix's columns. */
static bool is_transposed(const struct wf_view *view, int o) {
    return view->ndim == 1 && !view->positions.index && view->stride_bytes[o][0] == (int64_t)view->nbytes;
}

typedef uint32_t v4u32 __attribute__((vector_size(16)));
typedef uint64_t v2u64 __attribute__((vector_size(16)));

/* Four elements of each of four groups, from rows of memory to rows of the tile. */
static inline void transpose_square(unsigned char *tile, size_t pitch_nbytes, const unsigned char *from,
                                    int64_t stride_bytes) {
    v4u32 row[4];
    for (int c = 0; c < 4; c++) memcpy(&row[c], from + c * stride_bytes, sizeof row[c]);
    v4u32 a = INTERLEAVE_LOW(row[0], row[2]), b = INTERLEAVE_HIGH(row[0], row[2]);
    v4u32 c = INTERLEAVE_LOW(row[1], row[3]), d = INTERLEAVE_HIGH(row[1], row[3]);
    const v4u32 turned[4] = {INTERLEAVE_LOW(a, c), INTERLEAVE_HIGH(a, c), INTERLEAVE_LOW(b, d), INTERLEAVE_HIGH(b, d)};
    for (int e = 0; e < 4; e++) memcpy(tile + (size_t)e * pitch_nbytes, &turned[e], sizeof turned[e]);
}

/* Two elements of 8 bytes of each of eight groups: the rows of the tile take whole lines, which they would otherwise lose
 * to each other in the cache, where they are a power of two apart. */
static inline void transpose_strip(unsigned char *tile, size_t pitch_nbytes, const unsigned char *from,
                                   int64_t stride_bytes) {
    for (int c = 0; c < 8; c += 2) {
        v2u64 row[2];
        for (int i = 0; i < 2; i++) memcpy(&row[i], from + (c + i) * stride_bytes, sizeof row[i]);
        v2u64 firsts = FIRSTS(row[0], row[1]), seconds = SECONDS(row[0], row[1]);
        memcpy(tile + c * 8, &firsts, sizeof firsts);
        memcpy(tile + pitch_nbytes + c * 8, &seconds, sizeof seconds);
    }
}

/* Elements of 4 or 8 bytes, those first that vectors take; the others one by one.  nbytes is a constant where this is
 * called. */
static inline __attribute__((always_inline)) void transpose(unsigned char *tile, const unsigned char *const *address,
                                                            int64_t stride_bytes, struct cut cut, size_t count,
                                                            size_t nbytes) {
    const size_t across = nbytes == 4 ? 4 : 8, along = nbytes == 4 ? 4 : 2, pitch_nbytes = cut.pitch * nbytes;
    const size_t groups = cut.groups / across * across, elements = count / along * along;
    const unsigned char *first = address[0];
    for (size_t c = 0; c < groups; c += across)
        for (size_t e = 0; e < elements; e += along)
            (nbytes == 4 ? transpose_square : transpose_strip)(tile + e * pitch_nbytes + c * nbytes, pitch_nbytes,
                                                               first + (int64_t)c * stride_bytes + e * nbytes,
                                                               stride_bytes);
    copy_elements(tile + elements * pitch_nbytes, address + elements, stride_bytes, groups, cut.pitch, count - elements,
                  nbytes);
    for (size_t c = groups; c < cut.groups; c++)
        for (size_t e = 0; e < count; e++)
            memcpy(tile + e * pitch_nbytes + c * nbytes, address[e] + (int64_t)c * stride_bytes, nbytes);
}

/* Whether the elements of a tile's row lie as they do in memory. */
static bool rows_are_packed(const struct wf_view *view, int o, int64_t stride_bytes, struct cut cut) {
    int64_t nbytes = (int64_t)view->nbytes;
    return stride_bytes == nbytes && view->ndim == 1 && !view->positions.index &&
           (cut.side_by_side == 1 || view->stride_bytes[o][0] == (int64_t)cut.groups * nbytes);
}

static void copy_rows(unsigned char *tile, const struct wf_view *view, int o, struct cut cut, int64_t first,
                      size_t count) {
    size_t rows = count / cut.side_by_side, row_nbytes = cut.groups * cut.side_by_side * view->nbytes;
    const unsigned char *from = view->data[o] + first * view->stride_bytes[o][0];
    int64_t row_stride = (int64_t)cut.side_by_side * view->stride_bytes[o][0];
    bool is_last = first + 2 * (int64_t)count > view->count;
    for (size_t r = 0; r < rows; r++) {
        const unsigned char *row = from + (int64_t)r * row_stride;
        memcpy(tile + r * cut.pitch * view->nbytes, row, row_nbytes);
        /* The same row of the next tile: it is too far away for the processor to expect it. */
        for (size_t i = 0; !is_last && i < row_nbytes; i += 64)
            __builtin_prefetch(row + (int64_t)rows * row_stride + i);
    }
}

/* Whether neighbouring groups are so near to each other, and so many, that a row is best copied as a whole. */
static bool rows_are_near(int64_t stride_bytes, size_t groups, size_t nbytes) {
    enum { APART_MAX = 8, GROUPS_MIN = 16 };
    const int64_t most = APART_MAX * (int64_t)nbytes;
    return groups >= GROUPS_MIN && -most <= stride_bytes && stride_bytes <= most;
}

static void fill_tile(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view, int o, int64_t stride_bytes,
                      struct cut cut, int64_t first, size_t count) {
    unsigned char *tile = columns->tile[o];
    size_t rows = count / cut.side_by_side;
    if (cut.groups * cut.side_by_side != cut.pitch) memset(tile, 0, rows * cut.pitch * view->nbytes);
    if (rows_are_packed(view, o, stride_bytes, cut)) {
        copy_rows(tile, view, o, cut, first, count);
        return;
    }
    wf_view_addresses(view, o, first, count, columns->address);
    if (stride_bytes == (int64_t)view->nbytes && cut.groups > 4) {
        for (size_t e = 0; e < count; e++)
            memcpy(tile + cell_of(cut, e) * view->nbytes, columns->address[e], cut.groups * view->nbytes);
        return;
    }
    size_t side_by_side = cut.side_by_side;
    if (side_by_side == 1 && view->nbytes == 4 && is_transposed(view, o))
        transpose(tile, columns->address, stride_bytes, cut, count, 4);
    else if (side_by_side == 1 && view->nbytes == 8 && is_transposed(view, o))
        transpose(tile, columns->address, stride_bytes, cut, count, 8);
    else if (side_by_side == 1 && rows_are_near(stride_bytes, cut.groups, view->nbytes))
        for (size_t e = 0; e < count; e++)
            tier->copy_strided(tile + e * cut.pitch * view->nbytes, columns->address[e], stride_bytes, cut.groups, view->nbytes);
    else if (side_by_side == 1)
        copy_any(tile, columns->address, stride_bytes, cut.groups, cut.pitch, count, view->nbytes);
    for (size_t r = 0; side_by_side > 1 && r < rows; r++)
        copy_any(tile + r * cut.pitch * view->nbytes, columns->address + r * side_by_side, stride_bytes, cut.groups,
                 cut.groups, side_by_side, view->nbytes);
}

/* ---- adding a tile ---- */

static const unsigned char *copy_column(struct wf_columns *columns, const struct wf_tile *tile, int o, size_t column,
                                        size_t nbytes) {
    const unsigned char *from = columns->tile[o] + column * nbytes;
    for (size_t r = 0; r < tile->rows; r++)
        memcpy(columns->copy[o] + r * nbytes, from + r * tile->pitch * nbytes, nbytes);
    return columns->copy[o];
}

/* Adds all columns at once, without what is infinite or NaN if they cannot be added with it. */
static bool try_tile(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_tile *tile, wf_type type) {
    if (tier->add_columns[type](columns->open, tile)) return true;
    unsigned char *y = tile->y ? columns->tile[1] : NULL;
    return tier->clean_columns[type] && tier->clean_columns[type](columns->open, tile, columns->tile[0], y) &&
           tier->add_columns[type](columns->open, tile);
}

static void add_tile(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_tile *tile, wf_type type) {
    size_t nbytes = wf_type_nbytes(type);
    if (try_tile(columns, tier, tile, type)) return;
    for (size_t c = 0; c < tile->columns; c++) {
        const unsigned char *x = copy_column(columns, tile, 0, c, nbytes), *y = NULL;
        if (tile->y) y = copy_column(columns, tile, 1, c, nbytes);
        tier->add_block[type](&columns->open[c], &columns->scratch, x, y, tile->rows, tile->index);
    }
}

/* A tile adds fewer pieces to a digit than a block: see cpu.c. */
static void count_tiles(struct wf_columns *columns, size_t count, size_t tiles) {
    enum { TILES_MAX = 1 << 16 };
    if (tiles % TILES_MAX) return;
    for (size_t c = 0; c < count; c++) {
        struct wf_accumulator *acc = &columns->accumulator[c];
        wf_partial_normalise(&acc->partial, acc->type, acc->parts);
    }
}

/* Adds elements from begin on to before end in rows that are cut so, as many as fill a row; returns where they end. */
static int64_t add_cut(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view,
                       const int64_t stride_bytes[2], struct cut cut, int64_t begin, int64_t end) {
    const struct wf_accumulator *acc = columns->accumulator;
    size_t used = cut.groups * cut.side_by_side, tiles = 0;
    int64_t side_by_side = (int64_t)cut.side_by_side, most = rows_max(acc->parts);
    while (end - begin >= side_by_side) {
        int64_t rows = (end - begin) / side_by_side;
        size_t count = (size_t)(rows < most ? rows : most) * cut.side_by_side;
        for (int o = 0; o < view->operands; o++) fill_tile(columns, tier, view, o, stride_bytes[o], cut, begin, count);
        struct wf_tile tile = {columns->tile[0], view->operands > 1 ? columns->tile[1] : NULL,
                               count / cut.side_by_side, used, cut.pitch, acc->end_index + begin};
        count_tiles(columns, used, ++tiles);
        add_tile(columns, tier, &tile, acc->type);
        begin += (int64_t)count;
    }
    return begin;
}

void wf_columns_add(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view,
                    const int64_t stride_bytes[2], size_t count, int64_t begin, int64_t end) {
    struct wf_accumulator *acc = columns->accumulator;
    if (begin >= end) return;
    if (!are_guesses_for(&columns->guessed, acc)) columns->scratch.guess = (struct wf_guess){0};
    struct cut cut = cut_of(count, wf_accumulator_is_indexed(acc), end - begin);
    for (size_t c = 0; c < cut.groups * cut.side_by_side; c++) columns->open[c] = wf_accumulator_open(&acc[c]);
    begin = add_cut(columns, tier, view, stride_bytes, cut, begin, end);
    for (size_t c = count; c < cut.groups * cut.side_by_side; c++) wf_accumulator_join(&acc[c % count], &acc[c]);
    if (begin < end) add_cut(columns, tier, view, stride_bytes, cut_of(count, true, end - begin), begin, end);
}

/* ---- a tile that has all elements of its groups ---- */

bool wf_columns_fit(int64_t count, int64_t groups, size_t nbytes, unsigned parts) {
    int64_t pitch = (groups + WF_COLUMNS_STEP - 1) / WF_COLUMNS_STEP * WF_COLUMNS_STEP;
    if (count <= rows_max(parts)) return true;
    return rows_max(parts) == WF_TILE_ROWS_MAX && nbytes > 2 && count <= WF_WHOLE_TILE_ROWS_MAX &&
           count * pitch * (int64_t)nbytes <= (int64_t)TILE_NBYTES;
}

static void set_whole(struct wf_columns *columns, int operands, size_t rows, size_t count, size_t pitch, int64_t index) {
    const unsigned char *y = operands > 1 ? columns->tile[1] : NULL;
    columns->whole = (struct wf_tile){columns->tile[0], y, rows, count, pitch, index};
    columns->has_lost_nans = false;
}

bool wf_columns_fill(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view,
                     const int64_t stride_bytes[2], size_t count, int64_t index, unsigned parts) {
    struct cut cut = cut_of(count, true, view->count);
    if (!wf_columns_fit(view->count, (int64_t)count, view->nbytes, parts)) return false;
    size_t rows = (size_t)view->count;
    for (int o = 0; o < view->operands; o++) fill_tile(columns, tier, view, o, stride_bytes[o], cut, 0, rows);
    set_whole(columns, view->operands, rows, count, cut.pitch, index);
    return true;
}

/* What fills up a column of an operand: -0 where values of floats are added, for which 0 + -0 is 0, but -0 + -0 is -0, or
 * makes products of pairs -0; 1 where floats are multiplied. */
static uint64_t filling(wf_type type, unsigned parts, int o) {
    if (parts & WF_PART_PRODUCT) return (uint64_t)wf_type_bias(type) << (wf_type_table[type].precision - 1);
    bool is_signed = (parts & WF_PART_SUM || (parts & WF_PART_DOT && o)) && wf_type_is_float(type);
    return is_signed ? UINT64_C(1) << (8 * wf_type_nbytes(type) - 1) : 0;
}

/* The same as wf_fill_segments_function of elements that do not lie side by side, one by one. */
static void fill_each_segment(unsigned char *tile, size_t pitch, size_t rows, const struct wf_view *view, int o,
                              const int64_t *offset, size_t count, const uint64_t *bits) {
    const uint64_t zero = 0;
    const int64_t stride_bytes = view->stride_bytes[o][0];
    const size_t nbytes = view->nbytes;
    memset(tile, 0, rows * pitch * nbytes);
    for (size_t c = 0; c < count; c++) {
        const unsigned char *from = view->data[o] + offset[c] * stride_bytes;
        const size_t used = (size_t)(offset[c + 1] - offset[c]);
        const void *filling = !used ? (const void *)&zero : bits ? (const void *)bits : from;
        for (size_t r = 0; r < rows; r++)
            memcpy(tile + (r * pitch + c) * nbytes, r < used ? from + (int64_t)r * stride_bytes : filling, nbytes);
    }
}

bool wf_columns_fill_segments(struct wf_columns *columns, const struct wf_tier *tier, const struct wf_view *view, wf_type type,
                              const int64_t *offset, size_t count, unsigned parts) {
    int64_t longest = 1;
    for (size_t c = 0; c < count; c++)
        if (offset[c + 1] - offset[c] > longest) longest = offset[c + 1] - offset[c];
    if (longest > rows_max(parts)) return false;
    size_t rows = (size_t)longest, pitch = (count + WF_COLUMNS_STEP - 1) / WF_COLUMNS_STEP * WF_COLUMNS_STEP;
    for (int o = 0; o < view->operands; o++) {
        const uint64_t filled = filling(type, parts, o), *bits = parts & (WF_PART_MIN | WF_PART_MAX) ? NULL : &filled;
        if (view->stride_bytes[o][0] == (int64_t)view->nbytes)
            tier->fill_segments[type](columns->tile[o], pitch, rows, view->data[o], offset, count, bits);
        else
            fill_each_segment(columns->tile[o], pitch, rows, view, o, offset, count, bits);
    }
    set_whole(columns, view->operands, rows, count, pitch, 0);
    return true;
}

/* ---- NaNs ---- */

/* What stands in place of NaNs. */
static uint64_t instead_of_nans(wf_type type, unsigned parts, bool are_counted) {
    const uint64_t one = (uint64_t)wf_type_bias(type) << (wf_type_table[type].precision - 1);
    return are_counted && parts & (WF_PART_NONZERO | WF_PART_PRODUCT) ? one : filling(type, parts, 0);
}

bool wf_columns_take_nans(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts, bool are_counted,
                          int64_t nans[WF_COLUMNS_MAX]) {
    const uint64_t instead = instead_of_nans(type, parts, are_counted);
    const bool any = tier->leave_out_nans[type](&columns->whole, columns->tile[0], instead, nans);
    columns->has_lost_nans |= any;
    return any;
}

bool wf_columns_take_nans_of_rows(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts,
                                  bool are_counted, struct wf_rows *rows, const unsigned char **y, int64_t *y_stride_bytes,
                                  int64_t nans[WF_COLUMNS_MAX]) {
    unsigned char *const copy[2] = {columns->tile[0], columns->tile[1]};
    const uint64_t instead = instead_of_nans(type, parts, are_counted);
    columns->has_lost_nans = true;
    if (!tier->copy_rows[type](copy, rows, *y, *y_stride_bytes, instead, nans)) return false;
    for (size_t r = 0; rows->offset && r <= rows->rows; r++) columns->row_offset[r] = rows->offset[r] - rows->offset[0];
    if (rows->offset) rows->offset = columns->row_offset;
    rows->x = copy[0];
    if (*y) *y = copy[1];
    rows->stride_bytes = *y_stride_bytes = rows->count * (int64_t)wf_type_nbytes(type);
    return true;
}

void wf_columns_clear(struct wf_columns *columns, size_t column, size_t nbytes) {
    const struct wf_tile *tile = &columns->whole;
    for (size_t r = 0; r < tile->rows; r++) memset(columns->tile[0] + (r * tile->pitch + column) * nbytes, 0, nbytes);
}

void wf_columns_clear_row(struct wf_columns *columns, const struct wf_rows *rows, size_t row, size_t nbytes) {
    const int64_t begin = rows->offset ? rows->offset[row] : (int64_t)row * rows->count;
    const int64_t count = rows->offset ? rows->offset[row + 1] - begin : rows->count;
    memset(columns->tile[0] + (size_t)begin * nbytes, 0, (size_t)count * nbytes);
}

bool wf_columns_are_whole(const struct wf_columns *columns) {
    return !columns->has_lost_nans;
}

/* ---- results of a tile ---- */

bool wf_columns_results(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type, enum wf_part part,
                        void *results) {
    return tier->find_results[type](&columns->whole, part, results);
}

/* Rows of fewer columns than a panel has are read with the row after them: what that gives has no meaning. */
bool wf_columns_minmax(struct wf_columns *columns, const struct wf_tier *tier, wf_type type, struct wf_extremum asked,
                       uint64_t results[WF_COLUMNS_MAX], bool are_nans[WF_COLUMNS_MAX]) {
    const struct wf_tile *tile = &columns->whole;
    const size_t pitch_nbytes = tile->pitch * wf_type_nbytes(type);
    const struct wf_panel panel = {tile->x, (int64_t)pitch_nbytes, tile->rows, WF_STRIP_COLUMNS, 0, NULL, 0, NULL};
    if (tile->pitch < WF_STRIP_COLUMNS) memset(columns->tile[0] + tile->rows * pitch_nbytes, 0, pitch_nbytes);
    const bool any = tier->find_panel_minmax[type](&panel, asked, results, are_nans);
    for (size_t c = 0; asked.of_index && c < tile->columns; c++) results[c] += (uint64_t)tile->index;
    return any && memchr(are_nans, true, tile->columns);
}

/* Into the place of the other operand's tile, which there is not. */
struct wf_rows wf_columns_turn(struct wf_columns *columns, size_t groups, size_t nbytes) {
    const struct wf_tile *tile = &columns->whole;
    for (size_t c = 0; c < groups; c++) columns->address[c] = tile->x + c * nbytes;
    copy_any(columns->tile[1], columns->address, (int64_t)(tile->pitch * nbytes), tile->rows, tile->rows, groups, nbytes);
    return (struct wf_rows){columns->tile[1], groups, (int64_t)tile->rows, (int64_t)(tile->rows * nbytes), NULL};
}

bool wf_columns_totals(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type, unsigned parts,
                       struct wf_column_totals *totals) {
    return tier->find_totals[type](&columns->whole, parts, totals);
}

bool wf_columns_find_few(const struct wf_columns *columns, const struct wf_tier *tier, wf_type type,
                         const struct wf_quotient *asked, void *results) {
    const struct wf_tile *tile = &columns->whole;
    int64_t stride_bytes = (int64_t)(tile->pitch * wf_type_nbytes(type));
    struct wf_panel rows = {tile->x, stride_bytes, tile->rows, tile->pitch, 0, tile->y, tile->y ? stride_bytes : 0, NULL};
    bool has_failed[WF_COLUMNS_MAX] = {false}, any = false;
    const unsigned bounded = WF_PART_DOT | WF_PART_SQUARES | WF_PART_PRODUCT;
    const bool is_bounded = (asked->parts & ~bounded) == 0;
    if (is_bounded && tier->bound_columns[type])
        tier->bound_columns[type](&rows, tile->columns, asked, results, has_failed);
    else
        tier->find_few_rows[type](&rows, tile->columns, asked, results, has_failed);
    for (size_t c = 0; c < tile->columns; c++) any |= has_failed[c];
    return !any;
}
