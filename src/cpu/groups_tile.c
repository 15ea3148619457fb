/* Reductions by groups: what a thread does with the tiles that it takes. */
#include "cpu/groups_job.h"
#include "cpu/panels.h"

#include <string.h>

/* Writes the results of short groups; false if the general path must find them. */
static bool try_short_columns(struct worker *worker, const struct job *job, const struct place *place, size_t results,
                              int64_t count) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    struct few few = {.groups = results, .count = count, .result = place->result,
                      .result_stride_bytes = last->result_stride_bytes};
    bool of_index;
    int64_t first;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    if (!parts || count == 0) return false;
    struct wf_view view = wf_place_view_tile(job, place, &first);
    if (of_index && view.positions.index) return false;
    if (!wf_columns_fill(worker->columns, job->cpu->tier, &view, last->stride_bytes, results, first, parts)) return false;
    return wf_few_write(worker, job, &few);
}

/* How many segments of a vector, at most limit, are so short that one tile takes them from that place on, or registers. */
static size_t count_short_segments(const struct job *job, const struct place *place, int64_t limit) {
    const int64_t *offset = job->labels.offsets + place->group;
    bool products = job->grouped->empty->parts & (WF_PART_SQUARES | WF_PART_DOT);
    int64_t longest = products || job->quotient.parts ? WF_TILE_ROWS_OF_PRODUCTS_MAX : WF_TILE_ROWS_MAX;
    size_t groups = 0;
    if (limit > WF_COLUMNS_MAX) limit = WF_COLUMNS_MAX;
    while ((int64_t)groups < limit && offset[groups + 1] - offset[groups] <= longest) groups++;
    return groups;
}

/* Writes their results; false if the general path must find them. */
static bool try_short_segments(struct worker *worker, const struct job *job, const struct place *place, size_t groups) {
    const int64_t *offset = job->labels.offsets + place->group;
    struct few few = {.groups = groups, .offset = offset, .result = place->result,
                      .result_stride_bytes = job->dimension[job->counts_groups].result_stride_bytes};
    bool of_index;
    enum wf_part part;
    unsigned parts = wf_job_short_parts(job, &part, &of_index);
    struct wf_view view = job->view;
    if (!parts || groups < 2) return false;
    for (int o = 0; o < view.operands; o++)
        view.data[o] = job->labels.elements[o] ? job->labels.elements[o] : place->data[o] + job->data_offset[o];
    if (!wf_columns_fill_segments(worker->columns, job->cpu->tier, &view, job->grouped->empty->type, offset, groups, parts))
        return false;
    return wf_few_write(worker, job, &few);
}

/* Rows from that place on, and where their results go. */
struct row_results {
    struct wf_rows rows;
    struct few few;
};

static void find_rows(struct row_results *found, const struct job *job, const struct place *place, size_t groups) {
    bool is_segment = job->counts_groups >= 0;
    const struct dimension *along = &job->dimension[is_segment ? job->counts_groups : job->ndim - 1];
    const int64_t *offset = is_segment ? job->labels.offsets + place->group : NULL;
    const unsigned char *x = job->labels.elements[0] ? job->labels.elements[0] : place->data[0] + job->data_offset[0];
    found->rows = (struct wf_rows){x, groups, is_segment ? 0 : job->view.count, along->stride_bytes[0], offset};
    found->few = (struct few){.groups = groups, .count = found->rows.count, .offset = offset, .result = place->result,
                              .result_stride_bytes = along->result_stride_bytes, .rows = &found->rows};
    if (job->view.operands > 1) {
        found->few.y = job->labels.elements[1] ? job->labels.elements[1] : place->data[1] + job->data_offset[1];
        found->few.y_stride_bytes = along->stride_bytes[1];
    }
}

/* How many rows, at most limit, stay in the first-level cache; none if the first is too long. */
static int64_t count_rows(const struct job *job, const struct place *place, int64_t limit) {
    int64_t most = WF_ROWS_NBYTES / (int64_t)job->view.nbytes, groups = 0;
    if (limit > WF_COLUMNS_MAX) limit = WF_COLUMNS_MAX;
    if (job->counts_groups < 0) {
        int64_t fitting = most / job->view.count + 1;
        return fitting < limit ? fitting : limit;
    }
    const int64_t *offset = job->labels.offsets + place->group;
    while (groups < limit && offset[groups + 1] - offset[groups] <= WF_ROW_COUNT_MAX && offset[groups] - offset[0] <= most)
        groups++;
    return groups;
}

/* Writes what nothing gives to groups that have no elements; false if they have some, or are added to something. */
static bool try_nothing(struct job *job, const struct place *place, int64_t groups) {
    unsigned char nothing[sizeof(uint64_t)];
    const size_t nbytes = wf_type_nbytes(job->grouped->result_type);
    const int64_t stride_bytes = job->dimension[job->ndim - 1].result_stride_bytes;
    if (wf_place_count(job, place) || job->grouped->into) return false;
    if (!job->has_nothing) {
        wf_job_note_failure(job, place->number); /* numbers rise */
        return true;
    }
    wf_value_store(&job->nothing, nothing);
    for (int64_t i = 0; i < groups; i++) memcpy(place->result + i * stride_bytes, nothing, nbytes);
    return true;
}

static void reduce_group(struct job *job, struct worker *worker, const struct place *place) {
    if (try_nothing(job, place, 1) || wf_place_is_shared(job, place) || wf_job_try_small_sum(job, place)) return;
    if (wf_job_fold_and_write(&worker->partial, &worker->tree, job, place, NULL, worker)) wf_job_note_failure(job, place->number);
}

/* Of that many groups from that place on, those that have failed, one by one. */
static void reduce_failed(struct job *job, struct worker *worker, struct place place, const bool *has_failed, size_t groups,
                          int along) {
    for (size_t i = 0; i < groups; i++, wf_place_move(&place, job, along, 1))
        if (has_failed[i]) reduce_group(job, worker, &place);
}

/* Writes the results of rows or segments through a window, unless that has failed before and bounds may be the way. */
static bool write_rows_by_window(struct job *job, struct worker *worker, const struct few *few) {
    if (!job->bounded.parts) return wf_few_write(worker, job, few);
    if (!wf_attempt_is_due(&worker->row_windows)) return false;
    const bool is_found = wf_few_write(worker, job, few);
    wf_attempt_note(&worker->row_windows, is_found, 1);
    return is_found;
}

/* Writes the results of rows or segments: as they are exact, through a window, unless that is no way, or as bounds of their errors
 * decide.  has_failed: of each row whether it needs more; returns whether none does. */
static bool write_rows(struct job *job, struct worker *worker, const struct few *few, bool by_bounds, bool *has_failed) {
    if (wf_few_find_exact_rows(worker, job, few, 1)) return true;
    if (!by_bounds && write_rows_by_window(job, worker, few)) return true;
    memset(has_failed, true, few->groups);
    if (job->bounded.parts) wf_few_bound_rows(job, few, has_failed);
    return !memchr(has_failed, true, few->groups);
}

/* Writes the result of one of several rows by itself, through a window of its own. */
static bool try_one_row(struct worker *worker, const struct job *job, const struct few *few, size_t r) {
    struct wf_rows row = *few->rows;
    struct few one = *few;
    row.rows = one.groups = 1;
    if (row.offset) row.offset += r;
    if (one.offset) one.offset += r;
    if (!row.offset) row.x += (int64_t)r * row.stride_bytes;
    if (!row.offset && one.y) one.y += (int64_t)r * one.y_stride_bytes;
    one.rows = &row;
    one.result += (int64_t)r * one.result_stride_bytes;
    return wf_few_write(worker, job, &one);
}

/* Whether bounds find results of infinities and NaNs, too: sums of f64 may have overflowed instead. */
static bool knows_specials(const struct job *job) {
    const bool are_sums = job->bounded.parts && !(job->bounded.parts & WF_PART_SQUARES);
    return are_sums && job->bounded.gives_nan && job->grouped->empty->type != WF_F64;
}

/* Reduces rows whose results are along that dimension; where they have NaNs, without these, unless their results are known. */
static void reduce_few_rows(struct job *job, struct worker *worker, struct place place, const struct few *few, bool by_bounds,
                            int along) {
    struct few_without_nans others;
    bool has_failed[WF_COLUMNS_MAX] = {false};
    const bool may_take = !knows_specials(job);
    bool has_nans = may_take && worker->had_nans && wf_few_take_nans(&others, worker, job, few);
    bool is_found = write_rows(job, worker, has_nans ? &others.few : few, by_bounds, has_failed);
    if (!is_found && may_take && !worker->had_nans && wf_few_take_nans(&others, worker, job, few)) {
        has_nans = true;
        worker->exact_rows = worker->row_windows = (struct attempt){0, 0}; /* as NaNs are why these have failed */
        is_found = write_rows(job, worker, &others.few, by_bounds, has_failed);
    }
    if (may_take) worker->had_nans = has_nans;
    if (has_nans) {
        few = &others.few;
        wf_few_write_nans(&others, job, has_failed);
    }
    for (size_t r = 0; !is_found && !job->bounded.parts && few->groups > 1 && r < few->groups; r++)
        has_failed[r] = has_failed[r] && !try_one_row(worker, job, few, r);
    if (!is_found) reduce_failed(job, worker, place, has_failed, few->groups, along);
}

/* Reduces columns that have been copied to a tile, or are now, if there are more than windows of products have room for, as rows;
 * false if there is no bound for what is asked for, or no tile. */
static bool try_bounds(struct job *job, struct worker *worker, const struct place *place, int64_t results, int64_t count) {
    const size_t nbytes = job->view.nbytes;
    const struct dimension *last = &job->dimension[job->ndim - 1];
    const unsigned parts = job->bounded.parts;
    int64_t first;
    if (!parts || !count || !wf_columns_fit(count, results, nbytes, WF_PART_SUM)) return false;
    if (!wf_columns_fit(count, results, nbytes, parts) || !wf_columns_are_whole(worker->columns)) {
        const struct wf_view view = wf_place_view_tile(job, place, &first);
        const struct wf_tier *tier = job->cpu->tier;
        if (!wf_columns_fill(worker->columns, tier, &view, last->stride_bytes, (size_t)results, first, WF_PART_SUM)) return false;
    }
    const struct wf_rows rows = wf_columns_turn(worker->columns, (size_t)results, nbytes);
    const struct few few = {.groups = rows.rows, .count = rows.count, .result = place->result, .rows = &rows,
                            .result_stride_bytes = last->result_stride_bytes};
    reduce_few_rows(job, worker, *place, &few, true, job->ndim - 1);
    return true;
}

/* Reduces a tile's groups side by side; false if they are better reduced one by one. */
static bool reduce_columns(struct job *job, struct worker *worker, struct place *place, int64_t results) {
    int64_t count = wf_place_count(job, place);
    if (try_nothing(job, place, results)) return true;
    if (try_short_columns(worker, job, place, (size_t)results, count)) return true;
    if (try_bounds(job, worker, place, results, count)) return true;
    if (job->must_be_whole) return false;
    wf_job_fold_columns(worker, job, place, (size_t)results, 0, count);
    wf_job_write_columns(job, wf_columns_accumulators(worker->columns), place, results, count);
    return true;
}

/* Neighbouring groups side by side, as many at a time as have been chosen, or one by one. */
static void reduce_neighbours(struct job *job, struct worker *worker, struct place place, int64_t count) {
    for (int64_t taken; count; count -= taken, wf_place_move(&place, job, job->ndim - 1, taken)) {
        struct place next = place;
        taken = count < job->columns ? count : job->columns;
        if (job->uses_columns && reduce_columns(job, worker, &next, taken)) continue;
        for (int64_t i = 0; i < taken; i++, wf_place_move(&next, job, job->ndim - 1, 1)) reduce_group(job, worker, &next);
    }
}

/* Whether the columns of the job's panels do not lie side by side, and how they lie. */
static bool is_apart(const struct job *job) {
    return job->dimension[job->ndim - 1].stride_bytes[0] != (int64_t)job->view.nbytes;
}

static struct wf_apart how_apart(const struct job *job, const struct worker *worker) {
    const struct dimension *last = &job->dimension[job->ndim - 1];
    return (struct wf_apart){last->stride_bytes[0], wf_columns_rows(worker->columns), job->cpu->tier->copy_strided};
}

/* Finds the results of that many groups that a view shows, in `found`, or adds them up; false if all strips have failed. */
static bool find_panel(const struct job *job, struct wf_panel_sums *sums, void *found, const struct wf_view *view, size_t groups,
                       const struct wf_apart *apart) {
    const struct wf_tier *tier = job->cpu->tier;
    wf_type type = job->grouped->empty->type;
    struct wf_panel rows = {view->data[0], view->stride_bytes[0][0], (size_t)view->count, groups, 0, NULL, 0, NULL};
    if (view->operands > 1) {
        rows.y = view->data[1];
        rows.y_stride_bytes = view->stride_bytes[1][0];
    }
    if (job->panel == PANEL_OF_BOUNDS) return false;
    if (job->panel == PANEL_OF_SUMS) return wf_panel_sum(sums, tier, type, wf_job_summed_part(job), view, groups, apart);
    if (groups < WF_STRIP_COLUMNS) return false;
    if (job->panel == PANEL_OF_DOTS) {
        tier->find_column_dots[type](&rows, found);
        memset(sums->has_failed, 0, sizeof sums->has_failed);
        return true;
    }
    tier->find_few_rows[type](&rows, groups, &job->quotient, found, sums->has_failed);
    return true;
}

/* The groups, at most limit, of the strip that begins with group c: and of those after it, if the results of all have been
 * found. */
static int64_t count_strip_groups(const struct job *job, const struct wf_panel_sums *sums, int64_t c, int64_t limit) {
    const bool *has_failed = sums->has_failed + c / WF_STRIP_COLUMNS;
    int64_t taken = WF_STRIP_COLUMNS;
    if (job->panel != PANEL_OF_SUMS && !*has_failed)
        while (taken < limit && !*++has_failed) taken += WF_STRIP_COLUMNS;
    return taken < limit ? taken : limit;
}

/* Results that a panel shows as bounds of their errors decide, from that place on; false if there is no such way. */
static bool bound_panel(struct job *job, struct worker *worker, struct place place, const struct few *few, size_t columns) {
    enum { FEW = WF_STRIP_COLUMNS / 4 }; /* for which a tile is not worth making */
    bool has_failed[WF_BOUNDED_COLUMNS_MAX];
    if (!wf_few_bound_columns(job, few, columns, has_failed)) return false;
    if (!memchr(has_failed, true, few->groups)) return true;
    for (size_t i = 0, taken; i < few->groups; i += taken, wf_place_move(&place, job, job->ndim - 1, (int64_t)taken)) {
        size_t failed = 0;
        taken = few->groups - i < WF_STRIP_COLUMNS ? few->groups - i : WF_STRIP_COLUMNS;
        for (size_t k = i; k < i + taken; k++) failed += has_failed[k];
        if (failed > FEW) reduce_neighbours(job, worker, place, (int64_t)taken);
        if (failed && failed <= FEW) reduce_failed(job, worker, place, has_failed + i, taken, job->ndim - 1);
    }
    return true;
}

/* The tries of panels that may be left to another way at once: registers to bounds, columns that are apart to copies; else NULL. */
static struct attempt *attempt_of_panel(const struct job *job, struct worker *worker) {
    if (job->panel == PANEL_OF_FEW_ROWS) return &worker->few_rows;
    return job->packed ? &worker->panels_apart : NULL;
}

static void reduce_copies(struct job *job, struct worker *worker, struct place place, int64_t count);

/* Strips that a panel does not show, of columns that are apart: from copies, which are panels, too, and so come last. */
static void reduce_left(struct job *job, struct worker *worker, struct place place, const bool *is_left, int64_t count) {
    for (int64_t c = 0, taken; c < count; c += taken, wf_place_move(&place, job, job->ndim - 1, taken)) {
        const int64_t begin = c / WF_STRIP_COLUMNS, left = count - c;
        int64_t strips = 1;
        while (strips * WF_STRIP_COLUMNS < left && is_left[begin + strips] == is_left[begin]) strips++;
        taken = strips * WF_STRIP_COLUMNS < left ? strips * WF_STRIP_COLUMNS : left;
        if (is_left[begin]) reduce_copies(job, worker, place, taken);
    }
}

/* Groups whose sums a panel does not show; is_left: where it is noted that a strip is to be reduced later, or NULL. */
static void reduce_without_panel(struct job *job, struct worker *worker, struct place place, const struct few *few,
                                 size_t columns, bool *is_left) {
    const size_t strips = (few->groups + WF_STRIP_COLUMNS - 1) / WF_STRIP_COLUMNS;
    if (is_left)
        memset(is_left + few->first / WF_STRIP_COLUMNS, true, strips);
    else if (is_apart(job) || !bound_panel(job, worker, place, few, columns))
        reduce_neighbours(job, worker, place, (int64_t)few->groups);
}

/* A tile that is a panel; by columns what fails of it, unless that is_left.  Not inlined: its view would stay on the stack. */
static __attribute__((noinline)) void reduce_panel(struct job *job, struct worker *worker, struct place place, int64_t count,
                                                   bool *is_left) {
    enum { WITHOUT_TRY = 15 }; /* panels, after one of which most strips have failed */
    struct wf_panel_sums *sums = wf_columns_panel(worker->columns);
    int64_t first, taken, failed = 0, stride = job->dimension[job->ndim - 1].result_stride_bytes;
    int64_t nbytes = (int64_t)wf_type_nbytes(job->grouped->result_type);
    struct wf_view view = wf_place_view_tile(job, &place, &first);
    const bool in_place = job->panel == PANEL_OF_FEW_ROWS && stride == nbytes;
    unsigned char *found = in_place ? place.result : (unsigned char *)sums->unit;
    struct attempt *attempt = attempt_of_panel(job, worker);
    const bool is_tried = !attempt || wf_attempt_is_due(attempt);
    const struct wf_apart apart = how_apart(job, worker);
    bool is_found = is_tried && find_panel(job, sums, found, &view, (size_t)count, is_apart(job) ? &apart : NULL);
    for (int64_t c = 0; c < count; c += taken, wf_place_move(&place, job, job->ndim - 1, taken)) {
        const int64_t left = count - c, most = left < WF_BOUNDED_COLUMNS_MAX ? left : WF_BOUNDED_COLUMNS_MAX;
        taken = is_found ? count_strip_groups(job, sums, c, left) : most;
        struct few few = {.groups = (size_t)taken, .count = view.count, .result = place.result,
                          .result_stride_bytes = stride, .panel = sums, .first = (size_t)c, .view = &view};
        if (job->panel != PANEL_OF_SUMS) few.found = found + c * nbytes;
        bool is_whole = is_found && !sums->has_failed[c / WF_STRIP_COLUMNS];
        if (is_whole && wf_few_write(worker, job, &few)) continue;
        failed += is_found;
        reduce_without_panel(job, worker, place, &few, (size_t)count, is_left);
    }
    if (attempt && is_tried) wf_attempt_note(attempt, is_found && failed * WF_STRIP_COLUMNS <= count / 2, WITHOUT_TRY);
}

static void reduce_panel_apart(struct job *job, struct worker *worker, struct place place, int64_t count) {
    bool is_left[WF_PANEL_COLUMNS_MAX / WF_STRIP_COLUMNS] = {false};
    reduce_panel(job, worker, place, count, is_left);
    reduce_left(job, worker, place, is_left, count);
}

/* Groups whose best element is a NaN that is left out, so that they have no value, or an error. */
static void write_without_values(struct job *job, struct place place, const bool *are_nans, int64_t count) {
    const struct wf_grouped *grouped = job->grouped;
    const bool has_fill = grouped->empty->nan == WF_NAN_OMIT && grouped->has_fill;
    const bool *end = are_nans + count;
    for (const bool *at = are_nans; (at = memchr(at, true, (size_t)(end - at))); at++) {
        struct place next = place;
        wf_place_move(&next, job, job->ndim - 1, at - are_nans);
        if (has_fill)
            wf_value_store(&grouped->fill, next.result);
        else
            wf_job_note_failure(job, next.number);
    }
}

/* Extrema of neighbours in memory, or their indices.  Not inlined, either. */
static __attribute__((noinline)) void reduce_extrema(struct job *job, struct worker *worker, struct place place, int64_t count) {
    if (count < WF_STRIP_COLUMNS) {
        reduce_neighbours(job, worker, place, count);
        return;
    }
    bool are_nans[WF_PANEL_COLUMNS_MAX];
    int64_t first;
    const struct wf_accumulator *empty = job->grouped->empty;
    const struct wf_view view = wf_place_view_tile(job, &place, &first);
    const struct wf_apart apart = how_apart(job, worker);
    const struct wf_panel rows = {view.data[0], view.stride_bytes[0][0], (size_t)view.count, (size_t)count, 0, NULL, 0,
                                  is_apart(job) ? &apart : NULL};
    struct wf_extremum asked = {.nan_wins = empty->nan != WF_NAN_OMIT};
    asked.largest = wf_job_minmax_part(job, &asked.of_index) == WF_PART_MAX;
    uint64_t *found = (uint64_t *)wf_columns_panel(worker->columns)->unit;
    const bool has_nan = job->cpu->tier->find_panel_minmax[empty->type](&rows, asked, found, are_nans);
    for (int64_t c = 0; asked.of_index && c < count; c++) found[c] += (uint64_t)first;
    const struct few few = {.groups = (size_t)count, .result = place.result, .found = (const unsigned char *)found,
                            .result_stride_bytes = job->dimension[job->ndim - 1].result_stride_bytes};
    wf_few_write(worker, job, &few);
    if (has_nan && empty->nan != WF_NAN_PROPAGATE) write_without_values(job, place, are_nans, count);
}

/* The dimension of the rows' results. */
static int along_rows(const struct job *job) {
    return job->counts_groups >= 0 ? job->counts_groups : job->ndim - 1;
}

/* Rows, or segments, from that place on. */
static void reduce_rows(struct job *job, struct worker *worker, struct place place, int64_t count, bool by_bounds) {
    struct row_results found;
    find_rows(&found, job, &place, (size_t)count);
    reduce_few_rows(job, worker, place, &found.few, by_bounds, along_rows(job));
}

static void reduce_tile_of_rows(struct job *job, struct worker *worker, struct place place, int64_t count) {
    for (int64_t at_once; count; count -= at_once) {
        at_once = count_rows(job, &place, count);
        reduce_rows(job, worker, place, at_once, job->divides_rows);
        wf_place_move(&place, job, job->ndim - 1, at_once);
    }
}

/* That many results of the last dimension. */
static void reduce_place(struct job *job, struct worker *worker, struct place place, int64_t count) {
    if (job->uses_rows && job->counts_groups < 0) {
        reduce_tile_of_rows(job, worker, place, count);
        return;
    }
    if (job->uses_columns && !wf_worker_has_columns(worker))
        for (int64_t i = 0; i < count; i++, wf_place_move(&place, job, job->ndim - 1, 1)) reduce_group(job, worker, &place);
    else if (job->panel == PANEL_OF_MINMAX)
        reduce_extrema(job, worker, place, count);
    else if (job->panel != NO_PANEL && job->packed)
        reduce_panel_apart(job, worker, place, count);
    else if (job->panel != NO_PANEL)
        reduce_panel(job, worker, place, count, NULL);
    else
        reduce_neighbours(job, worker, place, count);
}

/* Reduces groups whose elements are apart, where they lie; returns of how many the results are found so. */
static int64_t reduce_apart(struct job *job, struct worker *worker, struct place place, int64_t count) {
    int64_t taken, reduced = 0;
    struct row_results found;
    for (; reduced < count; reduced += taken, wf_place_move(&place, job, job->ndim - 1, taken)) {
        taken = count - reduced < WF_COLUMNS_MAX ? count - reduced : WF_COLUMNS_MAX;
        find_rows(&found, job, &place, (size_t)taken);
        if (!wf_few_find_exact_rows(worker, job, &found.few, job->apart)) break;
    }
    return reduced;
}

/* So many results of the last dimension, as many as are copied at a time; without memory, their groups one by one. */
static void reduce_copy(struct job *job, struct worker *worker, struct place place, int64_t count) {
    struct wf_pages pages;
    struct place copy = place;
    int64_t results = count * job->inner.length, taken;
    if (!wf_job_pack(worker, &pages, job, &copy, (size_t)count)) {
        for (int64_t i = 0; i < results; i++) {
            struct place next = place;
            wf_place_move_in_tile(&next, job, i);
            reduce_group(job, worker, &next);
        }
        return;
    }
    for (; results; results -= taken, wf_place_move(&copy, job->packed, 0, taken)) {
        taken = results < job->packed->tile ? results : job->packed->tile;
        reduce_place(job->packed, worker, copy, taken);
    }
    wf_pages_leave(&worker->kept, pages);
}

/* The same of more. */
static void reduce_copies(struct job *job, struct worker *worker, struct place place, int64_t count) {
    const int64_t most = job->packed->dimension[0].length / job->inner.length;
    for (int64_t taken; count; count -= taken, wf_place_move(&place, job, job->ndim - 1, taken)) {
        taken = count < most ? count : most;
        reduce_copy(job, worker, place, taken);
    }
}

/* A tile that is copied first, except for what is reduced where it lies. */
static void reduce_packed(struct job *job, struct worker *worker, struct place place, int64_t count) {
    const int64_t reduced = job->apart ? reduce_apart(job, worker, place, count) : 0;
    wf_place_move(&place, job, job->ndim - 1, reduced);
    reduce_copies(job, worker, place, count - reduced);
}

static void reduce_tile(struct job *job, struct worker *worker, int64_t tile) {
    struct place place;
    int64_t count = wf_place_find(&place, job, tile);
    (job->packed && job->panel == NO_PANEL ? reduce_packed : reduce_place)(job, worker, place, count);
}

/* Whether each tile is one segment of a vector. */
static bool are_segments(const struct job *job) {
    return job->grouped->layout->axis >= 0 && job->grouped->layout->ndim == 1 && job->view.ndim == 1 &&
           !job->labels.positions.index && job->tile == 1;
}

/* Segments that registers serve; returns how many, 0 if the first ones are better taken otherwise. */
static int64_t reduce_few_segments(struct job *job, struct worker *worker, int64_t tile, int64_t limit) {
    enum { ENOUGH = 16 };
    struct place place;
    if (!job->quotient.parts || job->divides_rows || !are_segments(job) || !wf_worker_has_columns(worker)) return 0;
    wf_place_find(&place, job, tile);
    size_t groups = count_short_segments(job, &place, limit);
    if (groups < ENOUGH && (int64_t)groups < limit) return 0;
    return try_short_segments(worker, job, &place, groups) ? (int64_t)groups : 0;
}

int64_t wf_job_reduce_tiles(struct job *job, struct worker *worker, int64_t tile, int64_t limit) {
    struct place place;
    int64_t count = reduce_few_segments(job, worker, tile, limit);
    if (count) return count;
    count = 1;
    if (job->uses_rows && are_segments(job)) {
        wf_place_find(&place, job, tile);
        int64_t rows = count_rows(job, &place, limit);
        if (rows) reduce_rows(job, worker, place, rows, job->divides_rows);
        if (rows) return rows;
    }
    if (are_segments(job) && wf_worker_has_columns(worker)) {
        wf_place_find(&place, job, tile);
        size_t groups = count_short_segments(job, &place, limit);
        if (try_short_segments(worker, job, &place, groups)) return (int64_t)groups;
        count = groups ? (int64_t)groups : 1;
        if (groups && job->bounded.parts && job->view.stride_bytes[0][0] == (int64_t)job->view.nbytes) {
            reduce_rows(job, worker, place, count, true);
            return count;
        }
    }
    for (int64_t i = 0; i < count; i++) reduce_tile(job, worker, tile + i);
    return count;
}
