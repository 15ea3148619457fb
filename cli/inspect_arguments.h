/* A kernel's arguments, from the words of --arg to the simulator's memory, and back into files by --out. */
#ifndef CLI_INSPECT_ARGUMENTS_H
#define CLI_INSPECT_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"
#include "npy.h"
#include "options.h"
#include "simt/simt.h"
#include "warpfold.h"

struct argument {
    const char *text; /* as it was given */
    wf_type type;     /* of a scalar or of a buffer's elements; WF_TYPE_DEFAULT of bytes */
    bool is_buffer;
    const char *fill;     /* of a buffer: "zeros", ..., or a file's name */
    uint64_t count;       /* of a buffer's elements */
    unsigned char *value; /* what the kernel gets */
    size_t nbytes;        /* of value */
    uint64_t address;     /* of a buffer, once it is placed */
};

struct output {
    size_t argument;
    const char *path;
    char header[NPY_HEADER_NBYTES_MAX];
    size_t header_nbytes;
    unsigned char *bytes; /* behind the header */
    size_t nbytes;
};

struct arguments {
    struct argument *items;
    size_t count;
    struct output *outputs;
    size_t output_count;
};

/* All of these say what is wrong and return a status. */

/* Reads --arg and --out; arguments_clear in any case. */
int arguments_parse(struct arguments *arguments, const struct settings *settings);
void arguments_clear(struct arguments *arguments);

/* Are they as many and as large as the kernel's parameters? */
int arguments_check(const struct arguments *arguments, const simt_module *module, size_t kernel,
                    const char *name);

/* Allocates and fills the buffers. */
int arguments_place(struct arguments *arguments, simt_machine *machine);

/* Takes out of the simulator what the files of --out are to hold. */
int arguments_read(struct arguments *arguments, const simt_machine *machine);

/* The file that it then is. */
struct file_draft output_draft(const struct output *output);

#endif
