/* Arguments of a kernel in messages of the simulator, which knows their numbers alone. */
#ifndef REPORT_ARGUMENTS_H
#define REPORT_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "source_guard.h"

/* "`argument 1[0]`" in the message, of nbytes bytes, becomes "`lock[0]`" where names[1] is "lock"; NULL: it has none. */
void arguments_name(char *message, size_t nbytes, const char *const names[], size_t count);

/* Of an access behind the end of an allocation, or before its begin: what cures it.  Other messages stay as they are.  The source
 * may say more of a guard; NULL: it is not there. */
void bounds_add_cure(char *message, size_t nbytes, int64_t index, const char *source, const struct guard_access *access);

#endif
