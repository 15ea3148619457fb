/* Atomics of more than one register: vectors, each of whose elements is updated by itself, and 16 bytes at once. */
#ifndef SIMT_ATOMICS_H
#define SIMT_ATOMICS_H

#include "access.h"
#include "decoder.h"

void simt_update_vector(struct path *path, struct request *request);
void simt_update_wide(struct path *path, struct request *request);

/* Results, values and what cas compares with, of atom (`first`: 1) and red (0).  false: not known. */
bool simt_decode_update_vector(struct decoder *decoder, struct code *code, uint32_t first);
bool simt_decode_update_wide(struct decoder *decoder, struct code *code, bool is_cas);

#endif
