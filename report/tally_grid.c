/* Rows of cells, aligned for a terminal or separated. */
#include "page.h"
#include "tally_parts.h"

/* The character of UTF-8 that begins at text; bytes that begin none are characters, too. */
static uint32_t character_at(const unsigned char *text, size_t nbytes) {
    const size_t more = text[0] >= 0xf0 ? 3 : text[0] >= 0xe0 ? 2 : text[0] >= 0xc0 ? 1 : 0;
    uint32_t character = text[0] & (0xffu >> (more ? more + 2 : 0));
    for (size_t i = 1; i <= more && i < nbytes; i++) character = character << 6 | (text[i] & 0x3f);
    return character;
}

/* How many places of a terminal a character takes: accents none, those of East Asia and pictures two. */
static size_t places_of(uint32_t character) {
    static const struct { uint32_t first, last; size_t places; } ranges[] = {
        {0x300, 0x36f, 0},   {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},
        {0x3041, 0xa4cf, 2}, {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},
        {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (character >= ranges[i].first && character <= ranges[i].last) return ranges[i].places;
    return 1;
}

static size_t width_of(const char *text, size_t nbytes) {
    size_t width = 0;
    for (size_t i = 0; i < nbytes; i++)
        if ((text[i] & 0xc0) != 0x80) width += places_of(character_at((const unsigned char *)text + i, nbytes - i));
    return width;
}

static size_t column_width(struct tally_report *report, const struct tally_grid *grid, size_t k) {
    size_t width = 0;
    struct page cell;
    page_open(&cell);
    for (int64_t row = -1; cell.stream && row < grid->rows; row++) {
        const size_t before = cell.length;
        grid->put(cell.stream, report, row, k);
        fflush(cell.stream);
        const size_t cell_width = width_of(cell.text + before, cell.length - before);
        if (cell_width > width) width = cell_width;
    }
    report->has_failed |= !page_end(&cell);
    page_clear(&cell);
    return width;
}

/* Texts begin, and numbers end, at the same place of each line. */
static void put_padded(FILE *stream, struct tally_report *report, const struct tally_grid *grid, int64_t row, size_t k, size_t width) {
    struct page cell;
    page_open(&cell);
    if (cell.stream) grid->put(cell.stream, report, row, k);
    report->has_failed |= !page_end(&cell);
    const size_t own = cell.text ? width_of(cell.text, cell.length) : 0;
    const int padding = own < width ? (int)(width - own) : 0;
    const bool is_text = k < grid->text_columns, is_last = k + 1 == grid->columns;
    fprintf(stream, "%s%*s%s%*s", k ? "  " : "", is_text ? 0 : padding, "", cell.text ? cell.text : "",
            is_text && !is_last ? padding : 0, "");
    page_clear(&cell);
}

void tally_put_aligned(FILE *stream, struct tally_report *report, const struct tally_grid *grid) {
    enum { COLUMNS_MAX = 256 };
    size_t width[COLUMNS_MAX] = {0};
    for (size_t k = 0; k < grid->columns && k < COLUMNS_MAX; k++) width[k] = column_width(report, grid, k);
    for (int64_t row = -1; row < grid->rows; row++) {
        for (size_t k = 0; k < grid->columns; k++) put_padded(stream, report, grid, row, k, k < COLUMNS_MAX ? width[k] : 0);
        fputc('\n', stream);
    }
}

/* From the first row on. */
void tally_put_grid(FILE *stream, struct tally_report *report, const struct tally_grid *grid, int64_t first) {
    if (report->form == TALLY_ALIGNED) {
        tally_put_aligned(stream, report, grid);
        return;
    }
    for (int64_t row = first; row < grid->rows; row++)
        for (size_t k = 0; k < grid->columns; k++) {
            grid->put(stream, report, row, k);
            fputc(k + 1 < grid->columns ? (report->form == TALLY_COMMAS ? ',' : '\t') : '\n', stream);
        }
}
