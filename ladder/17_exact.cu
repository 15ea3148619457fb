// The exact sum
//
// Every rung so far rounds at each addition, so its result depends on the order, and the order on the block
// size, the grid and the luck of an atomic.  The engine behind `warpfold sum` adds floats as integers: a sum
// is a long fixed-point number of digits 32 bits apart, wide enough for any sum of such floats.  Integer
// additions commute and lose nothing; one rounding at the end gives the float nearest to the true sum, with
// the same bits on every device, for every grid.  docs/exact-sums.md tells how that can be fast.
//
// There is no kernel in this file: the ladder runs the engine itself, wf_reduce, on the same array, its result left on the device.
//
// Cures of 16:  the rounding errors, and that they change with the grid.
// Still costs:  more instructions for each element than one addition: hidden behind memory where the array is
//               large, and seen where it is small.
// From:         beyond the tutorials.
//
// Tile: 1
// Shared: 0
// Finish: last-block
// Target: sm_75
// Runs: engine
// Types: i32 u32 f32 f64
// Ops: sum
