/* addresses: memory of the host and of the device, allocated and freed at random, far more often than the host has
 * addresses that are multiples of 4 GiB: each is found by each of its addresses, and the host can use them. */
#include <stdio.h>
#include <stdlib.h>

#include "machine/pages.h"

enum { ROUNDS = 60000, LIVE = 600 };

static unsigned random_number(void) {
    static unsigned state = 7;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void check(bool is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "addresses: %s\n", what);
    exit(1);
}

static void look_at(const struct memory *memory, const struct allocation *allocation) {
    for (uint64_t i = 0; i <= allocation->nbytes >> 32; i++)
        check(simt_memory_slot(memory, allocation->address + (i << 32)) == allocation, "another allocation is found");
    check(allocation->backing != BACKING_SHARED || (uintptr_t)allocation->bytes == allocation->address,
          "the host's address is another one");
}

/* One in 50 of up to 12 GiB, which are not touched between their ends. */
static struct allocation *allocate(struct memory *memory) {
    const uint64_t nbytes = random_number() % 50 ? 1 + random_number() % 5000 : ((1 + random_number() % 3ull) << 32) + 5;
    const bool is_shared = random_number() % 3 || nbytes > 5000;
    struct allocation *allocation =
        is_shared ? simt_memory_allocate_shared(memory, nbytes) : simt_memory_allocate(memory, nbytes, false);
    check(allocation, "there is no memory");
    allocation->bytes[0] = allocation->bytes[nbytes - 1] = 1;
    look_at(memory, allocation);
    return allocation;
}

int main(void) {
    struct memory memory = {0};
    struct allocation *live[LIVE] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct allocation **one = &live[random_number() % LIVE];
        if (*one) simt_memory_free(&memory, *one);
        *one = *one ? NULL : allocate(&memory);
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i]) look_at(&memory, live[i]);
    simt_memory_clear(&memory);
    return 0;
}
