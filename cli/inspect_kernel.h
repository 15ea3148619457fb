/* From a file and a name to a kernel. */
#ifndef CLI_INSPECT_KERNEL_H
#define CLI_INSPECT_KERNEL_H

#include <stddef.h>

#include "report/kernel_source.h"
#include "simt/simt.h"

enum { KERNEL_NAME_CAPACITY = 512 };

struct kernel {
    simt_module *module;
    size_t index;
    char *ptx; /* the module's text */
    char name[KERNEL_NAME_CAPACITY]; /* as it was asked for, else as its author has it */
    char *text;                      /* of the .cu file; NULL: there is none */
    struct kernel_source source;     /* what that says of the kernel, */
    bool has_source;                 /* if it says anything that fits */
    bool is_suggested;               /* nobody asked for it: an instance of the file's first template */
};

/* Compiles or reads the file.  `wanted`: NULL where it has one kernel only.  Says what is wrong and returns a
 * status, STATUS_USAGE if it has several: then one of the module can be chosen.  kernel_clear in any case. */
int kernel_load(struct kernel *kernel, const char *path, const char *wanted);
void kernel_choose(struct kernel *kernel, const char *path, size_t index, const char *wanted);
void kernel_clear(struct kernel *kernel);

#endif
