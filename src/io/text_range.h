/* Ranges of whole lines, in which a text can be reduced apart.  Line breaks in quoted fields end no line. */
#ifndef WF_IO_TEXT_RANGE_H
#define WF_IO_TEXT_RANGE_H

#include "io/reader.h"

struct wf_text_range {
    int64_t begin, end; /* bytes of the file: where lines begin, or the file ends */
    int64_t line;       /* the number of the first line; 0: not known */
};

/* The range of all lines of the only file that the reader has just opened; false: it cannot be cut, as it is no text, or
 * compressed, or no regular file. */
bool wf_text_range_of(const wf_reader *reader, struct wf_text_range *all);

/* Shortens the range, which ends with the file, to the lines that begin in its first nbytes, or a few more.  Reads little,
 * unless there are quotes near to where it is cut: then what lies before is read, as one of them may be inside a field.  The
 * reader is good for nothing else afterwards. */
wf_error wf_text_range_cut(wf_handle *handle, wf_reader *reader, int64_t nbytes, struct wf_text_range *range);

/* Tells the line of a range that begins after another one, whose line is known. */
wf_error wf_text_range_find_line(wf_handle *handle, wf_reader *reader, const struct wf_text_range *before,
                                 struct wf_text_range *range);

/* Has a reader that has just been opened read only the range, as part of the file: of the first line it knows what the whole
 * file's reader would. */
wf_error wf_text_range_select(wf_handle *handle, wf_reader *reader, const struct wf_text_range *range);

/* The same for a text whose first line has been read. */
void wf_text_range_restrict(struct wf_text *text, struct wf_source *source, const struct wf_text_range *range);

#endif
