/* Compiled kernels, kept from one process to the next in $XDG_CACHE_HOME/warpfold or ~/.cache/warpfold.
 *
 * An entry is a file, named after its kernel, key and compiler.  It is written under another name and then
 * renamed, and says how long it is and what its bytes hash to, so that one that is damaged counts as none.  Where
 * there is no such folder, or WARPFOLD_CACHE is "off", all works without; so it does where the folder or an entry is not
 * the process's own, can be written to by others, or is a link. */
#ifndef WF_CACHE_H
#define WF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

/* What a compiler made of a source: PTX or machine code. */
struct wf_compiled {
    char *bytes; /* the caller's to free; a 0 is after them */
    size_t nbytes;
};

struct wf_cache_key {
    char name[48];    /* of the kernel, for those who look into the folder */
    uint64_t hash[2]; /* of all that was added */
};

void wf_cache_key_begin(struct wf_cache_key *key, const char *name);
void wf_cache_key_add(struct wf_cache_key *key, const char *text);

/* Whether there is a whole entry, which is then the caller's to free.  compiler_version 0: by any compiler. */
bool wf_cache_read(const struct wf_cache_key *key, int compiler_version, struct wf_compiled *image);

/* Does what it can. */
void wf_cache_write(const struct wf_cache_key *key, int compiler_version, const struct wf_compiled *image);

/* Of the entries whose names begin so, removes the oldest beyond this number. */
void wf_cache_trim(const char *beginning, size_t kept);

/* For one process or thread at a time to compile what has no entry: the others wait, and should then read again.  -1: no
 * claim could be laid; to be released all the same. */
int wf_cache_claim(const struct wf_cache_key *key);
void wf_cache_release(const struct wf_cache_key *key, int claim);

#endif
