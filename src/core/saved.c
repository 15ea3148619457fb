/* Layout, all little-endian: the magic, the version, then the fields in the order of `transfer_*` below, then
 * the checksum of all before it.  Only what the op depends on is there, so equal reductions save equal bytes. */
#include "core/saved.h"

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

/* One description serves both directions: a field is written from the accumulator, or read into it. */
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
    wf_options options = {.nan = acc->nan, .result_type = acc->result_type, .ddof = acc->ddof};
    wf_accumulator_init(acc, acc->op, acc->type, &options);
}

static void transfer_elements(struct archive *archive, struct wf_accumulator *acc) {
    acc->count = transfer_natural(archive, acc->count, 8, INT64_MAX);
    acc->nan_count =
        transfer_natural(archive, acc->nan_count, 8, wf_type_is_float(acc->type) ? acc->count : 0);
    if (wf_accumulator_is_indexed(acc)) {
        acc->first_index = transfer_natural(archive, acc->first_index, 8, INT64_MAX);
        acc->end_index = transfer_natural(archive, acc->end_index, 8, INT64_MAX);
        acc->first_nan = transfer_natural(archive, acc->first_nan, 8, INT64_MAX);
        require(archive, acc->first_index <= acc->end_index);
        require(archive, (acc->count == 0) == (acc->first_index == acc->end_index));
        require(archive, acc->nan_count ? acc->first_index <= acc->first_nan && acc->first_nan < acc->end_index
                                        : acc->first_nan == INT64_MAX);
    } else if (archive->reading) {
        acc->end_index = acc->count;
        if (acc->nan_count) acc->first_nan = 0;
    }
}

static void transfer_exact(struct archive *archive, struct wf_exact *x, bool is_signed) {
    int last = x->digit_count - 1;
    if (!archive->reading) wf_exact_normalise(x);
    for (int i = 0; i < last; i++) x->digit[i] = transfer_natural(archive, x->digit[i], 4, UINT32_MAX);
    /* The two highest digits are headroom: they hold only the sign. */
    bool negative = transfer_natural(archive, x->digit[last] < 0, 1, is_signed);
    if (!archive->reading) return;
    x->digit[last] = negative ? -1 : 0;
    require(archive, x->digit[last - 1] == (negative ? UINT32_MAX : 0));
}

static void transfer_extreme(struct archive *archive, const struct wf_accumulator *acc,
                             struct wf_extreme *extreme) {
    bool has_value = acc->count > acc->nan_count;
    extreme->key = transfer_i64(archive, extreme->key);
    bool indexed = wf_accumulator_is_indexed(acc);
    if (indexed) extreme->index = transfer_natural(archive, extreme->index, 8, INT64_MAX);
    if (!archive->reading || archive->failed) return;
    if (!has_value) return;
    uint64_t bits = wf_key_to_bits(acc->type, extreme->key);
    require(archive, wf_bits_to_key(acc->type, bits) == extreme->key);
    require(archive, acc->type != WF_BOOL || bits <= 1);
    require(archive, wf_number_of_bits(acc->type, bits).kind != WF_NUMBER_NAN);
    if (indexed)
        require(archive, acc->first_index <= extreme->index && extreme->index < acc->end_index);
    else
        extreme->index = 0;
}

static void transfer_f64(struct archive *archive, double *value) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    transfer(archive, &bits, 8);
    memcpy(value, &bits, sizeof bits);
}

static void transfer_tree(struct archive *archive, const struct wf_accumulator *acc, struct wf_product *product) {
    if (archive->reading) {
        require(archive, acc->count == acc->end_index - acc->first_index);
        if (archive->failed) return;
        product->start = acc->first_index;
        product->end = acc->end_index;
        product->node_count = wf_product_levels(product->start, product->end, product->level);
    }
    for (int i = 0; i < product->node_count; i++) {
        struct wf_factor *node = &product->node[i];
        transfer_f64(archive, &node->hi);
        transfer_f64(archive, &node->lo);
        node->exponent = transfer_i64(archive, node->exponent);
        require(archive, node->hi >= 1 && node->hi < 2 && node->hi + node->lo == node->hi);
        require(archive, node->exponent > -(INT64_C(1) << 62) && node->exponent < INT64_C(1) << 62);
    }
}

static void transfer_product(struct archive *archive, const struct wf_accumulator *acc,
                             struct wf_product *product) {
    product->negative = transfer_natural(archive, product->negative, 1, 1);
    product->has_zero = transfer_natural(archive, product->has_zero, 1, 1);
    if (acc->uses_tree) {
        product->has_infinity = transfer_natural(archive, product->has_infinity, 1, 1);
        transfer_tree(archive, acc, product);
    } else {
        product->overflow = transfer_natural(archive, product->overflow, 1, 1);
        transfer(archive, &product->magnitude, 8);
        require(archive, product->magnitude != 0 && (!product->overflow || product->magnitude == UINT64_MAX));
    }
}

static void transfer_parts(struct archive *archive, struct wf_accumulator *acc) {
    unsigned parts = acc->parts;
    if (wf_type_is_float(acc->type)) acc->saw = (unsigned)transfer_natural(archive, acc->saw, 1, 15);
    if (parts & WF_PART_SUM) transfer_exact(archive, &acc->sum, true);
    if (parts & WF_PART_ABS) transfer_exact(archive, &acc->abs, false);
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) transfer_exact(archive, &acc->products, parts & WF_PART_DOT);
    if (parts & WF_PART_MIN) transfer_extreme(archive, acc, &acc->min);
    if (parts & WF_PART_MAX) transfer_extreme(archive, acc, &acc->max);
    if (parts & WF_PART_NONZERO) acc->nonzero = transfer_natural(archive, acc->nonzero, 8, acc->count);
    if (parts & WF_PART_BITS) {
        transfer(archive, &acc->bits_and, 8);
        transfer(archive, &acc->bits_or, 8);
        transfer(archive, &acc->bits_xor, 8);
    }
    if (parts & WF_PART_PRODUCT) transfer_product(archive, acc, &acc->product);
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

/* The checks of single fields leave room for states that no reduction reaches, such as other bytes for the
 * same: those do not come back as they are. */
static bool is_canonical(const struct wf_accumulator *acc, const uint8_t *bytes, size_t nbytes) {
    uint8_t again[WF_SAVED_NBYTES_MAX];
    struct wf_accumulator copy = *acc;
    return wf_saved_write(&copy, again) == nbytes && !memcmp(again, bytes, nbytes);
}

wf_error wf_saved_read(wf_handle *handle, struct wf_accumulator *acc, const uint8_t *bytes, size_t nbytes) {
    size_t header = sizeof magic + 4;
    if (nbytes < sizeof magic || memcmp(bytes, magic, sizeof magic))
        return wf_fail(handle, WF_ERROR_FORMAT, "not a saved accumulator");
    if (nbytes < header + CHECKSUM_NBYTES || nbytes > WF_SAVED_NBYTES_MAX)
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: %zu bytes long", nbytes);
    struct archive archive = {
        .reading = true, .source = bytes, .nbytes = nbytes, .position = sizeof magic};
    uint64_t version = 0, checksum = 0;
    transfer(&archive, &version, 4);
    if (version != VERSION)
        return wf_fail(handle, WF_ERROR_FORMAT, "accumulator of version %llu; this warpfold reads version %d",
                       (unsigned long long)version, VERSION);
    transfer_all(&archive, acc);
    bool whole = !archive.failed && archive.position == nbytes - CHECKSUM_NBYTES;
    if (whole) transfer(&archive, &checksum, CHECKSUM_NBYTES);
    if (!whole || checksum != wf_saved_checksum(bytes, nbytes - CHECKSUM_NBYTES) ||
        !is_canonical(acc, bytes, nbytes))
        return wf_fail(handle, WF_ERROR_FORMAT, "damaged accumulator: its contents do not fit its checksum");
    return WF_OK;
}
