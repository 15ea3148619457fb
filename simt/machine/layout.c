/* The layout of a module's variables and registers. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

/* Addresses of functions lie outside memory, so that neither can be mistaken for the other. */
#define FUNCTION_BASE UINT64_C(0x600000000000)

static uint64_t align(uint64_t offset, uint64_t alignment) {
    return alignment > 1 ? (offset + alignment - 1) / alignment * alignment : offset;
}

/* ---- variables */

static struct placed *place_of(const struct image *image, const struct variable *variable) {
    size_t mask = image->placed_capacity - 1;
    size_t i = (size_t)(((uintptr_t)variable >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (image->placed[i].variable && image->placed[i].variable != variable) i = (i + 1) & mask;
    return &image->placed[i];
}

bool simt_shared_array(const struct launch *launch, const struct variable *array, uint64_t address, struct placed *found) {
    const struct image *image = launch->image;
    for (size_t i = 0; i < image->placed_capacity; i++) {
        const struct placed *placed = &image->placed[i];
        const struct variable *variable = placed->variable;
        if (!variable || variable->space != SIMT_SHARED || (array && variable != array)) continue;
        const uint64_t nbytes = variable->nbytes ? variable->nbytes : launch->view.shared_nbytes - placed->address;
        if (address < placed->address || address - placed->address >= nbytes) continue;
        *found = *placed;
        return true;
    }
    return false;
}

static bool is_dynamic(const struct variable *variable) {
    return variable->space == SIMT_SHARED && variable->nbytes == 0;
}

uint32_t simt_dynamic_arrays(const struct image *image, struct placed *found) {
    uint32_t count = 0;
    for (size_t i = 0; i < image->placed_capacity; i++) {
        const struct variable *variable = image->placed[i].variable;
        if (!variable || !is_dynamic(variable)) continue;
        *found = image->placed[i];
        count++;
    }
    return count;
}

static bool is_global(const struct variable *variable) {
    return variable->space == SIMT_GLOBAL || variable->space == SIMT_CONSTANT;
}

bool simt_global_variable(const struct launch *launch, uint64_t address, struct placed *found) {
    const struct image *image = launch->image;
    const uint64_t reach = UINT64_C(1) << 31; /* half of what lies between two */
    const struct allocation *allocation = simt_memory_find(&launch->machine->memory, address + reach);
    for (size_t i = 0; allocation && i < image->placed_capacity; i++) {
        const struct placed *placed = &image->placed[i];
        if (!placed->variable || !is_global(placed->variable) || placed->address != allocation->address) continue;
        *found = *placed;
        return true;
    }
    return false;
}

uint64_t simt_variable_address(const struct image *image, const struct variable *variable) {
    return place_of(image, variable)->address;
}

static void place(struct image *image, const struct variable *variable, uint64_t address) {
    *place_of(image, variable) = (struct placed){variable, address};
}

static bool placed_create(struct image *image) {
    size_t count = image->module->variable_count;
    for (uint32_t f = 0; f < image->module->function_count; f++) {
        const struct function *function = image->module->functions[f];
        count += function->variable_count + function->parameter_count + function->result_count;
    }
    image->placed_capacity = 16;
    while (image->placed_capacity < 2 * count) image->placed_capacity *= 2;
    image->placed = calloc(image->placed_capacity, sizeof *image->placed);
    return image->placed != NULL;
}

static void place_next(struct image *image, const struct variable *variable, uint64_t *end) {
    uint64_t address = align(*end, variable->alignment);
    place(image, variable, address);
    *end = address + variable->nbytes;
}

/* The static shared variables of the kernel; all dynamic ones begin after them.  Those of other kernels have no place. */
static void place_shared(struct image *image) {
    const struct simt_module *module = image->module;
    uint64_t end = 0, alignment = 16;
    for (uint32_t v = 0; image->kernel && v < image->kernel->shared_count; v++) /* a module may have variables alone */
        place_next(image, image->kernel->shared[v], &end);
    image->shared_nbytes = end;
    for (uint32_t v = 0; v < module->variable_count; v++)
        if (is_dynamic(module->variables[v]) && module->variables[v]->alignment > alignment)
            alignment = module->variables[v]->alignment;
    image->dynamic_offset = align(end, alignment);
    for (uint32_t v = 0; v < module->variable_count; v++)
        if (is_dynamic(module->variables[v])) place(image, module->variables[v], image->dynamic_offset);
    for (uint32_t f = 0; f < module->function_count; f++)
        for (uint32_t v = 0; v < module->functions[f]->variable_count; v++)
            if (is_dynamic(module->functions[f]->variables[v]))
                place(image, module->functions[f]->variables[v], image->dynamic_offset);
}

/* A module's global variables are one for all its kernels, of each device; managed ones are one for all devices. */
static bool is_shared_by(const struct image *image, const struct image *sibling, const struct variable *variable) {
    return sibling && (sibling->device == image->device || variable->is_managed);
}

/* Of bytes that are zeros. */
static void initialise(struct allocation *allocation, const struct variable *variable) {
    if (variable->bytes) memcpy(allocation->bytes, variable->bytes, variable->nbytes);
    free(allocation->written); /* no value given means zeros */
    allocation->written = NULL;
}

static bool place_global(struct image *image, const struct image *sibling, struct memory *memory,
                         const struct variable *variable) {
    if (is_shared_by(image, sibling, variable)) {
        place(image, variable, simt_variable_address(sibling, variable));
        return true;
    }
    struct allocation *allocation =
        variable->is_managed ? simt_memory_allocate_shared(memory, variable->nbytes)
                             : simt_memory_allocate(memory, variable->nbytes, variable->space == SIMT_CONSTANT);
    if (!allocation) return false;
    initialise(allocation, variable);
    place(image, variable, allocation->address);
    return true;
}

/* Addresses in initial values, once every variable has its own. */
static void relocate(const struct image *image, const struct image *sibling, struct memory *memory,
                     const struct variable *variable) {
    if (is_shared_by(image, sibling, variable)) return;
    struct allocation *allocation = simt_memory_find(memory, simt_variable_address(image, variable));
    for (uint32_t r = 0; r < variable->relocation_count; r++) {
        const struct relocation *relocation = &variable->relocations[r];
        uint64_t address = (uint64_t)relocation->addend;
        if (relocation->variable) {
            address += simt_variable_address(image, relocation->variable);
            if (relocation->is_generic && relocation->variable->space == SIMT_SHARED)
                address += SIMT_SHARED_WINDOW;
        } else if (relocation->function) {
            address += simt_function_address(relocation->function);
        }
        if (relocation->nbytes <= 8 && relocation->offset + relocation->nbytes <= allocation->nbytes)
            memcpy(allocation->bytes + relocation->offset, &address, relocation->nbytes);
    }
}

/* Such a parameter of a function that is called lies in local memory (PTX ISA, "mov"). */
static bool takes_address_of_input(const struct simt_module *module, const struct function *function) {
    for (uint32_t i = function->begin; i < function->end && !function->is_kernel; i++) {
        const struct instruction *instruction = &module->instructions[i];
        bool takes = simt_is_base(instruction, "mov") || simt_is_base(instruction, "cvta");
        for (uint32_t o = 0; takes && o < instruction->operand_count; o++) {
            const struct operand *operand = &instruction->operands[o];
            if (operand->kind == OPERAND_ADDRESS && operand->variable && operand->variable->is_parameter) return true;
        }
    }
    return false;
}

/* Variables of one space of a function: parameters and locals, each from an offset. */
static void place_in_frame(struct image *image, const struct function *function, struct layout *layout) {
    uint64_t inputs = align(function->parameter_nbytes, 16), end = inputs + align(function->result_nbytes, 16);
    for (uint32_t p = 0; p < function->parameter_count; p++)
        place(image, function->parameters[p], function->parameters[p]->offset);
    for (uint32_t r = 0; r < function->result_count; r++)
        place(image, function->results[r], inputs + function->results[r]->offset);
    uint64_t locals = 0;
    for (uint32_t v = 0; v < function->variable_count; v++) {
        if (function->variables[v]->space == SIMT_PARAMETER) place_next(image, function->variables[v], &end);
        if (function->variables[v]->space == SIMT_LOCAL) place_next(image, function->variables[v], &locals);
    }
    layout->parameters_nbytes = align(end, 16);
    layout->locals_nbytes = layout->copy_offset = align(locals, 16);
    layout->copies_inputs = takes_address_of_input(image->module, function);
    if (layout->copies_inputs) layout->locals_nbytes += inputs;
}

static void relocate_all(const struct image *image, const struct image *sibling, struct memory *memory) {
    const struct simt_module *module = image->module;
    for (uint32_t v = 0; v < module->variable_count; v++)
        if (is_global(module->variables[v])) relocate(image, sibling, memory, module->variables[v]);
    for (uint32_t f = 0; f < module->function_count; f++)
        for (uint32_t v = 0; v < module->functions[f]->variable_count; v++)
            if (is_global(module->functions[f]->variables[v]))
                relocate(image, sibling, memory, module->functions[f]->variables[v]);
}

static bool renew(const struct image *image, const struct image *sibling, struct memory *memory,
                  struct variable *const *variables, uint32_t count) {
    for (uint32_t v = 0; v < count; v++) {
        if (!is_global(variables[v]) || is_shared_by(image, sibling, variables[v])) continue;
        struct allocation *allocation = simt_memory_find(memory, simt_variable_address(image, variables[v]));
        if (!simt_memory_renew(allocation)) return false;
        initialise(allocation, variables[v]);
    }
    return true;
}

bool simt_variables_reset(const struct image *image, const struct image *sibling, struct memory *memory) {
    const struct simt_module *module = image->module;
    bool is_renewed = renew(image, sibling, memory, module->variables, module->variable_count);
    for (uint32_t f = 0; f < module->function_count && is_renewed; f++)
        is_renewed = renew(image, sibling, memory, module->functions[f]->variables, module->functions[f]->variable_count);
    if (is_renewed) relocate_all(image, sibling, memory);
    return is_renewed;
}

static bool place_all(struct image *image, const struct image *sibling, struct memory *memory) {
    const struct simt_module *module = image->module;
    place_shared(image);
    for (uint32_t v = 0; v < module->variable_count; v++)
        if (is_global(module->variables[v]) && !place_global(image, sibling, memory, module->variables[v]))
            return false;
    for (uint32_t f = 0; f < module->function_count; f++) {
        const struct function *function = module->functions[f];
        for (uint32_t v = 0; v < function->variable_count; v++)
            if (is_global(function->variables[v]) &&
                !place_global(image, sibling, memory, function->variables[v]))
                return false;
        place_in_frame(image, function, &image->layouts[f]);
    }
    relocate_all(image, sibling, memory);
    return true;
}

/* ---- functions */

const struct layout *simt_layout(const struct image *image, const struct function *function) {
    return &image->layouts[function->index];
}

const struct function *simt_function_at(const struct image *image, uint64_t address) {
    uint64_t index = address - FUNCTION_BASE;
    return index < image->module->function_count ? image->module->functions[index] : NULL;
}

uint64_t simt_function_address(const struct function *function) {
    return FUNCTION_BASE + function->index;
}

static bool lay_out_registers(const struct function *function, struct layout *layout) {
    layout->registers = calloc(function->register_count ? function->register_count : 1, sizeof *layout->registers);
    if (!layout->registers) return false;
    size_t end = 0;
    for (uint32_t r = 0; r < function->register_count; r++) {
        layout->registers[r] = (slot)end;
        const bool is_pair = function->registers[r].type == TYPE_B128; /* two of 64 bits */
        end += simt_width_nbytes(simt_width(function->registers[r].type)) << is_pair;
        end = align(end, LANE_ALIGNMENT);
        if (end > FRAME_NBYTES_MAX) return false;
    }
    layout->carry = (slot)end;
    layout->sink = (slot)end + LANE_ALIGNMENT;
    layout->registers_nbytes = layout->sink + simt_width_nbytes(WIDTH_64);
    return true;
}

bool simt_lay_out(struct image *image, const struct image *sibling, struct memory *memory) {
    const struct simt_module *module = image->module;
    image->layouts = calloc(module->function_count ? module->function_count : 1, sizeof *image->layouts);
    if (!image->layouts || !placed_create(image)) return false;
    for (uint32_t f = 0; f < module->function_count; f++)
        if (!lay_out_registers(module->functions[f], &image->layouts[f])) return false;
    return place_all(image, sibling, memory);
}
