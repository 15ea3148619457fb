#include "mbarrier.h"

#include <stddef.h>
#include <string.h>

enum { COUNT_BITS = 20, NBYTES_BITS = 21, PHASE_SHIFT = 2 * COUNT_BITS + NBYTES_BITS, TAG_SHIFT = PHASE_SHIFT + 1 };

#define TAG UINT64_C(2)

bool simt_mbarrier_unpack(uint64_t state, struct mbarrier *mbarrier) {
    uint32_t nbytes = (uint32_t)(state >> 2 * COUNT_BITS) & ((1u << NBYTES_BITS) - 1), sign = 1u << (NBYTES_BITS - 1);
    mbarrier->expected = (uint32_t)state & MBARRIER_COUNT_MAX;
    mbarrier->pending = (uint32_t)(state >> COUNT_BITS) & MBARRIER_COUNT_MAX;
    mbarrier->nbytes = (int32_t)(nbytes ^ sign) - (int32_t)sign;
    mbarrier->phase = (uint32_t)(state >> PHASE_SHIFT) & 1;
    return state >> TAG_SHIFT == TAG;
}

uint64_t simt_mbarrier_pack(const struct mbarrier *mbarrier) {
    uint64_t nbytes = (uint32_t)mbarrier->nbytes & ((1u << NBYTES_BITS) - 1);
    return TAG << TAG_SHIFT | (uint64_t)mbarrier->phase << PHASE_SHIFT | nbytes << 2 * COUNT_BITS |
           (uint64_t)mbarrier->pending << COUNT_BITS | mbarrier->expected;
}

bool simt_mbarrier_read(const unsigned char *host, struct mbarrier *mbarrier) {
    uint64_t state;
    memcpy(&state, host, sizeof state);
    return simt_mbarrier_unpack(state, mbarrier);
}

void simt_mbarrier_write(unsigned char *host, const struct mbarrier *mbarrier) {
    uint64_t state = simt_mbarrier_pack(mbarrier);
    memcpy(host, &state, sizeof state);
}

static const char *count_bytes(struct mbarrier *mbarrier, int64_t nbytes) {
    int64_t sum = mbarrier->nbytes + nbytes;
    if (sum > MBARRIER_COUNT_MAX || sum < -MBARRIER_COUNT_MAX)
        return "more than 1048575 bytes are announced and have not come, or have come and are not announced";
    mbarrier->nbytes = (int32_t)sum;
    return NULL;
}

const char *simt_mbarrier_expect(struct mbarrier *mbarrier, uint32_t nbytes) { return count_bytes(mbarrier, nbytes); }

const char *simt_mbarrier_complete(struct mbarrier *mbarrier, uint32_t nbytes) {
    return count_bytes(mbarrier, -(int64_t)nbytes);
}

const char *simt_mbarrier_arrive(struct mbarrier *mbarrier, uint32_t count) {
    if (count == 0) return "an arrival must count for one at least";
    if (count > mbarrier->pending) return "more threads arrive in a phase than it expects";
    mbarrier->pending -= count;
    return NULL;
}

const char *simt_mbarrier_drop(struct mbarrier *mbarrier, uint32_t count) {
    if (count > mbarrier->expected) return "more threads drop out than it expects";
    mbarrier->expected -= count;
    return NULL;
}

bool simt_mbarrier_advance(struct mbarrier *mbarrier) {
    if (mbarrier->pending || mbarrier->nbytes) return false;
    mbarrier->phase ^= 1;
    mbarrier->pending = mbarrier->expected;
    return true;
}
