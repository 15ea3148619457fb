#include "io/decode.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/getenv.h"

/* ---- the libraries ---- */

/* As zlib.h declares it. */
struct wf_z_stream {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *zalloc, *zfree, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

enum { Z_OK = 0, Z_STREAM_END = 1, Z_BUF_ERROR = -5, Z_MEM_ERROR = -4 };
enum { RAW_DEFLATE = -15, GZIP_HEADER = 15 + 16 }; /* window_bits */

/* As zstd.h declares them. */
struct wf_zstd_output {
    void *bytes;
    size_t nbytes, position;
};
struct wf_zstd_input {
    const void *bytes;
    size_t nbytes, position;
};

#define X(result, name, parameters) result(*name) parameters;
struct zlib {
#include "io/zlib.fn"
};
struct zstd {
#include "io/zstd.fn"
};
#undef X

/* State of the process: set once, read-only from then on. */
static struct {
    pthread_once_t once;
    bool has_zlib, has_zstd;
    bool zlib_needs_memory, zstd_needs_memory; /* which is why there is none */
    struct zlib zlib;
    struct zstd zstd;
} libraries = {.once = PTHREAD_ONCE_INIT};

/* It stays loaded. */
static void *open_library(const char *variable, const char *name, bool *needs_memory) {
    const char *chosen = wf_getenv(variable);
    errno = 0;
    void *library = dlopen(chosen ? chosen : name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *reason = library ? "" : dlerror();
    *needs_memory = !library && (errno == ENOMEM || !reason || strstr(reason, "out of memory"));
    return library;
}

static void open_libraries(void) {
    void *zlib = open_library("WARPFOLD_ZLIB", "libz.so.1", &libraries.zlib_needs_memory);
    void *zstd = open_library("WARPFOLD_ZSTD", "libzstd.so.1", &libraries.zstd_needs_memory);
    libraries.has_zlib = zlib != NULL;
    libraries.has_zstd = zstd != NULL;
#define X(result, name, parameters) \
    if (zlib && !(*(void **)&libraries.zlib.name = dlsym(zlib, #name))) libraries.has_zlib = false;
#include "io/zlib.fn"
#undef X
#define X(result, name, parameters) \
    if (zstd && !(*(void **)&libraries.zstd.name = dlsym(zstd, #name))) libraries.has_zstd = false;
#include "io/zstd.fn"
#undef X
    if (zlib) dlclose(zlib);
    if (zstd) dlclose(zstd);
}

/* ---- a decoder ---- */

enum { INPUT_NBYTES = 1 << 16 };

struct decoder {
    enum wf_codec codec;
    ssize_t (*read)(struct wf_source *source, void *bytes, size_t nbytes); /* of compressed bytes */
    size_t begin, end; /* of input: compressed bytes that are left */
    bool has_ended;    /* the compressed bytes have */
    bool is_open;      /* a member or frame has begun, and not ended */
    bool is_done;      /* nothing is decoded any more */
    struct wf_z_stream z;
    void *zstd;
    struct wf_member_sums expected, found; /* found.compressed_nbytes: taken so far */
    unsigned char input[WF_SOURCE_NBYTES > INPUT_NBYTES ? WF_SOURCE_NBYTES : INPUT_NBYTES];
};

static const char *const names[] = {[WF_CODEC_GZIP] = "gzip", [WF_CODEC_ZSTD] = "zstd", [WF_CODEC_DEFLATE] = "deflated"};

static void close_decoder(void *state) {
    struct decoder *decoder = state;
    if (decoder->z.state) libraries.zlib.inflateEnd(&decoder->z);
    if (decoder->zstd) libraries.zstd.ZSTD_freeDStream(decoder->zstd);
    free(decoder);
}

/* Leaves the message with the source. */
static bool fail_damaged(struct wf_source *source, const char *reason) {
    struct decoder *decoder = source->decoder;
    snprintf(source->damage, sizeof source->damage, "damaged %s data: %s", names[decoder->codec], reason ? reason : "invalid");
    return false;
}

/* A step of each kind decodes some of the input, sets *produced, and tells in is_open whether more must follow.  false: it
 * cannot. */

static bool inflate_some(struct wf_source *source, void *bytes, size_t nbytes, size_t *produced) {
    struct decoder *decoder = source->decoder;
    struct wf_z_stream *z = &decoder->z;
    if (!decoder->is_open && libraries.zlib.inflateReset(z) != Z_OK) return fail_damaged(source, z->msg);
    decoder->is_open = true;
    z->next_in = decoder->input + decoder->begin;
    z->avail_in = (unsigned)(decoder->end - decoder->begin);
    z->next_out = bytes;
    z->avail_out = nbytes < WF_SOURCE_NBYTES ? (unsigned)nbytes : WF_SOURCE_NBYTES;
    int result = libraries.zlib.inflate(z, 0);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return fail_damaged(source, result == Z_MEM_ERROR ? "out of memory" : z->msg);
    decoder->begin = (size_t)(z->next_in - decoder->input);
    *produced = (size_t)(z->next_out - (unsigned char *)bytes);
    decoder->is_open = result != Z_STREAM_END;
    return true;
}

static bool unzstd_some(struct wf_source *source, void *bytes, size_t nbytes, size_t *produced) {
    struct decoder *decoder = source->decoder;
    struct wf_zstd_output output = {bytes, nbytes, 0};
    struct wf_zstd_input input = {decoder->input, decoder->end, decoder->begin};
    size_t result = libraries.zstd.ZSTD_decompressStream(decoder->zstd, &output, &input);
    if (libraries.zstd.ZSTD_isError(result)) return fail_damaged(source, libraries.zstd.ZSTD_getErrorName(result));
    decoder->begin = input.position;
    *produced = output.position;
    decoder->is_open = result != 0;
    return true;
}

/* The member's length and checksum, so far and at its end. */
static bool check_member(struct wf_source *source, const void *bytes, size_t produced) {
    struct decoder *decoder = source->decoder;
    if (decoder->codec != WF_CODEC_DEFLATE) return true;
    decoder->found.nbytes += produced;
    decoder->found.crc = (uint32_t)libraries.zlib.crc32(decoder->found.crc, bytes, (unsigned)produced);
    if (decoder->is_open) return true;
    decoder->is_done = true;
    bool is_whole = decoder->found.nbytes == decoder->expected.nbytes && decoder->found.crc == decoder->expected.crc;
    return is_whole || fail_damaged(source, "its length or checksum differs");
}

/* Takes more compressed bytes in, once those before are used up. */
static bool refill(struct wf_source *source) {
    struct decoder *decoder = source->decoder;
    if (decoder->begin < decoder->end || decoder->has_ended) return true;
    uint64_t left = decoder->expected.compressed_nbytes - decoder->found.compressed_nbytes;
    ssize_t count = left ? decoder->read(source, decoder->input, left < INPUT_NBYTES ? (size_t)left : INPUT_NBYTES) : 0;
    if (count > 0) decoder->found.compressed_nbytes += (uint64_t)count;
    decoder->begin = 0;
    decoder->end = count > 0 ? (size_t)count : 0;
    decoder->has_ended = count == 0;
    return count >= 0;
}

/* As read(2), with source->damage set where the data are at fault. */
static ssize_t read_decoded(struct wf_source *source, void *bytes, size_t nbytes) {
    struct decoder *decoder = source->decoder;
    size_t produced = 0;
    if (source->damage[0]) return -1;
    while (!produced && !decoder->is_done) {
        if (!refill(source)) return -1;
        bool is_exhausted = decoder->begin == decoder->end && decoder->has_ended;
        if (is_exhausted && !decoder->is_open) return 0;
        size_t before = decoder->begin;
        bool is_good = decoder->codec == WF_CODEC_ZSTD ? unzstd_some(source, bytes, nbytes, &produced)
                                                       : inflate_some(source, bytes, nbytes, &produced);
        if (!is_good || !check_member(source, bytes, produced)) return -1;
        if (is_exhausted && !produced && decoder->is_open && before == decoder->begin) {
            snprintf(source->damage, sizeof source->damage, "truncated %s data", names[decoder->codec]);
            return -1;
        }
    }
    return (ssize_t)produced;
}

/* ---- opening one ---- */

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), ending_length = strlen(ending);
    return length > ending_length && !strcmp(text + length - ending_length, ending);
}

enum wf_codec wf_codec_of_name(const char *path) {
    return ends_with(path, ".gz") ? WF_CODEC_GZIP : ends_with(path, ".zst") ? WF_CODEC_ZSTD : WF_CODEC_NONE;
}

enum wf_codec wf_codec_of_bytes(const unsigned char *bytes, size_t nbytes) {
    if (nbytes >= 3 && !memcmp(bytes, "\x1f\x8b\x08", 3)) return WF_CODEC_GZIP;
    return nbytes >= 4 && !memcmp(bytes, "\x28\xb5\x2f\xfd", 4) ? WF_CODEC_ZSTD : WF_CODEC_NONE;
}

static wf_error fail_memory(wf_handle *handle, const struct wf_source *source) {
    return wf_fail(handle, WF_ERROR_MEMORY, "%s: out of memory for decoding", source->name);
}

static wf_error fail_absent(wf_handle *handle, const struct wf_source *source, enum wf_codec codec) {
    bool is_zstd = codec == WF_CODEC_ZSTD;
    if (is_zstd ? libraries.zstd_needs_memory : libraries.zlib_needs_memory) return fail_memory(handle, source);
    return wf_fail(handle, WF_ERROR_IO, "%s: %s data need the library %s, which cannot be opened: install %s%s",
                   source->name, names[codec], is_zstd ? "libzstd.so.1" : "libz.so.1", is_zstd ? "zstd" : "zlib",
                   is_zstd                   ? ", or pipe the output of zstdcat"
                   : codec == WF_CODEC_GZIP ? ", or pipe the output of zcat"
                                            : "");
}

static bool begin_stream(struct decoder *decoder) {
    if (decoder->codec == WF_CODEC_ZSTD) return (decoder->zstd = libraries.zstd.ZSTD_createDStream()) != NULL;
    int window_bits = decoder->codec == WF_CODEC_GZIP ? GZIP_HEADER : RAW_DEFLATE;
    return libraries.zlib.inflateInit2_(&decoder->z, window_bits, "1.2.0", sizeof decoder->z) == Z_OK;
}

wf_error wf_source_decode(wf_handle *handle, struct wf_source *source, enum wf_codec codec, const struct wf_member_sums *sums) {
    pthread_once(&libraries.once, open_libraries);
    if (codec == WF_CODEC_ZSTD ? !libraries.has_zstd : !libraries.has_zlib) return fail_absent(handle, source, codec);
    struct decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) decoder->codec = codec;
    if (!decoder || !begin_stream(decoder)) {
        free(decoder);
        return fail_memory(handle, source);
    }
    decoder->is_open = true; /* nothing at all is too little */
    decoder->expected = sums ? *sums : (struct wf_member_sums){.compressed_nbytes = UINT64_MAX};
    decoder->end = wf_source_available(source);
    memcpy(decoder->input, wf_source_window(source), decoder->end);
    decoder->has_ended = source->is_at_end;
    decoder->read = source->read;
    source->decoder = decoder;
    source->close_decoder = close_decoder;
    source->read = read_decoded;
    source->begin = source->end = 0;
    source->nbytes_read = 0;
    source->nbytes_total = -1;
    source->is_restricted = false; /* the decoder knows where its bytes end */
    source->is_at_end = false;
    return WF_OK;
}
