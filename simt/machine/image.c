/* Prepares a module for a simulator: lays out variables in memory and decodes instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"
#include "machine.h"

void simt_image_destroy(struct image *image) {
    if (!image) return;
    if (image->layouts)
        for (uint32_t f = 0; f < image->module->function_count; f++) {
            free(image->layouts[f].registers);
            free(image->layouts[f].presets);
        }
    free(image->layouts);
    free(image->placed);
    free(image->codes);
    free(image);
}

static bool image_fill(struct image *image, const struct image *sibling, struct memory *memory) {
    const struct simt_module *module = image->module;
    const size_t nbytes = (module->instruction_count + 1) * sizeof *image->codes;
    image->codes = aligned_alloc(_Alignof(struct code), nbytes);
    if (image->codes) memset(image->codes, 0, nbytes);
    if (!image->codes || !simt_lay_out(image, sibling, memory)) return false;
    for (uint32_t f = 0; f < module->function_count; f++)
        if (module->functions[f]->has_body && !simt_decode(image, module->functions[f])) return false;
    return true;
}

simt_error simt_image_create(struct simt_machine *machine, const struct simt_module *module,
                             const struct function *kernel, struct image **result, simt_message *message) {
    const struct image *sibling = NULL;
    for (struct image *image = machine->images; image; image = image->next) {
        if (image->module != module) continue;
        bool is_here = image->device == machine->memory.device;
        if (is_here || !sibling) sibling = image;
        if (!is_here || image->kernel != kernel) continue;
        *result = image;
        return SIMT_OK;
    }
    struct image *image = calloc(1, sizeof *image);
    if (image) *image = (struct image){.module = module, .kernel = kernel, .device = machine->memory.device};
    if (!image || !image_fill(image, sibling, &machine->memory)) {
        simt_image_destroy(image);
        snprintf(message->text, sizeof message->text, "%s: out of memory for its code and variables", module->name);
        wf_printable_here(message->text, sizeof message->text, WF_LINES_ESCAPED);
        return SIMT_ERROR_MEMORY;
    }
    image->next = machine->images;
    machine->images = image;
    *result = image;
    return SIMT_OK;
}
