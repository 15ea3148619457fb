/* Which columns of a table are meant: found by name or number in the first line of each file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/quote.h"
#include "io/table.h"

static wf_error fail_memory(wf_handle *handle) {
    return wf_fail(handle, WF_ERROR_MEMORY, "no memory for the columns of a table");
}

/* ---- names ---- */

wf_error wf_names_add(wf_handle *handle, struct wf_names *names, const struct wf_field *field) {
    if (names->count == names->capacity) {
        int64_t larger = 2 * names->capacity + 16;
        char **moved = realloc(names->name, (size_t)larger * sizeof *moved);
        if (!moved) return fail_memory(handle);
        names->name = moved;
        names->capacity = larger;
    }
    char *name = malloc(field->length + 1), *to = name;
    if (!name) return fail_memory(handle);
    for (const char *p = field->bytes, *end = p + field->length; p < end; p++) {
        *to++ = *p;
        if (field->is_quoted && *p == '"') p++; /* it is doubled */
    }
    *to = '\0';
    names->name[names->count++] = name;
    return WF_OK;
}

void wf_names_clear(struct wf_names *names) {
    for (int64_t i = 0; i < names->count; i++) free(names->name[i]);
    free(names->name);
    *names = (struct wf_names){0};
}

/* ---- finding one ---- */

static wf_error fail_here(wf_handle *handle, const struct wf_table *table, wf_error error, const char *what) {
    const wf_reader *reader = table->reader;
    return wf_text_fail(handle, &reader->text, &reader->source, wf_source_window(&reader->source), error, "%s", what);
}

/* "'x', 'y' and 3 more" */
static void list_names(const struct wf_names *names, char *text, size_t capacity) {
    size_t length = 0;
    int64_t i = 0;
    text[0] = '\0';
    for (; i < names->count; i++) {
        const struct wf_quoted quoted = wf_quote(names->name[i], strlen(names->name[i]));
        if (length + strlen(quoted.text) + 2 >= capacity - 32) break;
        length += (size_t)snprintf(text + length, capacity - length, "%s%s", i ? ", " : "", quoted.text);
    }
    if (i < names->count) snprintf(text + length, capacity - length, " and %lld more", (long long)(names->count - i));
}

static wf_error refuse_name(wf_handle *handle, const struct wf_table *table, const struct wf_names *names,
                            const char *wanted) {
    char list[400], meant[80] = "", what[640];
    struct wf_nearest nearest;
    wf_nearest_begin(&nearest, wanted, strlen(wanted));
    bool have_delimiter = false;
    for (int64_t i = 0; i < names->count; i++) {
        const size_t length = strlen(names->name[i]);
        wf_nearest_offer(&nearest, names->name[i], length);
        have_delimiter |= wf_name_has_delimiter(names->name[i], length);
    }
    list_names(names, list, sizeof list);
    if (nearest.name[0])
        snprintf(meant, sizeof meant, "; did you mean %s?", wf_quote(nearest.name, strlen(nearest.name)).text);
    else if (have_delimiter)
        snprintf(meant, sizeof meant, WF_ASK_DELIMITER);
    snprintf(what, sizeof what, "no column named %s in the header, which has %s%s",
             wf_quote(wanted, strlen(wanted)).text, list, meant);
    return fail_here(handle, table, WF_ERROR_FORMAT, what);
}

/* How many columns have the name; *number: of the last, from 1. */
static int64_t count_named(const struct wf_names *names, const char *wanted, int64_t *number) {
    int64_t count = 0;
    for (int64_t i = 0; i < names->count; i++) {
        if (strcmp(names->name[i], wanted) != 0) continue;
        *number = i + 1;
        count++;
    }
    return count;
}

static wf_error find_name(wf_handle *handle, const struct wf_table *table, const struct wf_names *names,
                          const char *wanted, int64_t *number) {
    char what[160];
    const int64_t count = count_named(names, wanted, number);
    if (count == 1) return WF_OK;
    if (count == 0) return refuse_name(handle, table, names, wanted);
    snprintf(what, sizeof what, "%s columns are named %s: choose one by number", count == 2 ? "two" : "several",
             wf_quote(wanted, strlen(wanted)).text);
    return fail_here(handle, table, WF_ERROR_FORMAT, what);
}

static wf_error check_number(wf_handle *handle, const struct wf_table *table, const struct wf_names *names,
                             const char *wanted, int64_t number) {
    char what[120];
    if (number >= 1 && number <= names->count) return WF_OK;
    snprintf(what, sizeof what, "no column %s: the line has %lld", wf_quote(wanted, strlen(wanted)).text,
             (long long)names->count);
    return fail_here(handle, table, WF_ERROR_FORMAT, what);
}

/* ---- what was asked for ---- */

static bool is_number_text(const char *text) {
    return text[0] && !text[strspn(text, "0123456789")];
}

bool wf_table_plan_has_names(const struct wf_table_plan *plan) {
    for (size_t i = 0; i < plan->column_count + plan->by_count; i++) {
        const char *text = i < plan->column_count ? plan->columns[i] : plan->by[i - plan->column_count];
        if (text[strspn(text, "0123456789,")]) return true;
    }
    return false;
}

/* Reserves memory for one column more, of values or of keys, and puts it there. */
static wf_error add_column(wf_handle *handle, struct wf_table *table, const struct wf_names *names, const char *wanted,
                           bool is_key) {
    const size_t i = table->column_count + table->by_count;
    int64_t number = is_number_text(wanted) ? strtoll(wanted, NULL, 10) : 0;
    const bool is_named = table->has_header && (number == 0 || count_named(names, wanted, &number));
    wf_error error = is_named ? find_name(handle, table, names, wanted, &number)
                              : check_number(handle, table, names, wanted, number);
    if (error) return error;
    for (size_t k = is_key ? table->column_count : 0; k < i; k++)
        if (table->number[k] == number)
            return wf_fail(handle, WF_ERROR_ARGUMENT, "column %s is given twice", wf_quote(wanted, strlen(wanted)).text);
    char **name = realloc(table->name, (i + 1) * sizeof *name);
    if (name) table->name = name;
    bool *named = realloc(table->is_named, (i + 1) * sizeof *named);
    if (named) table->is_named = named;
    int64_t *numbers = realloc(table->number, (i + 1) * sizeof *numbers);
    if (numbers) table->number = numbers;
    char *copy = name && named && numbers ? strdup(table->has_header ? names->name[number - 1] : wanted) : NULL;
    if (!copy) return fail_memory(handle);
    name[i] = copy;
    named[i] = is_named;
    numbers[i] = number;
    table->column_count += !is_key;
    table->by_count += is_key;
    return WF_OK;
}

/* One of several names between commas, which may be quoted; *text: after it. */
static void next_name(const char **text, char *name) {
    const char *p = *text;
    const bool is_quoted = *p == '"';
    for (p += is_quoted; *p && (is_quoted || *p != ','); p++) {
        if (is_quoted && *p == '"' && *++p != '"') break;
        *name++ = *p;
    }
    *name = '\0';
    *text = p;
}

/* All of the text is a name, if there is a column of this name; otherwise there are several between commas. */
static wf_error add_columns(wf_handle *handle, struct wf_table *table, const struct wf_names *names, const char *text,
                            bool is_key) {
    int64_t number;
    if (table->has_header && count_named(names, text, &number)) return add_column(handle, table, names, text, is_key);
    char *name = malloc(strlen(text) + 1);
    if (!name) return fail_memory(handle);
    wf_error error = WF_OK;
    for (bool is_more = true; is_more && !error;) {
        next_name(&text, name);
        error = add_column(handle, table, names, name, is_key);
        is_more = *text == ',';
        if (!error && *text && !is_more)
            error = wf_fail(handle, WF_ERROR_ARGUMENT, "column names are separated by commas: '%s' follows a quoted one",
                            text);
        text += is_more;
    }
    free(name);
    return error;
}

/* A column that stands for the rows: of the table it is the first that groups them. */
static wf_error add_rows(wf_handle *handle, struct wf_table *table, const struct wf_names *names, int64_t key) {
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)key);
    wf_error error = add_column(handle, table, names, table->has_header ? names->name[key - 1] : number, false);
    if (!error) table->name[0][0] = '\0';
    return error;
}

/* All columns of numbers except those that group, so the latter must be known.  Columns of the same name are identified by number. */
static wf_error add_numeric(wf_handle *handle, struct wf_table *table, const struct wf_names *names,
                            const int64_t *keys, size_t key_count, const bool *is_number) {
    for (int64_t i = 1, last; i <= names->count; i++) {
        bool is_key = false;
        char number[24];
        for (size_t k = 0; k < key_count; k++) is_key |= keys[k] == i;
        if (is_key || !is_number[i - 1]) continue;
        snprintf(number, sizeof number, "%lld", (long long)i);
        const bool is_named = table->has_header && count_named(names, names->name[i - 1], &last) == 1;
        wf_error error = add_column(handle, table, names, is_named ? names->name[i - 1] : number, false);
        if (error) return error;
    }
    if (table->column_count) return WF_OK;
    return fail_here(handle, table, WF_ERROR_FORMAT, table->has_header
                     ? "no column has numbers: name one with --column"
                     : "no column has numbers: name one with --column, or --header if this line has names");
}

void wf_table_close(struct wf_table *table) {
    for (size_t i = 0; table->name && i < table->column_count + table->by_count; i++) free(table->name[i]);
    free(table->name);
    free(table->is_named);
    free(table->number);
    free(table->field);
    free(table->field_of);
    table->name = NULL;
}

static wf_error choose(wf_handle *handle, struct wf_table *table, const struct wf_names *names, const bool *is_number) {
    const struct wf_table_plan *plan = &table->plan;
    struct wf_table keys = {.reader = table->reader, .has_header = table->has_header};
    wf_error error = WF_OK;
    for (size_t i = 0; i < plan->by_count && !error; i++)
        error = add_columns(handle, &keys, names, plan->by[i], true);
    if (!error && plan->counts_rows)
        error = add_rows(handle, table, names, keys.number[0]);
    else if (!error && !plan->column_count)
        error = add_numeric(handle, table, names, keys.number, keys.by_count, is_number);
    for (size_t i = 0; i < plan->column_count && !error; i++)
        error = add_columns(handle, table, names, plan->columns[i], false);
    for (size_t i = 0; i < plan->by_count && !error; i++)
        error = add_columns(handle, table, names, plan->by[i], true);
    wf_table_close(&keys);
    table->is_resolved = !error;
    return error;
}

/* ---- in each file ---- */

static wf_error find_again(wf_handle *handle, struct wf_table *table, const struct wf_names *names) {
    for (size_t i = table->plan.counts_rows; i < table->column_count + table->by_count; i++) {
        wf_error error = table->is_named[i]
                             ? find_name(handle, table, names, table->name[i], &table->number[i])
                             : check_number(handle, table, names, table->name[i], table->number[i]);
        if (error) return error;
    }
    if (table->plan.counts_rows) table->number[0] = table->number[1];
    return WF_OK;
}

static int compare_numbers(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The fields that are read, each once. */
static wf_error set_fields(wf_handle *handle, struct wf_table *table) {
    const size_t count = table->column_count + table->by_count;
    free(table->field);
    free(table->field_of);
    table->field = malloc(count * sizeof *table->field);
    table->field_of = malloc(count * sizeof *table->field_of);
    if (!table->field || !table->field_of) return fail_memory(handle);
    memcpy(table->field, table->number, count * sizeof *table->field);
    qsort(table->field, count, sizeof *table->field, compare_numbers);
    table->field_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || table->field[i] != table->field[table->field_count - 1])
            table->field[table->field_count++] = table->field[i];
    for (size_t i = 0; i < count; i++) {
        const int64_t *found = bsearch(&table->number[i], table->field, table->field_count, sizeof *found, compare_numbers);
        table->field_of[i] = (size_t)(found - table->field);
    }
    return WF_OK;
}

wf_error wf_table_resolve(wf_handle *handle, struct wf_table *table, const struct wf_names *names, const bool *is_number) {
    wf_error error = table->is_resolved ? find_again(handle, table, names) : choose(handle, table, names, is_number);
    return error ? error : set_fields(handle, table);
}
