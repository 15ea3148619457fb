/* Where managed memory had better be: hints that change nothing here, since it is in one place, but of which programs can
 * ask what they have said. */
#include "runtime.h"

#include <string.h>

enum { PAGE = 4096, CPU = -1, NOWHERE = -2 };

/* Numbers of devices are kept with 2 added, so that pages of which nothing was said are zeros: NOWHERE, then CPU. */
enum { BIAS = -NOWHERE };

struct pages {
    struct page_hints *pages;
    size_t begin, end;
};

static cudaError_t find_range(struct pages *range, const void *pointer, size_t nbytes) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    const uint64_t at = buffer ? (uintptr_t)pointer - buffer->address : 0;
    if (!buffer || buffer->kind != BUFFER_MANAGED || nbytes > buffer->nbytes - at) return cudaErrorInvalidValue;
    range->pages = buffer_hints(buffer, (size_t)((buffer->nbytes + PAGE - 1) / PAGE));
    range->begin = (size_t)(at / PAGE);
    range->end = (size_t)((at + nbytes + PAGE - 1) / PAGE);
    return range->pages ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* The number of the device that a location means, as attributes tell it. */
static cudaError_t find_place(struct cudaMemLocation location, int *place) {
    const bool is_device = location.type == cudaMemLocationTypeDevice;
    *place = is_device ? location.id : CPU;
    if (is_device) return device_check(location.id);
    return location.type > cudaMemLocationTypeDevice && location.type <= LOCATION_LAST ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static cudaError_t prefetch(const void *pointer, size_t nbytes, struct cudaMemLocation location) {
    struct pages range;
    int place;
    cudaError_t error = find_place(location, &place);
    if (!error) error = find_range(&range, pointer, nbytes);
    for (size_t page = error ? 0 : range.begin; !error && page < range.end; page++) range.pages[page].prefetched = (int8_t)(place + BIAS);
    return error;
}

API cudaMemPrefetchAsync(const void *pointer, size_t nbytes, struct cudaMemLocation location, unsigned flags,
                         cudaStream_t stream) {
    (void)flags, (void)stream;
    return CALL(prefetch(pointer, nbytes, location));
}
ALSO(cudaMemPrefetchAsync, _ptsz)

/* Location l is that of the ranges from firsts[l] on. */
static cudaError_t prefetch_all(void **pointers, const size_t *sizes, size_t count, const struct cudaMemLocation *locations,
                                const size_t *firsts, size_t location_count) {
    size_t location = 0;
    cudaError_t error = cudaSuccess;
    if (!pointers || !sizes || !count || !locations || !firsts || !location_count || firsts[0]) return cudaErrorInvalidValue;
    for (size_t l = 1; l < location_count; l++)
        if (firsts[l] <= firsts[l - 1] || firsts[l] >= count) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count && !error; i++) {
        if (location + 1 < location_count && firsts[location + 1] == i) location++;
        error = prefetch(pointers[i], sizes[i], locations[location]);
    }
    return error;
}

/* What all batches are refused for; the legacy default stream is none of theirs. */
static cudaError_t check_batch(unsigned long long flags, cudaStream_t stream) {
    if (flags || (uintptr_t)stream <= 1) return cudaErrorInvalidValue;
    return stream_is_known(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

API cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *firsts,
                              size_t location_count, unsigned long long flags, cudaStream_t stream) {
    cudaError_t error = CALL(check_batch(flags, stream));
    return error ? error : CALL(prefetch_all(pointers, sizes, count, locations, firsts, location_count));
}
ALSO(cudaMemPrefetchBatchAsync, _ptsz)

/* ---- discarding ---------------------------------------------------------------------------------------- */

enum { DISCARDED = 0xff }; /* what nobody may rely on: of floats, NaN */

static cudaError_t check_ranges(void **pointers, const size_t *sizes, size_t count) {
    struct pages range;
    cudaError_t error = pointers && sizes && count ? cudaSuccess : cudaErrorInvalidValue;
    for (size_t i = 0; i < count && !error; i++) error = find_range(&range, pointers[i], sizes[i]);
    return error;
}

static cudaError_t discard(void **pointers, const size_t *sizes, size_t count, cudaStream_t stream) {
    cudaError_t error = check_ranges(pointers, sizes, count);
    if (error) return error;
    order_begin(stream_order(stream), false, "a discard");
    for (size_t i = 0; i < count; i++) {
        order_touch(pointers[i], sizes[i], TOUCHED_STORE);
        memset(pointers[i], DISCARDED, sizes[i]);
    }
    stream_advance(stream, order_end());
    return cudaSuccess;
}

static cudaError_t discard_all(void **pointers, const size_t *sizes, size_t count, unsigned long long flags,
                               cudaStream_t stream) {
    cudaError_t error = check_batch(flags, stream);
    if (error) return error;
    return stream_is_captured(stream) ? stream_refuse_capture(stream) : discard(pointers, sizes, count, stream);
}

API cudaMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
    return CALL(discard_all(pointers, sizes, count, flags, stream));
}
ALSO(cudaMemDiscardBatchAsync, _ptsz)

/* The locations are looked at before anything is discarded. */
API cudaMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
                                        size_t *firsts, size_t location_count, unsigned long long flags, cudaStream_t stream) {
    cudaError_t error = CALL(check_batch(flags, stream));
    if (!error) error = CALL(prefetch_all(pointers, sizes, count, locations, firsts, location_count));
    return error ? error : CALL(discard_all(pointers, sizes, count, flags, stream));
}
ALSO(cudaMemDiscardAndPrefetchBatchAsync, _ptsz)

enum { ADVICE_READ_MOSTLY = 1, ADVICE_NOT_READ_MOSTLY, ADVICE_PREFERRED, ADVICE_NOT_PREFERRED, ADVICE_ACCESSED, ADVICE_NOT_ACCESSED };

static void take_advice(struct page_hints *page, int advice, int place) {
    const uint32_t bit = UINT32_C(1) << (place - CPU);
    switch (advice) {
    case ADVICE_READ_MOSTLY: page->is_read_mostly = true; break;
    case ADVICE_NOT_READ_MOSTLY: page->is_read_mostly = false; break;
    case ADVICE_PREFERRED: page->preferred = (int8_t)(place + BIAS); break;
    case ADVICE_NOT_PREFERRED: page->preferred = 0; break;
    case ADVICE_ACCESSED: page->accessed |= bit; break;
    default: page->accessed &= ~bit;
    }
}

static cudaError_t advise(const void *pointer, size_t nbytes, int advice, struct cudaMemLocation location) {
    const bool has_place = advice == ADVICE_PREFERRED || advice == ADVICE_ACCESSED || advice == ADVICE_NOT_ACCESSED;
    struct pages range;
    int place = CPU;
    cudaError_t error = has_place ? find_place(location, &place) : cudaSuccess;
    if (advice < ADVICE_READ_MOSTLY || advice > ADVICE_NOT_ACCESSED) return cudaErrorInvalidValue;
    if (!error) error = find_range(&range, pointer, nbytes);
    for (size_t page = error ? 0 : range.begin; !error && page < range.end; page++) take_advice(&range.pages[page], advice, place);
    return error;
}

API cudaMemAdvise(const void *pointer, size_t nbytes, int advice, struct cudaMemLocation location) {
    return CALL(advise(pointer, nbytes, advice, location));
}

API cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t nbytes, unsigned flags) {
    struct pages range;
    (void)stream, (void)nbytes, (void)flags;
    return CALL(find_range(&range, pointer, 0));
}
ALSO(cudaStreamAttachMemAsync, _ptsz)

/* ---- asking -------------------------------------------------------------------------------------------- */

/* What all pages of a range have in common. */
static struct page_hints in_common(const struct pages *range) {
    struct page_hints common = range->pages[range->begin];
    for (size_t p = range->begin + 1; p < range->end; p++) {
        const struct page_hints *page = &range->pages[p];
        common.is_read_mostly &= page->is_read_mostly;
        common.accessed &= page->accessed;
        if (page->preferred != common.preferred) common.preferred = 0;
        if (page->prefetched != common.prefetched) common.prefetched = 0;
    }
    return common;
}

/* The devices, as many as there is room for, and NOWHERE in what is left of it. */
static cudaError_t tell_accessed(uint32_t accessed, int *devices, size_t nbytes) {
    if (nbytes % sizeof *devices) return cudaErrorInvalidValue;
    for (size_t i = 0; i < nbytes / sizeof *devices; i++) {
        devices[i] = accessed ? __builtin_ctz(accessed) + CPU : NOWHERE;
        accessed &= accessed ? accessed - 1 : 0;
    }
    return cudaSuccess;
}

static int location_type(int place) {
    return place >= 0 ? cudaMemLocationTypeDevice : place == CPU ? LOCATION_HOST : 0;
}

enum { RANGE_READ_MOSTLY = 1, RANGE_PREFERRED, RANGE_ACCESSED, RANGE_PREFETCHED, RANGE_PREFERRED_TYPE, RANGE_PREFERRED_ID,
       RANGE_PREFETCHED_TYPE, RANGE_PREFETCHED_ID };

static cudaError_t tell(int *value, size_t nbytes, int attribute, const struct page_hints *hints) {
    const int preferred = hints->preferred - BIAS, prefetched = hints->prefetched - BIAS;
    if (attribute == RANGE_ACCESSED) return tell_accessed(hints->accessed, value, nbytes);
    if (nbytes != sizeof *value) return cudaErrorInvalidValue;
    switch (attribute) {
    case RANGE_READ_MOSTLY: *value = hints->is_read_mostly; return cudaSuccess;
    case RANGE_PREFERRED: *value = preferred; return cudaSuccess;
    case RANGE_PREFETCHED: *value = prefetched; return cudaSuccess;
    case RANGE_PREFERRED_TYPE: *value = location_type(preferred); return cudaSuccess;
    case RANGE_PREFETCHED_TYPE: *value = location_type(prefetched); return cudaSuccess;
    case RANGE_PREFERRED_ID: *value = preferred >= 0 ? preferred : 0; return cudaSuccess;
    case RANGE_PREFETCHED_ID: *value = prefetched >= 0 ? prefetched : 0; return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

static cudaError_t get_attributes(void *const *values, const size_t *sizes, const int *attributes, size_t count,
                                  const void *pointer, size_t nbytes) {
    struct pages range;
    if (!values || !sizes || !attributes || !count || !nbytes) return cudaErrorInvalidValue;
    cudaError_t error = find_range(&range, pointer, nbytes);
    if (error) return error;
    const struct page_hints common = in_common(&range);
    for (size_t i = 0; i < count && !error; i++)
        error = values[i] && sizes[i] ? tell(values[i], sizes[i], attributes[i], &common) : cudaErrorInvalidValue;
    return error;
}

API cudaMemRangeGetAttribute(void *value, size_t size, int attribute, const void *pointer, size_t nbytes) {
    return CALL(get_attributes(&value, &size, &attribute, 1, pointer, nbytes));
}

API cudaMemRangeGetAttributes(void **values, size_t *sizes, int *attributes, size_t count, const void *pointer, size_t nbytes) {
    return CALL(get_attributes(values, sizes, attributes, count, pointer, nbytes));
}
