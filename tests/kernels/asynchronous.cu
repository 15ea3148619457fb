// Asynchronous copies, mbarriers and clusters, in PTX, so that any compiler compiles them.  Each kernel is right with
// the fault `right`; with any other it lacks, or has, what the comment "fault" names.

enum fault {
    right,
    no_wait,
    no_commit,
    no_barrier,
    waits_for_older,
    reuses_stage,
    stores_into_copy,
    wrong_phase,
    no_expect,
    expects_less,
    expects_more,
    counts_two,
    counts_none,
    no_init_barrier,
    no_init,
    frees_early,
    drops_out,
    no_proxy_fence,
    no_read_wait,
    reads_result_early,
    leaves_early,
    no_last_wait,
    waits_once,
    announces_late,
    no_inval,
    misaligned,
    past_the_end
};

#define DEVICE static __device__ __forceinline__

DEVICE unsigned address(const void *shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// ---- cp.async

DEVICE void copy_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address(to)), "l"(from) : "memory");
}
DEVICE void copy_4(void *to, const void *from, unsigned nbytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address(to)), "l"(from), "r"(nbytes) : "memory");
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> DEVICE void wait_group() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }

// Two stages of a tile of each block: while one is read, the other comes.
template <fault fault> __global__ void staged(const int4 *in, int4 *out, int tiles) {
    __shared__ int4 stages[2][64];
    unsigned t = threadIdx.x, other = (t + 33) % 64;
    copy_16(&stages[0][t], in + t); // line: first copy
    if (fault != no_commit) commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) copy_16(&stages[(tile + 1) % 2][t], in + 64 * (tile + 1) + t); // line: copy
        commit();
        if (fault == stores_into_copy && tile == 0) stages[1][t].x = 5; // line: stores into copy
        if (fault == waits_for_older) wait_group<2>();
        else if (fault != no_wait) wait_group<1>();
        if (fault != no_barrier) __syncthreads();
        out[64 * tile + t] = stages[tile % 2][other]; // line: read
        if (fault != reuses_stage) __syncthreads();
    }
}

// What of a copy is not read is zero; only so many threads have something to read.
__global__ void partial(const int *in, int *out, int n) {
    __shared__ int tile[64];
    unsigned t = threadIdx.x;
    copy_4(&tile[t], in + t, t < n ? 4 : 0);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[t] = tile[63 - t];
}

// ---- mbarriers

typedef unsigned long long mbarrier;

DEVICE void init(mbarrier *m, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(m)), "r"(count) : "memory");
}
DEVICE mbarrier arrive(mbarrier *m) {
    mbarrier state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(address(m)) : "memory");
    return state;
}
DEVICE void arrive_expect(mbarrier *m, unsigned nbytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(m)), "r"(nbytes) : "memory");
}
DEVICE void await(mbarrier *m, unsigned parity) {
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1; "
                 "@!over bra again; }" ::"r"(address(m)), "r"(parity) : "memory");
}
DEVICE void look(mbarrier *m, unsigned parity) { // and makes nothing of the result, as a function may whose caller does not look
    unsigned over;
    asm volatile("{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; selp.u32 %0, 1, 0, over; }"
                 : "=r"(over) : "r"(address(m)), "r"(parity) : "memory");
}
DEVICE void expect(mbarrier *m, unsigned nbytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(address(m)), "r"(nbytes) : "memory");
}
DEVICE void await_state(mbarrier *m, mbarrier state) {
    asm volatile("{ .reg .pred over; again: mbarrier.test_wait.shared::cta.b64 over, [%0], %1; "
                 "@!over bra again; }" ::"r"(address(m)), "l"(state) : "memory");
}
DEVICE void fence_proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

// As __syncthreads(), round after round: the running sums of neighbours.
template <fault fault> __global__ void rounds(int *out, int count) {
    __shared__ mbarrier m;
    __shared__ int values[2][64];
    unsigned t = threadIdx.x;
    if (t == 0) init(&m, fault == counts_two ? 65 : 64); // line: init
    if (fault != no_init_barrier) __syncthreads();
    values[0][t] = t;
    for (int round = 0; round < count; round++) {
        if (fault == drops_out && t == 7 && round == 1) return;
        mbarrier state = arrive(&m);                     // line: arrive
        if (fault != no_wait) await_state(&m, state);    // line: wait
        values[(round + 1) % 2][t] = values[round % 2][t] + values[round % 2][(t + 33) % 64]; // line: neighbours
    }
    out[t] = values[count % 2][t];
}

// cp.async that an mbarrier counts; a thread that is done drops out.
__global__ void counted(const int *in, int *out) {
    __shared__ mbarrier m;
    __shared__ int tile[64];
    unsigned t = threadIdx.x;
    if (t == 0) init(&m, 64);
    __syncthreads();
    copy_4(&tile[t], in + t, 4);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address(&m)) : "memory");
    await(&m, 0);
    out[t] = tile[63 - t];
    asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(address(&m)) : "memory");
    if (t == 63) return;
    await(&m, 1);
    __syncthreads(); // nobody waits for it any more
    mbarrier state = 1;
    if (t == 0) {
        unsigned pending;
        init(&m, 5);
        asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 2;" : "=l"(state) : "r"(address(&m)));
        state = arrive(&m);
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        out[64] = pending;
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address(&m)) : "memory");
    }
}

// ---- bulk copies

DEVICE void bulk_load(void *to, const void *from, unsigned nbytes, mbarrier *m) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     address(to)), "l"(from), "r"(nbytes), "r"(address(m)) : "memory");
}
DEVICE void bulk_store(void *to, const void *from, unsigned nbytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(address(from)),
                 "r"(nbytes) : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
DEVICE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// A ring of two stages: warp 0's first lane asks for them, 64 threads of warps 1 and 2 add them up.
template <fault fault> __global__ void ring(const int *in, int *out, int tiles) {
    __shared__ __align__(16) int stages[2][64];
    __shared__ mbarrier full[2], empty[2];
    unsigned t = threadIdx.x, nbytes = 256;
    if (t < 64) stages[0][t] = stages[1][t] = -1;
    fence_proxy();
    if (t == 0)
        for (int s = 0; s < 2; s++) {
            if (fault != no_init) init(&full[s], fault == counts_two ? 2 : 1); // line: init
            init(&empty[s], 64);
        }
    if (fault != no_init_barrier) __syncthreads();
    if (t == 0)
        for (int tile = 0; tile < tiles; tile++) {
            int s = tile % 2;
            if (tile >= 2 && fault != reuses_stage) await(&empty[s], (tile / 2 - 1) % 2);
            unsigned expected = fault == expects_less ? nbytes - 16 : fault == expects_more ? nbytes + 16 : nbytes;
            if (fault == no_expect) arrive(&full[s]);
            else if (fault != announces_late) arrive_expect(&full[s], expected); // line: expect
            const int *from = in + 64 * tile + (fault == misaligned) + (fault == past_the_end ? 64 : 0);
            bulk_load(stages[s], from, nbytes, &full[s]); // line: copy
            if (fault == announces_late) {
                arrive(&full[s]);
                expect(&full[s], nbytes);
            }
        }
    if (t < 32) return;
    int sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
        int s = tile % 2;
        unsigned parity = fault == wrong_phase ? (tile / 2 + 1) % 2 : tile / 2 % 2;
        if (fault == waits_once) look(&full[s], parity);
        else if (fault != no_wait) await(&full[s], parity); // line: wait
        if (fault == frees_early) arrive(&empty[s]);
        sum += stages[s][t - 32]; // line: read
        if (fault != frees_early) arrive(&empty[s]);
    }
    out[t - 32] = sum;
}

// Threads write a tile, a bulk copy stores it; two tiles, one after the other, from the same place.
template <fault fault> __global__ void stored(int *out, int *early) {
    __shared__ __align__(16) int tile[64];
    unsigned t = threadIdx.x;
    for (int round = 0; round < 2; round++) {
        tile[t] = 100 * round + t; // line: write
        if (fault != no_proxy_fence) fence_proxy();
        if (fault != no_barrier) __syncthreads();
        if (t == 0) {
            bulk_store(out + 64 * round, tile, 256); // line: store
            if (fault != no_commit) bulk_commit();
            if (fault != no_read_wait && (fault != no_last_wait || round == 0)) bulk_wait_read();
            if (fault == reads_result_early) early[0] = out[64 * round]; // line: read result
        }
        __syncthreads();
    }
    if (t == 0 && fault != no_last_wait) {
        bulk_wait();
        early[1] = out[0];
    }
}

// Every block adds its tile to the same sums.
__global__ void reduced(int *sums) {
    __shared__ __align__(16) int tile[64];
    unsigned t = threadIdx.x;
    tile[t] = t * (blockIdx.x + 1);
    fence_proxy();
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(sums),
                     "r"(address(tile)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%0], [%1], 256;" ::"l"(sums + 64),
                     "r"(address(tile)) : "memory");
        bulk_commit();
        bulk_wait();
    }
}

// An mbarrier for each round, all in one place.
template <fault fault> __global__ void renewed(int *out) {
    __shared__ mbarrier m;
    unsigned t = threadIdx.x;
    for (int round = 0; round < 2; round++) {
        if (t == 0) init(&m, 64);
        __syncthreads();
        await_state(&m, arrive(&m));
        __syncthreads();
        if (t == 0 && fault != no_inval) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address(&m)) : "memory");
    }
    out[t] = t;
}

// The warp that is the last to count itself makes an end of the mbarrier that both have arrived at.
__global__ void retired(int *out) {
    __shared__ mbarrier m;
    __shared__ unsigned count;
    unsigned before, t = threadIdx.x;
    if (t == 0) {
        count = 0;
        init(&m, 3);
    }
    __syncthreads();
    if (t % 32) return;
    arrive(&m);
    asm volatile("atom.acq_rel.cta.shared::cta.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(address(&count)) : "memory");
    if (before == 0) return;
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address(&m)) : "memory");
    out[0] = before;
}

// ---- clusters, of four blocks

DEVICE unsigned rank() {
    unsigned r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
DEVICE unsigned in_block(const void *shared, unsigned r) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(shared)), "r"(r));
    return there;
}
DEVICE void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Each block gives its values to the next.
template <fault fault> __global__ void passed(int *out) {
    __shared__ int values[32];
    unsigned t = threadIdx.x, r = rank();
    values[t] = -1;
    cluster_sync();
    unsigned there = in_block(&values[t], (r + 1) % 4);
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(100 * r + t) : "memory"); // line: give
    if (fault != no_barrier) cluster_sync();
    out[32 * blockIdx.x + t] = values[31 - t]; // line: read
    if (fault == no_barrier) cluster_sync();
}

// Blocks read what the first one has, which must not leave before.
template <fault fault> __global__ void fetched(int *out) {
    __shared__ int values[32];
    unsigned t = threadIdx.x, value;
    values[t] = 7 * t;
    cluster_sync();
    if (fault == leaves_early && rank() == 0) return;
    if (fault == leaves_early)
        for (int i = 0; i < 3; i++) __syncthreads();
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(in_block(&values[t], 0))); // line: fetch
    out[32 * (blockIdx.x + gridDim.x * blockIdx.y) + t] = value;
    if (fault != leaves_early) cluster_sync();
}

// The same where nothing is written before: that the next block has begun is all that must be known.
template <fault fault> __global__ void passed_on(int *out) {
    __shared__ int values[32];
    unsigned t = threadIdx.x, r = rank();
    if (fault != no_barrier) asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(in_block(&values[t], (r + 1) % 4)), "r"(100 * r + t) : "memory"); // line: give on
    cluster_sync();
    out[32 * blockIdx.x + t] = values[31 - t];
}

// The last block tells the first, whose mbarrier must be there until then: that it is waited for there is enough.
template <fault fault> __global__ void told(int *out) {
    __shared__ mbarrier m;
    unsigned t = threadIdx.x, r = rank();
    if (t == 0) init(&m, 32);
    cluster_sync();
    if (r == 3)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(&m, 0)) : "memory"); // line: tell
    if (r == 0 && fault != leaves_early)
        asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%0], 0; "
                     "@!over bra again; }" ::"r"(address(&m)) : "memory");
    out[32 * blockIdx.x + t] = r;
}

// Nobody waits for the last copy.
template <fault fault> __global__ void fetched_ahead(const int *in, int *out) {
    __shared__ __align__(16) int tile[64];
    __shared__ mbarrier m;
    unsigned t = threadIdx.x;
    if (t == 0) {
        init(&m, 1);
        arrive_expect(&m, 256);
        bulk_load(tile, in, 256, &m);
    }
    __syncthreads();
    if (fault != no_last_wait && t == 7) await(&m, 0);
    out[t] = t;
}

// The first block asks for a tile that comes to all, each of which waits for its own mbarrier.
__global__ void multicast(const int *in, int *out) {
    __shared__ __align__(16) int tile[64];
    __shared__ mbarrier m;
    unsigned t = threadIdx.x;
    if (t == 0) {
        init(&m, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        arrive_expect(&m, 256);
    }
    cluster_sync();
    if (t == 0 && rank() == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
                     "256, [%2], %3;" ::"r"(address(tile)), "l"(in), "r"(address(&m)), "h"((unsigned short)15)
                     : "memory");
    await(&m, 0);
    out[64 * blockIdx.x + t] = tile[t];
    cluster_sync();
}

// Each block sends a tile to the next, in registers, and adds to a sum there; the mbarrier there counts both.
template <fault fault> __global__ void sent(int *out, int *sums) {
    __shared__ __align__(16) int tile[128];
    __shared__ __align__(8) unsigned long long sum;
    __shared__ mbarrier m;
    unsigned t = threadIdx.x, r = rank(), first = 1000 * r + 4 * t, nbytes = 32 * (16 + 8);
    if (t == 0) {
        sum = 0;
        init(&m, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        if (fault == no_expect) arrive(&m);
        else arrive_expect(&m, fault == expects_more ? nbytes + 16 : nbytes);
    }
    if (fault != no_init_barrier) cluster_sync();
    unsigned next = (r + 1) % 4, there = in_block(&m, next);
    unsigned to = in_block(&tile[4 * t], next) + (fault == misaligned ? 4 : 0);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "r"(first), "r"(first + 1), "r"(first + 2), "r"(first + 3), "r"(there) : "memory"); // line: send
    if (t % 2)
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(
                         in_block(&sum, next)), "l"((unsigned long long)first), "r"(there) : "memory");
    else
        asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s64 [%0], %1, [%2];" ::"r"(
                         in_block(&sum, next)), "l"((long long)first), "r"(there) : "memory");
    if (fault != no_wait) await(&m, 0);
    for (int i = 0; i < 4; i++) out[128 * blockIdx.x + 4 * t + i] = tile[127 - 4 * t - i]; // line: read sent
    if (t == 0) sums[blockIdx.x] = (int)sum;
    cluster_sync();
}
