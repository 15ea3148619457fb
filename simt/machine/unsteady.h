/* Special registers that differ from run to run. */
#ifndef SIMT_UNSTEADY_H
#define SIMT_UNSTEADY_H

#include "simt_observer.h"

/* *place: where the module reads a special register whose name begins so ("clock" of %clock64), if what it does may follow
 * from the value.  NULL: no more follows from it than how long a thread waits. */
simt_error simt_module_follows(const simt_module *module, const char *special, const simt_place **place);

#endif
