/* The saved form of an accumulator. */
#ifndef WF_CORE_SAVED_H
#define WF_CORE_SAVED_H

#include "core/accumulator.h"

/* Writes the saved form, normalising acc's digits, and returns its length, at most WF_SAVED_NBYTES_MAX. */
size_t wf_saved_write(struct wf_accumulator *acc, uint8_t bytes[WF_SAVED_NBYTES_MAX]);

/* The same of one with a shape.  bytes: room for all of it; NULL: it is only measured. */
size_t wf_saved_write_shaped(const struct wf_shaped *shaped, uint8_t *bytes);

/* Reads it back, or says what is wrong with it: sets *shaped if it has a shape, otherwise to NULL, and acc, whose tree is
 * memory for one. */
wf_error wf_saved_read(wf_handle *handle, const uint8_t *bytes, size_t nbytes, struct wf_accumulator *acc,
                       struct wf_shaped **shaped);

/* The checksum that ends the saved form: CRC-32 (ISO 3309) of what comes before it. */
uint32_t wf_saved_checksum(const uint8_t *bytes, size_t nbytes);

#endif
