#include "locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "element.h"

/* ---- what is taken */

/* A table by the word's place, in which a later lock displaces an earlier one: of a displaced one nothing is told. */
enum { LOCKS = 1 << 10 };

struct lock {
    uintptr_t host; /* where the simulator keeps the word; 0: none */
    uint64_t block; /* who took it last, */
    uint32_t thread, pc, nbytes;
    bool is_shared;
};

static struct lock *slot_of(struct lock *locks, uintptr_t host) {
    return &locks[(host >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}

static void take(struct warp *warp, const struct path *path, const struct request *request, uint32_t lane) {
    struct launch *launch = warp->block->launch;
    const uintptr_t host = (uintptr_t)simt_request_host(request, lane);
    pthread_mutex_lock(&launch->lock);
    if (!launch->locks) launch->locks = calloc(LOCKS, sizeof *launch->locks);
    if (launch->locks)
        *slot_of(launch->locks, host) = (struct lock){.host = host,
                                                      .block = warp->block->view.index,
                                                      .thread = warp->index * launch->view.warp_size + lane,
                                                      .pc = path->pc,
                                                      .nbytes = request->nbytes,
                                                      .is_shared = request->space == SIMT_SHARED};
    pthread_mutex_unlock(&launch->lock);
}

static void await(struct warp *warp, const struct path *path, const struct request *request, uint32_t lane) {
    if (!warp->awaited) warp->awaited = calloc(1, sizeof *warp->awaited);
    struct awaited *awaited = warp->awaited;
    if (!awaited) return; /* the loop is told without the lock */
    awaited->lanes |= UINT32_C(1) << lane;
    awaited->hosts[lane] = (uintptr_t)simt_request_host(request, lane);
    awaited->addresses[lane] = request->addresses[lane];
    awaited->pcs[lane] = path->pc;
}

void simt_locks_note(struct warp *warp, const struct path *path, const struct request *request) {
    const struct code *code = request->code;
    const unsigned char *values = slot_lanes(path, code->call.slots[1]), *olds = slot_lanes(path, code->call.slots[0]);
    const unsigned char *compares = code->memory.has_compare ? slot_lanes(path, code->call.slots[2]) : NULL;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        const bool is_for_free = !compares || !lane_get(compares, code->widths[2], lane);
        if (!is_for_free || !lane_get(values, code->widths[1], lane)) continue;
        if (!lane_get(olds, code->widths[0], lane)) take(warp, path, request, lane);
        else if (warp->recording) await(warp, path, request, lane);
    }
}

void simt_locks_clear(struct launch *launch) {
    free(launch->locks);
    launch->locks = NULL;
}

/* ---- who waits for whom */

/* A thread, and where it is. */
struct place {
    struct block *block; /* NULL: it has ended */
    struct warp *warp;
    const struct path *path;
    uint32_t lane;
};

static struct block *find_block(struct block *own, struct block *others, uint64_t index) {
    for (struct block *block = own; block; block = block == own ? others : block->next) {
        const uint32_t count = block->cluster ? block->cluster->count : 1;
        for (uint32_t rank = 0; rank < count; rank++) {
            struct block *member = block->cluster ? block->cluster->blocks[rank] : block;
            if (member->view.index == index && !member->has_ended) return member;
        }
    }
    return NULL;
}

static struct place find_thread(struct block *own, struct block *others, uint64_t index, uint32_t thread) {
    struct place place = {.block = find_block(own, others, index)};
    if (!place.block) return place;
    const uint32_t size = place.block->launch->view.warp_size;
    place.warp = &place.block->warps[thread / size];
    place.lane = thread % size;
    if (!(place.warp->live >> place.lane & 1)) place.block = NULL;
    for (const struct path *path = place.warp->leaves; path; path = path->next)
        if (path->mask >> place.lane & 1) place.path = path;
    return place;
}

/* The lock for which the thread waits in its loop, if somebody holds it. */
static const struct lock *lock_awaited(const struct place *place) {
    const struct awaited *awaited = place->warp->awaited;
    struct lock *locks = place->block->launch->locks;
    const bool is_spinning = place->path && place->path->state == PATH_READY && awaited && awaited->lanes >> place->lane & 1;
    if (!is_spinning || !locks) return NULL;
    const struct lock *lock = slot_of(locks, awaited->hosts[place->lane]);
    if (lock->host != awaited->hosts[place->lane]) return NULL;
    if (lock->is_shared && lock->block != place->block->view.index && !place->block->cluster) return NULL; /* an earlier block's */
    return element_load((const unsigned char *)lock->host, lock->nbytes) ? lock : NULL;
}

static bool is_same_thread(const struct place *one, const struct place *other) {
    return one->warp == other->warp && one->lane == other->lane;
}

/* ---- the words */

enum { NAME_NBYTES = 80, THREAD_NBYTES = 80 };

static void name_thread(const struct block *block, uint64_t index, uint32_t thread, char text[THREAD_NBYTES]) {
    const uint32_t *grid = block->launch->view.grid, *size = block->launch->view.block;
    snprintf(text, THREAD_NBYTES, "thread (%u,%u,%u) of block (%u,%u,%u)", thread % size[0], thread / size[0] % size[1],
             thread / size[0] / size[1], (unsigned)(index % grid[0]), (unsigned)(index / grid[0] % grid[1]),
             (unsigned)(index / grid[0] / grid[1]));
}

/* "argument 1[0]": reports put its name there. */
static bool name_argument(const struct launch *launch, uint64_t address, uint32_t nbytes, char text[NAME_NBYTES]) {
    const struct allocation *allocation = simt_memory_find(&launch->machine->memory, address);
    const size_t count = simt_module_parameter_count(launch->request->module, launch->request->kernel);
    for (size_t i = 0; allocation && i < count; i++) {
        uint64_t pointer;
        if (simt_module_parameter_nbytes(launch->request->module, launch->request->kernel, i) != sizeof pointer) continue;
        memcpy(&pointer, launch->request->arguments[i], sizeof pointer);
        if (simt_memory_find(&launch->machine->memory, pointer) != allocation || pointer > address) continue;
        snprintf(text, NAME_NBYTES, "`argument %zu[%llu]`", i, (unsigned long long)((address - pointer) / nbytes));
        return true;
    }
    return false;
}

static void name_lock(const struct launch *launch, const struct lock *lock, uint64_t address, char text[NAME_NBYTES]) {
    char name[64];
    struct placed found;
    const bool is_variable = lock->is_shared ? simt_shared_array(launch, NULL, address, &found)
                                             : simt_global_variable(launch, address, &found);
    if (!is_variable && !lock->is_shared && name_argument(launch, address, lock->nbytes, text)) return;
    if (!is_variable) snprintf(text, NAME_NBYTES, lock->is_shared ? "at byte %llu of shared memory" : "at 0x%llx", (unsigned long long)address);
    if (!is_variable) return;
    simt_plain_name(found.variable->name, name, sizeof name);
    const unsigned long long index = (address - found.address) / lock->nbytes;
    if (found.variable->nbytes == lock->nbytes) snprintf(text, NAME_NBYTES, "`%s`", name);
    else snprintf(text, NAME_NBYTES, "`%.60s[%llu]`", name, index);
}

static void name_awaited(const struct place *place, const struct lock *lock, char text[NAME_NBYTES]) {
    name_lock(place->block->launch, lock, place->warp->awaited->addresses[place->lane], text);
}

static uint32_t awaiting_line(const struct place *place) {
    return simt_line_at(place->block->launch, place->warp->awaited->pcs[place->lane]);
}

static void say_holder(const struct place *place, const struct lock *lock, const struct place *holder, char *text, size_t nbytes) {
    const struct launch *launch = place->block->launch;
    char name[NAME_NBYTES], thread[THREAD_NBYTES];
    name_awaited(place, lock, name);
    name_thread(place->block, lock->block, lock->thread, thread);
    const uint32_t taken = simt_line_at(launch, lock->pc);
    if (holder->block && is_same_thread(place, holder))
        snprintf(text, nbytes, "at line %u it waits for the lock %s, which it has taken itself at line %u: free a lock before it "
                 "is taken again", awaiting_line(place), name, taken);
    else if (!holder->block)
        snprintf(text, nbytes, "it waits for the lock %s, which %s took at line %u and did not free before it ended: free it "
                 "on every way to the end, as with atomicExch(lock, 0)", name, thread, taken);
    else if (holder->path)
        snprintf(text, nbytes, "it waits for the lock %s, which %s took at line %u and holds while it waits at line %u: free it "
                 "before that", name, thread, taken, simt_line_at(launch, holder->path->pc));
    else
        snprintf(text, nbytes, "it waits for the lock %s, which %s took at line %u and holds while it waits for these: free it "
                 "before that", name, thread, taken);
}

/* Threads wait for each other: one for the next, which holds what it waits for, and so on back to it. */
static void say_circle(const struct place *place, const struct lock *lock, const struct place *holder, uint32_t count, char *text,
                       size_t nbytes) {
    char wanted[NAME_NBYTES], held[NAME_NBYTES], first[THREAD_NBYTES], second[THREAD_NBYTES], third[THREAD_NBYTES] = "the first";
    char circle[64] = "";
    const struct launch *launch = place->block->launch;
    const struct lock *next = lock_awaited(holder);
    name_awaited(place, lock, wanted);
    name_awaited(holder, next, held);
    name_thread(place->block, place->block->view.index, place->warp->index * launch->view.warp_size + place->lane, first);
    name_thread(place->block, lock->block, lock->thread, second);
    if (count > 2) name_thread(place->block, next->block, next->thread, third);
    if (count > 2) snprintf(circle, sizeof circle, ", and so on in a circle of %u threads", count);
    snprintf(text, nbytes, "%s waits at line %u for the lock %s, which %s took at line %u; that one waits at line %u for the lock %s, "
             "which %s took at line %u%s: take locks in one order everywhere, say by their addresses", first, awaiting_line(place),
             wanted, second, simt_line_at(launch, lock->pc), awaiting_line(holder), held, third, simt_line_at(launch, next->pc), circle);
}

/* ---- the chain */

enum { CHAIN_MAX = 1 << 12 };

/* The threads from this one on each of which waits for a lock of the next, until one waits for none that is known, or again
 * for one of them.  Returns after how many; *place is the last, or where the circle begins. */
static uint32_t follow(struct block *others, struct place *place, bool *is_circle) {
    struct place first = *place, marked = *place;
    uint32_t circle = 0;
    *is_circle = false;
    for (uint32_t step = 1; step < CHAIN_MAX; step++) {
        const struct lock *lock = lock_awaited(place);
        if (!lock) return step;
        struct place next = find_thread(first.block, others, lock->block, lock->thread);
        if (!next.block || !next.path || !lock_awaited(&next)) return step;
        circle++;
        *is_circle = is_same_thread(&next, &marked);
        *place = next;
        if (*is_circle) return circle;
        if (!(step & (step - 1))) marked = next, circle = 0; /* Brent 1980 */
    }
    return CHAIN_MAX;
}

bool simt_locks_explain(struct warp *warp, const struct path *path, struct block *others, struct lock_wait *wait) {
    struct place place = {.block = warp->block, .warp = warp, .path = path, .lane = first_lane(path->mask)};
    bool is_circle;
    if (!lock_awaited(&place)) return false;
    const uint32_t count = follow(others, &place, &is_circle);
    const struct lock *lock = lock_awaited(&place);
    const struct place holder = find_thread(warp->block, others, lock->block, lock->thread);
    if (holder.block && holder.path && holder.path->state == PATH_READY && !lock_awaited(&holder)) { /* its own loop is the cause */
        *wait = (struct lock_wait){.warp = holder.warp, .path = holder.path};
        return true;
    }
    *wait = (struct lock_wait){.warp = place.warp, .path = place.path, .lane = place.lane};
    if (is_circle && count > 1) say_circle(&place, lock, &holder, count, wait->because, sizeof wait->because);
    else say_holder(&place, lock, &holder, wait->because, sizeof wait->because);
    return true;
}
