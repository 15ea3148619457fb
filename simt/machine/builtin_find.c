/* Builtin functions by their names. */
#include <string.h>

#include "builtin.h"

static const struct builtin *find(const char *name) {
    const struct builtin *const tables[] = {simt_builtins, simt_device_runtime};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct builtin *builtin = tables[t]; builtin->name; builtin++)
            if (strcmp(name, builtin->name) == 0) return builtin;
    return NULL;
}

builtin_function *simt_builtin_find(const char *name) {
    const struct builtin *builtin = find(name);
    return builtin ? builtin->function : NULL;
}

bool simt_builtin_allocates(const struct simt_module *module) {
    for (uint32_t f = 0; f < module->function_count; f++) {
        const struct function *function = module->functions[f];
        const struct builtin *builtin = function->has_body ? NULL : find(function->name);
        if (builtin && builtin->allocates) return true;
    }
    return false;
}

bool simt_builtin_fits(const struct function *declared) {
    const struct builtin *builtin = find(declared->name);
    if (!builtin) return true;
    uint32_t results = builtin->result > 0, p = 0;
    if (declared->result_count != results || (results && declared->results[0]->nbytes != builtin->result)) return false;
    for (; p < declared->parameter_count; p++)
        if (p == BUILTIN_PARAMETERS_MAX || declared->parameters[p]->nbytes != builtin->parameters[p]) return false;
    return builtin->parameters[p] == 0;
}
