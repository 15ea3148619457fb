/* The contents of a buffer before the launch. */
#ifndef CLI_INSPECT_FILL_H
#define CLI_INSPECT_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "simt/simt.h"
#include "warpfold.h"

/* zeros
 * ones
 * NUMBER       every element is this
 * NUMBER,...   as many as there are elements
 * iota         element i is i: modulo 2^w of integers, modulo 2 of bool, rounded of floats
 * random:SEED  the same everywhere for one seed and type: all values of an integer type alike, floats even in
 *              [0, 1) at the steps of the type's precision
 * random:SEED:BELOW  integers from 0 to BELOW - 1
 * none         not written: reading it is a finding
 * FILE         a .npy file of the same type and count, in the order of storage */
struct fill {
    const char *text;
    wf_type type;
    uint64_t count;
};

/* false: "random:" without a seed, numbers that are none of the type or not as many, or a file's name that does not end in
 * ".npy". */
bool fill_check(const struct fill *fill);

/* Says what is wrong and returns a status. */
int fill_buffer(const struct fill *fill, simt_machine *machine, uint64_t address);

/* A number as the type holds it, in the low bytes; false if the text is no such number or it does not fit. */
bool parse_bits(const char *text, wf_type type, uint64_t *bits);

#endif
