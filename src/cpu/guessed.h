/* Whose elements a thread's guesses (struct wf_guess) were learnt from: to others they are of no use. */
#ifndef WF_CPU_GUESSED_H
#define WF_CPU_GUESSED_H

#include "core/accumulator.h"

struct guessed {
    wf_type type; /* WF_TYPE_DEFAULT: nobody's yet */
    unsigned parts;
};

/* Whether the guesses are from the same parts of the same type; the next ones are. */
static inline bool are_guesses_for(struct guessed *guessed, const struct wf_accumulator *into) {
    bool is_alike = guessed->type == into->type && guessed->parts == into->parts;
    *guessed = (struct guessed){into->type, into->parts};
    return is_alike;
}

#endif
