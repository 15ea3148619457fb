/* The header of a table: finds the requested column. */
#include <stdio.h>
#include <string.h>

#include "io/quote.h"
#include "io/text_fields.h"

static bool field_is_named(const struct wf_field *field, const char *name) {
    const char *p = field->bytes, *end = p + field->length;
    for (; p < end && *name && *p == *name; p++, name++)
        if (field->is_quoted && *p == '"') p++;
    return p == end && !*name;
}

/* Records the name for the message that is needed if the column is not found. */
static void keep_name(struct wf_text *text, const struct wf_field *field) {
    struct wf_text_names *names = &text->names;
    struct wf_quoted quoted = wf_quote(field->bytes, field->length);
    size_t capacity = sizeof names->shown - names->length;
    if (text->field_count == 1)
        wf_nearest_begin(&names->nearest, text->column_name, strlen(text->column_name));
    wf_nearest_offer(&names->nearest, field->bytes, field->length);
    names->have_delimiter |= wf_name_has_delimiter(field->bytes, field->length);
    if (names->left_out || strlen(quoted.text) + 2 >= capacity)
        names->left_out++;
    else
        names->length += (size_t)snprintf(names->shown + names->length, capacity, "%s%s",
                                          names->length ? ", " : "", quoted.text);
}

wf_error wf_text_read_name(wf_handle *handle, struct wf_text *text, const struct wf_source *source,
                           const struct wf_field *field) {
    if (!text->column_name) return WF_OK;
    keep_name(text, field);
    if (!field_is_named(field, text->column_name)) return WF_OK;
    if (text->column)
        return wf_text_fail(handle, text, source, field->bytes, WF_ERROR_FORMAT,
                            "two columns are named %s: choose one by number",
                            wf_quote(field->bytes, field->length).text);
    text->column = text->field_count;
    return WF_OK;
}

wf_error wf_text_end_header(wf_handle *handle, struct wf_text *text, const struct wf_source *source) {
    const struct wf_text_names *names = &text->names;
    text->is_header = false;
    if (!text->column_name || text->column) return WF_OK;
    const void *here = wf_source_window(source);
    const char *wanted = text->column_name, *near = names->nearest.name;
    struct wf_quoted quoted = wf_quote(wanted, strlen(wanted));
    if (strchr(wanted, ','))
        return wf_text_fail(
            handle, text, source, here, WF_ERROR_UNSUPPORTED,
            "no column named %s in the header, and only one column can be read at a time; the header has %s%s",
            quoted.text, names->shown, names->left_out ? " ..." : "");
    char left_out[40] = "", meant[80] = "";
    if (names->left_out) snprintf(left_out, sizeof left_out, " and %lld more", (long long)names->left_out);
    if (near[0]) snprintf(meant, sizeof meant, "; did you mean %s?", wf_quote(near, strlen(near)).text);
    else if (names->have_delimiter) snprintf(meant, sizeof meant, WF_ASK_DELIMITER);
    return wf_text_fail(handle, text, source, here, WF_ERROR_FORMAT,
                        "no column named %s in the header, which has %s%s%s", quoted.text,
                        names->shown, left_out, meant);
}
