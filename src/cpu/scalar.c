/* The portable tier: what any processor of the target can run. */
#include <math.h>

#define TIER scalar
#define VECTOR_NBYTES 16
#define FUSED(a, b, c) ((vf64){fma((a)[0], (b)[0], (c)[0]), fma((a)[1], (b)[1], (c)[1])})

#include "cpu/kernels.inc"
