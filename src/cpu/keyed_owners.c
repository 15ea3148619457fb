/* Which tables there are for elements by key: one for each thread, added up at the end; or, where these would cost more
 * than the elements, each thread owns a part of the groups, and has the only table of these. */
#include "core/labels.h"
#include "cpu/keyed_job.h"

#include <stdlib.h>

/* As many tables as scratch may be taken for: twice the elements and keys, and 64 bytes a group. */
bool wf_keyed_plan_threads(struct keyed *job, int threads) {
    enum { FEW_NBYTES = 1 << 17 };
    double table = (double)job->words * (double)(job->groups + 1) * sizeof(int64_t);
    double input = (double)job->count * (double)(job->view.nbytes + wf_type_nbytes(job->grouped->groups->labels->type));
    double scratch = 2 * input + 64 * (double)job->groups;
    int64_t worthwhile = job->count / job->groups / 4 + 1; /* else tables cost more than elements */
    job->copies = table * KEYED_COPIES <= FEW_NBYTES && job->count > 8 * job->groups ? KEYED_COPIES : 1;
    table *= (double)job->copies;
    if (table > scratch) return false;
    job->threads = threads;
    if (job->threads > job->count / KEYED_CHUNK + 1) job->threads = (int)(job->count / KEYED_CHUNK + 1);
    job->are_owned = job->threads > worthwhile && job->groups >= KEYED_OWNERS_MAX * KEYED_GROUPS_AT_ONCE;
    if (job->are_owned && job->threads > KEYED_OWNERS_MAX) job->threads = KEYED_OWNERS_MAX;
    if (job->are_owned) return true;
    if (job->threads > worthwhile) job->threads = (int)worthwhile;
    if (job->threads * table > scratch) job->threads = (int)(scratch / table);
    return true;
}

static int compare_keys(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Divides the groups among the owners, so that each has about as many elements, as far as a few keys tell. */
static void share_groups(struct keyed *job, int64_t *begin) {
    enum { SAMPLES = 1024 };
    int64_t key[SAMPLES], step = job->count / SAMPLES, samples = step ? SAMPLES : job->count;
    for (int64_t i = 0; i < samples; i++) wf_labels_read(job->grouped->groups->labels, i * (step ? step : 1), 1, &key[i]);
    qsort(key, (size_t)samples, sizeof *key, compare_keys);
    begin[0] = 0;
    for (int t = 1; t < job->threads; t++) {
        int64_t middle = key[samples * t / job->threads] / KEYED_GROUPS_AT_ONCE * KEYED_GROUPS_AT_ONCE;
        if (middle > job->groups) middle = job->groups;
        begin[t] = middle > begin[t - 1] ? middle : begin[t - 1];
    }
    begin[job->threads] = job->groups;
}

bool wf_keyed_make_tables(struct keyed *job) {
    int64_t begin[KEYED_OWNERS_MAX + 1];
    int made = 0;
    if (job->are_owned) share_groups(job, begin);
    while (made < job->threads && (job->are_owned ? wf_key_table_begin(job, made, begin[made], begin[made + 1])
                                                  : wf_key_table_begin(job, made, 0, job->groups)))
        made++;
    bool enough = made == job->threads || !job->are_owned;
    job->threads = made;
    return made > 0 && enough;
}

/* ---- tables, added up ---- */

static const int64_t *words_at(const struct keyed *job, size_t table, int64_t group) {
    const struct keyed_table *of_thread = job->table[table / job->copies];
    size_t slot = table % job->copies * wf_key_table_slots(of_thread) + (size_t)(group - of_thread->first_group);
    return of_thread->word + slot * job->words;
}

/* The table of a group that a thread owns. */
static size_t table_of(const struct keyed *job, int64_t group) {
    size_t t = 0;
    while (group - job->table[t]->first_group >= job->table[t]->groups) t++;
    return t;
}

static void merge_extrema(int64_t *into, const int64_t *from, const struct keyed *job, size_t groups) {
    for (size_t i = 0; i < groups * job->words; i += job->words) {
        bool is_later = job->is_indexed && from[i] == into[i] && from[i + 1] >= into[i + 1];
        if (from[i] > into[i] || is_later) continue;
        memcpy(into + i, from + i, job->words * sizeof *into);
    }
}

static void merge_bounded(struct keyed_merged *merged, const struct keyed *job, int64_t begin, size_t groups) {
    const size_t tables = (size_t)job->threads * job->copies, words = groups * job->words;
    wf_join_bounded_function *join = job->cpu->tier->join_bounded[job->grouped->empty->type];
    memcpy(merged->bounded, merged->word, words * sizeof *merged->bounded);
    merged->word = merged->sum;
    for (size_t t = 1; t < tables; t++) join(&job->bounded, merged->bounded, (const double *)(const void *)words_at(job, t, begin), words);
}

void wf_keyed_merge(struct keyed_merged *merged, const struct keyed *job, int64_t begin, size_t groups) {
    size_t tables = (size_t)job->threads * job->copies, count = groups * job->words;
    merged->word = words_at(job, job->are_owned ? table_of(job, begin) : 0, begin);
    if (tables == 1 || job->are_owned) return;
    if (job->are_bounded) {
        merge_bounded(merged, job, begin, groups);
        return;
    }
    memcpy(merged->sum, merged->word, count * sizeof(int64_t));
    merged->word = merged->sum;
    for (size_t t = 1; t < tables; t++) {
        const int64_t *from = words_at(job, t, begin);
        if (job->parts & (WF_PART_MIN | WF_PART_MAX))
            merge_extrema(merged->sum, from, job, groups);
        else
            for (size_t i = 0; i < count; i++) merged->sum[i] += from[i];
    }
}
