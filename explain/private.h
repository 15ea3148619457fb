/* Shared by the files of explain/. */
#ifndef EXPLAIN_PRIVATE_H
#define EXPLAIN_PRIVATE_H

#include "explain.h"

/* Writes a message and returns the error. */
simt_error explain_fail(simt_message *message, simt_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
simt_error explain_fail_memory(simt_message *message);

/* All observers that come with the simulator, and the recorder of the trace (NULL: no trace),
 * NULL-terminated. */
enum { EXPLAIN_OBSERVERS_MAX = 32 };
void explain_list_observers(const simt_observer *recorder,
                            const simt_observer *observers[EXPLAIN_OBSERVERS_MAX]);

/* The bits of the number that the text is, if the type has it. */
bool explain_parse_element(const char *text, wf_type type, uint64_t *bits);

/* explain/orders.c */
void explain_add_in_orders(struct explanation *explanation);

/* Whether a rung's cells, of 32 bits, hold all partial sums of the elements. */
bool explain_cells_hold(const float *values, uint64_t count);

/* Elements of the program's own choice; the caller's, to be freed.  NULL: no memory. */
void *explain_choose_values(wf_type type, wf_op op, uint64_t count);

#endif
