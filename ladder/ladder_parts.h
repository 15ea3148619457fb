/* Shared by the ladder's own files. */
#ifndef LADDER_PARTS_H
#define LADDER_PARTS_H

#include "ladder.h"

/* ladder_rung.coarsen, or 1 if the rung has no coarsening. */
uint32_t ladder_variant_coarsen(const struct ladder_variant *variant);

void ladder_put_identity(void *element, wf_type type, wf_op op);

/* How its partials are finished. */
enum ladder_finish ladder_variant_finish(const struct ladder_variant *variant);

/* The PTX of it that is built in; NULL: it has to be compiled. */
const struct ladder_file *ladder_ptx_find(const struct ladder_variant *variant);

/* Writes a message and returns the error. */
simt_error ladder_fail(simt_message *message, simt_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
