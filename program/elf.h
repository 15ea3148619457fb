/* Which shared libraries a program asks for, and where its functions are, by its file. */
#ifndef PROGRAM_ELF_H
#define PROGRAM_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf {
    const unsigned char *bytes; /* the whole file */
    size_t nbytes;
    const unsigned char *dynamic; /* NULL: it is linked statically */
    size_t dynamic_count;
    const char *strings; /* of the dynamic section */
    size_t strings_nbytes;
};

/* false: it is no 64-bit ELF file of this byte order, or its parts do not fit into it. */
bool elf_open(struct elf *elf, const void *bytes, size_t nbytes);

/* The next needed library's name; *at is 0 before the first.  NULL: there are no more. */
const char *elf_next_needed(const struct elf *elf, size_t *at);

/* Whether it has a section of that name. */
bool elf_has_section(const struct elf *elf, const char *name);

/* The functions that it defines: all of a file that is not stripped, or those that others can call. */
struct elf_symbols {
    const unsigned char *entries;
    uint64_t address; /* of the entries, as of functions */
    size_t count;
    const char *strings;
    size_t strings_nbytes;
};

struct elf_function {
    const char *name;
    uint64_t address, nbytes; /* before the file is moved to where it runs */
};

/* false: there is no such table. */
bool elf_open_symbols(const struct elf *elf, bool is_dynamic, struct elf_symbols *symbols);

/* The next one; *at is 0 before the first, and its entry's number and 1 after it.  false: there are no more. */
bool elf_next_function(const struct elf_symbols *symbols, size_t *at, struct elf_function *function);

#endif
