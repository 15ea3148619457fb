/* Races between a kernel and what it launches.  An access that is executed after a launch cannot come before it in any order
 * that synchronisation makes, and nothing in the kernel can wait for what it has launched: so whatever a kernel touches after a
 * launch is unordered with what the launch touches, and what that launches in turn. */
#include "family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/kernel_name.h"

enum { SETS = 64 }; /* launches that have accesses in between; those after them are not compared */

/* A kernel that has launched, as long as it runs or something that it launched is to run. */
struct relative {
    struct kin kin; /* who has launched it */
    size_t users;
    uint32_t count;
    struct touched sets[SETS]; /* what it has touched between one launch and the next */
    struct order_party party;
    char name[RECORD_NAME];
};

static struct kin own;            /* the running kernel's */
static struct relative *running;  /* NULL: it has not launched anything */
static struct touched whole;      /* what it touches, where somebody has launched it */
static char running_name[RECORD_NAME];

static struct kin retain(struct kin kin) {
    if (kin.relative) kin.relative->users++;
    return kin;
}

void family_let_go(struct kin kin) {
    struct relative *relative = kin.relative;
    while (relative && !--relative->users) {
        struct relative *next = relative->kin.relative;
        for (uint32_t i = 0; i < relative->count; i++) touched_clear(&relative->sets[i]);
        free(relative);
        relative = next;
    }
}

void family_begin(struct kin kin, const char *name) {
    own = kin;
    snprintf(running_name, sizeof running_name, "%s", name);
    if (!kin.relative) return;
    touched_open(&whole);
    order_note_in(ORDER_WHOLE, &whole);
}

static struct relative *make_relative(void) {
    struct relative *relative = calloc(1, sizeof *relative);
    if (!relative) return NULL;
    relative->kin = retain(own);
    relative->users = 1;
    memcpy(relative->name, running_name, sizeof relative->name);
    relative->party = order_party(relative->name);
    return relative;
}

/* Several launches in a row have the same accesses after them. */
static void begin_set(struct relative *relative) {
    if (relative->count && !touched_is_used(&relative->sets[relative->count - 1])) return;
    if (relative->count == SETS) return;
    struct touched *set = &relative->sets[relative->count++];
    touched_open(set);
    order_note_in(ORDER_AFTER, set);
}

/* What is launched behind everything else does not race with the kernel, but with those that launched that. */
struct kin family_launch(bool is_tail) {
    if (runtime.record->settings.skips_races) return (struct kin){0};
    if (is_tail) return retain(own);
    if (!running) running = make_relative();
    if (!running) return (struct kin){0};
    const bool is_full = running->count == SETS && touched_is_used(&running->sets[SETS - 1]);
    begin_set(running);
    return retain((struct kin){running, is_full ? SETS : running->count - 1});
}

static void compare(const struct order_party *party) {
    struct touched_meeting meeting;
    for (struct kin kin = own; kin.relative; kin = kin.relative->kin)
        for (uint32_t set = kin.set; set < kin.relative->count; set++)
            if (touched_meet(&kin.relative->sets[set], &whole, &meeting)) {
                order_tell(&kin.relative->party, party, &meeting, "a kernel does not wait for what it launches");
                break;
            }
}

void family_end(void) {
    const struct order_party party = order_party(running_name);
    order_note_in(ORDER_WHOLE, NULL);
    order_note_in(ORDER_AFTER, NULL);
    compare(&party);
    touched_clear(&whole);
    family_let_go((struct kin){running, 0});
    running = NULL;
    own = (struct kin){0};
}
