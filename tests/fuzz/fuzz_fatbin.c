/* Fat binaries and programs' files: nothing is read beyond them, and what is found is a text that ends.
 * fuzz_fatbin.sh makes inputs to begin with. */
#include "program/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include "program/elf.h"

static void require(bool holds) {
    if (!holds) abort();
}

static void check_elf(const uint8_t *bytes, size_t nbytes) {
    struct elf elf;
    size_t at = 0, length = 0;
    if (!elf_open(&elf, bytes, nbytes)) return;
    for (const char *name; (name = elf_next_needed(&elf, &at));) length += strlen(name);
    require(length <= nbytes * (at + 1));
    (void)elf_has_section(&elf, ".nv_fatbin");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct fatbin_ptx ptx = {0};
    enum fatbin_error error = fatbin_find_ptx(bytes, nbytes, 90, &ptx);
    require(fatbin_error_text(error)[0] != '\0');
    require(!error == (ptx.text != NULL));
    if (ptx.text) require(strlen(ptx.text) == ptx.nbytes && ptx.arch <= 90);
    free(ptx.text);
    check_elf(bytes, nbytes);
    return 0;
}
