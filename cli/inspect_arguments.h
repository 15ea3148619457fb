/* A kernel's arguments, from the words of --arg to the simulator's memory, and back into files by --out. */
#ifndef CLI_INSPECT_ARGUMENTS_H
#define CLI_INSPECT_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"
#include "inspect_kernel.h"
#include "npy.h"
#include "options.h"
#include "report/inspect_report.h"
#include "report/kernel_source.h"
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
    unsigned char *bytes; /* after the header */
    size_t nbytes;
};

/* Of --print: how many elements of an argument's buffer are shown after the launch; of --expect what they must be. */
struct shown {
    size_t argument;
    uint64_t count;
    unsigned char *bytes;
    unsigned char *wanted; /* NULL: of --print */
};

struct arguments {
    struct argument *items;
    size_t count;
    struct output *outputs;
    size_t output_count;
    struct shown *shown;
    size_t shown_count;
};

/* All of these say what is wrong and return a status. */

/* Reads --arg and --out; arguments_clear in any case. */
int arguments_parse(struct arguments *arguments, const struct settings *settings);
void arguments_clear(struct arguments *arguments);

/* Are they as many and as large as the kernel's parameters, and of the types that the source gives these?  `source`:
 * NULL where there is none. */
int arguments_check(const struct arguments *arguments, const simt_module *module, size_t kernel,
                    const char *name, const struct kernel_source *source);

/* The buffers as reports name them; the caller's to free, `arguments` must stay.  NULL: no memory. */
struct report_buffer *arguments_buffers(const struct arguments *arguments, const struct kernel_source *source);

/* Allocates and fills the buffers. */
int arguments_place(struct arguments *arguments, simt_machine *machine);

/* Takes out of the simulator what the files of --out are to hold, and what --print shows. */
int arguments_read(struct arguments *arguments, const simt_machine *machine);

/* The elements that --print shows, as text: shown_count of them; the caller's to free, each text and
 * all.  NULL: no memory. */
struct report_values *arguments_values(const struct arguments *arguments);

/* The file that it then is. */
struct file_draft output_draft(const struct output *output);

#endif
