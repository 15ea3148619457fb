/* Matrix instructions as their opcodes describe them: PTX ISA, "Warp-Level Matrix Instructions". */
#include <stdio.h>
#include <string.h>

#include "matrix.h"

bool simt_matrix_is_one(const struct instruction *instruction) {
    static const char *const bases[] = {"mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        if (simt_is_base(instruction, bases[b])) return true;
    return false;
}

static const struct {
    const char *name;
    uint8_t bits;
    enum type type; /* of a register; packed ones have 32 bits */
} elements[] = {[ELEMENT_F16] = {"f16", 16, TYPE_B32}, [ELEMENT_BF16] = {"bf16", 16, TYPE_B32},
                [ELEMENT_E4M3] = {"e4m3", 8, TYPE_B32}, [ELEMENT_E5M2] = {"e5m2", 8, TYPE_B32},
                [ELEMENT_TF32] = {"tf32", 32, TYPE_B32}, [ELEMENT_F32] = {"f32", 32, TYPE_F32},
                [ELEMENT_F64] = {"f64", 64, TYPE_F64},   [ELEMENT_S8] = {"s8", 8, TYPE_B32},
                [ELEMENT_U8] = {"u8", 8, TYPE_B32},      [ELEMENT_S4] = {"s4", 4, TYPE_B32},
                [ELEMENT_U4] = {"u4", 4, TYPE_B32},      [ELEMENT_B1] = {"b1", 1, TYPE_B32},
                [ELEMENT_S32] = {"s32", 32, TYPE_B32}};

uint32_t simt_element_bits(enum matrix_element element) { return elements[element].bits; }

uint32_t simt_register_elements(const struct fragment *fragment) {
    const uint32_t bits = elements[fragment->element].bits;
    return bits < 32 ? 32 / bits : 1;
}

enum type simt_register_type(const struct fragment *fragment) { return elements[fragment->element].type; }

/* PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".  Of a and b a lane has four neighbours, along
 * the rows or the columns; of d and c a row of f16, or of f32 pairs of two rows. */
static struct matrix_cell quad_cell(const struct fragment *fragment, enum matrix_role role, uint32_t lane, uint32_t number) {
    const uint32_t member = lane % 4, upper = lane / 16 * 4;
    if (role == MATRIX_A || role == MATRIX_B) {
        const bool are_along_depth = fragment->is_column_major == (role == MATRIX_B);
        const uint32_t outer = upper + (are_along_depth ? member : number), depth = are_along_depth ? number : member;
        return role == MATRIX_A ? (struct matrix_cell){outer, depth} : (struct matrix_cell){depth, outer};
    }
    if (fragment->element == ELEMENT_F16) return (struct matrix_cell){upper + member, number};
    return (struct matrix_cell){upper + (member & 1) + (number & 2), (number & 4) + (member & 2) + (number & 1)};
}

static struct matrix_cell find_quad_cell(const struct fragment *fragment, enum matrix_role role, uint32_t lane, uint32_t number) {
    struct matrix_cell cell = quad_cell(fragment, role, lane, number);
    cell.row += lane / 4 % QUADS * (fragment->rows / QUADS);
    return cell;
}

/* PTX ISA, "Matrix Fragments for mma": groups of four lanes share a row of a, d and c, and a column of b. */
struct matrix_cell simt_matrix_cell(const struct fragment *fragment, enum matrix_role role, uint32_t lane, uint32_t index,
                                    uint32_t element) {
    const uint32_t group = lane / 4, member = lane % 4, packed = simt_register_elements(fragment);
    const bool is_tall = fragment->rows == 16;
    const uint32_t along = member * packed + element, number = index * packed + element;
    if (fragment->is_of_quads) return find_quad_cell(fragment, role, lane, number);
    switch (role) {
    case MATRIX_A:
        return (struct matrix_cell){group + (is_tall ? 8 * (index % 2) : 0),
                                    along + (is_tall ? index / 2 : index) * 4 * packed};
    case MATRIX_B: return (struct matrix_cell){along + index * 4 * packed, group};
    default: return (struct matrix_cell){group + 8 * (number / 2), 2 * member + number % 2};
    }
}

uint32_t simt_sparse_metadata(const struct instruction *instruction) {
    return simt_is_base(instruction, "wgmma") ? MATRIX_C : MATRIX_ROLES; /* wgmma has d alone */
}

static uint32_t sparse_chunks(const struct matrix_shape *shape) { return shape->fragments[MATRIX_B].rows / shape->chunk; }

/* The lanes of a group have what the rows of the group need: one of them, two or all. */
uint32_t simt_sparse_selectors(const struct matrix_shape *shape) { return CHUNKS_MAX / sparse_chunks(shape); }

/* The bits of a chunk. */
static uint32_t chunk_bits(const struct matrix_shape *shape, const uint32_t *metadata, uint32_t selector, uint32_t row, uint32_t chunk) {
    const uint32_t lanes = sparse_chunks(shape) / 4;
    const uint32_t run = simt_element_bits(shape->fragments[MATRIX_A].element) <= 8 ? 8 : 4; /* of a row, before one of the next */
    const uint32_t at = ((chunk / run * 2 + row / 8) * run + chunk % run) * SPARSE_BITS;
    return metadata[row % 8 * 4 + selector * lanes + at / 32] >> at % 32;
}

/* Of each element that a has of a chunk where it is in it: two bits, for two neighbours where a chunk has eight; or whether the
 * first two of four are set. */
static uint32_t place_in_chunk(const struct matrix_shape *shape, uint32_t bits, uint32_t element) {
    if (shape->chunk == 2) return bits >> 3 & 1;
    const uint32_t run = shape->chunk / 4; /* elements with one index */
    return run * (bits >> (2 * (element / run)) & 3) + element % run;
}

void simt_sparse_columns(const struct matrix_shape *shape, const uint32_t *metadata, uint32_t selector, uint8_t *columns) {
    const struct fragment *a = &shape->fragments[MATRIX_A];
    const uint32_t chunk = shape->chunk;
    for (uint32_t row = 0; row < a->rows; row++)
        for (uint32_t column = 0; column < a->columns; column++) {
            const uint32_t number = column / (chunk / 2), bits = chunk_bits(shape, metadata, selector, row, number);
            columns[row * a->columns + column] = (uint8_t)(number * chunk + place_in_chunk(shape, bits, column % (chunk / 2)));
        }
}

static bool find_element(const char *name, enum matrix_element *element) {
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++)
        if (strcmp(name, elements[e].name) == 0) {
            *element = (enum matrix_element)e;
            return true;
        }
    return false;
}

/* ---- opcodes, word by word.  Words of one kind, such as types, have an order; kinds have none, as for ptxas: CUTLASS has
 * ldmatrix.sync.aligned.x4.m8n8. */

struct words {
    const struct instruction *instruction;
    uint32_t taken; /* one bit for each */
};

/* The first word that is left and is one of those; NULL: there is none. */
static const char *take(struct words *words, bool (*is_one)(const char *word)) {
    const struct instruction *instruction = words->instruction;
    for (uint32_t w = 0; w < instruction->modifier_count && w < 32; w++)
        if (!(words->taken >> w & 1) && is_one(instruction->modifiers[w])) {
            words->taken |= UINT32_C(1) << w;
            return instruction->modifiers[w];
        }
    return NULL;
}

/* Takes the word, if it is left. */
static bool takes(struct words *words, const char *word) {
    const struct instruction *instruction = words->instruction;
    for (uint32_t w = 0; w < instruction->modifier_count && w < 32; w++)
        if (!(words->taken >> w & 1) && !strcmp(instruction->modifiers[w], word)) {
            words->taken |= UINT32_C(1) << w;
            return true;
        }
    return false;
}

static bool takes_aligned(struct words *words) { return takes(words, "sync") && takes(words, "aligned"); }

static bool is_over(const struct words *words) {
    return words->taken + UINT64_C(1) == UINT64_C(1) << words->instruction->modifier_count;
}

static bool is_element(const char *word) {
    enum matrix_element element;
    return find_element(word, &element);
}

static bool take_elements(struct words *words, enum matrix_element *list, uint32_t count) {
    for (uint32_t e = 0; e < count; e++) {
        const char *word = take(words, is_element);
        if (!word || !find_element(word, &list[e])) return false;
    }
    return true;
}

static bool is_layout(const char *word) { return !strcmp(word, "row") || !strcmp(word, "col"); }

static bool take_layout(struct words *words, bool *is_column_major) {
    const char *word = take(words, is_layout);
    *is_column_major = word && !strcmp(word, "col");
    return word != NULL;
}

struct sizes {
    unsigned m, n, k;
};

static bool find_sizes(const char *word, struct sizes *sizes) {
    char again[32];
    if (sscanf(word, "m%2un%3uk%3u", &sizes->m, &sizes->n, &sizes->k) != 3) return false;
    snprintf(again, sizeof again, "m%un%uk%u", sizes->m, sizes->n, sizes->k);
    return strcmp(word, again) == 0;
}

static bool are_sizes(const char *word) {
    struct sizes sizes;
    return find_sizes(word, &sizes);
}

static bool take_sizes(struct words *words, struct sizes *sizes) {
    const char *word = take(words, are_sizes);
    return word && find_sizes(word, sizes);
}

/* ---- multiplication */

/* Instructions that have sizes of their own. */
enum family { FAMILY_MMA, FAMILY_WMMA, FAMILY_SPARSE, FAMILIES };

/* Which sizes instructions have for elements of a and b, with such a d and c. */
static const struct {
    const char *element, *accumulators, *sizes[FAMILIES];
} products[] = {
    {"f16", "f16 f32", {"m8n8k4 m16n8k8 m16n8k16", "m16n16k16 m32n8k16 m8n32k16", "m16n8k16 m16n8k32"}},
    {"bf16", "f32", {"m16n8k8 m16n8k16", "m16n16k16 m32n8k16 m8n32k16", "m16n8k16 m16n8k32"}},
    {"e4m3", "f16 f32", {"m16n8k16 m16n8k32", "", ""}},
    {"e5m2", "f16 f32", {"m16n8k16 m16n8k32", "", ""}},
    {"tf32", "f32", {"m16n8k4 m16n8k8", "m16n16k8", "m16n8k8 m16n8k16"}},
    {"f64", "f64", {"m8n8k4 m16n8k4 m16n8k8 m16n8k16", "m8n8k4", ""}},
    {"s8", "s32", {"m8n8k16 m16n8k16 m16n8k32", "m16n16k16 m32n8k16 m8n32k16", "m16n8k32 m16n8k64"}},
    {"u8", "s32", {"m8n8k16 m16n8k16 m16n8k32", "m16n16k16 m32n8k16 m8n32k16", "m16n8k32 m16n8k64"}},
    {"s4", "s32", {"m8n8k32 m16n8k32 m16n8k64", "m8n8k32", "m16n8k64 m16n8k128"}},
    {"u4", "s32", {"m8n8k32 m16n8k32 m16n8k64", "m8n8k32", "m16n8k64 m16n8k128"}},
    {"b1", "s32", {"m8n8k128 m16n8k128 m16n8k256", "m8n8k128", ""}},
};

static bool has_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

static bool has_product(enum family family, const struct sizes *sizes, enum matrix_element element,
                        enum matrix_element accumulator) {
    char name[32];
    snprintf(name, sizeof name, "m%un%uk%u", sizes->m, sizes->n, sizes->k);
    for (size_t p = 0; p < sizeof products / sizeof *products; p++)
        if (!strcmp(products[p].element, elements[element].name))
            return has_word(products[p].sizes[family], name) &&
                   has_word(products[p].accumulators, elements[accumulator].name);
    return false;
}

/* wmma holds each element of f16 factors, and of f16 accumulators never, as often as fills eight registers. */
static struct fragment make_fragment(unsigned rows, unsigned columns, enum matrix_element element, bool fills) {
    struct fragment fragment = {.rows = (uint16_t)rows, .columns = (uint16_t)columns, .element = (uint8_t)element};
    const uint32_t per_row = SIMT_LANES * simt_register_elements(&fragment);
    fragment.registers = fills ? FRAGMENT_REGISTERS_MAX : (uint8_t)(rows * columns / per_row);
    return fragment;
}

static void set_fragments(struct matrix_shape *shape, const struct sizes *sizes, const enum matrix_element list[4]) {
    const bool is_wmma = shape->kind == MATRIX_WMMA;
    const unsigned products = shape->is_of_quads ? QUADS : 1, rows = products * sizes->m;
    shape->fragments[MATRIX_D] = make_fragment(rows, sizes->n, list[MATRIX_D], false);
    shape->fragments[MATRIX_A] =
        make_fragment(rows, shape->chunk ? sizes->k / 2 : sizes->k, list[MATRIX_A], is_wmma && list[MATRIX_A] == ELEMENT_F16);
    shape->fragments[MATRIX_B] =
        make_fragment(products * sizes->k, sizes->n, list[MATRIX_B], is_wmma && list[MATRIX_B] == ELEMENT_F16);
    shape->fragments[MATRIX_C] = make_fragment(rows, sizes->n, list[MATRIX_C], false);
    for (uint32_t role = 0; role < MATRIX_ROLES; role++) shape->fragments[role].is_of_quads = shape->is_of_quads;
}

static bool is_integer(enum matrix_element element) {
    return element == ELEMENT_S8 || element == ELEMENT_U8 || element == ELEMENT_S4 || element == ELEMENT_U4;
}

static bool is_short_float(enum matrix_element element) { return element == ELEMENT_E4M3 || element == ELEMENT_E5M2; }

static bool may_be_mixed(enum matrix_element a, enum matrix_element b) {
    return (is_integer(a) && is_integer(b) && simt_element_bits(a) == simt_element_bits(b)) ||
           (is_short_float(a) && is_short_float(b));
}

static bool check_product(const struct matrix_shape *shape, const struct sizes *sizes,
                          const enum matrix_element list[4]) {
    const bool is_wmma = shape->kind == MATRIX_WMMA;
    const enum family family = is_wmma ? FAMILY_WMMA : shape->chunk ? FAMILY_SPARSE : FAMILY_MMA;
    const enum matrix_element a = list[MATRIX_A], b = list[MATRIX_B];
    const bool is_mixed = a != b && (is_wmma || !may_be_mixed(a, b));
    const bool is_narrowing = shape->is_of_quads && list[MATRIX_D] == ELEMENT_F16;
    const bool has_two_sums = list[MATRIX_D] != list[MATRIX_C] &&
                              (is_short_float(a) || shape->chunk || is_narrowing); /* of which PTX has none */
    return !is_mixed && !has_two_sums && has_product(family, sizes, a, list[MATRIX_D]) &&
           has_product(family, sizes, b, list[MATRIX_C]) && (!shape->saturates || is_integer(a));
}

static bool take_count_of_bits(struct words *words, struct matrix_shape *shape) {
    shape->is_of_differences = takes(words, "xor");
    return (shape->is_of_differences || takes(words, "and")) && takes(words, "popc");
}

/* Of two neighbours one, of four two, of eight of 4 bits two pairs. */
static uint8_t chunk_of(enum matrix_element element) {
    const uint32_t bits = simt_element_bits(element);
    return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}

/* mma.sync.aligned.SIZES.row.col.D.A.B.C, of single bits with .xor.popc or .and.popc; quads have either layout */
static bool read_mma(struct words *words, struct matrix_shape *shape) {
    struct sizes sizes;
    enum matrix_element list[4];
    bool a_is_column_major, b_is_column_major;
    shape->kind = MATRIX_MMA;
    const bool is_sparse = takes(words, "sp") || takes(words, "sp::ordered_metadata");
    if (!takes_aligned(words) || !take_sizes(words, &sizes) || !take_layout(words, &a_is_column_major) ||
        !take_layout(words, &b_is_column_major))
        return false;
    shape->saturates = takes(words, "satfinite");
    if (!take_elements(words, list, 4)) return false;
    if (is_sparse) shape->chunk = chunk_of(list[MATRIX_A]);
    shape->is_of_quads = sizes.m == 8 && list[MATRIX_A] == ELEMENT_F16;
    const bool has_a_layout = shape->is_of_quads || (!a_is_column_major && b_is_column_major);
    if (!has_a_layout || !check_product(shape, &sizes, list)) return false;
    bool is_rounded = list[MATRIX_D] == ELEMENT_F64 && takes(words, "rn");
    (void)is_rounded; /* as it is without */
    if (list[MATRIX_A] == ELEMENT_B1 && !take_count_of_bits(words, shape)) return false;
    shape->is_by_halves = is_short_float(list[MATRIX_A]);
    set_fragments(shape, &sizes, list);
    shape->fragments[MATRIX_A].is_column_major = a_is_column_major;
    shape->fragments[MATRIX_B].is_column_major = b_is_column_major;
    return is_over(words);
}

/* Of elements smaller than a byte wmma has rows of a and columns of b. */
static bool has_layout(enum matrix_element element, enum matrix_role role, bool is_column_major) {
    return simt_element_bits(element) >= 8 || is_column_major == (role == MATRIX_B);
}

/* wmma.mma.sync.aligned.LAYOUT.LAYOUT.SIZES.D.C of f16, or .D.A.B.C; of single bits wmma.mma.xor.popc.sync .. */
static bool read_wmma(struct words *words, struct matrix_shape *shape) {
    struct sizes sizes;
    enum matrix_element list[4];
    bool a_is_column_major, b_is_column_major;
    shape->kind = MATRIX_WMMA;
    const bool counts_bits = take_count_of_bits(words, shape);
    if (!takes_aligned(words) || !take_layout(words, &a_is_column_major) || !take_layout(words, &b_is_column_major) ||
        !take_sizes(words, &sizes) || !take_elements(words, list, 2))
        return false;
    if (take_elements(words, list + 2, 1)) {
        if (!take_elements(words, list + 3, 1)) return false;
        takes(words, "rn");
    } else {
        list[MATRIX_C] = list[1];
        list[MATRIX_A] = list[MATRIX_B] = ELEMENT_F16;
    }
    shape->saturates = takes(words, "satfinite");
    if (!check_product(shape, &sizes, list) || counts_bits != (list[MATRIX_A] == ELEMENT_B1) ||
        !has_layout(list[MATRIX_A], MATRIX_A, a_is_column_major) || !has_layout(list[MATRIX_B], MATRIX_B, b_is_column_major))
        return false;
    set_fragments(shape, &sizes, list);
    shape->fragments[MATRIX_A].is_column_major = a_is_column_major;
    shape->fragments[MATRIX_B].is_column_major = b_is_column_major;
    return is_over(words);
}

/* ---- wgmma */

/* How deep a product of such elements is, and which accumulators it has; both factors of floats of 8 bits may be either. */
static const struct {
    const char *element, *accumulators;
    uint8_t depth;
    bool has_signs, has_layouts;
} wgmma_products[] = {
    {"f16", "f16 f32", 16, true, true},  {"bf16", "f32", 16, true, true}, {"tf32", "f32", 8, true, false},
    {"e4m3", "f16 f32", 32, true, false}, {"e5m2", "f16 f32", 32, true, false}, {"s8", "s32", 32, false, false},
    {"u8", "s32", 32, false, false},
};

static bool find_wgmma_product(struct wgmma_shape *shape, const struct sizes *sizes, const enum matrix_element list[4]) {
    const enum matrix_element a = list[MATRIX_A], b = list[MATRIX_B];
    const bool is_narrow = simt_element_bits(a) == 8 && simt_element_bits(b) == 8;
    if (a != b && (!is_narrow || is_integer(a) != is_integer(b))) return false;
    for (size_t p = 0; p < sizeof wgmma_products / sizeof *wgmma_products; p++) {
        if (strcmp(wgmma_products[p].element, elements[a].name)) continue;
        shape->has_signs = wgmma_products[p].has_signs;
        shape->has_layouts = wgmma_products[p].has_layouts;
        return sizes->k == wgmma_products[p].depth * (shape->product.chunk ? 2u : 1u) && has_word(wgmma_products[p].accumulators, elements[list[MATRIX_D]].name);
    }
    return false;
}

static bool has_wgmma_columns(unsigned columns, bool is_of_integers) {
    if (!columns || columns > 256 || columns % WGMMA_COLUMNS) return false;
    return !is_of_integers || columns <= 32 || columns % 16 == 0;
}

/* Behind d, a and b, and the metadata and selector of a. */
uint32_t simt_wgmma_adds(const struct wgmma_shape *shape) { return shape->product.chunk ? MATRIX_C + 2 : MATRIX_C; }

/* wgmma.mma_async{.sp}.sync.aligned.SIZES.D.A.B, of integers with .satfinite */
bool simt_wgmma_shape(const struct instruction *instruction, struct wgmma_shape *shape) {
    struct words words = {instruction, 0};
    struct sizes sizes;
    enum matrix_element list[4];
    *shape = (struct wgmma_shape){.product.kind = MATRIX_MMA};
    if (!takes(&words, "mma_async")) return false;
    const bool is_sparse = takes(&words, "sp");
    if (!takes_aligned(&words) || !take_sizes(&words, &sizes)) return false;
    shape->product.saturates = takes(&words, "satfinite");
    if (!take_elements(&words, list, 3)) return false;
    if (is_sparse) shape->product.chunk = chunk_of(list[MATRIX_A]);
    list[MATRIX_C] = list[MATRIX_D];
    const bool is_of_integers = is_integer(list[MATRIX_A]);
    if (sizes.m != WGMMA_ROWS * WGMMA_WARPS || !has_wgmma_columns(sizes.n, is_of_integers) ||
        !find_wgmma_product(shape, &sizes, list) || (shape->product.saturates && !is_of_integers))
        return false;
    shape->columns = sizes.n;
    sizes.m = WGMMA_ROWS;
    sizes.n = WGMMA_COLUMNS;
    set_fragments(&shape->product, &sizes, list);
    shape->registers = shape->columns / WGMMA_COLUMNS * shape->product.fragments[MATRIX_D].registers;
    return is_over(&words);
}

/* ---- loads and stores */

static void take_space(struct words *words) {
    static const char *const spaces[] = {"shared", "shared::cta", "global"};
    for (size_t s = 0; s < sizeof spaces / sizeof *spaces; s++)
        if (takes(words, spaces[s])) return;
}

/* wmma.load.a.sync.aligned.LAYOUT.SIZES.SPACE.TYPE, and .b, .c; wmma.store.d likewise */
static bool read_transfer(struct words *words, struct matrix_shape *shape, enum matrix_role role) {
    struct sizes sizes;
    enum matrix_element element, list[4];
    struct matrix_shape product = {.kind = MATRIX_WMMA};
    if (!takes_aligned(words) || !take_layout(words, &shape->is_column_major) || !take_sizes(words, &sizes))
        return false;
    take_space(words);
    if (!take_elements(words, &element, 1) || !has_layout(element, role, shape->is_column_major)) return false;
    const bool is_accumulator = role == MATRIX_C || role == MATRIX_D;
    bool is_any = false;
    for (uint32_t other = 0; other < sizeof elements / sizeof *elements; other++) {
        const enum matrix_element factor = is_accumulator ? (enum matrix_element)other : element;
        const enum matrix_element sum = is_accumulator ? element : (enum matrix_element)other;
        if (!has_product(FAMILY_WMMA, &sizes, factor, sum)) continue;
        list[MATRIX_A] = list[MATRIX_B] = factor;
        list[MATRIX_C] = list[MATRIX_D] = sum;
        is_any = true;
    }
    if (!is_any) return false;
    set_fragments(&product, &sizes, list);
    shape->fragments[0] = product.fragments[role];
    shape->fragments[0].is_column_major = !is_accumulator && shape->is_column_major;
    return is_over(words);
}

static bool is_role(const char *word) { return word[0] && !word[1] && strchr("abc", word[0]); }

static bool read_wmma_any(struct words *words, struct matrix_shape *shape) {
    if (takes(words, "mma")) return read_wmma(words, shape);
    if (takes(words, "store")) {
        shape->kind = MATRIX_STORE;
        return takes(words, "d") && read_transfer(words, shape, MATRIX_D);
    }
    shape->kind = MATRIX_LOAD;
    if (!takes(words, "load")) return false;
    const char *role = take(words, is_role);
    return role && read_transfer(words, shape, role[0] == 'a' ? MATRIX_A : role[0] == 'b' ? MATRIX_B : MATRIX_C);
}

static bool is_count(const char *word) { return word[0] == 'x' && word[1] && !word[2] && strchr("124", word[1]); }

/* ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16; its rows are those of up to four matrices. */
static bool read_rows(struct words *words, struct matrix_shape *shape, enum matrix_kind kind) {
    shape->kind = kind;
    if (!takes_aligned(words) || !takes(words, "m8n8")) return false;
    const char *count = take(words, is_count);
    if (!count) return false;
    shape->is_transposed = takes(words, "trans");
    if (!takes(words, "shared")) takes(words, "shared::cta");
    const uint8_t matrices = (uint8_t)(count[1] - '0');
    shape->fragments[0] = (struct fragment){.rows = (uint16_t)(8 * matrices), .columns = 8, .registers = matrices};
    return takes(words, "b16") && is_over(words);
}

static bool read_move(struct words *words, struct matrix_shape *shape) {
    shape->kind = MATRIX_MOVE;
    shape->fragments[0] = (struct fragment){.rows = 8, .columns = 8, .registers = 1};
    return takes_aligned(words) && takes(words, "m8n8") && takes(words, "trans") && takes(words, "b16") &&
           is_over(words);
}

bool simt_matrix_shape(const struct instruction *instruction, struct matrix_shape *shape) {
    struct words words = {instruction, 0};
    *shape = (struct matrix_shape){0};
    switch (instruction->base[0]) {
    case 'm': return instruction->base[1] == 'm' ? read_mma(&words, shape) : read_move(&words, shape);
    case 'w': return read_wmma_any(&words, shape);
    case 'l': return read_rows(&words, shape, MATRIX_ROWS_LOAD);
    default: return read_rows(&words, shape, MATRIX_ROWS_STORE);
    }
}
