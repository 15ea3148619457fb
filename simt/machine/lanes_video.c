/* Video instructions: PTX ISA, "Scalar Video Instructions" and "SIMD Video Instructions".  Those of words take bytes or
 * halves of registers, and may write one of them, or add a third operand; the others do the same to two halves or four
 * bytes, which each come from either of a and b.  Those of words are missing where the machine code that ptxas makes for
 * sm_90a gives something else than the PTX ISA says: .min and .max as a second operation, .sat of a part that is written and of
 * vshl, .sat and the scales of vmad unless all is signed, and the upper half as the part that is written. */
#include <string.h>

#include "lanes_loops.h"

enum video_op {
    VIDEO_ADD,
    VIDEO_SUBTRACT,
    VIDEO_AVERAGE,
    VIDEO_DISTANCE,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_SHIFT_LEFT,
    VIDEO_SHIFT_RIGHT,
    VIDEO_MULTIPLY,
    VIDEO_EQ,
    VIDEO_NE,
    VIDEO_LT,
    VIDEO_LE,
    VIDEO_GT,
    VIDEO_GE,
};

enum video_flags {
    A_IS_SIGNED = 1,
    B_IS_SIGNED = 2,
    D_IS_SIGNED = 4,
    SATURATES = 8,
    WRAPS = 16,    /* a shift: the distance modulo 32; otherwise at most 32 */
    ADDS_ONE = 32, /* vmad.po */
    IS_SUM = 64,   /* of all parts and c */
};

/* A part of a register: its first bit, a multiple of 8, and its bytes: 1, 2 or 4. */
enum { PART_BYTES = 7, PART_AT = 24, WHOLE = 4, UPPER_HALF = 16 | 2 };

/* d, a, b and c. */
enum { SOURCES = 2, C = 3 };

enum { SELECTOR_BITS = 4, SELECTOR = (1 << SELECTOR_BITS) - 1 };

/* As the context of a lane operation, which is a number. */
struct video {
    uint8_t op : 4, scale : 4; /* of a product and its sum: how far it is shifted to the right */
    uint8_t flags;
    uint8_t bits;           /* of the parts to each of which the same is done */
    uint8_t written;        /* of d: a part of the word, or a bit for each of its parts; the others are those of c */
    uint16_t read[SOURCES]; /* of a and b: a part of the word; or for each part which of a's and then b's: SELECTOR_BITS */
};
_Static_assert(sizeof(struct video) <= sizeof(uint64_t), "it is a context");

static uint64_t context_of(const struct video *video) {
    uint64_t context = 0;
    memcpy(&context, video, sizeof *video);
    return context;
}

static struct video video_of(uint64_t context) {
    struct video video;
    memcpy(&video, &context, sizeof video);
    return video;
}

static uint32_t bits_of(uint32_t part) { return 8 * (part & PART_BYTES); }

static int64_t part_of(uint64_t words, uint32_t at, uint32_t bits, bool is_signed) {
    const uint64_t high = words >> at << (64 - bits);
    return is_signed ? (int64_t)high >> (64 - bits) : (int64_t)(high >> (64 - bits));
}

static int64_t operand_of(const struct video *video, uint32_t word, uint32_t source, bool is_signed) {
    const uint32_t part = video->read[source];
    return part_of(word, part & PART_AT, bits_of(part), is_signed);
}

static int64_t selected_of(const struct video *video, uint64_t both, uint32_t number, uint32_t source, bool is_signed) {
    const uint32_t selector = video->read[source] >> (SELECTOR_BITS * number) & SELECTOR;
    return part_of(both, selector * video->bits, video->bits, is_signed);
}

static uint32_t distance(const struct video *video, int64_t b) {
    return video->flags & WRAPS ? (uint32_t)b & 31 : b > 32 ? 32 : (uint32_t)b;
}

static int64_t combine(const struct video *video, int64_t a, int64_t b) {
    switch ((enum video_op)video->op) {
    case VIDEO_ADD: return a + b;
    case VIDEO_SUBTRACT: return a - b;
    case VIDEO_AVERAGE: return (a + b + (a + b >= 0)) >> 1;
    case VIDEO_DISTANCE: return a > b ? a - b : b - a;
    case VIDEO_MIN: return a < b ? a : b;
    case VIDEO_MAX: return a > b ? a : b;
    case VIDEO_SHIFT_LEFT: return (int64_t)((uint64_t)a << distance(video, b)); /* of which 32 bits are kept */
    case VIDEO_SHIFT_RIGHT: return a >> distance(video, b);
    case VIDEO_MULTIPLY: return (int64_t)((uint64_t)a * (uint64_t)b); /* likewise */
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

/* Of halves and bytes: c gets those that are written, or their sum. */
static uint32_t result_of_parts(const struct video *video, uint32_t a, uint32_t b, uint32_t c) {
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t sum = c, parts = c;
    for (uint32_t number = 0, at = 0; at < 32; number++, at += video->bits) {
        if (!(video->written >> number & 1)) continue;
        int64_t part = combine(video, selected_of(video, both, number, 0, video->flags & A_IS_SIGNED),
                               selected_of(video, both, number, 1, video->flags & B_IS_SIGNED));
        if (video->flags & SATURATES) part = saturate(part, video->bits, video->flags & D_IS_SIGNED);
        const uint32_t kept = UINT32_MAX >> (32 - video->bits);
        sum += (uint32_t)part;
        parts = (parts & ~(kept << at)) | ((uint32_t)part & kept) << at;
    }
    return video->flags & IS_SUM ? sum : parts;
}

/* A part of d that is not a whole word gets the value, and c is what surrounds it. */
static uint32_t merge(uint32_t part, uint32_t value, uint32_t c) {
    const uint32_t kept = UINT32_MAX >> (32 - bits_of(part)), at = part & PART_AT;
    return (c & ~(kept << at)) | (value & kept) << at;
}

/* Clamped at the end, unlike other sums. */
static uint32_t result_of_product(const struct video *video, int64_t product, uint32_t c) {
    const uint64_t one = !!(video->flags & ADDS_ONE), sum = (uint64_t)product + (uint64_t)(int64_t)(int32_t)c + one;
    const int64_t scaled = (int64_t)sum >> video->scale;
    return (uint32_t)(video->flags & SATURATES ? saturate(scaled, 32, true) : scaled);
}

static uint32_t result_of_word(const struct video *video, uint32_t a, uint32_t b, uint32_t c) {
    int64_t value = combine(video, operand_of(video, a, 0, video->flags & A_IS_SIGNED),
                            operand_of(video, b, 1, video->flags & B_IS_SIGNED));
    if (video->op == VIDEO_MULTIPLY) return result_of_product(video, value, c);
    if (video->flags & SATURATES) value = saturate(value, 32, video->flags & D_IS_SIGNED);
    if (video->flags & IS_SUM) return (uint32_t)value + c;
    return merge(video->written, (uint32_t)value, c);
}

static bool has_c(const struct video *video) {
    return video->bits < 32 || video->flags & IS_SUM || video->written != WHOLE;
}

static void video_lanes(struct lane_operands operands, uint32_t mask) {
    const struct video video = video_of(operands.call->context);
    const uint32_t *a = lanes_of(operands, 1), *b = lanes_of(operands, 2);
    const uint32_t *c = has_c(&video) ? lanes_of(operands, C) : NULL;
    uint32_t *result = lanes_of(operands, 0);
    for (; mask; mask &= mask - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = (video.bits < 32 ? result_of_parts : result_of_word)(&video, a[lane], b[lane], c ? c[lane] : 0);
    }
}

/* ---- finding them */

enum sizes { ONLY_WORDS = 1, ONLY_PARTS = 2, EITHER = 3 };

static const struct {
    const char *name;
    enum video_op op;
    enum sizes sizes;
} names[] = {{"vadd", VIDEO_ADD, EITHER},
             {"vsub", VIDEO_SUBTRACT, EITHER},
             {"vavrg", VIDEO_AVERAGE, ONLY_PARTS},
             {"vabsdiff", VIDEO_DISTANCE, EITHER},
             {"vmin", VIDEO_MIN, EITHER},
             {"vmax", VIDEO_MAX, EITHER},
             {"vshl", VIDEO_SHIFT_LEFT, ONLY_WORDS},
             {"vshr", VIDEO_SHIFT_RIGHT, ONLY_WORDS},
             {"vmad", VIDEO_MULTIPLY, ONLY_WORDS}};

static const struct {
    modifier_set modifier;
    enum video_op op;
} comparisons[] = {{WITH(EQ), VIDEO_EQ}, {WITH(NE), VIDEO_NE}, {WITH(LT), VIDEO_LT},
                   {WITH(LE), VIDEO_LE}, {WITH(GT), VIDEO_GT}, {WITH(GE), VIDEO_GE}};

/* What follows the name: nothing, 2 or 4. */
static uint8_t part_bits(const char *rest) {
    return !*rest ? 32 : !strcmp(rest, "2") ? 16 : !strcmp(rest, "4") ? 8 : 0;
}

static bool find_name(const char *base, struct video *video) {
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const size_t length = strlen(names[n].name);
        if (strncmp(base, names[n].name, length)) continue;
        video->op = (uint8_t)names[n].op;
        video->bits = part_bits(base + length);
        return video->bits && names[n].sizes & (video->bits < 32 ? ONLY_PARTS : ONLY_WORDS);
    }
    return false;
}

static bool find_comparison(const char *base, modifier_set *modifiers, struct video *video) {
    if (strncmp(base, "vset", 4)) return false;
    video->bits = part_bits(base + 4);
    for (size_t c = 0; video->bits && c < sizeof comparisons / sizeof *comparisons; c++)
        if (*modifiers & comparisons[c].modifier) {
            *modifiers ^= comparisons[c].modifier;
            video->op = (uint8_t)comparisons[c].op;
            return true;
        }
    return false;
}

/* Takes one of them. */
static bool take(modifier_set *modifiers, modifier_set one) {
    const bool has = *modifiers & one;
    *modifiers &= ~one;
    return has;
}

/* No modifier may be left. */
static bool read_modifiers(modifier_set left, struct video *video) {
    const bool is_product = video->op == VIDEO_MULTIPLY, shifts_left = video->op == VIDEO_SHIFT_LEFT;
    const bool is_shift = shifts_left || video->op == VIDEO_SHIFT_RIGHT;
    if (video->op < VIDEO_EQ && !shifts_left && take(&left, WITH(SAT))) video->flags |= SATURATES;
    if (is_product) video->scale = take(&left, WITH(SHR7)) ? 7 : take(&left, WITH(SHR15)) ? 15 : 0;
    if (is_product && take(&left, WITH(PLUS_ONE))) video->flags |= ADDS_ONE;
    if (is_shift && take(&left, WITH(WRAP))) video->flags |= WRAPS;
    else if (is_shift && !take(&left, WITH(CLAMP))) return false;
    if (is_product || take(&left, WITH(ADDED))) video->flags |= IS_SUM;
    return !left && (video->bits == 32 || !(video->flags & IS_SUM && video->flags & SATURATES));
}

static bool are_words(const uint8_t *types, uint32_t count) {
    bool are = true;
    for (uint32_t t = 0; t < count; t++) are &= types[t] == S32 || types[t] == U32;
    return are && (count == ROW_TYPES_MAX || types[count] == TYPE_NONE);
}

static bool read_types(const uint8_t *types, bool compares, struct video *video) {
    const bool is_shift = video->op == VIDEO_SHIFT_LEFT || video->op == VIDEO_SHIFT_RIGHT;
    const uint8_t *sources = types + !compares; /* behind the result's, where it is named */
    const bool must_be_signed = video->op == VIDEO_MULTIPLY && (video->scale || video->flags & SATURATES);
    if (!are_words(types, compares ? 2 : 3) || (is_shift && (types[0] != types[1] || types[2] != U32))) return false;
    if (must_be_signed && (types[0] != S32 || types[1] != S32 || types[2] != S32)) return false;
    video->flags |= sources[0] == S32 ? A_IS_SIGNED : 0;
    video->flags |= sources[1] == S32 ? B_IS_SIGNED : 0;
    video->flags |= !compares && types[0] == S32 ? D_IS_SIGNED : 0;
    return true;
}

/* "b0" to "b3", "h0", "h1"; 0: none of them. */
static uint8_t read_part(const char *text) {
    if (!text) return WHOLE;
    if (!text[0] || !text[1] || text[2] || text[1] < '0') return 0;
    const uint32_t number = (uint32_t)(text[1] - '0');
    if (text[0] == 'b' && number < 4) return (uint8_t)(8 * number | 1);
    if (text[0] == 'h' && number < 2) return (uint8_t)(16 * number | 2);
    return 0;
}

/* The whole of d where c is added, and of c always. */
static bool read_parts_of_words(const struct lane_key *key, struct video *video) {
    uint8_t parts[LANE_PARTS_MAX];
    for (uint32_t o = 0; o < LANE_PARTS_MAX; o++)
        if (!(parts[o] = read_part(key->parts[o]))) return false;
    video->written = parts[0];
    for (uint32_t source = 0; source < SOURCES; source++) video->read[source] = parts[1 + source];
    if (parts[C] != WHOLE) return false;
    return parts[0] == WHOLE || (parts[0] != UPPER_HALF && !(video->flags & (IS_SUM | SATURATES)));
}

/* "b7610": for each of the four parts which of the eight of a and b, the highest first; likewise "h32". */
static bool read_selectors(const char *text, const struct video *video, uint16_t *selectors) {
    const uint32_t parts = 32 / video->bits;
    if (*text++ != (video->bits == 8 ? 'b' : 'h') || strlen(text) != parts) return false;
    for (*selectors = 0; *text; text++) {
        if (*text < '0' || *text >= (char)('0' + 2 * parts)) return false;
        *selectors = (uint16_t)(*selectors << SELECTOR_BITS | (*text - '0'));
    }
    return true;
}

/* "b310": those that are written, from the highest down. */
static bool read_written(const char *text, struct video *video) {
    int above = (int)(32 / video->bits);
    if (*text++ != (video->bits == 8 ? 'b' : 'h') || !*text) return false;
    for (video->written = 0; *text; text++) {
        const int number = *text - '0';
        if (number < 0 || number >= above) return false;
        video->written |= (uint8_t)(1 << number);
        above = number;
    }
    return true;
}

static bool read_parts_of_parts(const struct lane_key *key, struct video *video) {
    static const char *const all[][C] = {{"h10", "h10", "h32"}, {"b3210", "b3210", "b7654"}};
    const char *texts[C];
    for (uint32_t o = 0; o < C; o++) texts[o] = key->parts[o] ? key->parts[o] : all[video->bits == 8][o];
    return !key->parts[C] && read_written(texts[0], video) && read_selectors(texts[1], video, &video->read[0]) &&
           read_selectors(texts[2], video, &video->read[1]);
}

static bool read_parts(const struct lane_key *key, struct video *video) {
    return (video->bits < 32 ? read_parts_of_parts : read_parts_of_words)(key, video);
}

bool simt_video_find(const struct lane_key *key, struct lane_operation *operation) {
    struct video video = {0};
    modifier_set modifiers = key->modifiers;
    if (*key->base != 'v') return false;
    const bool compares = find_comparison(key->base, &modifiers, &video);
    if (!compares && !find_name(key->base, &video)) return false;
    if (!read_modifiers(modifiers, &video) || !read_types(key->types, compares, &video) || !read_parts(key, &video) ||
        key->count != 3u + has_c(&video))
        return false;
    const uint8_t *sources = key->types + !compares;
    *operation = (struct lane_operation){.function = video_lanes,
                                         .context = context_of(&video),
                                         .count = key->count,
                                         .destinations = 1,
                                         .types = {compares ? U32 : (enum type)key->types[0], (enum type)sources[0],
                                                   (enum type)sources[1], has_c(&video) ? U32 : TYPE_NONE}};
    return true;
}
