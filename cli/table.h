/* Reductions of tables: several columns, several ops, groups by the texts of columns. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "commands.h"
#include "saved.h"

/* Whether this can only be a table: by its ops or options. */
bool table_is_asked_for(const struct settings *settings);

int command_table(const struct request *request);

struct wf_tally;
struct wf_text_range;

/* As files of tables are opened: a table finds its columns itself. */
wf_reader_options table_reader_options(const struct settings *settings);

/* Reads a piece of a table, whose settings are the request's: of the last of the files the range (NULL: all), and of those
 * before it the first line, for the columns' sake.  The tally is to be cleared in any case. */
wf_error table_read_piece(wf_handle *handle, const struct request *request, const char *const *files, size_t file_count,
                          const struct wf_text_range *range, struct wf_tally *tally);

/* Reads one that was saved, which may be anybody's; saves and prints what a tally has.  Each returns a status. */
int table_load(wf_handle *handle, const char *path, const struct saved *saved, struct wf_tally *tally);
int table_conclude(wf_handle *handle, const struct settings *settings, struct wf_tally *tally);

/* Says where in the files the first NaN stands, if they are texts that can be read once more. */
void table_name_nan(const struct request *request);

/* merge, where the first operand, which has been read, is a saved table. */
bool table_is_saved(const struct saved *saved);
int table_merge(const struct request *request, const struct saved *first);

#endif
