/* Tables, whole or a piece of one: how they are read, and what becomes of them. */
#ifndef CLI_TABLE_PIECE_H
#define CLI_TABLE_PIECE_H

#include "commands.h"
#include "io/tables.h"
#include "report/tally.h"
#include "saved.h"

struct wf_table_plan table_make_plan(const struct settings *settings, const struct wf_tally_settings *table);

/* is_one: there is one result alone. */
enum tally_form table_choose_form(const struct settings *settings, bool is_one);

/* As files of tables are opened: a table finds its columns itself. */
wf_reader_options table_reader_options(const struct settings *settings);

/* Reads a piece of a table, whose settings are the request's: of the last of the files the range (NULL: all), and of those
 * before it the first line, for the columns' sake.  The tally is to be cleared in any case. */
wf_error table_read_piece(wf_handle *handle, const struct request *request, const char *const *files, size_t file_count,
                          const struct wf_text_range *range, struct wf_tally *tally);

/* Reads one that was saved, which may be anybody's; saves and prints what a tally has.  Each returns a status. */
int table_load(wf_handle *handle, const char *path, const struct saved *saved, struct wf_tally *tally);
int table_conclude(wf_handle *handle, const struct settings *settings, struct wf_tally *tally);

#endif
