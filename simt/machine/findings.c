#include "findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_MAX = 1000 };

/* ---- which finding it is */

static size_t slot_of(const struct found_list *list, uint32_t kind, uint32_t pc, uint32_t other_pc) {
    uint64_t hash = (((uint64_t)pc << 32 | other_pc) + kind) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (hash >> 32) & (list->key_capacity - 1);
    for (;; slot = (slot + 1) & (list->key_capacity - 1)) {
        const struct found_key *key = &list->keys[slot];
        if (!key->index || (key->kind == kind && key->pc == pc && key->other_pc == other_pc)) return slot;
    }
}

static bool grow_keys(struct found_list *list) {
    if (2 * list->key_count < list->key_capacity) return true;
    struct found_list grown = {.key_capacity = list->key_capacity ? 2 * list->key_capacity : 64};
    grown.keys = calloc(grown.key_capacity, sizeof *grown.keys);
    if (!grown.keys) return false;
    for (size_t i = 0; i < list->key_capacity; i++) {
        const struct found_key *key = &list->keys[i];
        if (key->index) grown.keys[slot_of(&grown, key->kind, key->pc, key->other_pc)] = *key;
    }
    free(list->keys);
    list->keys = grown.keys;
    list->key_capacity = grown.key_capacity;
    return true;
}

static bool is_line(const char *file, uint32_t line, const char *other_file, uint32_t other_line) {
    return line == other_line && !strcmp(file, other_file);
}

/* The file of the access of a race that comes first in the program's order. */
static const char *first_file(const struct found *found) {
    return found->detail.other_is_later ? found->finding.file : found->finding.other_file;
}

static uint32_t first_line(const struct found *found) {
    return found->detail.other_is_later ? found->finding.line : found->finding.other_line;
}

static const char *second_file(const struct found *found) {
    return found->detail.other_is_later ? found->finding.other_file : found->finding.file;
}

static uint32_t second_line(const struct found *found) {
    return found->detail.other_is_later ? found->finding.other_line : found->finding.line;
}

static bool is_same_place(const struct found *one, const struct found *other) {
    const simt_finding *a = &one->finding, *b = &other->finding;
    if (a->kind != b->kind || a->has_other != b->has_other) return false;
    if (!a->has_other) return is_line(a->file, a->line, b->file, b->line);
    return is_line(first_file(one), first_line(one), first_file(other), first_line(other)) &&
           is_line(second_file(one), second_line(one), second_file(other), second_line(other)) &&
           !one->detail.missing == !other->detail.missing;
}

/* NULL: there are enough already, or there is no memory. */
static struct found *add(struct found_list *list, enum noted *noted) {
    *noted = NOTED_AGAIN;
    if (list->count == list->capacity) {
        size_t capacity = 2 * list->capacity + 8;
        if (capacity > FINDINGS_MAX) return NULL;
        struct found *grown = realloc(list->items, capacity * sizeof *grown);
        *noted = grown ? NOTED_AGAIN : NOTED_NO_MEMORY;
        if (!grown) return NULL;
        list->items = grown;
        list->capacity = capacity;
    }
    *noted = NOTED_NEW;
    struct found *found = &list->items[list->count++];
    memset(found, 0, sizeof *found);
    return found;
}

/* The finding, made if need be; *noted says so. */
static struct found *look_up(struct found_list *list, const struct found *like, const struct meeting_note *note,
                             enum noted *noted) {
    *noted = NOTED_NO_MEMORY;
    if (!grow_keys(list)) return NULL;
    struct found_key *key = &list->keys[slot_of(list, like->finding.kind, note->pc, note->other_pc)];
    *noted = NOTED_AGAIN;
    if (key->index) return &list->items[key->index - 1];
    struct found *found = NULL;
    for (size_t i = 0; i < list->count && !found; i++)
        if (is_same_place(&list->items[i], like)) found = &list->items[i];
    if (!found) found = add(list, noted);
    if (!found) return NULL;
    *key = (struct found_key){like->finding.kind, note->pc, note->other_pc, (uint32_t)(found - list->items) + 1};
    list->key_count++;
    return found;
}

/* ---- what is noted */

static void mark_thread(struct found *found, uint32_t thread) {
    uint64_t bit = UINT64_C(1) << thread % 64, *threads = &found->threads[thread % FINDING_THREADS_MAX / 64];
    found->detail.threads += !(*threads & bit);
    *threads |= bit;
}

static void mark_threads(struct found *found, const struct meeting_note *note) {
    for (uint32_t lanes = note->lanes; lanes; lanes &= lanes - 1)
        mark_thread(found, note->first_thread + (uint32_t)__builtin_ctz(lanes));
    if (note->has_other_thread) mark_thread(found, note->other_thread);
}

/* A stronger meeting keeps of the one before it who met it, and how often. */
static void take_over(struct found *found, const struct found *like, const struct meeting_note *note,
                      const char *format, va_list arguments) {
    const uint64_t count = found->finding.count;
    const uint32_t threads = found->detail.threads;
    found->finding = like->finding;
    found->detail = like->detail;
    found->finding.count = count;
    found->detail.threads = threads;
    found->strength = note->strength;
    found->update = note->update;
    found->follows = note->follows;
    found->copies = note->copies;
    found->is_before_copy = note->is_before_copy;
    found->is_of_phase = note->is_of_phase;
    found->teller = note->teller;
    found->is_of_teller = note->is_of_teller;
    found->handover = note->handover;
    found->loop = note->loop;
    snprintf(found->where, sizeof found->where, "%s", note->where ? note->where : "");
    snprintf(found->element, sizeof found->element, "%s", note->element);
    vsnprintf(found->finding.message, sizeof found->finding.message, format, arguments);
}

/* Blocks are executed by several threads: which comes first is chance, so the example is the grid's first.  A race has two places. */
static bool is_earlier(const simt_finding *finding, const simt_finding *other) {
    for (int axis = 2; axis >= 0; axis--)
        if (finding->block[axis] != other->block[axis]) return finding->block[axis] < other->block[axis] && !finding->has_other;
    return false;
}

enum noted simt_findings_note(struct found_list *list, const simt_finding *finding, const struct meeting_note *note,
                              size_t *index, const char *format, va_list arguments) {
    enum noted noted;
    const struct found like = {.finding = *finding,
                               .detail = {.other_is_later = note->other_is_later, .missing = note->missing}};
    struct found *found = look_up(list, &like, note, &noted);
    if (!found) return noted;
    *index = (size_t)(found - list->items);
    const bool is_better = note->strength > found->strength || (note->strength == found->strength && is_earlier(finding, &found->finding));
    if (noted == NOTED_AGAIN && is_better) noted = NOTED_STRONGER;
    if (noted != NOTED_AGAIN) take_over(found, &like, note, format, arguments);
    found->finding.count++;
    mark_threads(found, note);
    return noted;
}

static struct found *find(const struct found_list *list, enum simt_finding_kind kind, uint32_t pc, uint32_t other_pc) {
    if (!list->key_capacity) return NULL;
    const struct found_key *key = &list->keys[slot_of(list, kind, pc, other_pc)];
    return key->index ? &list->items[key->index - 1] : NULL;
}

bool simt_findings_note_again(struct found_list *list, enum simt_finding_kind kind, const struct meeting_note *note) {
    struct found *found = find(list, kind, note->pc, note->other_pc);
    if (!found || note->strength > found->strength) return false;
    found->finding.count++;
    mark_threads(found, note);
    return true;
}

size_t simt_findings_show(struct found_list *list, const simt_finding *finding, const struct meeting_note *note) {
    struct found *found = find(list, finding->kind, note->pc, note->other_pc);
    if (!found) return SIZE_MAX;
    const uint64_t count = found->finding.count;
    found->finding = *finding;
    found->finding.count = count;
    snprintf(found->element, sizeof found->element, "%s", note->element);
    return (size_t)(found - list->items);
}

/* ---- the end */

static bool is_race_at(const struct found *found, const simt_finding *finding) {
    const simt_finding *race = &found->finding;
    return race->kind == SIMT_FINDING_RACE && (is_line(race->file, race->line, finding->file, finding->line) ||
                                               is_line(race->other_file, race->other_line, finding->file, finding->line));
}

void simt_findings_withdraw(struct found_list *list, enum simt_finding_kind kind, uint32_t pc) {
    struct found *found = find(list, kind, pc, pc);
    for (size_t i = 0; found && i < list->count && !found->is_withdrawn; i++)
        found->is_withdrawn = is_race_at(&list->items[i], &found->finding);
}

static bool is_of_one_line(const struct found *found) {
    return is_line(first_file(found), first_line(found), second_file(found), second_line(found));
}

/* What a stronger order between the same line and another would mend, too. */
static bool is_mended_with(const struct found *found, const struct found *other) {
    return !is_of_one_line(found) && !is_of_one_line(other) &&
           (is_line(first_file(found), first_line(found), first_file(other), first_line(other)) ||
            is_line(second_file(found), second_line(found), second_file(other), second_line(other)));
}

static bool is_between_lanes(const struct found *found) {
    return found->detail.missing && !strcmp(found->detail.missing, "__syncwarp()");
}

static bool has_line(const struct found *found, const char *file, uint32_t line) {
    return is_line(first_file(found), first_line(found), file, line) ||
           is_line(second_file(found), second_line(found), file, line);
}

static bool shares_line(const struct found *found, const struct found *other) {
    return has_line(found, first_file(other), first_line(other)) || has_line(found, second_file(other), second_line(other));
}

/* Whether the other is an update, by more than a warp, of what lanes are seen to begin with or to read: the rest's accesses are
 * hidden by those of the update. */
static bool is_hidden_by_update(const struct found *found, const struct found *other) {
    return is_between_lanes(found) && !found->update && other->update && shares_line(found, other);
}

static void strengthen(struct found_list *list, struct found *found) {
    for (size_t i = 0; i < list->count && found->detail.missing; i++) {
        const struct found *other = &list->items[i];
        if (!other->detail.missing || other->strength <= found->strength) continue;
        if (is_hidden_by_update(found, other)) {
            found->detail.missing = "__syncthreads()";
        } else if (is_mended_with(found, other) && !other->update == !found->update) {
            found->detail.missing = other->detail.missing;
            found->strength = other->strength;
        }
    }
}

/* ---- one fault of many lines: a last warp that is unrolled lacks a barrier at each of them */

enum { LINES_APART = 2 }; /* a barrier on a line of its own may lie between */

/* Steps of one unrolled loop that race with themselves, each on its line. */
static bool is_next_step(const struct found *found, const struct found *other) {
    const uint32_t one = first_line(found), two = first_line(other);
    return is_of_one_line(found) && is_of_one_line(other) &&
           is_line(first_file(found), one, first_file(other), one) &&
           (one > two ? one - two : two - one) <= LINES_APART;
}

/* One wait is missing for both. */
static bool is_of_same_copies(const struct found *found, const struct found *other) {
    return found->copies && found->copies == other->copies && found->is_before_copy == other->is_before_copy && shares_line(found, other);
}

static bool is_told_with(const struct found *found, const struct found *other) {
    if (is_of_same_copies(found, other)) return true;
    return is_between_lanes(found) && is_between_lanes(other) &&
           (shares_line(found, other) || is_next_step(found, other));
}

/* The first of those that it is reported with, by way of lines that they share or follow. */
static size_t first_of(const struct found_list *list, size_t i) {
    while (list->items[i].told_with != i) i = list->items[i].told_with;
    return i;
}

static void link_lanes(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].told_with = i;
        for (size_t j = 0; j < i; j++) {
            if (!is_told_with(&list->items[i], &list->items[j])) continue;
            const size_t one = first_of(list, i), other = first_of(list, j);
            list->items[one > other ? one : other].told_with = one > other ? other : one;
        }
    }
}

static void span_line(struct found *found, uint32_t line) {
    if (line < found->from_line) found->from_line = line;
    if (line > found->to_line) found->to_line = line;
}

static void join(struct found *found, struct found *other) {
    span_line(found, first_line(other));
    span_line(found, second_line(other));
    found->pairs++;
    if (found == other) return;
    found->races_again |= other->races_again;
    found->finding.count += other->finding.count;
    found->detail.threads = 0;
    for (size_t i = 0; i < FINDING_THREADS_MAX / 64; i++) {
        found->threads[i] |= other->threads[i];
        found->detail.threads += (uint32_t)__builtin_popcountll(found->threads[i]);
    }
    other->is_withdrawn = true;
}

/* Races of lanes of a warp that share lines, or follow each other step by step, and those of copies that one wait would
 * order, become one. */
static void join_lanes(struct found_list *list) {
    link_lanes(list);
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].from_line = UINT32_MAX;
        join(&list->items[first_of(list, i)], &list->items[i]);
    }
}

/* Whether the two lines of the one race in the other, too, on the way back to the next round. */
static bool is_way_back(const struct found *found, const struct found *other) {
    return is_line(first_file(found), first_line(found), second_file(other), second_line(other)) &&
           is_line(second_file(found), second_line(found), first_file(other), first_line(other)) && !is_of_one_line(found);
}

/* One buffer without order: it is read before it is whole, and overwritten before it is read. */
static bool is_next_round(const struct found *found, const struct found *other) {
    if (found->copies) return found->copies == other->copies && found->is_before_copy && !other->is_before_copy;
    return found->detail.missing && other->detail.missing && !strcmp(found->detail.missing, other->detail.missing) &&
           !found->update && !other->update && !other->copies && first_line(found) < second_line(found);
}

static void join_rounds(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < list->count; j++) {
            struct found *one = &list->items[i], *other = &list->items[j];
            if (one->is_withdrawn || other->is_withdrawn || !is_way_back(one, other) || !is_next_round(one, other)) continue;
            join(one, other);
            one->races_again = true;
            one->pairs = 0; /* of lines it is one */
        }
}

static bool is_of_same_loop(const struct found *found, const struct found *other) {
    return found->loop.number && found->loop.number == other->loop.number && !other->is_withdrawn && found->detail.missing &&
           other->detail.missing;
}

/* What is missing between threads of a block cures lanes of a warp, too. */
static bool leads_loop(const struct found *found, const struct found *other) {
    return !found->loop.is_entered && (other->loop.is_entered || other->strength <= found->strength);
}

/* Makes one finding of those of the loop, if the one at i is of two of its accesses. */
static void join_loop(struct found_list *list, size_t i) {
    struct found *leading = &list->items[i];
    for (size_t j = 0; j < list->count; j++)
        if (is_of_same_loop(leading, &list->items[j]) && !leads_loop(leading, &list->items[j])) return;
    for (size_t j = 0; j < list->count; j++) {
        struct found *other = &list->items[j];
        if (j == i || !is_of_same_loop(leading, other) || other->strength > leading->strength) continue;
        const uint32_t from = leading->from_line, to = leading->to_line;
        join(leading, other);
        leading->is_of_loop = true;
        if (!other->loop.is_entered) continue;
        leading->from_line = from; /* lines of the loop alone */
        leading->to_line = to;
    }
}

static void join_loops(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (is_of_same_loop(&list->items[i], &list->items[i])) join_loop(list, i);
}

/* ---- one missing barrier: what several lines store or read before it, or behind it */

static bool lacks(const struct found *found, const char *missing) {
    return !found->is_withdrawn && !found->is_of_loop && !found->copies && !found->update && !is_of_one_line(found) &&
           found->detail.missing && !strcmp(found->detail.missing, missing);
}

static bool lacks_barrier(const struct found *found) { return lacks(found, "__syncthreads()"); }

/* A barrier of the block orders lanes of a warp, too; where many lines of these race, that is a fault of its own. */
static bool is_ordered_by_barrier(const struct found *found) {
    return lacks_barrier(found) || (lacks(found, "__syncwarp()") && found->pairs <= 1);
}

static bool is_of_one_file(const struct found *found) { return !strcmp(first_file(found), second_file(found)); }

static bool is_ahead(const struct found *found) { return found->barrier_from < found->barrier_to; }

/* Whether the stretches, both ahead, have a part in common: a barrier there is in both.  On the way back to the next round that
 * is known of such as cross each other: if one lies within the other, it may be the way back of an inner loop. */
static bool crosses(const struct found *found, const struct found *other) {
    const uint32_t from = found->barrier_from, to = found->barrier_to, other_from = other->barrier_from, other_to = other->barrier_to;
    if (is_ahead(found)) return from < other_to && other_from < to;
    return to < other_from && other_to < from && (from < other_from) == (to < other_to);
}

/* Behind one line, or before one, both ahead or both on the way back to the next round: a barrier in the shorter of the two
 * stretches is in the other, too. */
static bool shares_barrier(const struct found *found, const struct found *other) {
    return (lacks_barrier(found) || lacks_barrier(other)) && is_ordered_by_barrier(found) && is_ordered_by_barrier(other) &&
           found->races_again == other->races_again && is_of_one_file(found) && is_of_one_file(other) &&
           !strcmp(first_file(found), first_file(other)) && is_ahead(found) == is_ahead(other) &&
           (is_mended_with(found, other) || crosses(found, other));
}

static bool is_shorter(const struct found *found, const struct found *other) {
    if (lacks_barrier(found) != lacks_barrier(other)) return lacks_barrier(found);
    return found->barrier_from > other->barrier_from || found->barrier_to < other->barrier_to;
}

/* Where the barrier is to be, that is: behind the later of the lines before it, and before the earlier of those behind it. */
static void join_barrier(struct found *found, struct found *other) {
    if (other->barrier_from > found->barrier_from) found->barrier_from = other->barrier_from;
    if (other->barrier_to < found->barrier_to) found->barrier_to = other->barrier_to;
    snprintf(found->where, sizeof found->where, " between line %u and line %u", found->barrier_from, found->barrier_to);
    join(found, other);
}

static void join_barriers(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].barrier_from = first_line(&list->items[i]);
        list->items[i].barrier_to = second_line(&list->items[i]);
    }
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = i + 1; j < list->count && !list->items[i].is_withdrawn; j++) {
            struct found *one = &list->items[i], *other = &list->items[j];
            if (!shares_barrier(one, other)) continue;
            const bool is_first = is_shorter(one, other);
            join_barrier(is_first ? one : other, is_first ? other : one);
        }
}

/* Where no barrier can help, two lines race whichever of them was first: that is one fault. */
static bool is_unordered(const struct found *found) {
    return found->finding.kind == SIMT_FINDING_RACE && !found->detail.missing && !found->copies;
}

static bool is_of_blocks(const struct found *found) { return is_unordered(found) && found->strength; }

static bool has_lines_of(const struct found *found, const struct found *other) {
    return found->finding.kind == SIMT_FINDING_RACE && other->finding.kind == SIMT_FINDING_RACE &&
           has_line(found, first_file(other), first_line(other)) &&
           has_line(found, second_file(other), second_line(other)) && is_of_one_line(found) == is_of_one_line(other);
}

/* Two blocks, or what waits for the other; of two blocks it is said even if the other is of one. */
static bool is_either_way(const struct found *found, const struct found *other) {
    const bool are_of_blocks = found->strength && other->strength && (is_of_blocks(found) || is_of_blocks(other));
    return has_lines_of(found, other) && (are_of_blocks || (is_unordered(found) && is_unordered(other)));
}

static void join_unordered(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = i + 1; j < list->count && !list->items[i].is_withdrawn; j++) {
            struct found *one = &list->items[i], *other = &list->items[j];
            if (other->is_withdrawn || !is_either_way(one, other)) continue;
            if (other->strength > one->strength) join(other, one);
            else join(one, other);
            one->pairs = other->pairs = 0; /* of lines it is one */
        }
}

/* ---- what is handed over, and what tells of it: the latter is stored last */

static bool is_handed_with(const struct found *found, const struct found *other) {
    return !other->is_withdrawn && found->handover.number && found->handover.number == other->handover.number &&
           (found->handover.is_waited_for || other->handover.is_waited_for || found->handover.is_of_sides == other->handover.is_of_sides);
}

/* Without sides of a branch it is what one waits for that makes them one. */
static bool belongs_to(const struct found *other, const struct found *leading) {
    return is_handed_with(leading, other) && (leading->handover.is_waited_for || other->handover.is_of_sides);
}

/* Whether the finding, more than the other, says what to do about both: one that waits says so, else what is stored first. */
static bool leads(const struct found *found, const struct found *other) {
    if (found->handover.is_waited_for != other->handover.is_waited_for) return found->handover.is_waited_for;
    return found->handover.store < other->handover.store;
}

static void name_handover(struct found *found, const struct found *other) {
    simt_finding *finding = &found->finding;
    const size_t length = strlen(finding->message);
    snprintf(finding->message + length, sizeof finding->message - length,
             found->handover.is_waited_for ? "; that orders line %u and line %u, too, which race as well"
                                           : "; line %u and line %u, which race as well, may be what tells, once they are atomic",
             first_line(other), second_line(other));
}

/* Makes one finding of those that belong to the one at i, the first of them. */
static void join_handover(struct found_list *list, size_t i) {
    struct found *leading = &list->items[i], *last = NULL;
    for (size_t j = i + 1; j < list->count; j++)
        if (is_handed_with(&list->items[i], &list->items[j]) && leads(&list->items[j], leading)) leading = &list->items[j];
    for (size_t j = i; j < list->count; j++) {
        struct found *other = &list->items[j];
        if (other == leading || !belongs_to(other, leading)) continue;
        if (!last || last->handover.store < other->handover.store) last = other;
        join(leading, other);
    }
    if (last) name_handover(leading, last);
    if (last || leading->handover.is_of_sides || leading->handover.is_waited_for) leading->pairs = 0; /* of lines it is one */
}

static void join_handovers(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (is_handed_with(&list->items[i], &list->items[i])) join_handover(list, i);
}

/* ---- what blocks tell each other of by one atomic: fences before and behind it order all that */

/* Whether the finding is the one to be told: what is read first, and of that what is stored last. */
static bool leads_told(const struct found *found, const struct found *other) {
    if (found->is_of_teller != other->is_of_teller) return other->is_of_teller;
    if (second_line(found) != second_line(other)) return second_line(found) < second_line(other);
    return first_line(found) > first_line(other);
}

static bool is_told_by(const struct found *found, uint32_t teller) {
    return !found->is_withdrawn && found->teller == teller && !found->handover.is_waited_for;
}

/* Makes one finding of those that the fences at this atomic order. */
static void join_told(struct found_list *list, uint32_t teller) {
    struct found *leading = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (is_told_by(&list->items[i], teller) && (!leading || leads_told(&list->items[i], leading))) leading = &list->items[i];
    for (size_t i = 0; leading && i < list->count; i++) {
        struct found *other = &list->items[i];
        if (other == leading || !is_told_by(other, teller)) continue;
        if (other->is_of_teller && !leading->is_of_teller) other->is_withdrawn = true; /* the fences order it, too */
        else join(leading, other);
    }
}

static void join_tellers(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].teller) join_told(list, list->items[i].teller);
}

/* ---- updates that should be atomic: a load and a store of two lines race with themselves and with each other */

static void join_updates(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = i + 1; j < list->count && !list->items[i].is_withdrawn; j++) {
            struct found *one = &list->items[i], *other = &list->items[j];
            if (other->is_withdrawn || !one->update || one->update != other->update) continue;
            if (other->strength > one->strength) join(other, one);
            else join(one, other);
            one->pairs = other->pairs = 0; /* of lines it is one */
        }
}

/* Threads that draw one number from a counter then store to one element: that is the counter's fault. */
static void withdraw_what_follows(struct found_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < list->count && list->items[i].follows; j++)
            list->items[i].is_withdrawn |= list->items[j].update == list->items[i].follows;
}

/* Barriers with which the launch goes on are not told beside one at which it stops, nor are races that come of it. */
static void withdraw_weaker_barriers(struct found_list *list) {
    bool is_stopped = false;
    for (size_t i = 0; i < list->count; i++)
        is_stopped |= list->items[i].finding.kind == SIMT_FINDING_BARRIER && list->items[i].strength;
    for (size_t i = 0; i < list->count; i++)
        list->items[i].is_withdrawn |= is_stopped && (list->items[i].is_of_phase ||
                                                      (list->items[i].finding.kind == SIMT_FINDING_BARRIER && !list->items[i].strength));
}

/* Behind the address: of a race in the middle, whose end is what is missing; of one of registers nowhere; of an mbarrier behind
 * where it is. */
static void name_element(struct found *found) {
    simt_finding *finding = &found->finding;
    char rest[sizeof finding->message], *at = strstr(finding->message, " races with ");
    if (!at && finding->kind == SIMT_FINDING_RACE) return;
    static const char of_mbarrier[] = "shared memory";
    if (!at && finding->kind == SIMT_FINDING_BARRIER) at = strstr(finding->message, of_mbarrier);
    if (at && finding->kind == SIMT_FINDING_BARRIER) at += sizeof of_mbarrier - 1;
    if (!at) at = finding->message + strlen(finding->message);
    snprintf(rest, sizeof rest, "%s", at);
    snprintf(at, sizeof finding->message - (size_t)(at - finding->message), "%s%s", found->element, rest);
}

/* Of an unrolled last warp it is known that its lanes are alone. */
static bool may_be_of_block(const struct found *found, bool is_of_few) {
    return is_of_few && is_between_lanes(found) && found->pairs <= 1;
}

/* Which of the two a race of one line is, in a loop without a barrier, its text does not tell. */
static bool may_be_of_next_round(const struct found *found) {
    return found->loop.number && !found->loop.is_entered && is_of_one_line(found) && found->detail.missing && found->pairs <= 1 &&
           strstr(found->where, " and the "); /* "the load and the store" */
}

static void end_message(struct found *found, bool is_of_few) {
    simt_finding *finding = &found->finding;
    name_element(found);
    size_t length = strlen(finding->message);
    if (found->is_of_loop) {
        snprintf(finding->message + length, sizeof finding->message - length,
                 ": no %s in the loop around lines %u to %u, whose rounds race with each other at %u pairs of lines", found->detail.missing,
                 found->from_line, found->to_line, found->pairs);
        return;
    }
    if (found->detail.missing)
        snprintf(finding->message + length, sizeof finding->message - length, ": no %s%s", found->detail.missing,
                 found->where);
    length = strlen(finding->message);
    if (found->races_again && found->copies)
        snprintf(finding->message + length, sizeof finding->message - length,
                 "; line %u must also have waited for the copy of line %u where it reads what was copied", finding->other_line, finding->line);
    else if (found->races_again || may_be_of_next_round(found))
        snprintf(finding->message + length, sizeof finding->message - length,
                 "; nor one between line %u of one round and line %u of the next", second_line(found), first_line(found));
    length = strlen(finding->message);
    if (may_be_of_block(found, is_of_few))
        snprintf(finding->message + length, sizeof finding->message - length,
                 "; where other warps come here, too, __syncthreads()");
    if (found->pairs > 1 && lacks_barrier(found))
        snprintf(finding->message + length, sizeof finding->message - length, "; one there orders %u pairs of lines that race, of lines %u to %u",
                 found->pairs, found->from_line, found->to_line);
    else if (found->pairs > 1 && found->copies)
        snprintf(finding->message + length, sizeof finding->message - length,
                 "; the same holds at the other accesses of lines %u to %u, of which %u pairs race", found->from_line,
                 found->to_line, found->pairs);
    else if (found->pairs > 1 && found->teller)
        snprintf(finding->message + length, sizeof finding->message - length, "; just before it and just behind it the two order %u pairs of lines that race, of lines %u to %u",
                 found->pairs, found->from_line, found->to_line);
    else if (found->pairs > 1)
        snprintf(finding->message + length, sizeof finding->message - length,
                 "; nor at the other accesses of lines %u to %u, of which %u pairs race", found->from_line, found->to_line,
                 found->pairs);
}

static void swap(struct found *a, struct found *b) {
    struct found kept = *a;
    *a = *b;
    *b = kept;
}

/* Whether it belongs before the other: races by their strength; everything else stays in order of its beginning. */
static bool comes_before(const struct found *found, const struct found *other) {
    return found->strength > other->strength && found->finding.kind == SIMT_FINDING_RACE &&
           other->finding.kind == SIMT_FINDING_RACE;
}

/* from[i]: the number that finding i had. */
static void sort(struct found_list *list, size_t *from) {
    for (size_t i = 1; i < list->count; i++)
        for (size_t j = i; j > 0 && comes_before(&list->items[j], &list->items[j - 1]); j--) {
            const size_t number = from[j];
            swap(&list->items[j], &list->items[j - 1]);
            from[j] = from[j - 1];
            from[j - 1] = number;
        }
}

static void drop_withdrawn(struct found_list *list, size_t *from) {
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].is_withdrawn) continue;
        from[kept] = from[i];
        if (kept < i) list->items[kept] = list->items[i];
        kept++;
    }
    list->count = kept;
}

bool simt_findings_finish(struct found_list *list, bool is_of_few, size_t **place) {
    const size_t count = list->count;
    *place = calloc(count + 1, sizeof **place);
    size_t *from = calloc(count + 1, sizeof *from);
    if (!*place || !from) {
        free(from);
        return false;
    }
    for (size_t i = 0; i < count; i++) (*place)[i] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) from[i] = i;
    drop_withdrawn(list, from);
    for (size_t i = 0; i < list->count; i++) strengthen(list, &list->items[i]);
    withdraw_what_follows(list);
    withdraw_weaker_barriers(list);
    drop_withdrawn(list, from);
    join_updates(list);
    drop_withdrawn(list, from);
    join_unordered(list);
    join_handovers(list);
    join_tellers(list);
    join_rounds(list);
    drop_withdrawn(list, from);
    join_lanes(list);
    drop_withdrawn(list, from);
    join_loops(list);
    drop_withdrawn(list, from);
    join_barriers(list);
    drop_withdrawn(list, from);
    for (size_t i = 0; i < list->count; i++) end_message(&list->items[i], is_of_few);
    sort(list, from);
    for (size_t i = 0; i < list->count; i++) (*place)[from[i]] = i;
    free(from);
    return true;
}

void simt_findings_clear(struct found_list *list) {
    free(list->items);
    free(list->keys);
    *list = (struct found_list){0};
}
