/* What NVRTC made of a source, kept from one process to the next in the library's cache (common/cache.h). */
#ifndef SIMT_KEPT_H
#define SIMT_KEPT_H

#include "common/cache.h"
#include "common/nvrtc.h"
#include "compile.h"

/* Everything that NVRTC is given. */
struct compilation {
    const struct source *source;
    const char *cub;                   /* a text of the header of that name; NULL: none */
    const char *const *options;        /* the source's folder and the toolkits' among them */
    size_t option_count;
    const char *const *toolkits;       /* "-I..." of folders whose files change with their version alone */
    size_t toolkit_count;
};

/* false: the source may depend on what no key can tell, and must be compiled each time. */
bool simt_kept_key(struct wf_cache_key *key, const struct wf_nvrtc *nvrtc, const struct compilation *compilation);

/* false: there is none.  As a compiler's results, they are the caller's. */
bool simt_kept_read(const struct wf_cache_key *key, char **ptx, char **mangled);
void simt_kept_write(const struct wf_cache_key *key, const char *ptx, const char *mangled);

#endif
