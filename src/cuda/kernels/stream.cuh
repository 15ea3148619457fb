// Loading: how a warp gets the vectors of its next chunk.
//
// A chunk is VECTORS vectors for each lane.  From sm_90 on the copy engine brings chunks into a ring in shared
// memory, STAGES ahead, so that much is on its way however few threads there are; with STAGES 0, and before
// sm_90, lanes load for themselves.  ALIGNMENT is what every address is a multiple of, in bytes, if not 16.

#ifndef STREAM_CUH
#define STREAM_CUH

#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define CHUNK (32 * VECTORS)                     // vectors
#define STAGE_NBYTES (CHUNK * 16 * OPERANDS)     // of a warp
#define USES_RING (STAGES > 0 && __CUDA_ARCH__ >= 900)
#define RING_NBYTES (USES_RING ? STAGES * STAGE_NBYTES : 0)

#if ALIGNMENT == 8
typedef u64 aligned_word;
#elif ALIGNMENT == 4
typedef u32 aligned_word;
#elif ALIGNMENT == 2
typedef unsigned short aligned_word;
#elif ALIGNMENT == 1
typedef unsigned char aligned_word;
#endif

static __device__ __forceinline__ vector load_vector(u64 address, u64 at)
{
    vector v;
#if ALIGNMENT == 16
    uint4 loaded = __ldcs((const uint4 *)address + at);
    v.word[0] = loaded.x;
    v.word[1] = loaded.y;
    v.word[2] = loaded.z;
    v.word[3] = loaded.w;
#elif ALIGNMENT == 8
    const aligned_word *from = (const aligned_word *)address + at * 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        v.word[2 * i] = (u32)from[i];
        v.word[2 * i + 1] = (u32)(from[i] >> 32);
    }
#else
    const aligned_word *from = (const aligned_word *)address + at * (16 / ALIGNMENT);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v.word[i] = 0;
#pragma unroll
        for (int k = 0; k < 4 / ALIGNMENT; k++)
            v.word[i] |= (u32)from[i * (4 / ALIGNMENT) + k] << k * ALIGNMENT * 8 % 32;
    }
#endif
#if IS_BOOL
#pragma unroll
    for (int i = 0; i < 4; i++) v.word[i] = as_booleans(v.word[i]);
#endif
    return v;
}

// One element; i may be negative.
static __device__ __forceinline__ unit load_element(u64 address, i64 i)
{
    unit bits = 0;
#if ALIGNMENT >= WIDTH / 8
    bits = ((const unit *)address)[i];
#else
    const aligned_word *from = (const aligned_word *)address + i * (WIDTH / 8 / ALIGNMENT);
    for (int k = 0; k < WIDTH / 8 / ALIGNMENT; k++) bits |= (unit)((unit)from[k] << k * ALIGNMENT * 8);
#endif
    return IS_BOOL ? bits != 0 : bits;
}

typedef struct {
    u64 x, y;
    u64 chunks; // in all
    u64 first, next; // the warp's chunks: the first, and the one that comes
    u64 step;   // from one of the warp's chunks to the next
    u32 taken;  // chunks so far
    char *ring;
    u64 *full; // barriers, one for each stage: its bytes have come
    int stage;
    u32 phase;
} stream;

#if USES_RING

static __device__ __forceinline__ u32 shared_address(const void *pointer)
{
    return (u32)__cvta_generic_to_shared(pointer);
}

// By one lane: asks for the chunk to be copied to a stage.
static __device__ __forceinline__ void stream_request(const stream *s, int stage, u64 chunk)
{
    u32 barrier = shared_address(s->full + stage), target = shared_address(s->ring + stage * STAGE_NBYTES);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(STAGE_NBYTES)
                 : "memory");
#pragma unroll
    for (int i = 0; i < OPERANDS; i++)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         target + i * CHUNK * 16),
                     "l"((i ? s->y : s->x) + chunk * (CHUNK * 16)), "r"(CHUNK * 16), "r"(barrier)
                     : "memory");
}

static __device__ __forceinline__ void stream_begin(stream *s)
{
    __shared__ u64 full[BLOCK / 32][STAGES];
    s->full = full[warp_number()];
    s->stage = 0;
    s->phase = 0;
    if (lane_number() < STAGES)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(s->full + lane_number())) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane_number() == 0)
        for (int stage = 0; stage < STAGES; stage++)
            if (s->next + stage * s->step < s->chunks) stream_request(s, stage, s->next + stage * s->step);
}

static __device__ __forceinline__ void stream_wait(const stream *s)
{
    u32 done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(s->full + s->stage)), "r"(s->phase)
                     : "memory");
}

// The warp's next chunk, which must exist.
static __device__ __forceinline__ void stream_take(stream *s, vector x[VECTORS], vector y[VECTORS])
{
    stream_wait(s);
    const uint4 *from = (const uint4 *)(s->ring + s->stage * STAGE_NBYTES) + lane_number();
#pragma unroll
    for (int j = 0; j < VECTORS * OPERANDS; j++) {
        uint4 loaded = from[32 * j];
        vector *v = j < VECTORS ? &x[j % VECTORS] : &y[j % VECTORS];
        v->word[0] = IS_BOOL ? as_booleans(loaded.x) : loaded.x;
        v->word[1] = IS_BOOL ? as_booleans(loaded.y) : loaded.y;
        v->word[2] = IS_BOOL ? as_booleans(loaded.z) : loaded.z;
        v->word[3] = IS_BOOL ? as_booleans(loaded.w) : loaded.w;
    }
    __syncwarp(); // all have asked for the stage's words; before the copy engine overwrites it they must have come
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    u64 ahead = s->next + STAGES * s->step;
    if (lane_number() == 0 && ahead < s->chunks) stream_request(s, s->stage, ahead);
    if (++s->stage == STAGES) {
        s->stage = 0;
        s->phase ^= 1;
    }
    s->next += s->step;
    s->taken++;
}

#else

static __device__ __forceinline__ void stream_begin(stream *s)
{
    (void)s;
}

static __device__ __forceinline__ void stream_take(stream *s, vector x[VECTORS], vector y[VECTORS])
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        x[j] = load_vector(s->x, s->next * CHUNK + j * 32 + lane_number());
        if (HAS_DOT) y[j] = load_vector(s->y, s->next * CHUNK + j * 32 + lane_number());
    }
    s->next += s->step;
    s->taken++;
}

#endif

#endif
