/* For this folder alone: places of a record in a report for people. */
#ifndef PROGRAM_PLACES_H
#define PROGRAM_PLACES_H

#include <stdio.h>

#include "names.h"

/* "sum.cu:17, block (0,0,0), thread (3,0,0)", or only the file where no line is known. */
void place_put(FILE *stream, const struct names *names, const struct record_place *place);

/* The line itself, if the file is below the program's folder or the working one.  false: no memory. */
bool place_put_line(FILE *stream, const struct program *program, const struct names *names, const struct record_place *place);

#endif
