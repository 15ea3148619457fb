/* Decoding: an execute_*.c decodes the instructions that it executes, by the list at its end. */
#ifndef SIMT_DECODER_H
#define SIMT_DECODER_H

#include "machine.h"

struct decoder {
    struct image *image;
    const struct function *function;
    struct layout *layout;
    const struct instruction *instruction;
    uint32_t pc;
    bool out_of_memory;
};

/* Fills `code`; false: it does not know the instruction. */
typedef bool decode_function(struct decoder *decoder, struct code *code);
struct instruction_kind {
    const char *base;
    decode_function *decode;
};
extern const struct instruction_kind simt_control_kinds[], simt_memory_kinds[], simt_warp_kinds[],
    simt_barrier_kinds[], simt_move_kinds[], simt_mbarrier_kinds[], simt_copy_kinds[], simt_cluster_kinds[],
    simt_matrix_kinds[], simt_texture_kinds[], simt_surface_kinds[], simt_wgmma_kinds[], simt_tensor_map_kinds[],
    simt_stack_kinds[];

/* ---- operand.c: where operands are */

/* execute_memory.c: what an atomic of the type does, and its name.  NULL: none of that name. */
scalar_function *simt_operation(const struct instruction *instruction, enum type type, const char **name);

/* The slot of a register, a special register, an immediate or a fixed address, as `type` reads it.  false: it is
 * none of them. */
bool simt_operand(struct decoder *decoder, const struct operand *operand, enum type type, slot *result);
bool simt_preset(struct decoder *decoder, struct preset preset, slot *result);
/* The width of a register; of anything else `otherwise`. */
enum width simt_operand_width(const struct decoder *decoder, const struct operand *operand, enum width otherwise);
bool simt_address(struct decoder *decoder, const struct operand *operand, struct address_code *address);

/* execute_lanes.c, execute_warp.c: what several names share */
bool simt_decode_lanes(struct decoder *decoder, struct code *code);
bool simt_decode_warp_barrier(struct decoder *decoder, struct code *code);
bool simt_decode_cluster_barrier(struct decoder *decoder, struct code *code); /* execute_cluster.c */
bool simt_decode_copies_arrive(struct decoder *decoder, struct code *code);   /* execute_mbarrier.c */
bool simt_decode_tensor(struct decoder *decoder, struct code *code);          /* execute_tensor.c */
/* vector.c: the registers that an instruction loads or stores, of its own type */
bool simt_decode_vector(struct decoder *decoder, struct code *code, const struct operand *operand);
/* execute_send.c: of a store or reduction whose values and address are decoded */
bool simt_decode_send(struct decoder *decoder, struct code *code);

/* unheeded.c: whether nothing is made of the instruction's result */
bool simt_is_unheeded(const struct decoder *decoder);

#endif
