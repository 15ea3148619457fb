/* A suggestion for an unknown name: "; did you mean 'sum'?" */
#ifndef REPORT_SUGGEST_H
#define REPORT_SUGGEST_H

#include <stddef.h>

struct suggestion {
    char text[96]; /* to follow the message; "" where nothing is near */
};

/* names ends with NULL; dashes stand before the name that is suggested. */
struct suggestion suggest_name(const char *wanted, size_t length, const char *const *names,
                               const char *dashes);

/* A type, by the names that other languages have for it, too. */
struct suggestion suggest_type(const char *wanted);

/* The option that was meant: of another program's name, or the nearest. */
struct suggestion suggest_option(const char *wanted, size_t length, const char *const *names);

/* The option that a letter stands for in other programs. */
struct suggestion suggest_letter(char letter);

/* An op, or one of the commands. */
struct suggestion suggest_command(const char *wanted, const char *const *commands);

#endif
