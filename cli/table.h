/* Reductions of tables: several columns, several ops, groups by the texts of columns. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "commands.h"
#include "saved.h"

/* Whether this can only be a table: by its ops or options. */
bool table_is_asked_for(const struct settings *settings);

int command_table(const struct request *request);

/* Whether a histogram is a table's: of several columns, by groups, or printed as a table. */
bool table_has_bins(const struct settings *settings);

/* Prints such a histogram.  edges: edge_count of them; NULL: edge_count - 1 bins of equal width. */
int table_count_bins(const struct request *request, const double *edges, int64_t edge_count);

/* Says where in the files the first NaN is, if they are texts that can be read again. */
void table_name_nan(const struct request *request);

/* merge, where the first operand, which has been read, is a saved table. */
bool table_is_saved(const struct saved *saved);
int table_merge(const struct request *request, const struct saved *first);

#endif
