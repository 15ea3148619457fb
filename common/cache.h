/* Compiled kernels, kept from one process to the next in $XDG_CACHE_HOME/warpfold or ~/.cache/warpfold.
 *
 * An entry is a file, named after its kernel, key and compiler.  It is written under another name and then renamed, and it
 * contains its length and a hash of its bytes, so that a damaged entry is ignored.  The cache is not used if the folder
 * cannot be created or WARPFOLD_CACHE is "off", nor if the folder or an entry belongs to another user, can be written to by
 * others, or is a link: every kernel is then compiled. */
#ifndef WF_CACHE_H
#define WF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names.h"

/* What a compiler made of a source: PTX or machine code. */
struct wf_compiled {
    char *bytes; /* followed by a NUL; freed by the caller */
    size_t nbytes;
};

struct wf_cache_key {
    char name[48];    /* of the kernel, for people who look into the folder */
    uint64_t hash[2]; /* of all texts that were added */
};

void wf_cache_key_begin(struct wf_cache_key *key, const char *name);
void wf_cache_key_add(struct wf_cache_key *key, const char *text);

/* Reads the entry into *image, which the caller frees; false: there is none, or it is damaged.  compiler_version 0: that of
 * any compiler. */
bool wf_cache_read(const struct wf_cache_key *key, int compiler_version, struct wf_compiled *image);

/* Writes an entry, if possible: a failure only means that the kernel is compiled again. */
void wf_cache_write(const struct wf_cache_key *key, int compiler_version, const struct wf_compiled *image);

/* Of the entries whose names have this beginning, keeps the `kept` newest and removes the others. */
void wf_cache_trim(const char *beginning, size_t kept);

/* Lets only one process or thread at a time compile a kernel that has no entry: the others wait here, and should then read
 * again.  Returns a claim, which must be released even if it is -1: then it could not be made, and nobody waits. */
int wf_cache_claim(const struct wf_cache_key *key);
void wf_cache_release(const struct wf_cache_key *key, int claim);

#endif
