/* The parser of PTX: whatever it takes is sound, and what it does not take it names by line and column. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds) {
    if (!holds) abort();
}

static void check_operand(const simt_module *module, const struct function *function,
                          const struct operand *operand) {
    switch (operand->kind) {
    case OPERAND_REGISTER: require(operand->index < function->register_count); break;
    case OPERAND_SPECIAL: require(operand->special != NULL); break;
    case OPERAND_LABEL: require(operand->index >= function->begin && operand->index <= function->end); break;
    case OPERAND_FUNCTION: require(operand->function && operand->function->name); break;
    case OPERAND_ADDRESS:
        require(!operand->has_base_register || operand->index < function->register_count);
        require(!operand->variable || operand->variable->name);
        break;
    case OPERAND_TABLE:
        for (uint32_t i = 0; i < operand->table->count; i++)
            require(operand->table->functions ? operand->table->functions[i] != NULL
                                              : operand->table->targets[i] >= function->begin &&
                                                    operand->table->targets[i] <= function->end);
        break;
    case OPERAND_VECTOR:
    case OPERAND_PAIR:
        for (uint32_t i = 0; i < operand->element_count; i++)
            check_operand(module, function, &operand->elements[i]);
        break;
    default: break;
    }
}

static void check_instruction(const simt_module *module, const struct function *function, uint32_t pc) {
    const struct instruction *instruction = &module->instructions[pc];
    const simt_place *place = &module->places[pc];
    require(instruction->opcode && instruction->base && instruction->modifier_count <= MODIFIERS_MAX);
    for (uint32_t i = 0; i < instruction->modifier_count; i++) require(instruction->modifiers[i] != NULL);
    require(instruction->operand_count <= OPERANDS_MAX &&
            instruction->guard < (int64_t)function->register_count);
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        check_operand(module, function, &instruction->operands[i]);
    require(instruction->reconvergence == NO_PC ||
            (instruction->reconvergence >= function->begin && instruction->reconvergence < function->end));
    require(place->file && place->ptx_line && place->opcode && !place->outer_file == !place->outer_line);
}

static void check_variable(const struct variable *variable) {
    uint32_t alignment = variable->alignment;
    require(variable->name && alignment && !(alignment & (alignment - 1)));
    if (variable->bytes && variable->nbytes)
        (void)((const volatile unsigned char *)variable->bytes)[variable->nbytes - 1];
    for (uint32_t i = 0; i < variable->relocation_count; i++) {
        const struct relocation *relocation = &variable->relocations[i];
        require(relocation->nbytes <= 8 && relocation->offset + relocation->nbytes <= variable->nbytes);
        require(!relocation->variable != !relocation->function);
    }
}

static void check_function(const simt_module *module, const struct function *function) {
    require(function->begin <= function->end && function->end <= module->instruction_count);
    for (uint32_t i = 0; i < function->register_count; i++) require(function->registers[i].name != NULL);
    for (uint32_t i = 0; i < function->variable_count; i++) check_variable(function->variables[i]);
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct variable *parameter = function->parameters[i];
        check_variable(parameter);
        require(parameter->offset % parameter->alignment == 0);
        require(parameter->offset + parameter->nbytes <= function->parameter_nbytes);
    }
    for (uint32_t pc = function->begin; pc < function->end; pc++) check_instruction(module, function, pc);
}

static void check_module(const simt_module *module) {
    size_t nbytes = 0;
    for (uint32_t i = 0; i < module->variable_count; i++) check_variable(module->variables[i]);
    for (uint32_t i = 0; i < module->function_count; i++) check_function(module, module->functions[i]);
    for (size_t kernel = 0; kernel < simt_module_kernel_count(module); kernel++) {
        require(simt_module_kernel_name(module, kernel) != NULL);
        for (size_t i = 0; i < simt_module_parameter_count(module, kernel); i++)
            nbytes += simt_module_parameter_nbytes(module, kernel, i);
        nbytes += simt_module_shared_nbytes(module, kernel);
    }
    require(nbytes < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    static simt_message message;
    simt_module *module;
    simt_error error = simt_module_parse((const char *)bytes, nbytes, "fuzz", &module, &message);
    require(!error == (module != NULL));
    if (module) check_module(module);
    if (error == SIMT_ERROR_SYNTAX) require(!strncmp(message.text, "fuzz:", 5) && strchr(message.text, ' '));
    simt_module_destroy(module);
    return 0;
}
