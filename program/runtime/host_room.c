/* How much memory of the host's there is from an address on, where that can be known.
 *
 * Before what malloc() of the GNU C library gives stands its size, which malloc_usable_size() would read; but that may be asked
 * of such addresses alone.  So whether this is one is found out first: the size leads to the next block's, which says that the
 * one before it is in use, or it is a mapping of whole pages. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include "runtime.h"

#include <sys/uio.h>
#include <unistd.h>

enum { WORD = sizeof(uint64_t), HEADER = 2 * WORD, PAGE = 4096, PREVIOUS_IS_USED = 1, IS_MAPPED = 2, FLAGS = 7 };

/* The system reads it, since what lies before an address may be a guard page. */
static bool read_word(uint64_t address, uint64_t *word) {
    const struct iovec to = {word, sizeof *word}, from = {(void *)(uintptr_t)address, sizeof *word};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof *word;
}

static size_t room_of_mapping(uint64_t begin, uint64_t word) {
    const uint64_t nbytes = word & ~(uint64_t)FLAGS;
    uint64_t before, last;
    if ((word & FLAGS) != IS_MAPPED || begin % PAGE || nbytes < PAGE || nbytes % PAGE || nbytes > -begin) return 0;
    return read_word(begin, &before) && !before && read_word(begin + nbytes - WORD, &last) ? nbytes - HEADER : 0;
}

/* The next block's first word is still this one's. */
static size_t room_of_block(uint64_t begin, uint64_t word) {
    const uint64_t nbytes = word & ~(uint64_t)FLAGS, end = begin + nbytes, top = (uintptr_t)sbrk(0);
    uint64_t next;
    if ((word & ~(uint64_t)PREVIOUS_IS_USED) != nbytes || nbytes < 2 * HEADER || nbytes % HEADER || nbytes > top || begin >= top) return 0;
    return end <= top - HEADER && read_word(end + WORD, &next) && next & PREVIOUS_IS_USED ? nbytes - WORD : 0;
}

static size_t room_of_allocation(uint64_t address) {
    const uint64_t begin = address - HEADER;
    uint64_t word;
    if (address % HEADER || !read_word(begin + WORD, &word)) return 0;
    return word & IS_MAPPED ? room_of_mapping(begin, word) : room_of_block(begin, word);
}

size_t host_room(const void *pointer) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (buffer) return buffer->nbytes - ((uintptr_t)pointer - buffer->address);
    return room_of_allocation((uintptr_t)pointer);
}
