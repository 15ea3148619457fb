#include "warpfold.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const char *wf_version(void) {
    return STRING(WF_VERSION_MAJOR) "." STRING(WF_VERSION_MINOR) "." STRING(WF_VERSION_PATCH);
}

int32_t wf_version_number(void) {
    return WF_VERSION_NUMBER;
}
