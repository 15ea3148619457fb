/* Kernels' names as their authors wrote them. */
#ifndef REPORT_KERNEL_NAME_H
#define REPORT_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* "_ZN2ns6reduceIiLi64EEEvPT_S2_" -> "ns::reduce<int, 64>", without the parameters' types.  A name that is
 * not mangled, or in a way not known here, stays as it is; one longer than the capacity is cut. */
void readable_name(const char *mangled, char *text, size_t capacity);

/* How well a wanted name fits a kernel's: 3 it is the mangled name, 2 the readable one (spaces do not
 * matter), 1 the readable one without its namespaces and template arguments, 0 not at all. */
int name_match(const char *mangled, const char *wanted);

#endif
