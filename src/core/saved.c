/* Layout, all little-endian: the magic, the version, then the fields in the order of `transfer_*` below, then
 * the checksum of all before it, which every version ends with.  Only what the op depends on is there, so equal
 * reductions save equal bytes. */
#include "core/saved.h"
#include "core/possible.h"

#define VERSION 1
#define CHECKSUM_NBYTES 4

static const uint8_t magic[8] = {'w', 'a', 'r', 'p', 'f', 'o', 'l', 'd'};

uint32_t wf_saved_checksum(const uint8_t *bytes, size_t nbytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < nbytes; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* One description of the format serves both directions: each field is written from the accumulator or read into it. */
struct archive {
    bool reading;
    bool failed; /* the bytes ended too early, or hold what cannot be */
    size_t position, nbytes;
    const uint8_t *source;
    uint8_t *target;
};

static void transfer(struct archive *archive, uint64_t *value, size_t nbytes) {
    if (archive->nbytes - archive->position < nbytes) archive->failed = true;
    if (archive->failed) return;
    if (archive->reading) *value = 0;
    for (size_t i = 0; i < nbytes; i++) {
        if (archive->reading)
            *value |= (uint64_t)archive->source[archive->position++] << (8 * i);
        else
            archive->target[archive->position++] = (uint8_t)(*value >> (8 * i));
    }
}

static void require(struct archive *archive, bool condition) {
    if (!condition) archive->failed = true;
}

/* An integer from 0 to limit, in nbytes bytes. */
static int64_t transfer_natural(struct archive *archive, int64_t value, size_t nbytes, int64_t limit) {
    uint64_t bits = (uint64_t)value;
    transfer(archive, &bits, nbytes);
    require(archive, bits <= (uint64_t)limit);
    return archive->failed ? 0 : (int64_t)bits;
}

/* A word of the partial's, at most limit, in nbytes bytes. */
static void transfer_word(struct archive *archive, uint64_t *word, size_t nbytes, int64_t limit) {
    *word = (uint64_t)transfer_natural(archive, (int64_t)*word, nbytes, limit);
}

static int64_t transfer_i64(struct archive *archive, int64_t value) {
    transfer(archive, (uint64_t *)&value, 8);
    return value;
}

static void transfer_settings(struct archive *archive, struct wf_accumulator *acc) {
    acc->op = (wf_op)transfer_natural(archive, acc->op, 1, WF_OP_COUNT - 1);
    acc->type = (wf_type)transfer_natural(archive, acc->type, 1, WF_TYPE_COUNT - 1);
    acc->nan = (wf_nan)transfer_natural(archive, acc->nan, 1, WF_NAN_ERROR);
    acc->result_type = (wf_type)transfer_natural(archive, acc->result_type, 1, WF_TYPE_COUNT - 1);
    acc->ddof = transfer_natural(archive, acc->ddof, 8, INT64_MAX);
    if (!archive->reading) return;
    require(archive, wf_op_parts(acc->op) && wf_type_is_valid(acc->type));
    require(archive, acc->op == WF_STATS || wf_op_result_type(acc->op, acc->type));
    if (archive->failed) return;
    wf_reduction reduction = {.op = acc->op, .nan = acc->nan, .ddof = acc->ddof, .result_type = acc->result_type};
    wf_accumulator_init(acc, &reduction, acc->type, acc->tree);
}

static void transfer_indices(struct archive *archive, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    acc->first_index = transfer_natural(archive, acc->first_index, 8, INT64_MAX);
    acc->end_index = transfer_natural(archive, acc->end_index, 8, INT64_MAX);
    transfer_word(archive, &partial->first_nan, 8, INT64_MAX);
    int64_t first_nan = (int64_t)partial->first_nan;
    require(archive, acc->first_index <= acc->end_index);
    require(archive, (acc->count == 0) == (acc->first_index == acc->end_index));
    require(archive, partial->nan_count ? acc->first_index <= first_nan && first_nan < acc->end_index
                                        : first_nan == INT64_MAX);
}

static void transfer_elements(struct archive *archive, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    acc->count = transfer_natural(archive, acc->count, 8, INT64_MAX);
    transfer_word(archive, &partial->nan_count, 8, wf_type_is_float(acc->type) ? acc->count : 0);
    if (wf_accumulator_is_indexed(acc)) {
        transfer_indices(archive, acc);
    } else if (archive->reading) {
        acc->end_index = acc->count;
        if (partial->nan_count) partial->first_nan = 0;
    }
}

static void transfer_exact(struct archive *archive, struct wf_exact x, bool is_signed) {
    int last = x.digit_count - 1;
    if (!archive->reading) wf_exact_normalise(x);
    for (int i = 0; i < last; i++) x.digit[i] = transfer_natural(archive, x.digit[i], 4, UINT32_MAX);
    /* The two highest digits are headroom: they hold only the sign. */
    bool negative = transfer_natural(archive, x.digit[last] < 0, 1, is_signed);
    if (!archive->reading) return;
    x.digit[last] = negative ? -1 : 0;
    require(archive, x.digit[last - 1] == (negative ? UINT32_MAX : 0));
}

static void transfer_extremum(struct archive *archive, const struct wf_accumulator *acc, uint64_t *order,
                             uint64_t *index) {
    bool has_value = acc->count > (int64_t)acc->partial.nan_count;
    int64_t key = transfer_i64(archive, wf_order_to_key(*order));
    bool indexed = wf_accumulator_is_indexed(acc);
    *order = wf_key_to_order(key);
    if (indexed) transfer_word(archive, index, 8, INT64_MAX);
    if (!archive->reading || archive->failed) return;
    if (!has_value) return;
    uint64_t bits = wf_key_to_bits(acc->type, key);
    require(archive, wf_bits_to_key(acc->type, bits) == key);
    require(archive, acc->type != WF_BOOL || bits <= 1);
    require(archive, wf_number_of_bits(acc->type, bits).kind != WF_NUMBER_NAN);
    if (indexed)
        require(archive, acc->first_index <= (int64_t)*index && (int64_t)*index < acc->end_index);
    else
        *index = 0;
}

static void transfer_f64(struct archive *archive, double *value) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    transfer(archive, &bits, 8);
    memcpy(value, &bits, sizeof bits);
}

static void transfer_tree(struct archive *archive, const struct wf_accumulator *acc, struct wf_tree *tree) {
    if (archive->reading) {
        require(archive, acc->count == acc->end_index - acc->first_index);
        if (archive->failed) return;
        tree->start = acc->first_index;
        tree->end = acc->end_index;
        tree->node_count = wf_tree_levels(tree->start, tree->end, tree->level);
    }
    for (int i = 0; i < tree->node_count; i++) {
        struct wf_factor *node = &tree->node[i];
        transfer_f64(archive, &node->hi);
        transfer_f64(archive, &node->lo);
        node->exponent = transfer_i64(archive, node->exponent);
        require(archive, node->hi >= 1 && node->hi < 2 && node->hi + node->lo == node->hi);
        require(archive, node->exponent > -(INT64_C(1) << 62) && node->exponent < INT64_C(1) << 62);
    }
}

/* A flag in a byte of its own. */
static void transfer_flag(struct archive *archive, uint64_t *flags, enum wf_product_flag flag) {
    bool is_set = transfer_natural(archive, (*flags & flag) != 0, 1, 1);
    *flags = is_set ? *flags | flag : *flags & ~(uint64_t)flag;
}

static void transfer_product(struct archive *archive, struct wf_accumulator *acc) {
    uint64_t *flags = &acc->partial.product_flags, *magnitude = &acc->partial.product_magnitude;
    transfer_flag(archive, flags, WF_PRODUCT_NEGATIVE);
    transfer_flag(archive, flags, WF_PRODUCT_ZERO);
    if (acc->tree) {
        transfer_flag(archive, flags, WF_PRODUCT_INFINITY);
        transfer_tree(archive, acc, acc->tree);
    } else {
        transfer_flag(archive, flags, WF_PRODUCT_OVERFLOW);
        transfer(archive, magnitude, 8);
        require(archive, *magnitude != 0 && (!(*flags & WF_PRODUCT_OVERFLOW) || *magnitude == UINT64_MAX));
    }
}

static void transfer_parts(struct archive *archive, struct wf_accumulator *acc) {
    struct wf_partial *partial = &acc->partial;
    unsigned parts = acc->parts;
    if (wf_type_is_float(acc->type)) transfer_word(archive, &partial->special_seen, 1, 15);
    if (parts & WF_PART_SUM) transfer_exact(archive, wf_partial_sum(partial, acc->type), true);
    if (parts & WF_PART_ABS) transfer_exact(archive, wf_partial_abs(partial, acc->type), false);
    if (parts & (WF_PART_SQUARES | WF_PART_DOT))
        transfer_exact(archive, wf_partial_product_sum(partial, acc->type), parts & WF_PART_DOT);
    if (parts & WF_PART_MIN) transfer_extremum(archive, acc, &partial->min_key, &partial->min_index);
    if (parts & WF_PART_MAX) transfer_extremum(archive, acc, &partial->max_key, &partial->max_index);
    if (parts & WF_PART_NONZERO) transfer_word(archive, &partial->nonzero, 8, acc->count);
    if (parts & WF_PART_BITS) {
        transfer(archive, &partial->bits_and, 8);
        transfer(archive, &partial->bits_or, 8);
        transfer(archive, &partial->bits_xor, 8);
    }
    if (parts & WF_PART_PRODUCT) transfer_product(archive, acc);
}

static void transfer_all(struct archive *archive, struct wf_accumulator *acc) {
    transfer_settings(archive, acc);
    if (!archive->failed) transfer_elements(archive, acc);
    if (!archive->failed) transfer_parts(archive, acc);
}

size_t wf_saved_write(struct wf_accumulator *acc, uint8_t bytes[WF_SAVED_NBYTES_MAX]) {
    struct archive archive = {.target = bytes, .nbytes = WF_SAVED_NBYTES_MAX, .position = sizeof magic};
    memcpy(bytes, magic, sizeof magic);
    transfer_natural(&archive, VERSION, 4, VERSION);
    transfer_all(&archive, acc);
    uint64_t checksum = wf_saved_checksum(bytes, archive.position);
    transfer(&archive, &checksum, CHECKSUM_NBYTES);
    return archive.position;
}

/* ---- reading: is it whole, is it of a known version, can data have led to it ---- */

static wf_error check_whole(wf_handle *handle, const uint8_t *bytes, size_t nbytes) {
    const size_t least = sizeof magic + 4 + CHECKSUM_NBYTES;
    if (nbytes < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return wf_fail(handle, WF_ERROR_FORMAT, "not a saved accumulator");
    if (nbytes < least || nbytes > WF_SAVED_NBYTES_MAX)
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: %zu bytes long", nbytes);
    struct archive end = {
        .reading = true, .source = bytes, .nbytes = nbytes, .position = nbytes - CHECKSUM_NBYTES};
    uint64_t checksum = 0;
    transfer(&end, &checksum, CHECKSUM_NBYTES);
    if (checksum != wf_saved_checksum(bytes, nbytes - CHECKSUM_NBYTES))
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: wrong checksum");
    return WF_OK;
}

/* The version, and the numbers that later versions may have more of. */
static wf_error check_known(wf_handle *handle, struct archive archive) {
    uint64_t version = 0, op = 0, type = 0;
    transfer(&archive, &version, 4);
    if (version != VERSION)
        return wf_fail(handle, WF_ERROR_FORMAT, "accumulator of version %llu; this warpfold reads version %d",
                       (unsigned long long)version, VERSION);
    transfer(&archive, &op, 1);
    transfer(&archive, &type, 1);
    if (op >= WF_OP_COUNT)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "saved by a newer version: unknown operation number %d; this is warpfold %s", (int)op,
                       wf_version());
    if (type >= WF_TYPE_COUNT)
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "saved by a newer version: unknown type number %d; this is warpfold %s", (int)type,
                       wf_version());
    return WF_OK;
}

/* The checks of single fields leave room for other bytes of the same state: those do not come back as they
 * are. */
static bool is_canonical(const struct wf_accumulator *acc, const uint8_t *bytes, size_t nbytes) {
    uint8_t again[WF_SAVED_NBYTES_MAX];
    struct wf_accumulator copy = *acc;
    return wf_saved_write(&copy, again) == nbytes && !memcmp(again, bytes, nbytes);
}

wf_error wf_saved_read(wf_handle *handle, struct wf_accumulator *acc, const uint8_t *bytes, size_t nbytes) {
    wf_error error = check_whole(handle, bytes, nbytes);
    if (error) return error;
    struct archive archive = {
        .reading = true, .source = bytes, .nbytes = nbytes - CHECKSUM_NBYTES, .position = sizeof magic};
    error = check_known(handle, archive);
    if (error) return error;
    archive.position += 4; /* the version */
    transfer_all(&archive, acc);
    if (archive.failed || archive.position != archive.nbytes || !is_canonical(acc, bytes, nbytes))
        return wf_fail(handle, WF_ERROR_FORMAT,
                       "not written by warpfold: saving this accumulator gives other bytes");
    const char *flaw = wf_accumulator_flaw(acc);
    if (flaw) return wf_fail(handle, WF_ERROR_FORMAT, "invalid accumulator, which no data produces: %s", flaw);
    return WF_OK;
}
