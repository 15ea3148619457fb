/* Video instructions, whose operands are whole words, two halves or four bytes: PTX ISA, "Video Instructions".  Of
 * those that select bytes and halves of operands, or write only some, there are none. */
#include <string.h>

#include "lanes_loops.h"

enum video_op {
    VIDEO_ADD,
    VIDEO_SUBTRACT,
    VIDEO_AVERAGE,
    VIDEO_DISTANCE,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_EQ,
    VIDEO_NE,
    VIDEO_LT,
    VIDEO_LE,
    VIDEO_GT,
    VIDEO_GE,
};

struct video {
    enum video_op op;
    uint32_t bits; /* of a part */
    bool a_is_signed, b_is_signed, d_is_signed, saturates;
    bool is_sum; /* of all parts and c */
};

/* As the context of a lane operation, which is a number. */
enum { OP_BITS = 8, PART_BITS = 8 };

static uint64_t context_of(const struct video *video) {
    const uint64_t flags = (uint64_t)video->a_is_signed | (uint64_t)video->b_is_signed << 1 | (uint64_t)video->d_is_signed << 2 |
                           (uint64_t)video->saturates << 3 | (uint64_t)video->is_sum << 4;
    return flags << (OP_BITS + PART_BITS) | (uint64_t)video->bits << OP_BITS | video->op;
}

static struct video video_of(uint64_t context) {
    const uint64_t flags = context >> (OP_BITS + PART_BITS);
    return (struct video){.op = (enum video_op)(context & 0xff),
                          .bits = context >> OP_BITS & 0xff,
                          .a_is_signed = flags & 1,
                          .b_is_signed = flags >> 1 & 1,
                          .d_is_signed = flags >> 2 & 1,
                          .saturates = flags >> 3 & 1,
                          .is_sum = flags >> 4 & 1};
}

static int64_t part_of(uint32_t word, uint32_t at, uint32_t bits, bool is_signed) {
    const uint64_t high = (uint64_t)(word >> at) << (64 - bits);
    return is_signed ? (int64_t)high >> (64 - bits) : (int64_t)(high >> (64 - bits));
}

static int64_t combine(enum video_op op, int64_t a, int64_t b) {
    switch (op) {
    case VIDEO_ADD: return a + b;
    case VIDEO_SUBTRACT: return a - b;
    case VIDEO_AVERAGE: return (a + b + (a + b >= 0)) >> 1;
    case VIDEO_DISTANCE: return a > b ? a - b : b - a;
    case VIDEO_MIN: return a < b ? a : b;
    case VIDEO_MAX: return a > b ? a : b;
    case VIDEO_EQ: return a == b;
    case VIDEO_NE: return a != b;
    case VIDEO_LT: return a < b;
    case VIDEO_LE: return a <= b;
    case VIDEO_GT: return a > b;
    default: return a >= b;
    }
}

static int64_t saturate(int64_t value, uint32_t bits, bool is_signed) {
    const int64_t most = ((int64_t)1 << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    return value < least ? least : value > most ? most : value;
}

static uint32_t result_of(const struct video *video, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t sum = c, parts = 0;
    for (uint32_t at = 0; at < 32; at += video->bits) {
        int64_t part = combine(video->op, part_of(a, at, video->bits, video->a_is_signed),
                               part_of(b, at, video->bits, video->b_is_signed));
        if (video->saturates) part = saturate(part, video->bits, video->d_is_signed);
        sum += (uint32_t)part;
        parts |= ((uint32_t)part & UINT32_MAX >> (32 - video->bits)) << at;
    }
    return video->is_sum ? sum : parts;
}

static void video_lanes(struct lane_operands operands, uint32_t mask) {
    const struct video video = video_of(operands.call->context);
    const uint32_t *a = lanes_of(operands, 1), *b = lanes_of(operands, 2);
    const uint32_t *c = video.is_sum ? lanes_of(operands, 3) : NULL;
    uint32_t *result = lanes_of(operands, 0);
    for (; mask; mask &= mask - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = result_of(&video, a[lane], b[lane], c ? c[lane] : 0);
    }
}

static const struct {
    const char *name;
    enum video_op op;
    bool has_words; /* an instruction of whole words */
} names[] = {{"vadd", VIDEO_ADD, true},          {"vsub", VIDEO_SUBTRACT, true}, {"vavrg", VIDEO_AVERAGE, false},
             {"vabsdiff", VIDEO_DISTANCE, true}, {"vmin", VIDEO_MIN, true},      {"vmax", VIDEO_MAX, true}};

static const struct {
    modifier_set modifier;
    enum video_op op;
} comparisons[] = {{WITH(EQ), VIDEO_EQ}, {WITH(NE), VIDEO_NE}, {WITH(LT), VIDEO_LT},
                   {WITH(LE), VIDEO_LE}, {WITH(GT), VIDEO_GT}, {WITH(GE), VIDEO_GE}};

/* What follows the name: nothing, 2 or 4. */
static uint32_t part_bits(const char *rest) {
    return !*rest ? 32 : !strcmp(rest, "2") ? 16 : !strcmp(rest, "4") ? 8 : 0;
}

static bool find_arithmetic(const char *base, struct video *video) {
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const size_t length = strlen(names[n].name);
        if (strncmp(base, names[n].name, length)) continue;
        video->op = names[n].op;
        video->bits = part_bits(base + length);
        return video->bits && (video->bits < 32 || names[n].has_words);
    }
    return false;
}

static bool find_comparison(const struct lane_key *key, struct video *video) {
    if (strncmp(key->base, "vset", 4)) return false;
    video->bits = part_bits(key->base + 4);
    for (size_t c = 0; video->bits && c < sizeof comparisons / sizeof *comparisons; c++)
        if ((key->modifiers & ~WITH(ADDED)) == comparisons[c].modifier) {
            video->op = comparisons[c].op;
            return true;
        }
    return false;
}

static bool are_words(const uint8_t *types, uint32_t count) {
    bool are = true;
    for (uint32_t t = 0; t < count; t++) are &= types[t] == S32 || types[t] == U32;
    return are && (count == ROW_TYPES_MAX || types[count] == TYPE_NONE);
}

bool simt_video_find(const struct lane_key *key, struct lane_operation *operation) {
    struct video video = {.saturates = key->modifiers & WITH(SAT), .is_sum = key->modifiers & WITH(ADDED)};
    if (*key->base != 'v') return false;
    const bool compares = find_comparison(key, &video);
    if (!compares && (!find_arithmetic(key->base, &video) || key->modifiers & ~(WITH(SAT) | WITH(ADDED)))) return false;
    const uint8_t *sources = key->types + !compares; /* behind the result's, where it is named */
    const bool has_c = video.bits < 32 || video.is_sum;
    if (!are_words(key->types, compares ? 2 : 3) || key->count != 3u + has_c) return false;
    if (video.saturates && video.is_sum && video.bits < 32) return false;
    video.a_is_signed = sources[0] == S32;
    video.b_is_signed = sources[1] == S32;
    video.d_is_signed = !compares && key->types[0] == S32;
    *operation = (struct lane_operation){.function = video_lanes,
                                         .context = context_of(&video),
                                         .count = key->count,
                                         .destinations = 1,
                                         .types = {compares ? U32 : (enum type)key->types[0], (enum type)sources[0],
                                                   (enum type)sources[1], has_c ? U32 : TYPE_NONE}};
    return true;
}
