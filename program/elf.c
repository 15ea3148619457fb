#include "elf.h"

#include <elf.h>
#include <string.h>

/* The part of the file, whole; NULL: it does not lie within. */
static const unsigned char *part(const struct elf *elf, uint64_t offset, uint64_t nbytes) {
    return offset <= elf->nbytes && nbytes <= elf->nbytes - offset ? elf->bytes + offset : NULL;
}

static bool read_header(const struct elf *elf, Elf64_Ehdr *header) {
    const unsigned char order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    if (elf->nbytes < sizeof *header) return false;
    memcpy(header, elf->bytes, sizeof *header);
    return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == order && (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

/* Reads entry `index` of a table of `count` entries of entry_nbytes each. */
static bool read_entry(const struct elf *elf, uint64_t offset, unsigned count, size_t entry_nbytes, unsigned index, void *entry,
                       size_t nbytes) {
    if (entry_nbytes != nbytes || index >= count) return false;
    const unsigned char *bytes = part(elf, offset, (uint64_t)count * nbytes);
    if (bytes) memcpy(entry, bytes + index * nbytes, nbytes);
    return bytes;
}

static bool read_segment(const struct elf *elf, const Elf64_Ehdr *header, unsigned index, Elf64_Phdr *segment) {
    return read_entry(elf, header->e_phoff, header->e_phnum, header->e_phentsize, index, segment, sizeof *segment);
}

/* Where in the file an address of the running program comes from; SIZE_MAX: nowhere. */
static uint64_t offset_of(const struct elf *elf, const Elf64_Ehdr *header, uint64_t address) {
    Elf64_Phdr segment;
    for (unsigned i = 0; read_segment(elf, header, i, &segment); i++)
        if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return SIZE_MAX;
}

static Elf64_Dyn dynamic_at(const struct elf *elf, size_t index) {
    Elf64_Dyn entry;
    memcpy(&entry, elf->dynamic + index * sizeof entry, sizeof entry);
    return entry;
}

static bool find_strings(struct elf *elf, const Elf64_Ehdr *header) {
    uint64_t address = 0, nbytes = 0;
    for (size_t i = 0; i < elf->dynamic_count; i++) {
        const Elf64_Dyn entry = dynamic_at(elf, i);
        if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRSZ) nbytes = entry.d_un.d_val;
        if (entry.d_tag == DT_NULL) elf->dynamic_count = i;
    }
    elf->strings = (const char *)part(elf, offset_of(elf, header, address), nbytes);
    elf->strings_nbytes = nbytes;
    return elf->strings && nbytes > 0 && elf->strings[nbytes - 1] == '\0';
}

bool elf_open(struct elf *elf, const void *bytes, size_t nbytes) {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    *elf = (struct elf){.bytes = bytes, .nbytes = nbytes};
    if (!read_header(elf, &header)) return false;
    for (unsigned i = 0; read_segment(elf, &header, i, &segment); i++) {
        if (segment.p_type != PT_DYNAMIC) continue;
        elf->dynamic = part(elf, segment.p_offset, segment.p_filesz);
        elf->dynamic_count = segment.p_filesz / sizeof(Elf64_Dyn);
        return elf->dynamic && find_strings(elf, &header);
    }
    return true;
}

const char *elf_next_needed(const struct elf *elf, size_t *at) {
    while (*at < elf->dynamic_count) {
        const Elf64_Dyn entry = dynamic_at(elf, (*at)++);
        if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < elf->strings_nbytes)
            return elf->strings + entry.d_un.d_val;
    }
    return NULL;
}

/* ---- sections ------------------------------------------------------------------------------------ */

static bool read_section(const struct elf *elf, const Elf64_Ehdr *header, unsigned index, Elf64_Shdr *section) {
    return read_entry(elf, header->e_shoff, header->e_shnum, header->e_shentsize, index, section, sizeof *section);
}

bool elf_has_section(const struct elf *elf, const char *name) {
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    if (!read_header(elf, &header) || !read_section(elf, &header, header.e_shstrndx, &names)) return false;
    const char *strings = (const char *)part(elf, names.sh_offset, names.sh_size);
    const size_t length = strlen(name) + 1;
    for (unsigned i = 0; strings && read_section(elf, &header, i, &section); i++)
        if (section.sh_name < names.sh_size && length <= names.sh_size - section.sh_name &&
            !memcmp(strings + section.sh_name, name, length))
            return true;
    return false;
}

/* ---- functions ----------------------------------------------------------------------------------- */

bool elf_open_symbols(const struct elf *elf, bool is_dynamic, struct elf_symbols *symbols) {
    const uint32_t type = is_dynamic ? SHT_DYNSYM : SHT_SYMTAB;
    Elf64_Ehdr header;
    Elf64_Shdr table, strings;
    if (!read_header(elf, &header)) return false;
    for (unsigned i = 0; read_section(elf, &header, i, &table); i++) {
        if (table.sh_type != type || !read_section(elf, &header, table.sh_link, &strings)) continue;
        *symbols = (struct elf_symbols){.entries = part(elf, table.sh_offset, table.sh_size),
                                        .address = table.sh_addr,
                                        .count = table.sh_size / sizeof(Elf64_Sym),
                                        .strings = (const char *)part(elf, strings.sh_offset, strings.sh_size),
                                        .strings_nbytes = strings.sh_size};
        return symbols->entries && symbols->strings && strings.sh_size &&
               symbols->strings[strings.sh_size - 1] == '\0';
    }
    return false;
}

bool elf_next_function(const struct elf_symbols *symbols, size_t *at, struct elf_function *function) {
    while (*at < symbols->count) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols->entries + (*at)++ * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_name >= symbols->strings_nbytes)
            continue;
        *function = (struct elf_function){symbols->strings + symbol.st_name, symbol.st_value, symbol.st_size};
        return true;
    }
    return false;
}
