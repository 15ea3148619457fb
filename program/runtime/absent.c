/* What the stand-in does not have fails, and says its name.  The arguments are not looked at. */
#include "runtime.h"

#define ABSENT(name)                                                                                               \
    API name(void) { return runtime_absent(#name); }
#include "absent.fn"
#undef ABSENT
