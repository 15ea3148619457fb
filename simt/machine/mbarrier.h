/* An mbarrier as it lies in shared memory: 64 bits, which PTX leaves to the hardware.  Here, from the lowest:
 * arrivals expected in each phase (20), those still pending in this one (20), bytes still to come (21, signed), the
 * parity of the phase (1), and two bits that tell it from memory that holds none. */
#ifndef SIMT_MBARRIER_H
#define SIMT_MBARRIER_H

#include <stdbool.h>
#include <stdint.h>

enum { MBARRIER_NBYTES = 8, MBARRIER_COUNT_MAX = (1 << 20) - 1 };

struct mbarrier {
    uint32_t expected, pending;
    int32_t nbytes; /* announced and not come; negative: come and not announced */
    uint32_t phase; /* its parity */
};

/* false: there is none. */
bool simt_mbarrier_unpack(uint64_t state, struct mbarrier *mbarrier);
uint64_t simt_mbarrier_pack(const struct mbarrier *mbarrier);
bool simt_mbarrier_read(const unsigned char *host, struct mbarrier *mbarrier);
void simt_mbarrier_write(unsigned char *host, const struct mbarrier *mbarrier);

/* Each returns why it cannot be, or NULL. */
const char *simt_mbarrier_expect(struct mbarrier *mbarrier, uint32_t nbytes);   /* bytes will come */
const char *simt_mbarrier_complete(struct mbarrier *mbarrier, uint32_t nbytes); /* they have */
const char *simt_mbarrier_arrive(struct mbarrier *mbarrier, uint32_t count);
const char *simt_mbarrier_drop(struct mbarrier *mbarrier, uint32_t count); /* from the next phase on */

/* Begins the next phase if all of this one has come: true. */
bool simt_mbarrier_advance(struct mbarrier *mbarrier);

#endif
