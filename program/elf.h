/* Which shared libraries a program asks for, by its file. */
#ifndef PROGRAM_ELF_H
#define PROGRAM_ELF_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
