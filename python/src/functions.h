/* The functions that reduce, one line and its help each.  kind: which parameters, see module.c; required: how many
 * arrays; policy: of NaNs, unless the caller gives one.  The examples in the help run as tests. */
#ifndef WARPFOLD_PYTHON_FUNCTIONS_H
#define WARPFOLD_PYTHON_FUNCTIONS_H

#define FUNCTIONS(FUNCTION)                                                                                       \
    FUNCTION(sum, TOTAL, 1, WF_SUM, WF_NAN_PROPAGATE, HELP_SUM)                                                     \
    FUNCTION(prod, TOTAL, 1, WF_PROD, WF_NAN_PROPAGATE, HELP_PROD)                                                  \
    FUNCTION(min, BOUND, 1, WF_MIN, WF_NAN_PROPAGATE, HELP_MIN)                                              \
    FUNCTION(max, BOUND, 1, WF_MAX, WF_NAN_PROPAGATE, HELP_MAX)                                              \
    FUNCTION(argmin, INDEX, 1, WF_ARGMIN, WF_NAN_PROPAGATE, HELP_ARGMIN)                                          \
    FUNCTION(argmax, INDEX, 1, WF_ARGMAX, WF_NAN_PROPAGATE, HELP_ARGMAX)                                          \
    FUNCTION(mean, SUM, 1, WF_MEAN, WF_NAN_PROPAGATE, HELP_MEAN)                                                  \
    FUNCTION(var, SPREAD, 1, WF_VAR, WF_NAN_PROPAGATE, HELP_VAR)                                                  \
    FUNCTION(std, SPREAD, 1, WF_STD, WF_NAN_PROPAGATE, HELP_STD)                                                  \
    FUNCTION(any, EXTREMUM, 1, WF_ANY, WF_NAN_PROPAGATE, HELP_ANY)                                              \
    FUNCTION(all, EXTREMUM, 1, WF_ALL, WF_NAN_PROPAGATE, HELP_ALL)                                              \
    FUNCTION(count_nonzero, COUNT, 1, WF_NONZERO, WF_NAN_PROPAGATE, HELP_COUNT_NONZERO)                           \
    FUNCTION(norm, NORM, 1, WF_OP_NONE, WF_NAN_PROPAGATE, HELP_NORM)                                              \
    FUNCTION(vecdot, PAIR, 2, WF_DOT, WF_NAN_PROPAGATE, HELP_VECDOT)                                              \
    FUNCTION(nansum, TOTAL, 1, WF_SUM, WF_NAN_OMIT, "sum with nan='omit'.")                                         \
    FUNCTION(nanprod, TOTAL, 1, WF_PROD, WF_NAN_OMIT, "prod with nan='omit'.")                                      \
    FUNCTION(nanmin, BOUND, 1, WF_MIN, WF_NAN_OMIT, "min with nan='omit'.")                                  \
    FUNCTION(nanmax, BOUND, 1, WF_MAX, WF_NAN_OMIT, "max with nan='omit'.")                                  \
    FUNCTION(nanargmin, INDEX, 1, WF_ARGMIN, WF_NAN_OMIT, "argmin with nan='omit'.")                              \
    FUNCTION(nanargmax, INDEX, 1, WF_ARGMAX, WF_NAN_OMIT, "argmax with nan='omit'.")                              \
    FUNCTION(nanmean, SUM, 1, WF_MEAN, WF_NAN_OMIT, "mean with nan='omit'.")                                      \
    FUNCTION(nanvar, SPREAD, 1, WF_VAR, WF_NAN_OMIT, "var with nan='omit'.")                                      \
    FUNCTION(nanstd, SPREAD, 1, WF_STD, WF_NAN_OMIT, "std with nan='omit'.")

#define HELP_SUM                                                                                                  \
    "The sum of the elements, or of those along axis.\n\n"                                                        \
    "The exact sum, rounded once, of floats; exact, or OverflowError, of integers.\n\n"                           \
    ">>> sum([1e100, 1.0, -1e100])\n1.0\n"                                                                        \
    ">>> sum([[1, 2], [3, 4]], axis=0)\n[4, 6]\n"                                                                   \
    "\ninitial is one element more for every result, before the others:\n\n"                                       \
    ">>> sum([1.0, -1e100], initial=1e100)\n1.0\n"
#define HELP_PROD                                                                                                 \
    "The product of the elements, or of those along axis.\n\n"                                                    \
    "Of floats by one fixed tree over the positions, without overflow on the way; exact of integers.\n\n"         \
    ">>> prod([2.0**1000, 2.0**1000, 2.0**-1000, 2.0**-1000])\n1.0\n"
#define HELP_MIN                                                                                                  \
    "The smallest element, or along axis; -0.0 is less than 0.0.\n\n"                                             \
    ">>> min([3, 1, 2])\n1\n"
#define HELP_MAX                                                                                                  \
    "The largest element, or along axis.\n\n"                                                                     \
    ">>> max([[3, 1], [2, 5]], axis=1)\n[3, 5]\n"
#define HELP_ARGMIN                                                                                               \
    "The position of the first smallest element, or of the first NaN.\n\n"                                        \
    ">>> argmin([3, 1, 2, 1])\n1\n"
#define HELP_ARGMAX                                                                                               \
    "The position of the first largest element, or of the first NaN.\n\n"                                         \
    ">>> argmax([3.0, 5.0, 5.0])\n1\n"
#define HELP_MEAN                                                                                                 \
    "The mean: the exact sum divided by the number of elements, rounded once.\n\n"                                \
    ">>> mean([1e308, 1e308])\n1e+308\n"
#define HELP_VAR                                                                                                  \
    "The variance, rounded once from its exact value.  ddof or correction: the divisor is n - ddof.\n\n"          \
    ">>> var([1e15, 1e15 + 1, 1e15 + 2], ddof=1)\n1.0\n"
#define HELP_STD                                                                                                  \
    "The standard deviation: the square root of the exact variance, rounded once.\n\n"                            \
    ">>> std([1.0, 3.0])\n1.0\n"
#define HELP_ANY                                                                                                  \
    "Whether any element is nonzero; a NaN is.\n\n"                                                               \
    ">>> any([0.0, 0.0, 2.0])\nTrue\n"
#define HELP_ALL                                                                                                  \
    "Whether all elements are nonzero; a NaN is.\n\n"                                                             \
    ">>> all([1, 0])\nFalse\n"
#define HELP_COUNT_NONZERO                                                                                        \
    "The number of nonzero elements.\n\n"                                                                         \
    ">>> count_nonzero([0, 7, 0, 9])\n2\n"
#define HELP_NORM                                                                                                 \
    "The vector norm of all elements, or along axis: ord 1, 2 or inf; rounded once from its exact value.\n\n"     \
    ">>> norm([3.0, 4.0])\n5.0\n"                                                                          \
    ">>> norm([3.0, -4.0], ord=1)\n7.0\n"
#define HELP_VECDOT                                                                                               \
    "The dot products along axis (the last one): exact, rounded once.\n\n"                                        \
    ">>> vecdot([1e200, 1.0, -1e200], [1e100, 1.0, 1e100])\n1.0\n"

#endif
