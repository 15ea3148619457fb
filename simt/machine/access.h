/* One access of a warp to memory: where its lanes point, whether they may, and its bytes. */
#ifndef SIMT_ACCESS_H
#define SIMT_ACCESS_H

#include "machine.h"

/* An access that an instruction requests. */
struct request {
    const struct code *code;
    enum simt_space space;
    enum simt_access_kind kind;
    uint32_t lanes;
    uint32_t nbytes; /* of each lane */
    uint64_t addresses[SIMT_LANES]; /* of those outside `lanes`, anything */
    const uint64_t *values; /* as simt_access has them; of stores */

    /* By simt_access_open: where each lane's bytes are, and the marks of those written (NULL: all are, or nobody
     * asks).  Where addresses are in steps, as simt_access has it, only the first lane's are, in hosts[0] and
     * written[0]: those of the others follow. */
    bool has_stride;
    uint8_t first;
    uint64_t stride;
    int64_t host_stride;
    bool has_written;
    bool has_changed; /* an atomic: what was there */
    bool is_asynchronous; /* half of a copy */
    unsigned char *hosts[SIMT_LANES];
    unsigned char *written[SIMT_LANES];
};

/* The request is not cleared whole: most of it is filled on the way. */
static inline void simt_request_begin(struct request *request, const struct code *code, enum simt_access_kind kind,
                                      uint32_t lanes) {
    request->code = code;
    request->kind = kind;
    request->lanes = lanes;
    request->nbytes = (uint32_t)code->memory.vector.element_nbytes * code->memory.vector.count;
    request->values = NULL;
    request->has_changed = request->is_asynchronous = false;
}

static inline unsigned char *simt_request_host(const struct request *request, uint32_t lane) {
    return request->has_stride ? request->hosts[0] + (int64_t)(lane - request->first) * request->host_stride
                               : request->hosts[lane];
}

/* A full warp whose bytes follow one another. */
static inline bool simt_request_is_row(const struct request *request) {
    return request->has_stride && request->lanes == UINT32_MAX && request->host_stride == (int64_t)request->nbytes;
}

/* Checks the access of every lane and notifies the observers.  false: it must not happen; a finding is
 * recorded and the launch stopped. */
bool simt_access_open(struct warp *warp, struct path *path, struct request *request);

/* The same, of which nobody is notified. */
bool simt_access_locate(struct warp *warp, struct path *path, struct request *request);

/* execute_memory.c: a request's loads or stores, once it is open */
void simt_request_perform(struct path *path, struct request *request);
/* vector.c: the values to store, truncated to their size */
void simt_collect_values(const struct path *path, const struct vector_code *vector, uint64_t *values);

/* The block whose shared memory the address is in, which becomes an offset there.  NULL: there is none. */
struct block *simt_shared_home(struct block *block, uint64_t *address);

/* Marks the bytes of the request's lanes as written. */
void simt_access_mark(const struct request *request);

/* The space that a lane's generic address lies in; *address becomes the address in it. */
enum simt_space simt_space_of(const struct memory *memory, uint64_t *address);

#endif
