#include "inspect_fill.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "output.h"

/* ---- numbers as bits ----------------------------------------------------------------------------- */

static bool is_float(wf_type type) {
    return type >= WF_F16;
}

static bool is_signed(wf_type type) {
    return type >= WF_I8 && type <= WF_I64;
}

/* Bits of the significand, the leading one among them. */
static int precision_of(wf_type type) {
    return type == WF_F16 ? 11 : type == WF_BF16 ? 8 : type == WF_F32 ? 24 : 53;
}

/* f16 or bf16: rounded to nearest, ties to even.  A subnormal that rounds up to the smallest normal number,
 * and a number that rounds up to infinity, come out right because the exponent is stored above the significand.
 */
static uint64_t short_float_bits(double value, wf_type type) {
    const int precision = precision_of(type), width = 16;
    const int exponent_max = (1 << (width - 1 - precision)) - 1;
    const int lowest = 2 - exponent_max - precision; /* the exponent of the last place of subnormals */
    const uint64_t infinity = (uint64_t)(2 * exponent_max + 1) << (precision - 1);
    const uint64_t sign = signbit(value) ? UINT64_C(1) << (width - 1) : 0;
    int exponent;
    if (isnan(value)) return sign | infinity | UINT64_C(1) << (precision - 2);
    if (isinf(value)) return sign | infinity;
    double fraction = frexp(fabs(value), &exponent);
    if (fraction == 0) return sign;
    int last_place = exponent - precision > lowest ? exponent - precision : lowest;
    if (last_place > exponent_max) return sign | infinity;
    uint64_t significand = (uint64_t)nearbyint(ldexp(fraction, exponent - last_place));
    uint64_t bits = ((uint64_t)(last_place - lowest) << (precision - 1)) + significand;
    return sign | (bits < infinity ? bits : infinity);
}

static uint64_t single_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of a value that is in the type's range. */
static uint64_t float_bits(double value, wf_type type) {
    if (type == WF_F64) return double_bits(value);
    return type == WF_F32 ? single_bits((float)value) : short_float_bits(value, type);
}

static bool parse_float(const char *text, wf_type type, uint64_t *bits) {
    char *end;
    if (!*text || isspace((unsigned char)*text)) return false;
    if (type == WF_F32)
        *bits = single_bits(strtof(text, &end)); /* by way of double it would be rounded twice */
    else
        *bits = float_bits(strtod(text, &end), type);
    return !*end;
}

/* The magnitude of the type's largest value, or of its least. */
static uint64_t largest_of(wf_type type, bool is_negative) {
    const int width = type == WF_BOOL ? 1 : 8 * (int)wf_type_nbytes(type);
    const uint64_t half = UINT64_C(1) << (width - 1);
    return is_signed(type) ? half - !is_negative : is_negative ? 0 : half - 1 + half;
}

/* Decimal or hexadecimal. */
static bool parse_integer(const char *text, wf_type type, uint64_t *bits) {
    const bool is_negative = text[0] == '-';
    const char *digits = text + is_negative;
    char *end;
    if (!isdigit((unsigned char)*digits)) return false;
    errno = 0;
    unsigned long long magnitude = strtoull(digits, &end, digits[1] == 'x' || digits[1] == 'X' ? 16 : 10);
    if (*end || errno || magnitude > largest_of(type, is_negative)) return false;
    *bits = is_negative ? 0 - magnitude : magnitude;
    return true;
}

bool parse_bits(const char *text, wf_type type, uint64_t *bits) {
    *bits = 0;
    return is_float(type) ? parse_float(text, type, bits) : parse_integer(text, type, bits);
}

/* ---- elements that are computed ------------------------------------------------------------------ */

static const char random_prefix[] = "random:";

/* SplitMix64: number `index` of the sequence that begins with the seed. */
static uint64_t random_bits(uint64_t seed, uint64_t index) {
    uint64_t bits = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* How elements are computed. */
struct rule {
    uint64_t (*element)(const struct rule *rule, wf_type type, uint64_t index); /* NULL: they are not */
    uint64_t seed, below; /* below: 0: any value */
};

static uint64_t zeros(const struct rule *rule, wf_type type, uint64_t index) {
    (void)rule, (void)type, (void)index;
    return 0;
}

static uint64_t ones(const struct rule *rule, wf_type type, uint64_t index) {
    (void)rule, (void)index;
    return is_float(type) ? float_bits(1, type) : 1;
}

static uint64_t iota(const struct rule *rule, wf_type type, uint64_t index) {
    (void)rule;
    if (type == WF_BOOL) return index & 1;
    return is_float(type) ? float_bits((double)index, type) : index;
}

static uint64_t random_element(const struct rule *rule, wf_type type, uint64_t index) {
    uint64_t bits = random_bits(rule->seed, index);
    if (type == WF_BOOL) return bits & 1;
    if (!is_float(type)) return rule->below ? bits % rule->below : bits;
    int precision = precision_of(type);
    return float_bits(ldexp((double)(bits >> (64 - precision)), -precision), type);
}

/* The seed is its bits. */
static uint64_t number(const struct rule *rule, wf_type type, uint64_t index) {
    (void)type, (void)index;
    return rule->seed;
}

/* SEED or SEED:BELOW */
static bool parse_random(const char *text, wf_type type, struct rule *rule) {
    char seed[32];
    const size_t length = strcspn(text, ":");
    rule->element = random_element;
    if (length >= sizeof seed) return false;
    memcpy(seed, text, length);
    seed[length] = '\0';
    if (!parse_integer(seed, WF_U64, &rule->seed)) return false;
    if (!text[length]) return true;
    return !is_float(type) && type != WF_BOOL && parse_integer(text + length + 1, WF_U64, &rule->below) && rule->below &&
           rule->below - 1 <= largest_of(type, false);
}

/* false: the text is a wrong rule; one that is none has no elements. */
static bool find_rule(const char *text, wf_type type, struct rule *rule) {
    *rule = (struct rule){.seed = 0};
    if (!strncmp(text, random_prefix, strlen(random_prefix))) return parse_random(text + strlen(random_prefix), type, rule);
    if (!strcmp(text, "zeros")) rule->element = zeros;
    else if (!strcmp(text, "ones")) rule->element = ones;
    else if (!strcmp(text, "iota")) rule->element = iota;
    else if (parse_bits(text, type, &rule->seed)) rule->element = number;
    return true;
}

/* ---- elements that are listed -------------------------------------------------------------------- */

/* Reads the number up to the next comma, and moves after that; false: it is none of the type's. */
static bool next_listed(const char **text, wf_type type, uint64_t *bits) {
    char token[64];
    const size_t length = strcspn(*text, ",");
    if (length >= sizeof token) return false;
    memcpy(token, *text, length);
    token[length] = '\0';
    *text += length + ((*text)[length] == ',');
    return parse_bits(token, type, bits);
}

/* Whether the text is a list of that many numbers separated by commas. */
static bool is_list(const struct fill *fill) {
    const char *text = fill->text;
    uint64_t count = 1, bits;
    if (is_npy_name(text) || !strchr(text, ',')) return false;
    for (const char *p = text; *p; p++) count += *p == ',';
    for (uint64_t i = 0; i < count; i++)
        if (!next_listed(&text, fill->type, &bits)) return false;
    return count == fill->count;
}

static int fill_listed(const struct fill *fill, simt_machine *machine, uint64_t address) {
    const char *text = fill->text;
    const size_t nbytes = wf_type_nbytes(fill->type);
    for (uint64_t i = 0; i < fill->count; i++) {
        uint64_t bits;
        next_listed(&text, fill->type, &bits);
        if (simt_machine_write(machine, address + i * nbytes, &bits, nbytes)) return fail_memory();
    }
    return STATUS_OK;
}

/* ---- buffers ------------------------------------------------------------------------------------- */

bool fill_check(const struct fill *fill) {
    struct rule rule;
    if (!find_rule(fill->text, fill->type, &rule)) return false;
    return rule.element || !strcmp(fill->text, "none") || is_npy_name(fill->text) || is_list(fill);
}

int fill_buffer(const struct fill *fill, simt_machine *machine, uint64_t address) {
    enum { CHUNK = 4096 };
    unsigned char chunk[CHUNK * 8];
    struct rule rule;
    const size_t nbytes = wf_type_nbytes(fill->type);
    find_rule(fill->text, fill->type, &rule);
    if (!strcmp(fill->text, "none")) return STATUS_OK;
    if (is_list(fill)) return fill_listed(fill, machine, address);
    if (!rule.element) return npy_read(fill->text, fill->type, fill->count, machine, address);
    for (uint64_t begin = 0; begin < fill->count; begin += CHUNK) {
        size_t count = fill->count - begin < CHUNK ? (size_t)(fill->count - begin) : CHUNK;
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = rule.element(&rule, fill->type, begin + i);
            memcpy(chunk + i * nbytes, &bits, nbytes); /* little-endian: the low bytes */
        }
        if (simt_machine_write(machine, address + begin * nbytes, chunk, count * nbytes))
            return fail_memory();
    }
    return STATUS_OK;
}
