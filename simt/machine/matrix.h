/* Matrix instructions: mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix. */
#ifndef SIMT_MATRIX_H
#define SIMT_MATRIX_H

#include "ptx/ptx.h"

enum matrix_element {
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_E4M3,
    ELEMENT_E5M2,
    ELEMENT_TF32,
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_S8,
    ELEMENT_U8,
    ELEMENT_S4,
    ELEMENT_U4,
    ELEMENT_B1,
    ELEMENT_S32
};

/* A matrix that the lanes of a warp hold together.  A register of a lane holds simt_register_elements of it,
 * which are neighbours. */
struct fragment {
    uint16_t rows, columns;
    uint8_t registers; /* of each lane */
    uint8_t element;   /* a matrix_element */
    bool is_column_major; /* wmma: whose elements follow one another in registers, and in memory */
    bool is_of_quads;     /* four matrices below one another, of a product each: matrix_shape.is_of_quads */
};

enum matrix_role { MATRIX_D, MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_ROLES };

enum matrix_kind { MATRIX_MMA, MATRIX_WMMA, MATRIX_LOAD, MATRIX_STORE, MATRIX_ROWS_LOAD, MATRIX_ROWS_STORE, MATRIX_MOVE };

/* Products of one mma of 8x8x4 of f16. */
enum { QUADS = 4 };

/* mma.sp: of each chunk of the matrix, 4 bits say which of its elements a has; a row has at most CHUNKS_MAX chunks. */
enum { FRAGMENT_REGISTERS_MAX = 8, CHUNKS_MAX = 16, SPARSE_BITS = 4 };

/* What an opcode says. */
struct matrix_shape {
    enum matrix_kind kind;
    struct fragment fragments[MATRIX_ROLES]; /* mma and wmma.mma: all; a load, store or move: the first */
    bool is_column_major; /* a load or store: in memory */
    bool is_transposed;   /* ldmatrix, stmatrix */
    bool saturates;
    bool is_by_halves;       /* of 8-bit floats, as ptxas makes it for Hopper: matrix_multiply.c */
    bool is_of_quads;        /* 8x8x4 of f16: four products, each of four lanes and the four that are 16 further on */
    bool is_of_differences; /* of single bits: those are counted that differ, else those that are set in both */
    uint8_t chunk; /* mma.sp, wgmma.sp: of how many neighbours in a row a has half; 0: a is the whole matrix */
};

/* wgmma.mma_async: each warp of the four multiplies 16 rows of a with b, eight columns at a time. */
enum { WGMMA_ROWS = 16, WGMMA_COLUMNS = 8, WGMMA_WARPS = 4 };
struct wgmma_shape {
    struct matrix_shape product; /* of a warp's rows and eight columns */
    uint32_t columns;            /* of all of b and d */
    uint32_t registers;          /* of d, in each lane */
    bool has_signs, has_layouts; /* operands that negate, and that transpose, a and b */
};
enum { WGMMA_SPARSE_DEPTH_MAX = 64 }; /* of b */
uint32_t simt_wgmma_adds(const struct wgmma_shape *shape); /* the operand that says whether d is added */

/* matrix_shape.c: false: the simulator does not know the opcode, though it is one of the six. */
bool simt_matrix_is_one(const struct instruction *instruction);
bool simt_matrix_shape(const struct instruction *instruction, struct matrix_shape *shape);
bool simt_wgmma_shape(const struct instruction *instruction, struct wgmma_shape *shape); /* of its mma_async */
uint32_t simt_element_bits(enum matrix_element element);
uint32_t simt_register_elements(const struct fragment *fragment); /* in a register */
enum type simt_register_type(const struct fragment *fragment);

/* Where mma has an element: in which row and column of the matrix. */
struct matrix_cell {
    uint32_t row, column;
};
struct matrix_cell simt_matrix_cell(const struct fragment *fragment, enum matrix_role role, uint32_t lane, uint32_t index,
                                    uint32_t element);

/* mma.sp, and each warp of wgmma.sp: the operand of the metadata, behind which is the selector; how many selectors there are; and of
 * each element of a, by the lanes' metadata, its column in the matrix of which a is half. */
uint32_t simt_sparse_metadata(const struct instruction *instruction);
uint32_t simt_sparse_selectors(const struct matrix_shape *shape);
void simt_sparse_columns(const struct matrix_shape *shape, const uint32_t *metadata, uint32_t selector, uint8_t *columns);

/* matrix_descriptor.c: a or b of wgmma in shared memory.  `outer` counts rows of a or columns of b.  The address of the 16
 * bytes that element (outer, depth) is in; they hold 16 bytes' worth of neighbours along the dimension that is
 * contiguous. */
struct matrix_place {
    uint64_t descriptor;
    uint32_t chunk_elements;   /* in 16 bytes */
    bool is_outer_contiguous; /* else depth is */
};
uint32_t simt_matrix_address(const struct matrix_place *place, uint32_t outer, uint32_t depth);

/* matrix_multiply.c: row-major, each element in the low bits of a word.  d = a * b + c.  by_a: of each element of a the row of
 * b that it is multiplied with; NULL: its column. */
void simt_matrix_multiply(const struct matrix_shape *shape, uint64_t *d, const uint64_t *a, const uint64_t *b,
                          const uint64_t *c, const uint8_t *by_a);

#endif
