/* What the source of a kernel says of its parameters and of its launch: a reader of CUDA C's surface, not a parser.  What
 * it does not understand it leaves out. */
#ifndef REPORT_KERNEL_SOURCE_H
#define REPORT_KERNEL_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_PARAMETERS_MAX = 32, KERNEL_WORD = 64, KERNEL_MESSAGE = 768 };

/* What the kernel does first with the elements of a pointer: stores them, reads them, or changes them by an atomic operation
 * or an assignment like +=.  Unknown: it only hands the pointer on. */
enum kernel_use { KERNEL_UNKNOWN, KERNEL_STORES, KERNEL_READS, KERNEL_UPDATES };

struct kernel_parameter {
    char type[KERNEL_WORD]; /* of what it is or points to, without const: "float" */
    char name[KERNEL_WORD];
    const char *element; /* warpfold's name of that type, "f32"; NULL: it is none of them.  Static */
    bool is_pointer, is_const;
    size_t nbytes;      /* of that type, be it a vector or a struct; 0: not known */
    uint64_t count;     /* a buffer's elements by its cudaMalloc, or the scalar that is passed; */
    bool has_count;     /* if the text tells */
    bool is_no_extent;  /* a number that the kernel only adds, shifts, masks or tests for equality */
    bool is_cleared;    /* by a cudaMemset to 0 */
    enum kernel_use use;
    uint32_t accessed_nbytes; /* by the compiled kernel, the least; 0: not known or none */
    bool is_of_floats;        /* so accessed */
    bool are_links, has_last_link; /* likewise */
    int64_t last_link;
    bool is_index, are_offsets; /* of other memory, as the compiled kernel uses its elements: simt_parameter_use */
};

struct kernel_source {
    struct kernel_parameter parameters[KERNEL_PARAMETERS_MAX];
    size_t count;
    uint64_t grid[3], block[3], shared; /* of its first launch, */
    bool has_launch;                    /* if that is there and in numbers; */
    bool has_block;                     /* or a block that fits the kernel; */
    size_t pitches;                     /* parameters by which it multiplies an index: what it accesses has two dimensions, or more */
    uint64_t elements;                  /* and how many elements a thread reads then; 0: not known */
};

/* `name` as the source or --kernel has it, with or without namespaces and template arguments.  false: the text has no
 * such kernel, or there is no memory. */
bool kernel_source_read(const char *text, const char *name, struct kernel_source *source);

/* An instance to begin with of the text's first kernel that is a template: "scale<float, 256>".  false: it has none. */
bool kernel_source_instance(const char *text, char *instance, size_t nbytes);

/* The type of a vector's elements and how many it has: "float4" -> "f32", 4; NULL: it is none. */
const char *kernel_vector_element(const char *type, unsigned *count);

/* "float" -> "f32"; NULL: none of warpfold's types. */
const char *kernel_type_element(const char *type);

/* An array of rows in shared memory, and with the padding that changes their banks. */
struct kernel_rows {
    char name[KERNEL_WORD], padded[KERNEL_WORD]; /* "tile[32][32]", "tile[32][33]" */
    size_t element_nbytes;
};

/* That array of rows of that many bytes which a line of the source names, or, if it names none of shared memory, the last one
 * before it.  false: there is none. */
bool kernel_source_rows(const char *text, uint32_t line, uint64_t nbytes, struct kernel_rows *rows);

struct kernel_member {
    char name[KERNEL_WORD];
    const char *element; /* "f32", of a vector's, too; NULL: it is a pointer.  Static */
    size_t offset, nbytes;
};

/* The first members of a struct that the text defines, at most as many as there is room for; 0: it defines none by that
 * name, or one of a type that is not known. */
size_t kernel_source_members(const char *text, const char *type, struct kernel_member *members, size_t capacity);

/* Of an element of a struct the member at that byte, ", in `.y`", or ", at its byte 4"; "" for other types and in doubt at
 * byte 0.  text: NULL where it is not there. */
void kernel_source_member(const char *text, const char *type, uint64_t offset, char *words, size_t nbytes);

/* Whether the line calls __syncthreads() or a member or function sync(). */
bool kernel_source_syncs(const char *text, uint32_t line);

/* A message with "index 64 of `tile`, 64 elements of 4 bytes)" has "index 64 of `tile`, float[64])" there after it, or
 * "`tile[2][0]`, float[2][32])", where the text declares that array of shared memory with a type of that size, or of
 * several such (float4).  Of nbytes bytes. */
void kernel_source_array(const char *text, char *message, size_t nbytes);

/* The message of a race in shared memory between two lines that access different parts of an extern array, pointers into it,
 * says first that these overlap.  Of nbytes bytes. */
void kernel_source_overlap(const char *text, uint32_t line, uint32_t other_line, char *message, size_t nbytes);

#endif
