/* CUB's classes for a block and a warp.  A tile of 512 elements, four for each of 128 threads, goes into each function, whose
   results, 512 words of each, stand one behind the other. */
constexpr int TILE = 512, THREADS = 128, ITEMS = 4, NOWHERE = -1;

struct tile {
    int items[ITEMS], *next;
    __device__ tile(const int *in, int *out) : next(out) { cub::LoadDirectBlocked(threadIdx.x, in, items); }
    __device__ void put(const int (&values)[ITEMS]) {
        for (int i = 0; i < ITEMS; i++) next[threadIdx.x * ITEMS + i] = values[i];
        end();
    }
    __device__ void put_striped(const int (&values)[ITEMS], int lanes) {
        const int first = threadIdx.x / lanes * lanes;
        for (int i = 0; i < ITEMS; i++) next[first * ITEMS + i * lanes + threadIdx.x - first] = values[i];
        end();
    }
    __device__ void put_one(int value) {
        for (int i = 0; i < ITEMS; i++) next[threadIdx.x * ITEMS + i] = value;
        end();
    }
    __device__ void end() {
        next += TILE;
        __syncthreads(); // what the next function shares is the same memory
    }
};

static void expect_tile(int (*value)(int)) {
    for (int i = 0; i < TILE; i++) result.push_back(value(i));
}
template <int ALGORITHM> __global__ void reduce_blocks(const int *in, int *out) {
    using reduce = cub::BlockReduce<int, THREADS, cub::BlockReduceAlgorithm(ALGORITHM)>;
    __shared__ typename reduce::TempStorage memory;
    __shared__ int answer;
    tile each(in, out);
    auto put = [&](int value) {
        if (threadIdx.x == 0) answer = value;
        __syncthreads();
        each.put_one(answer);
    };
    put(reduce(memory).Sum(each.items));
    put(reduce(memory).Sum(each.items[0]));
    put(reduce(memory).Sum(each.items[1], 77));
    put(reduce(memory).Reduce(each.items, cuda::maximum<int>{}));
    put(reduce(memory).Reduce(each.items[2], cuda::minimum<int>{}));
    put(reduce(memory).Reduce(each.items[3], cuda::maximum<int>{}, 55));
}
static int of_threads(int item, int threads, int start, int (*combine)(int, int)) {
    for (int i = 0; i < threads; i++) start = combine(start, data[i * ITEMS + item]);
    return start;
}
static int add(int a, int b) { return a + b; }
template <class> static void block_reduce() {
    int *begin = out;
    reduce_blocks<cub::BLOCK_REDUCE_RAKING><<<1, THREADS>>>(in, begin);
    reduce_blocks<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY><<<1, THREADS>>>(in, begin + 6 * TILE);
    reduce_blocks<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<1, THREADS>>>(in, begin + 12 * TILE);
    for (int algorithm = 0; algorithm < 3; algorithm++)
        for (int value : {std::accumulate(data.begin(), data.begin() + TILE, 0), of_threads(0, THREADS, 0, add), of_threads(1, 77, 0, add),
                          *std::max_element(data.begin(), data.begin() + TILE), of_threads(2, THREADS, INT_MAX, lesser),
                          of_threads(3, 55, 0, larger)})
            result.insert(result.end(), TILE, value);
}
struct running {
    int sum;
    __device__ int operator()(int aggregate) {
        const int before = sum;
        sum += aggregate;
        return before;
    }
};
template <int ALGORITHM> __global__ void scan_blocks(const int *in, int *out) {
    using scan = cub::BlockScan<int, THREADS, cub::BlockScanAlgorithm(ALGORITHM)>;
    __shared__ typename scan::TempStorage memory;
    tile each(in, out);
    int scanned[ITEMS], total;
    scan(memory).InclusiveSum(each.items, scanned);
    each.put(scanned);
    scan(memory).ExclusiveSum(each.items, scanned, total);
    each.put(scanned);
    each.put_one(total);
    scan(memory).InclusiveScan(each.items, scanned, cuda::maximum<int>{});
    each.put(scanned);
    scan(memory).ExclusiveScan(each.items, scanned, -7, cuda::maximum<int>{});
    each.put(scanned);
    running before{1000};
    scan(memory).ExclusiveSum(each.items, scanned, before);
    each.put(scanned);
    scan(memory).InclusiveSum(each.items[0], total);
    each.put_one(total);
    scan(memory).ExclusiveSum(each.items[1], total);
    each.put_one(total);
}
static void expect_scans() {
    const auto first = data.begin(), last = first + TILE;
    auto back = std::back_inserter(result);
    std::inclusive_scan(first, last, back);
    std::exclusive_scan(first, last, back, 0);
    result.insert(result.end(), TILE, std::accumulate(first, last, 0));
    std::inclusive_scan(first, last, back, larger);
    std::exclusive_scan(first, last, back, -7, larger);
    std::exclusive_scan(first, last, back, 1000);
    expect_tile([](int i) { return of_threads(0, i / ITEMS + 1, 0, add); });
    expect_tile([](int i) { return of_threads(1, i / ITEMS, 0, add); });
}
template <class> static void block_scan() {
    scan_blocks<cub::BLOCK_SCAN_RAKING><<<1, THREADS>>>(in, out);
    scan_blocks<cub::BLOCK_SCAN_RAKING_MEMOIZE><<<1, THREADS>>>(in, out + 8 * TILE);
    scan_blocks<cub::BLOCK_SCAN_WARP_SCANS><<<1, THREADS>>>(in, out + 16 * TILE);
    for (int algorithm = 0; algorithm < 3; algorithm++) expect_scans();
}
template <class> __global__ void exchange_blocks(const int *in, int *out) {
    using exchange = cub::BlockExchange<int, THREADS, ITEMS>;
    __shared__ typename exchange::TempStorage memory;
    tile each(in, out);
    int moved[ITEMS], places[ITEMS], halves[ITEMS], is_moved[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        places[i] = TILE - 1 - int(threadIdx.x * ITEMS + i);
        is_moved[i] = i % 2 == 0;
        halves[i] = is_moved[i] ? places[i] : NOWHERE;
    }
    exchange(memory).BlockedToStriped(each.items, moved);
    each.put_striped(moved, THREADS);
    exchange(memory).StripedToBlocked(each.items, moved);
    each.put(moved);
    exchange(memory).BlockedToWarpStriped(each.items, moved);
    each.put_striped(moved, 32);
    exchange(memory).WarpStripedToBlocked(each.items, moved);
    each.put(moved);
    exchange(memory).ScatterToBlocked(each.items, moved, places);
    each.put(moved);
    exchange(memory).ScatterToStriped(each.items, moved, places);
    each.put_striped(moved, THREADS);
    exchange(memory).ScatterToStripedGuarded(each.items, moved, halves);
    for (int i = 0; i < ITEMS; i++)
        if (int(threadIdx.x + i * THREADS) % 2 == 0) moved[i] = 0; // where nothing went
    each.put_striped(moved, THREADS);
    exchange(memory).ScatterToStripedFlagged(each.items, moved, places, is_moved);
    for (int i = 0; i < ITEMS; i++)
        if (int(threadIdx.x + i * THREADS) % 2 == 0) moved[i] = 0;
    each.put_striped(moved, THREADS);
}
/* Where in a tile an element of a blocked arrangement stands if it is taken for one in stripes of so many lanes. */
static int from_stripes(int i, int lanes) {
    const int thread = i / ITEMS, item = i % ITEMS, first = thread / lanes * lanes, place = thread - first + item * lanes;
    return first * ITEMS + place;
}
static std::vector<int> in_stripes(int lanes) {
    std::vector<int> moved(TILE);
    for (int i = 0; i < TILE; i++) moved[from_stripes(i, lanes)] = data[i];
    return moved;
}
template <class> static void block_exchange() {
    exchange_blocks<void><<<1, THREADS>>>(in, out);
    for (int lanes : {THREADS, 32}) {
        result.insert(result.end(), data.begin(), data.begin() + TILE);
        expect(in_stripes(lanes));
    }
    for (int i = 0; i < 2; i++) expect_tile([](int i) { return data[TILE - 1 - i]; });
    for (int i = 0; i < 2; i++) expect_tile([](int i) { return i % 2 ? data[TILE - 1 - i] : 0; });
}
template <class> __global__ void compare_neighbours(const int *in, int *out) {
    using flag = cub::BlockDiscontinuity<int, THREADS>;
    using difference = cub::BlockAdjacentDifference<int, THREADS>;
    using shuffle = cub::BlockShuffle<int, THREADS>;
    __shared__ union {
        typename flag::TempStorage flag;
        typename difference::TempStorage difference;
        typename shuffle::TempStorage shuffle;
    } memory;
    tile each(in, out);
    int heads[ITEMS], tails[ITEMS], moved[ITEMS];
    const auto differ = cuda::std::not_equal_to<int>{};
    const auto minus = cuda::std::minus<int>{};
    for (int i = 0; i < ITEMS; i++) moved[i] = each.items[i] / 200;
    flag(memory.flag).FlagHeads(heads, moved, differ);
    each.put(heads);
    flag(memory.flag).FlagTails(tails, moved, differ);
    each.put(tails);
    flag(memory.flag).FlagHeadsAndTails(heads, tails, moved, differ);
    each.put(heads);
    each.put(tails);
    difference(memory.difference).SubtractLeft(each.items, moved, minus);
    each.put(moved);
    difference(memory.difference).SubtractRight(each.items, moved, minus);
    each.put(moved);
    difference(memory.difference).SubtractLeftPartialTile(each.items, moved, minus, 301);
    each.put(moved);
    difference(memory.difference).SubtractRightPartialTile(each.items, moved, minus, 301);
    each.put(moved);
    int one = each.items[0];
    shuffle(memory.shuffle).Offset(each.items[0], one, 3);
    each.put_one(one);
    shuffle(memory.shuffle).Rotate(each.items[0], one, 5);
    each.put_one(one);
    moved[0] = moved[ITEMS - 1] = NOWHERE; // those that have no neighbour keep theirs
    shuffle(memory.shuffle).Up(each.items, moved);
    each.put(moved);
    moved[0] = moved[ITEMS - 1] = NOWHERE;
    shuffle(memory.shuffle).Down(each.items, moved);
    each.put(moved);
}
static bool is_head(int i) { return i == 0 || data[i] / 200 != data[i - 1] / 200; }
static bool is_tail(int i) { return i == TILE - 1 || data[i] / 200 != data[i + 1] / 200; }
template <class> static void block_neighbours() {
    compare_neighbours<void><<<1, THREADS>>>(in, out);
    for (int i = 0; i < 2; i++) {
        expect_tile([](int i) { return int(is_head(i)); });
        expect_tile([](int i) { return int(is_tail(i)); });
    }
    expect_tile([](int i) { return i ? data[i] - data[i - 1] : data[i]; });
    expect_tile([](int i) { return i < TILE - 1 ? data[i] - data[i + 1] : data[i]; });
    expect_tile([](int i) { return i && i < 301 ? data[i] - data[i - 1] : data[i]; });
    expect_tile([](int i) { return i < 300 ? data[i] - data[i + 1] : data[i]; });
    expect_tile([](int i) { return data[(i / ITEMS + 3 < THREADS ? i / ITEMS + 3 : i / ITEMS) * ITEMS]; });
    expect_tile([](int i) { return data[(i / ITEMS + 5) % THREADS * ITEMS]; });
    expect_tile([](int i) { return i ? data[i - 1] : NOWHERE; });
    expect_tile([](int i) { return i < TILE - 1 ? data[i + 1] : NOWHERE; });
}
template <class Ranks> __device__ void rank_digits(tile &each, typename Ranks::TempStorage &memory, int lanes) {
    unsigned values[ITEMS];
    int ranks[ITEMS];
    for (int i = 0; i < ITEMS; i++) values[i] = each.items[i];
    Ranks(memory).RankKeys(values, ranks, cub::BFEDigitExtractor<unsigned>(3, 4));
    if (lanes) each.put_striped(ranks, lanes);
    else each.put(ranks);
}
template <class> __global__ void rank_blocks(const int *in, int *out) {
    using ranks = cub::BlockRadixRank<THREADS, 4, false>;
    using falling = cub::BlockRadixRank<THREADS, 4, true>;
    using matching = cub::BlockRadixRankMatch<THREADS, 4, false>;
    __shared__ union {
        typename ranks::TempStorage ranks;
        typename falling::TempStorage falling;
        typename matching::TempStorage matching;
    } memory;
    tile each(in, out);
    rank_digits<ranks>(each, memory.ranks, 0);
    rank_digits<falling>(each, memory.falling, 0);
    cub::LoadDirectWarpStriped(threadIdx.x, in, each.items);
    rank_digits<matching>(each, memory.matching, 32);
}
static int digit_of(int i) { return data[i] >> 3 & 15; }
template <class Before> static void expect_ranks(Before before) {
    for (int i = 0; i < TILE; i++) {
        int rank = 0;
        for (int j = 0; j < TILE; j++) rank += before(digit_of(j), digit_of(i)) || (digit_of(j) == digit_of(i) && j < i);
        result.push_back(rank);
    }
}
template <class> static void block_radix_rank() {
    rank_blocks<void><<<1, THREADS>>>(in, out);
    expect_ranks(std::less<int>());
    expect_ranks(std::greater<int>());
    expect_ranks(std::less<int>());
}
template <int ALGORITHM> __global__ void count_blocks(const int *in, int *out) {
    using histogram = cub::BlockHistogram<unsigned char, THREADS, ITEMS, 256, cub::BlockHistogramAlgorithm(ALGORITHM)>;
    __shared__ typename histogram::TempStorage memory;
    __shared__ int counts[256];
    tile each(in, out);
    unsigned char bytes[ITEMS];
    for (int i = 0; i < ITEMS; i++) bytes[i] = each.items[i] & 255;
    histogram(memory).Histogram(bytes, counts);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += THREADS) out[i] = counts[i];
    __syncthreads();
    histogram(memory).Composite(bytes, counts); // sorting, it has put them in order, which changes no count
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += THREADS) out[256 + i] = counts[i];
}
template <class> static void block_histogram() {
    count_blocks<cub::BLOCK_HISTO_SORT><<<1, THREADS>>>(in, out);
    count_blocks<cub::BLOCK_HISTO_ATOMIC><<<1, THREADS>>>(in, out + TILE);
    result.resize(2 * TILE);
    for (int algorithm = 0; algorithm < 2; algorithm++)
        for (int i = 0; i < TILE; i++) {
            result[algorithm * TILE + (data[i] & 255)]++;
            result[algorithm * TILE + 256 + (data[i] & 255)] += 2;
        }
}
/* Of 128 runs, of 1 to 7 elements each. */
template <class> __global__ void decode_block(const int *in, int *out) {
    using decode = cub::BlockRunLengthDecode<int, THREADS, 1, ITEMS>;
    __shared__ typename decode::TempStorage memory;
    int values[] = {in[threadIdx.x]}, lengths[] = {1 + int(threadIdx.x % 7)}, total, decoded[ITEMS];
    decode runs(memory, values, lengths, total);
    for (int from = 0; from < total; from += TILE) {
        runs.RunLengthDecode(decoded, from);
        cub::StoreDirectBlocked(threadIdx.x, out + from, decoded, total - from);
    }
}
template <class> static void block_run_length_decode() {
    decode_block<void><<<1, THREADS>>>(in, out);
    for (int i = 0; i < THREADS; i++) result.insert(result.end(), 1 + i % 7, data[i]);
}
/* By 16 lanes each: half a warp is a warp of its own. */
template <class> __global__ void reduce_warps(const int *in, int *out) {
    using reduce = cub::WarpReduce<int, 16>;
    __shared__ typename reduce::TempStorage memories[THREADS / 16];
    typename reduce::TempStorage &memory = memories[threadIdx.x / 16];
    tile each(in, out);
    const int value = each.items[0], lane = threadIdx.x % 16, is_first = lane == 0;
    const bool is_head = lane % 5 == 0;
    auto put = [&](int reduced, bool is_there) {
        __syncwarp();
        each.put_one(is_there ? reduced : NOWHERE);
    };
    put(reduce(memory).Sum(value), is_first);
    put(reduce(memory).Sum(value, 11), is_first);
    put(reduce(memory).Reduce(value, cuda::maximum<int>{}), is_first);
    put(reduce(memory).Reduce(value, cuda::minimum<int>{}, 9), is_first);
    put(reduce(memory).HeadSegmentedSum(value, is_head), is_head);
    put(reduce(memory).TailSegmentedSum(value, lane % 5 == 4), is_head);
    put(reduce(memory).HeadSegmentedReduce(value, is_head, cuda::maximum<int>{}), is_head);
    put(reduce(memory).TailSegmentedReduce(value, lane % 5 == 4, cuda::maximum<int>{}), is_head);
}
/* Of so many lanes from each whose number in its 16 is a multiple of `step`. */
static void expect_of_lanes(int step, int lanes, int start, int (*combine)(int, int)) {
    for (int i = 0; i < TILE; i++) {
        const int thread = i / ITEMS, lane = thread % 16;
        int value = start;
        for (int j = lane; j < std::min(lane + lanes, 16); j++) value = combine(value, data[(thread - lane + j) * ITEMS]);
        result.push_back(lane % step ? NOWHERE : value);
    }
}
template <class> static void warp_reduce() {
    reduce_warps<void><<<1, THREADS>>>(in, out);
    expect_of_lanes(16, 16, 0, add);
    expect_of_lanes(16, 11, 0, add);
    expect_of_lanes(16, 16, 0, larger);
    expect_of_lanes(16, 9, INT_MAX, lesser);
    for (auto combine : {add, add, larger, larger}) expect_of_lanes(5, 5, 0, combine);
}
template <class> __global__ void scan_warps(const int *in, int *out) {
    using scan = cub::WarpScan<int>;
    __shared__ typename scan::TempStorage memories[THREADS / 32];
    typename scan::TempStorage &memory = memories[threadIdx.x / 32];
    tile each(in, out);
    const int value = each.items[0];
    int scanned, before, total;
    scan(memory).InclusiveSum(value, scanned);
    each.put_one(scanned);
    scan(memory).ExclusiveSum(value, scanned, total);
    each.put_one(scanned);
    each.put_one(total);
    scan(memory).InclusiveScan(value, scanned, cuda::maximum<int>{});
    each.put_one(scanned);
    scan(memory).ExclusiveScan(value, scanned, -7, cuda::maximum<int>{});
    each.put_one(scanned);
    scan(memory).Scan(value, scanned, before, 0, cuda::std::plus<int>{});
    each.put_one(scanned);
    each.put_one(before);
    each.put_one(scan(memory).Broadcast(value, 13));
}
static int of_lanes(int i, int lanes, int start, int (*combine)(int, int)) {
    const int first = i / ITEMS / 32 * 32;
    for (int j = 0; j < lanes; j++) start = combine(start, data[(first + j) * ITEMS]);
    return start;
}
static int lane_of(int i) { return i / ITEMS % 32; }
template <class> static void warp_scan() {
    scan_warps<void><<<1, THREADS>>>(in, out);
    expect_tile([](int i) { return of_lanes(i, lane_of(i) + 1, 0, add); });
    expect_tile([](int i) { return of_lanes(i, lane_of(i), 0, add); });
    expect_tile([](int i) { return of_lanes(i, 32, 0, add); });
    expect_tile([](int i) { return of_lanes(i, lane_of(i) + 1, 0, larger); });
    expect_tile([](int i) { return of_lanes(i, lane_of(i), -7, larger); });
    expect_tile([](int i) { return of_lanes(i, lane_of(i) + 1, 0, add); });
    expect_tile([](int i) { return of_lanes(i, lane_of(i), 0, add); });
    expect_tile([](int i) { return data[(i / ITEMS / 32 * 32 + 13) * ITEMS]; });
}
template <class Exchange> __device__ void exchange_in_warps(tile &each, typename Exchange::TempStorage &memory) {
    int moved[ITEMS];
    Exchange(memory).BlockedToStriped(each.items, moved);
    each.put_striped(moved, 32);
    Exchange(memory).StripedToBlocked(each.items, moved);
    each.put(moved);
}
template <class> __global__ void exchange_warps(const int *in, int *out) {
    using through_memory = cub::WarpExchange<int, ITEMS, 32>;
    /* Between registers as many lanes as items. */
    using by_shuffles = cub::WarpExchange<int, ITEMS, ITEMS, cub::WARP_EXCHANGE_SHUFFLE>;
    __shared__ typename through_memory::TempStorage memories[THREADS / 32];
    __shared__ typename by_shuffles::TempStorage none[THREADS / ITEMS];
    typename through_memory::TempStorage &memory = memories[threadIdx.x / 32];
    tile each(in, out);
    int moved[ITEMS], places[ITEMS];
    exchange_in_warps<through_memory>(each, memory);
    for (int i = 0; i < ITEMS; i++) places[i] = 127 - int(threadIdx.x % 32 * ITEMS + i);
    through_memory(memory).ScatterToStriped(each.items, moved, places);
    each.put_striped(moved, 32);
    by_shuffles(none[threadIdx.x / ITEMS]).BlockedToStriped(each.items, moved);
    each.put_striped(moved, ITEMS);
    by_shuffles(none[threadIdx.x / ITEMS]).StripedToBlocked(each.items, moved);
    each.put(moved);
}
template <class> static void warp_exchange() {
    exchange_warps<void><<<1, THREADS>>>(in, out);
    expect_tile([](int i) { return data[i]; });
    expect(in_stripes(32));
    expect_tile([](int i) { return data[i / 128 * 128 + 127 - i % 128]; });
    expect_tile([](int i) { return data[i]; });
    expect(in_stripes(ITEMS));
}
template <cub::WarpLoadAlgorithm LOAD, cub::WarpStoreAlgorithm STORE> __device__ void copy_by(const int *in, tile &each) {
    using load = cub::WarpLoad<int, ITEMS, LOAD>;
    using store = cub::WarpStore<int, ITEMS, STORE>;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
    } memories[THREADS / 32];
    const int warp = threadIdx.x / 32;
    int items[ITEMS];
    load(memories[warp].load).Load(in + warp * 128, items);
    for (int i = 0; i < ITEMS; i++) items[i] ^= 1;
    __syncwarp();
    store(memories[warp].store).Store(each.next + warp * 128, items);
    each.end();
    load(memories[warp].load).Load(in + warp * 128, items, 100, NOWHERE);
    __syncwarp();
    store(memories[warp].store).Store(each.next + warp * 128, items, 100);
    each.end();
}
template <class> __global__ void copy_by_warps(const int *in, int *out) {
    tile each(in, out);
    copy_by<cub::WARP_LOAD_DIRECT, cub::WARP_STORE_DIRECT>(in, each);
    copy_by<cub::WARP_LOAD_STRIPED, cub::WARP_STORE_STRIPED>(in, each);
    copy_by<cub::WARP_LOAD_VECTORIZE, cub::WARP_STORE_VECTORIZE>(in, each);
    copy_by<cub::WARP_LOAD_TRANSPOSE, cub::WARP_STORE_TRANSPOSE>(in, each);
}
template <class> static void warp_copies() {
    std::fill(out, out + 8 * TILE, -9);
    copy_by_warps<void><<<1, THREADS>>>(in, out);
    for (int algorithm = 0; algorithm < 4; algorithm++) {
        expect_tile([](int i) { return data[i] ^ 1; });
        expect_tile([](int i) { return i % 128 < 100 ? data[i] : -9; });
    }
}
template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE> __device__ void copy_block_by(const int *in, tile &each) {
    using load = cub::BlockLoad<int, THREADS, ITEMS, LOAD>;
    using store = cub::BlockStore<int, THREADS, ITEMS, STORE>;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
    } memory;
    int items[ITEMS];
    load(memory.load).Load(in, items, 400, NOWHERE);
    __syncthreads();
    store(memory.store).Store(each.next, items, 450);
    each.end();
}
template <class> __global__ void copy_by_blocks(const int *in, int *out) {
    tile each(in, out);
    copy_block_by<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(in, each);
    copy_block_by<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(in, each);
    copy_block_by<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(in, each);
    copy_block_by<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(in, each);
    copy_block_by<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, each);
    copy_block_by<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(in, each);
}
template <class> static void block_copies() {
    std::fill(out, out + 6 * TILE, -9);
    copy_by_blocks<void><<<1, THREADS>>>(in, out);
    for (int algorithm = 0; algorithm < 6; algorithm++)
        expect_tile([](int i) { return i < 400 ? data[i] : i < 450 ? NOWHERE : -9; });
}
