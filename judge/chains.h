/* How many rounded operations lie between the data and what the kernel leaves: the longest chain of them. */
#ifndef JUDGE_CHAINS_H
#define JUDGE_CHAINS_H

#include "simt_observer.h"

struct chains; /* of one kernel, for one launch after the other */

/* `ptx`: the module's text, which stays as it is.  NULL: no memory. */
struct chains *chains_create(const char *ptx);
void chains_destroy(struct chains *chains); /* NULL: nothing */

/* Global memory that later launches may use: all of it.  Chains of what is in it begin anew.  false: no
 * memory. */
bool chains_begin(struct chains *chains, size_t count);
bool chains_add(struct chains *chains, size_t index, uint64_t address, size_t nbytes);

/* After the launch: the longest chain to the bytes of a buffer.  UINT64_MAX: the kernel did what is not
 * followed here, such as a call or an asynchronous copy. */
uint64_t chains_longest(const struct chains *chains, size_t index, size_t offset, size_t nbytes);

/* Of launches whose context is a struct chains, and that run on one thread of the host. */
extern const struct simt_observer judge_observe_chains;

#endif
