/* For this folder alone: CUDA arrays, which are plain rows of texels in device memory. */
#ifndef PROGRAM_ARRAYS_H
#define PROGRAM_ARRAYS_H

#include "runtime.h"

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4 };

struct cudaArray {
    void *memory;
    size_t pitch;
    struct cudaExtent extent; /* texels; 0: no such dimension */
    struct cudaChannelFormatDesc format;
    unsigned flags;
};

/* What a texture can consist of.  false: of another kind of channels. */
bool format_read(const struct cudaChannelFormatDesc *format, simt_texture *texture);

/* Copies of planes to or from arrays become those of plain memory: of arrays, widths and positions are in texels. */
struct cudaMemcpy3DParms array_resolve(const struct cudaMemcpy3DParms *request);

#endif
