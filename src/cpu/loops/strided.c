/* Copies of elements that lie a few elements apart, forwards or backwards: whole vectors are loaded, and their lanes
 * that hold elements placed side by side.  Compiled for each tier. */
#define TYPE U32 /* what the vectors hold */
#include "core/strided.h"
#include "cpu/loops/vector.h"
#include "cpu/loops/placed_lanes.h"

#define COPY_STRIDED_(tier) wf_copy_strided_##tier
#define COPY_STRIDED(tier) COPY_STRIDED_(tier)
wf_copy_strided_function COPY_STRIDED(TIER);

#ifdef HAS_PLACED_LANES

/* Returns how many elements are copied.  Nothing behind the last one is read. */
INLINE size_t copy_blocks(unsigned char *restrict to, const unsigned char *restrict from, size_t count, struct stride stride) {
    const size_t per_vector = STEP / (size_t)stride.words, block = (size_t)stride.apart * VECTOR_NBYTES;
    const struct places places = places_of(stride);
    size_t i = 0;
    if (stride.backwards) from -= block - (size_t)stride.words * sizeof(uword);
    for (; i + per_vector < count; i += per_vector, to += VECTOR_NBYTES) {
        const vsword copy = placed_block(from, &places, stride.apart);
        memcpy(to, &copy, sizeof copy);
        from = stride.backwards ? from - block : from + block;
    }
    return i;
}

#define FORWARDS(words, apart)                                                                               \
    case apart: return copy_blocks(to, from, count, (struct stride){words, apart, false});
#define BACKWARDS(words, apart)                                                                              \
    case -(apart): return copy_blocks(to, from, count, (struct stride){words, apart, true});
#define BOTH_WAYS(words, apart) FORWARDS(words, apart) BACKWARDS(words, apart)

INLINE size_t copy_apart(unsigned char *restrict to, const unsigned char *restrict from, int64_t apart, size_t count, int words) {
    const int64_t most = (int)STEP / (2 * words); /* beyond, an element takes as much as by itself */
    if (apart > most || apart < -most) return 0;
    switch (apart) {
        BACKWARDS(words, 1)
        BOTH_WAYS(words, 2)
        BOTH_WAYS(words, 3)
        BOTH_WAYS(words, 4)
        FORWARDS(words, 5)
        FORWARDS(words, 6)
        FORWARDS(words, 7)
        FORWARDS(words, 8)
    default: return 0;
    }
}

static size_t copy_some(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride_bytes, size_t count,
                        size_t nbytes) {
    if (count <= VECTOR_NBYTES / nbytes || stride_bytes % (int64_t)nbytes) return 0;
    if (nbytes == sizeof(uword)) return copy_apart(to, from, stride_bytes / (int64_t)nbytes, count, 1);
    if (nbytes == 2 * sizeof(uword)) return copy_apart(to, from, stride_bytes / (int64_t)nbytes, count, 2);
    return 0;
}

#else

static size_t copy_some(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride_bytes, size_t count,
                        size_t nbytes) {
    (void)to, (void)from, (void)stride_bytes, (void)count, (void)nbytes;
    return 0;
}

#endif

void COPY_STRIDED(TIER)(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride_bytes, size_t count,
                        size_t nbytes) {
    const size_t copied = copy_some(to, from, stride_bytes, count, nbytes);
    wf_copy_strided(to + copied * nbytes, from + (int64_t)copied * stride_bytes, stride_bytes, count - copied, nbytes);
}
