#include "fatbin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* As cuobjdump and others have described them; all numbers little-endian, members at any address. */
struct __attribute__((packed)) fat_header {
    uint32_t magic;
    uint16_t version, header_nbytes;
    uint64_t nbytes; /* of what follows */
};

struct __attribute__((packed)) fat_entry {
    uint16_t kind, version;
    uint32_t header_nbytes;
    uint64_t nbytes; /* of what follows the header, padding and all */
    uint32_t compressed_nbytes, unknown;
    uint16_t minor, major;
    uint32_t arch, name_offset, name_nbytes;
    uint64_t flags, zero, decompressed_nbytes;
};

/* FLAG_SPECIFIC: of compute_90a, which nvcc 13 puts beside compute_90 for -arch=sm_90a. */
enum { MAGIC = 0xba55ed50, KIND_PTX = 1, FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_SPECIFIC = 0x100000, TEXT_NBYTES_MAX = 1 << 28 };

const char *fatbin_error_text(enum fatbin_error error) {
    static const char *const texts[] = {
        [FATBIN_OK] = "no error",
        [FATBIN_EMPTY] = "its fat binary holds no code",
        [FATBIN_DAMAGED] = "its fat binary is damaged",
        [FATBIN_NO_PTX] = ("it has no PTX for this GPU: build it with -gencode arch=compute_75,code=compute_75, or "
                           "choose another one with --gpu"),
        [FATBIN_COMPRESSED] = "its PTX is compressed, and libzstd.so.1 is not here: build it with -no-compress",
        [FATBIN_MEMORY] = "out of memory for its PTX",
    };
    return texts[error];
}

/* ---- LZ4 blocks ---------------------------------------------------------------------------------- */

struct lz4 {
    const unsigned char *from, *from_end;
    unsigned char *begin, *to, *to_end;
};

/* A length of four bits, continued by bytes while they are 255.  false: the input ends. */
static bool read_length(struct lz4 *lz4, size_t *length) {
    unsigned char byte = UINT8_MAX;
    if (*length != 15) return true;
    while (byte == UINT8_MAX) {
        if (lz4->from == lz4->from_end || *length > TEXT_NBYTES_MAX) return false;
        byte = *lz4->from++;
        *length += byte;
    }
    return true;
}

static bool copy_literals(struct lz4 *lz4, size_t length) {
    if (!read_length(lz4, &length) || length > (size_t)(lz4->from_end - lz4->from) ||
        length > (size_t)(lz4->to_end - lz4->to))
        return false;
    memcpy(lz4->to, lz4->from, length);
    lz4->from += length;
    lz4->to += length;
    return true;
}

/* From what is already there; the two may overlap. */
static bool copy_match(struct lz4 *lz4, size_t length) {
    enum { MATCH_LEAST = 4 };
    if (lz4->from_end - lz4->from < 2) return false;
    size_t offset = lz4->from[0] | (size_t)lz4->from[1] << 8;
    lz4->from += 2;
    if (!read_length(lz4, &length)) return false;
    length += MATCH_LEAST;
    bool is_within = offset <= (size_t)(lz4->to - lz4->begin) && length <= (size_t)(lz4->to_end - lz4->to);
    if (offset == 0 || !is_within) return false;
    for (; length > 0; length--, lz4->to++) *lz4->to = *(lz4->to - offset);
    return true;
}

static bool inflate_lz4(const unsigned char *from, size_t nbytes, unsigned char *to, size_t capacity) {
    struct lz4 lz4 = {from, from + nbytes, to, to, to + capacity};
    while (lz4.from < lz4.from_end) {
        unsigned char token = *lz4.from++;
        if (!copy_literals(&lz4, token >> 4)) return false;
        if (lz4.from == lz4.from_end) break;
        if (!copy_match(&lz4, token & 15)) return false;
    }
    return lz4.to == lz4.to_end;
}

/* ---- zstd ---------------------------------------------------------------------------------------- */

typedef size_t zstd_decompress(void *to, size_t capacity, const void *from, size_t nbytes);

static enum fatbin_error inflate_zstd(const unsigned char *from, size_t nbytes, unsigned char *to, size_t capacity) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "ZSTD_decompress") : NULL;
    enum fatbin_error error = FATBIN_COMPRESSED;
    if (symbol) {
        zstd_decompress *decompress;
        memcpy(&decompress, &symbol, sizeof decompress);
        error = decompress(to, capacity, from, nbytes) == capacity ? FATBIN_OK : FATBIN_DAMAGED;
    }
    if (library) dlclose(library);
    return error;
}

/* ---- entries ------------------------------------------------------------------------------------- */

/* PTX, as it lies in the fat binary. */
struct found {
    struct fat_entry entry;
    const unsigned char *bytes;
};

static bool is_better(const struct fat_entry *entry, const struct found *best) {
    const bool is_specific = entry->flags & FLAG_SPECIFIC, has_specific = best->entry.flags & FLAG_SPECIFIC;
    return !best->bytes || entry->arch > best->entry.arch || (entry->arch == best->entry.arch && is_specific && !has_specific);
}

static enum fatbin_error find_best(const unsigned char *bytes, uint64_t nbytes, uint32_t arch, struct found *best) {
    enum fatbin_error error = FATBIN_EMPTY;
    *best = (struct found){.bytes = NULL};
    while (nbytes > 0) {
        struct fat_entry entry;
        if (nbytes < sizeof entry) return FATBIN_DAMAGED;
        memcpy(&entry, bytes, sizeof entry);
        if (entry.header_nbytes < sizeof entry || entry.header_nbytes > nbytes ||
            entry.nbytes > nbytes - entry.header_nbytes)
            return FATBIN_DAMAGED;
        if (entry.kind == KIND_PTX && entry.arch <= arch && is_better(&entry, best))
            *best = (struct found){entry, bytes + entry.header_nbytes};
        error = FATBIN_NO_PTX;
        bytes += entry.header_nbytes + entry.nbytes;
        nbytes -= entry.header_nbytes + entry.nbytes;
    }
    return best->bytes ? FATBIN_OK : error;
}

static enum fatbin_error inflate(const struct found *found, char *text, size_t capacity) {
    const struct fat_entry *entry = &found->entry;
    if (entry->flags & FLAG_ZSTD)
        return inflate_zstd(found->bytes, entry->compressed_nbytes, (unsigned char *)text, capacity);
    bool is_whole = inflate_lz4(found->bytes, entry->compressed_nbytes, (unsigned char *)text, capacity);
    return is_whole ? FATBIN_OK : FATBIN_DAMAGED;
}

/* Whether so few bytes can be so much text, for which there is no other reason to make room: a byte of LZ4 makes 255 at most, and
 * four of zstd a block of 128 KiB. */
static bool is_plausible(const struct fat_entry *entry) {
    const uint64_t most = entry->flags & FLAG_ZSTD ? (UINT64_C(128) << 10) / 4 : UINT8_MAX;
    return entry->compressed_nbytes <= entry->nbytes && entry->decompressed_nbytes / most <= entry->compressed_nbytes;
}

static enum fatbin_error extract(const struct found *found, struct fatbin_ptx *ptx) {
    const struct fat_entry *entry = &found->entry;
    bool is_compressed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
    uint64_t nbytes = is_compressed ? entry->decompressed_nbytes : entry->nbytes;
    if (nbytes > TEXT_NBYTES_MAX || (is_compressed && !is_plausible(entry))) return FATBIN_DAMAGED;
    char *text = calloc(1, nbytes + 1);
    if (!text) return FATBIN_MEMORY;
    enum fatbin_error error = FATBIN_OK;
    if (is_compressed)
        error = inflate(found, text, nbytes);
    else
        memcpy(text, found->bytes, nbytes);
    if (error) {
        free(text);
        return error;
    }
    *ptx = (struct fatbin_ptx){text, strlen(text), entry->arch}; /* zeros pad it */
    return FATBIN_OK;
}

enum fatbin_error fatbin_find_ptx(const void *bytes, size_t nbytes, uint32_t arch, struct fatbin_ptx *ptx) {
    struct fat_header header;
    struct found found;
    if (nbytes < sizeof header) return FATBIN_DAMAGED;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.header_nbytes < sizeof header || header.header_nbytes > nbytes ||
        header.nbytes > nbytes - header.header_nbytes)
        return FATBIN_DAMAGED;
    enum fatbin_error error =
        find_best((const unsigned char *)bytes + header.header_nbytes, header.nbytes, arch, &found);
    return error ? error : extract(&found, ptx);
}
