/* Checks whether some data can have produced the state of an accumulator. */
#ifndef WF_CORE_POSSIBLE_H
#define WF_CORE_POSSIBLE_H

#include "core/accumulator.h"

/* NULL where nothing speaks against the state, whose fields are each in their range and whose digits are normalised; else
 * in words what no elements can lead to. */
const char *wf_accumulator_flaw(const struct wf_accumulator *acc);

/* The same for one result of many, whose hull of indices is that of all. */
const char *wf_result_flaw(const struct wf_accumulator *acc);

/* Whether an extreme of elements of the type can have the key. */
bool wf_key_is_possible(wf_type type, int64_t key);

#endif
