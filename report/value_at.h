/* Elements of arrays in host memory, to be printed. */
#ifndef REPORT_VALUE_AT_H
#define REPORT_VALUE_AT_H

#include "warpfold.h"

/* The i-th of elements that lie side by side, at any address. */
wf_value value_at(const void *elements, wf_type type, int64_t i);

#endif
