/* Large numbers in sentences. */
#ifndef REPORT_NUMERALS_H
#define REPORT_NUMERALS_H

#include <stddef.h>
#include <stdint.h>

enum { NUMERAL_NBYTES = 32 };

/* "9999", "10,000": from five digits on in groups of three, as the pages have them.  Returns the text. */
const char *numeral(char text[NUMERAL_NBYTES], uint64_t value);

/* Groups the numbers of a sentence in its nbytes bytes, but for what is code (in ` `, in brackets, part of a word) and
 * numbers of lines.  What does not fit stays as it is. */
void numerals_group(char *text, size_t nbytes);

#endif
