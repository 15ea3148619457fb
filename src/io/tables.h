/* Tables, as the command line uses them.  The library has no public functions for them yet: here is all that these would
 * be made of, so that nothing else of the library's inside is known there. */
#ifndef WF_IO_TABLES_H
#define WF_IO_TABLES_H

#include "io/table_per_row.h"
#include "io/tally.h"
#include "io/text_range.h"

#endif
