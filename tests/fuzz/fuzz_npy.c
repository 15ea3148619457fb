/* The .npy header parser: whatever the bytes, it refuses them or announces an array that can be. */
#include "io/reader.h"

#include <stdlib.h>

static void require(bool holds) {
    if (!holds) abort();
}

static void check_header(const struct wf_npy_header *header, size_t nbytes) {
    require(wf_type_is_valid(header->type));
    require(header->ndim >= 0 && header->ndim <= WF_NDIM_MAX);
    require(header->header_nbytes >= 10 && header->header_nbytes <= nbytes);
    __int128 count = 1;
    for (int i = 0; i < header->ndim; i++) {
        require(header->shape[i] >= 0);
        /* Once beyond 2^64 it stays there, but for a 0. */
        if (header->shape[i] == 0 || count < (__int128)1 << 64) count *= header->shape[i];
    }
    require(count == header->count);
    require(count * (int)wf_type_nbytes(header->type) <= INT64_MAX - (int64_t)header->header_nbytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct wf_npy_header header, other;
    wf_error error = wf_npy_parse(NULL, "fuzz", bytes, nbytes, WF_TYPE_DEFAULT, &header);
    wf_error other_error = wf_npy_parse(NULL, "fuzz", bytes, nbytes, WF_BF16, &other);
    require(error == WF_OK || error == WF_ERROR_FORMAT);
    require(other_error == WF_OK || error != WF_OK);
    if (error == WF_OK) check_header(&header, nbytes);
    if (other_error == WF_OK) check_header(&other, nbytes);
    if (error == WF_OK) {
        /* What follows the header has no say, and the header is needed whole. */
        require(!wf_npy_parse(NULL, "fuzz", bytes, header.header_nbytes, WF_TYPE_DEFAULT, &other));
        require(other.count == header.count && other.type == header.type);
        require(wf_npy_parse(NULL, "fuzz", bytes, header.header_nbytes - 1, WF_TYPE_DEFAULT, &other) !=
                WF_OK);
    }
    return 0;
}
