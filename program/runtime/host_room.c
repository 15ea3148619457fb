/* How much memory of the host's there is from an address on, where that can be known.
 *
 * Before what malloc() of the GNU C library gives stands its size, which malloc_usable_size() would read; but that may be asked
 * of such addresses alone.  So whether this is one is found out first: the size leads to the next block's, which says that the
 * one before it is in use, or it is a mapping of whole pages. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mincore */
#endif
#include "runtime.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORD = sizeof(uint64_t), HEADER = 2 * WORD, PAGE = 4096, PREVIOUS_IS_USED = 1, IS_MAPPED = 2, FLAGS = 7 };

/* Of memory that a sanitizer may have set aside: it does not look here. */
__attribute__((no_sanitize("address", "undefined"))) static uint64_t word_at(uint64_t address) {
    return *(const volatile uint64_t *)(uintptr_t)address;
}

static bool is_mapped_page(uint64_t address) {
    unsigned char state;
    return !mincore((void *)(uintptr_t)(address - address % PAGE), 1, &state);
}

static bool are_mapped(uint64_t first, uint64_t last) {
    return last >= first && is_mapped_page(first) && is_mapped_page(last);
}

static size_t room_of_mapping(uint64_t begin, uint64_t word) {
    const uint64_t nbytes = word & ~(uint64_t)FLAGS;
    const bool is_whole = (word & FLAGS) == IS_MAPPED && begin % PAGE == 0 && nbytes && nbytes % PAGE == 0 && !word_at(begin);
    return is_whole && are_mapped(begin, begin + nbytes - 1) ? nbytes - HEADER : 0;
}

/* The next block's first word is still this one's. */
static size_t room_of_block(uint64_t begin, uint64_t word) {
    const uint64_t nbytes = word & ~(uint64_t)FLAGS, end = begin + nbytes, top = (uintptr_t)sbrk(0);
    if ((word & ~(uint64_t)PREVIOUS_IS_USED) != nbytes || nbytes < 2 * HEADER || nbytes % HEADER || nbytes > top || begin >= top) return 0;
    if (end > top - HEADER || !are_mapped(begin, end + WORD)) return 0;
    return word_at(end + WORD) & PREVIOUS_IS_USED ? nbytes - WORD : 0;
}

static size_t room_of_allocation(uint64_t address) {
    const uint64_t begin = address - HEADER;
    if (address % HEADER || !is_mapped_page(begin)) return 0;
    const uint64_t word = word_at(begin + WORD);
    return word & IS_MAPPED ? room_of_mapping(begin, word) : room_of_block(begin, word);
}

size_t host_room(const void *pointer) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (buffer) return buffer->nbytes - ((uintptr_t)pointer - buffer->address);
    return room_of_allocation((uintptr_t)pointer);
}
