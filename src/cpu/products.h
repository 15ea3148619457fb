/* Products of floats, which wf_column_bounds_function finds where WF_PART_PRODUCT is asked for: of each of a panel's columns
 * the tree of core/product.h whose first leaf is in the first row.  A column fails whose product is a subnormal f64, or that
 * has a NaN which is an error; one that is left out is the factor 1. */
#ifndef WF_CPU_PRODUCTS_H
#define WF_CPU_PRODUCTS_H

#define WF_TREE_ROWS_LEVEL 16
#define WF_TREE_ROWS_MAX (1 << WF_TREE_ROWS_LEVEL)

#endif
