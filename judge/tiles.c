#include "tiles.h"

#include <math.h>

enum { TILE_LEAST = 8 }; /* a side; and as many elements are no accident */

enum match { MATCH_NONE, MATCH_UNKNOWN, MATCH_IN_PLACE, MATCH_MOVED };

/* Blocks of one size of tiles, as many as cover the input. */
static bool has_tiles(const struct tiles *tiles) {
    const struct size *size = tiles->size;
    const int64_t side = tiles->extents->block[0];
    const uint32_t *grid = tiles->extents->grid;
    return side >= TILE_LEAST && tiles->expected->count == (uint64_t)(size->rows * size->cols) && size->rows > 1 && size->cols > 1 &&
           grid[0] == (uint64_t)((size->cols + side - 1) / side) && grid[1] == (uint64_t)((size->rows + side - 1) / side);
}

/* Whether that row and column of the output, which may lie beyond the row's end, hold what the fault puts there: the element of
 * another tile, at the same place within it, or of this one, across its diagonal. */
static enum match match_at(const struct tiles *tiles, enum tiles_fault fault, int64_t row, int64_t column, long double value) {
    const int64_t side = tiles->extents->block[0], rows = tiles->size->rows, cols = tiles->size->cols;
    const int64_t tile_row = row / side, tile_column = column / side, within_row = row % side, within_column = column % side;
    const bool stays = fault == TILES_STAY;
    const int64_t right_row = stays ? tile_column * side + within_row : tile_row * side + within_column;
    const int64_t right_column = stays ? tile_row * side + within_column : tile_column * side + within_row;
    if (tile_row >= tiles->extents->grid[stays] || tile_column >= tiles->extents->grid[!stays]) return MATCH_NONE;
    if (right_row >= cols || right_column >= rows) return MATCH_UNKNOWN; /* of the tile, but not of the matrix */
    const long double moved = tiles->expected->values[right_row * rows + right_column];
    if (value != moved && !(isnan(value) && isnan(moved))) return MATCH_NONE;
    return row == right_row && column == right_column ? MATCH_IN_PLACE : MATCH_MOVED;
}

/* Where a guard is for the input's extents, a block's rows may go beyond the end of the output's, into its next ones. */
static enum match match_of(const struct tiles *tiles, enum tiles_fault fault, int64_t i, long double value) {
    const int64_t rows = tiles->size->rows, width = (int64_t)tiles->extents->grid[fault != TILES_STAY] * tiles->extents->block[0];
    enum match best = MATCH_NONE;
    for (int64_t row = i / rows, column = i % rows; row >= 0 && column < width; row--, column += rows) {
        const enum match match = match_at(tiles, fault, row, column, value);
        if (match > best) best = match;
    }
    return best;
}

uint64_t tiles_with(const struct tiles *tiles, enum tiles_fault fault) {
    uint64_t moved = 0;
    if (!has_tiles(tiles)) return 0;
    const size_t nbytes = wf_type_nbytes(tiles->type);
    for (uint64_t i = 0; i < tiles->expected->count; i++) {
        if (is_no_result(tiles->result + i * nbytes, nbytes)) continue;
        const long double value = element_get(tiles->type, tiles->result, i);
        const enum match match = match_of(tiles, fault, (int64_t)i, value);
        if (match == MATCH_NONE) return 0;
        moved += match == MATCH_MOVED && value != tiles->expected->values[i];
    }
    return moved < TILE_LEAST ? 0 : moved;
}
