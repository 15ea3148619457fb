/* The interface of this folder: the cost of a warp's access, as the observers count it. */
#ifndef SIMT_OBSERVE_H
#define SIMT_OBSERVE_H

#include "simt_observer.h"

/* The access's wavefronts.  Banks are 4 bytes wide; in one wavefront each bank gives one word, to every lane
 * that wants it.  Lanes that want 8 bytes each are served by half warps and 16 by quarters, where the whole
 * warp's words are more than the banks.  *least: what the same lanes would need if the words they touch were
 * consecutive.  warp_size and banks are powers of two, at most 32. */
uint32_t simt_wavefronts(const simt_access *access, uint32_t warp_size, uint32_t banks, uint32_t *least);

/* How many lanes are served together, where each wants `nbytes`: all, or a half or quarter of the warp. */
uint32_t simt_lanes_together(uint32_t nbytes, uint32_t warp_size, uint32_t banks);

/* Distinct aligned lines of line_nbytes (a power of two) that the lanes touch. */
uint32_t simt_lines(const simt_access *access, uint32_t line_nbytes);

/* Counts the lines of 128, the sectors of 32 and the single bytes of an access together. */
enum simt_piece { SIMT_PIECE_LINE, SIMT_PIECE_SECTOR, SIMT_PIECE_BYTE, SIMT_PIECES };
void simt_pieces(const simt_access *access, uint32_t counts[SIMT_PIECES]);

#endif
