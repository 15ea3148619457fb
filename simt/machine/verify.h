/* Shared by the files of the verifier. */
#ifndef SIMT_VERIFY_H
#define SIMT_VERIFY_H

#include "machine.h"

struct verifier {
    struct simt_module *module;
    const struct function *function;
    struct instruction *instruction;
    uint32_t pc;
    simt_message *message;
};

/* "NAME:LINE: OPCODE: ..."; returns false. */
bool simt_verify_refuse(const struct verifier *verifier, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* verify_operands.c: the instruction's operands are those that its opcode takes.  Where the simulator does not
 * know the opcode, instruction->is_known stays false, and it is never decoded. */
bool simt_verify_operands(const struct verifier *verifier);

/* verify_forms.c: the modifiers and the constants among the operands, which have been checked */
bool simt_verify_form(const struct verifier *verifier);

/* Whether the instruction has every modifier of a list between blanks. */
bool simt_has_all(const struct instruction *instruction, const char *list);

/* verify_matrix.c: of the six matrix instructions */
bool simt_verify_matrix(const struct verifier *verifier);

/* verify_calls.c */
bool simt_verify_call(const struct verifier *verifier);

/* Whether a value of the type fits into a register, or the other way round: of the same size, and not an
 * integer in the one and a float in the other. */
bool simt_types_fit(enum type type, enum type other);

#endif
