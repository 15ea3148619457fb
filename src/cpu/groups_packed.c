/* Reductions by groups: neighbours that do not lie side by side, as columns of a strided view, or that are few, as those
 * along a middle axis, are packed: a tile's elements are copied to rows of many groups, which are then reduced as those of
 * any array are.  So are a group's own elements that lie apart, to one row a group. */
#include "cpu/groups_job.h"

enum {
    USUAL_NBYTES = 1 << 18, /* of a tile, which should stay in the second-level cache */
    MOST_NBYTES = 1 << 20,
    ENOUGH = 256, /* columns, for which a tile may be larger */
    ROWS_AT_ONCE = 128,
    APART_MAX = 8, /* elements from one neighbour to the next, where they are near */
};

/* ---- the plan ---- */

/* A dimension of the results that continues where the last one ends, so that both count as one; -1: none. */
static int find_outer(const struct job *job) {
    const struct dimension *inner = &job->dimension[job->ndim - 1];
    for (int d = job->ndim - 2; d >= 0; d--) {
        const struct dimension *outer = &job->dimension[d];
        if (outer->length > 1 && outer->result_stride_bytes == inner->length * inner->result_stride_bytes &&
            outer->number_stride == inner->length * inner->number_stride)
            return d;
    }
    return -1;
}

/* Whether groups of a few elements each are so near to each other that it takes little to copy a column of them; more are faster
 * transposed, of 8 bytes also the extrema and variances of four. */
static bool are_short_rows(const struct job *job) {
    enum { LENGTH_MAX = 7, LENGTH_MAX_OF_8_BYTES = 3 };
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const int64_t nbytes = (int64_t)job->view.nbytes, apart = last->stride_bytes[0];
    const bool is_sum = !(job->grouped->empty->parts & ~(unsigned)(WF_PART_SUM | WF_PART_ABS));
    if (job->view.count > (nbytes == 8 ? LENGTH_MAX_OF_8_BYTES + is_sum : LENGTH_MAX)) return false;
    if (last->length < WF_STRIP_COLUMNS || apart <= 0 || apart > APART_MAX * nbytes) return false;
    return job->view.operands == 1 || last->stride_bytes[1] == apart;
}

/* Whether neighbours that lie side by side would be faster.  Where a group's own elements do, and are not few, tiles are
 * transposed. */
static bool is_worth_packing(const struct job *job) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const int64_t nbytes = (int64_t)job->view.nbytes;
    bool is_strided = last->stride_bytes[0] != nbytes || (job->view.operands > 1 && last->stride_bytes[1] != nbytes);
    bool is_transposed = job->view.ndim == 1 && job->view.stride_bytes[0][0] == nbytes;
    if (!job->uses_columns || job->counts_groups >= 0 || (is_transposed && !are_short_rows(job))) return false;
    return is_strided || last->length < WF_STRIP_COLUMNS;
}

/* How many results a tile should have; 0: there are too few, or their elements too many.  Of rows that are far apart short
 * pieces cost more than a tile that is large for the cache. */
static int64_t packed_results(const struct job *job, int64_t results, int threads) {
    int64_t row_nbytes = (int64_t)job->view.nbytes * job->view.operands, rows = job->view.count;
    int64_t columns = WF_PANEL_COLUMNS_MAX;
    if (rows < 2 || results < WF_STRIP_COLUMNS || rows > MOST_NBYTES / WF_STRIP_COLUMNS / row_nbytes) return 0;
    while (columns > WF_STRIP_COLUMNS &&
           (columns * rows * row_nbytes > (columns > ENOUGH ? USUAL_NBYTES : MOST_NBYTES) || columns * threads > results))
        columns /= 2;
    return columns;
}

/* A packed tile as a job of its own: groups that are stride_bytes apart, whose elements are element_stride_bytes apart. */
static void plan_packed(struct job *packed, const struct job *job, int64_t groups, int64_t stride_bytes,
                        int64_t element_stride_bytes) {
    *packed = *job;
    packed->packed = NULL;
    packed->apart = 0;
    packed->ndim = 1;
    packed->dimension[0] = (struct dimension){groups, {stride_bytes, stride_bytes}, job->inner.result_stride_bytes,
                                              job->inner.number_stride};
    packed->view.ndim = 1;
    packed->view.shape[0] = job->view.count;
    packed->view.stride_bytes[0][0] = packed->view.stride_bytes[1][0] = element_stride_bytes;
    packed->data_offset[0] = packed->data_offset[1] = 0;
    packed->uses_columns = packed->must_be_whole = false;
    packed->panel = NO_PANEL;
    wf_job_divide(packed, 1);
}

/* The results of all dimensions but those that a tile goes along. */
static int64_t results_of_others(const struct job *job) {
    return job->grouped->layout->count / (job->dimension[job->ndim - 1].length * job->inner.length);
}

/* That many results along the last dimension a tile, each of them as many as job->inner has. */
static void set_tiles(struct job *job, struct job *packed, int64_t tile) {
    job->tile = tile;
    job->tile_count = results_of_others(job) * ((job->dimension[job->ndim - 1].length + tile - 1) / tile);
    job->tiles_at_once = 1;
    job->packed = packed;
}

/* How many elements apart those of a group are, if rows of them are tried where they lie before they are copied; else 0. */
static int64_t apart_in_place(const struct job *job) {
    const int64_t nbytes = (int64_t)job->view.nbytes, stride = job->view.stride_bytes[0][0];
    const unsigned parts = job->bounded.parts;
    if (!job->cpu->tier->tells_exact || !parts || parts & WF_PART_SQUARES || nbytes < 4 || stride % nbytes) return 0;
    return stride <= WF_ROWS_APART_MAX * nbytes ? stride / nbytes : 0;
}

/* Groups whose elements lie apart, but nearer than their neighbours': as rows, where lanes go along those; else false. */
static bool choose_packed_rows(struct job *job, struct job *packed, int threads) {
    enum { ROWS_NBYTES = 1 << 15, LEAST_COUNT = 8, LEAST_IN_PLACE = 8 /* as many as a vector has lanes, if it has so many */ };
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const int64_t nbytes = (int64_t)job->view.nbytes, count = job->view.count, row_nbytes = count * nbytes;
    const int64_t stride = job->view.stride_bytes[0][0], next = last->stride_bytes[0];
    int64_t rows = ROWS_NBYTES / (row_nbytes + 1) + 1;
    bool are_near = stride > nbytes && (next > stride || next < -stride);
    if (job->counts_groups >= 0 || job->view.ndim != 1 || job->panel != NO_PANEL || !are_near) return false;
    if (count < LEAST_COUNT || count > WF_ROW_COUNT_MAX || last->length < 2) return false;
    const int64_t apart = apart_in_place(job);
    if (apart && rows < LEAST_IN_PLACE) rows = LEAST_IN_PLACE;
    while (rows > 1 && rows * threads > last->length) rows /= 2;
    job->inner = (struct dimension){1, {0, 0}, last->result_stride_bytes, last->number_stride};
    plan_packed(packed, job, rows, row_nbytes, nbytes);
    if (packed->uses_rows) set_tiles(job, packed, rows);
    if (packed->uses_rows) job->apart = apart;
    return packed->uses_rows;
}

/* What panels serve where neighbours are apart: sums and extrema of so many elements that copies would be read in short pieces. */
static enum panel panel_apart(const struct job *job) {
    enum { LEAST_NBYTES = 512, MEANS_MIN = 512 };
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const wf_type type = job->grouped->empty->type;
    const int64_t nbytes = (int64_t)job->view.nbytes, apart = last->stride_bytes[0], count = job->view.count;
    bool of_index;
    if (job->view.ndim != 1 || job->view.operands > 1 || nbytes < 4 || apart % nbytes || !apart) return NO_PANEL;
    if (apart > APART_MAX * nbytes || apart < -APART_MAX * nbytes) return NO_PANEL;
    if (last->length < WF_STRIP_COLUMNS || count * nbytes <= LEAST_NBYTES) return NO_PANEL;
    if (wf_job_minmax_part(job, &of_index)) return PANEL_OF_MINMAX;
    if (!wf_job_summed_part(job) || !job->cpu->tier->sum_panel[type]) return NO_PANEL;
    return job->grouped->empty->op == WF_MEAN && count < MEANS_MIN ? NO_PANEL : PANEL_OF_SUMS;
}

/* Has tiles be panels whose columns are apart: as wide as threads leave them, in strips; of one strip where these are fewer. */
static void set_panel_apart(struct job *job, enum panel panel, int threads) {
    const int64_t length = job->dimension[job->ndim - 1].length, others = job->grouped->layout->count / length;
    int64_t groups = length < WF_PANEL_COLUMNS_MAX ? length : WF_PANEL_COLUMNS_MAX;
    while (groups > WF_STRIP_COLUMNS && others * ((length + groups - 1) / groups) < threads)
        groups = (groups / 2 + WF_STRIP_COLUMNS - 1) / WF_STRIP_COLUMNS * WF_STRIP_COLUMNS;
    job->panel = panel;
    job->tile = groups;
    job->tile_count = others * ((length + groups - 1) / groups);
    job->tiles_at_once = 1;
}

void wf_job_choose_packing(struct job *job, struct job *packed, int threads) {
    struct dimension *last = &job->dimension[job->ndim - 1];
    int64_t results = last->length;
    if (choose_packed_rows(job, packed, threads) || !is_worth_packing(job)) return;
    int outer = last->length < WF_STRIP_COLUMNS ? find_outer(job) : -1;
    if (outer >= 0) results *= job->dimension[outer].length;
    const int64_t columns = packed_results(job, results, threads);
    const enum panel panel = outer < 0 ? panel_apart(job) : NO_PANEL;
    if (panel != NO_PANEL && !columns) set_panel_apart(job, panel, threads);
    if (!columns) return;
    job->inner = (struct dimension){1, {0, 0}, last->result_stride_bytes, last->number_stride};
    if (outer >= 0) {
        job->inner = *last;
        *last = job->dimension[outer];
        job->dimension[outer] = (struct dimension){.length = 1};
    }
    const int64_t tile = columns / job->inner.length, nbytes = (int64_t)job->view.nbytes;
    /* No power of two, which would take few sets of the cache. */
    plan_packed(packed, job, tile * job->inner.length, nbytes, (tile * job->inner.length * nbytes + 63) / 64 * 64 + 64);
    set_tiles(job, packed, tile);
    job->panel = NO_PANEL;
    if (panel != NO_PANEL) set_panel_apart(job, panel, threads);
}

/* ---- a tile ---- */

/* Copies bytes that are mostly few. */
static inline void copy_bytes(unsigned char *restrict to, const unsigned char *restrict from, size_t nbytes) {
    size_t i = 0;
    for (; i + 16 <= nbytes; i += 16) memcpy(to + i, from + i, 16);
    for (; i + 4 <= nbytes; i += 4) memcpy(to + i, from + i, 4);
    for (; i < nbytes; i++) to[i] = from[i];
}

static void copy_elements(unsigned char *to, const struct job *job, const unsigned char *from, int64_t stride_bytes, size_t count) {
    const size_t nbytes = job->view.nbytes;
    if (stride_bytes == (int64_t)nbytes)
        copy_bytes(to, from, count * nbytes);
    else
        job->cpu->tier->copy_strided(to, from, stride_bytes, count, nbytes);
}

/* Rows whose elements are in memory at the addresses, of that many results of the last dimension. */
static void pack_rows(unsigned char *to, const struct job *job, int o, const unsigned char *const *address, size_t rows,
                      size_t results) {
    const size_t nbytes = job->view.nbytes, pitch = (size_t)job->packed->view.stride_bytes[0][0];
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const size_t width = (size_t)job->inner.length;
    if (width == 1)
        for (size_t r = 0; r < rows; r++)
            copy_elements(to + r * pitch, job, address[r], last->stride_bytes[o], results);
    for (size_t i = 0; width > 1 && i < results; i++)
        for (size_t r = 0; r < rows; r++)
            copy_elements(to + r * pitch + i * width * nbytes, job, address[r] + (int64_t)i * last->stride_bytes[o],
                          job->inner.stride_bytes[o], width);
}

/* Each group's elements side by side, one group after the other. */
static void pack_each(unsigned char *to, const struct job *job, const struct wf_view *view, int o, size_t results) {
    const size_t count = (size_t)view->count, row_nbytes = count * view->nbytes;
    const int64_t stride_bytes = job->dimension[job->ndim - 1].stride_bytes[o];
    for (size_t r = 0; r < results; r++)
        copy_elements(to + r * row_nbytes, job, view->data[o] + (int64_t)r * stride_bytes, view->stride_bytes[o][0], count);
}

static void pack(unsigned char *to, const struct job *job, const struct place *place, int o, size_t results) {
    const unsigned char *address[ROWS_AT_ONCE];
    int64_t first, pitch = job->packed->view.stride_bytes[0][0];
    struct wf_view view = wf_place_view_tile(job, place, &first);
    if (job->packed->uses_rows) {
        pack_each(to, job, &view, o, results);
        return;
    }
    for (first = 0; first < view.count; first += ROWS_AT_ONCE) {
        int64_t left = view.count - first;
        size_t rows = (size_t)(left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE);
        wf_view_addresses(&view, o, first, rows, address);
        pack_rows(to + first * pitch, job, o, address, rows, results);
    }
}

bool wf_job_pack(struct worker *worker, struct wf_pages *pages, const struct job *job, struct place *place, size_t results) {
    const struct job *packed = job->packed;
    const struct dimension *groups = &packed->dimension[0];
    const size_t nbytes = (size_t)(packed->uses_rows ? groups->length * groups->stride_bytes[0]
                                                     : job->view.count * packed->view.stride_bytes[0][0]);
    *pages = wf_pages_take(&worker->kept, nbytes * (size_t)job->view.operands);
    if (!pages->at) return false;
    for (int o = 0; o < job->view.operands; o++) {
        pack((unsigned char *)pages->at + (size_t)o * nbytes, job, place, o, results);
        place->data[o] = (unsigned char *)pages->at + (size_t)o * nbytes;
    }
    return true;
}
