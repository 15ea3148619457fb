/* hostile: modules that no compiler writes.  Each is refused by line, or stopped by a finding, with the words
 * that stand here; none may reach memory that is not the simulator's own (ci runs this with sanitizers). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt.h"

#define HEADER ".version 8.3\n.target sm_90\n.address_size 64\n"
/* In front of a body, on lines 4 to 10; the body is line 11. */
#define MODULE                                                                                               \
    ".global .b32 word[4];\n.const .b32 fixed[4] = {1, 2, 3, 4};\n.shared .b32 common[4];\n"                 \
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"                                                \
    ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %t; ld.param.b32 %t, [a]; st.param.b32 [r], %t; "    \
    "ret; }\n"                                                                                               \
    ".func v() { ret; } .func wide(.param .align 8 .b8 a[4096]) { ret; }\n"
#define REGISTERS                                                                                            \
    ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .u32 %u<4>; .reg .f32 %f<9>; .reg .b64 "     \
    "%rd<20>; "                                                                                              \
    ".reg .f64 %fd<9>; .reg .b8 %c<5>; .reg .b128 %q<4>; .shared .b32 sh[4]; .local .b32 lo[4]; "            \
    ".param .b32 pa; .param .b64 pd; .param .b8 ps[4]; "

static int failures;

static void fail(const char *text, const char *expected, const char *found) {
    failures++;
    fprintf(stderr, "hostile: %s\n  expected %s\n  found    %s\n", text, expected, found);
}

static const char *text_of(const char *body) {
    static char text[1 << 14];
    snprintf(text, sizeof text, "%s%s\n%s\n}\n", HEADER MODULE ".entry k(.param .u64 p, .param .b32 n) { ",
             REGISTERS, body);
    return text;
}

/* ---- refused when they are read */

static const struct {
    const char *body, *message;
} refused[] = {
    /* what is written must be a register: constants, special registers and names are what others read */
    {"mov.u32 7, %r1;", "mov.u32: the destination must be a register"},
    {"mov.u32 %tid.x, %r1;", "mov.u32: the destination must be a register"},
    {"mov.b64 word, %rd1;", "mov.b64: the destination must be a register"},
    {"mov.b64 {%r1, 5}, %rd1;", "mov.b64: the destination must be a register"},
    {"add.s32 7, 7, 1;", "add.s32: the destination must be a register"},
    {"add.s32 n, %r1, 1;", "add.s32: the destination must be a register"},
    {"add.s32 _, %r1, 1;", "add.s32: the destination must be a register"},
    {"add.s32 WARP_SZ, %r1, 1;", "add.s32: the destination must be a register"},
    {"setp.eq.s32 1, %r1, %r2;", "setp.eq.s32: the destination must be a register"},
    {"setp.eq.s32 %p1|1, %r1, %r2;", "setp.eq.s32: the destination must be a register"},
    {"cvt.u32.u64 5, %rd1;", "cvt.u32.u64: the destination must be a register"},
    {"ld.global.u32 5, [%rd1];", "ld.global.u32: the destination must be a register"},
    {"ld.global.v2.u32 {%r1, %laneid}, [%rd1];", "ld.global.v2.u32: the destination must be a register"},
    {"ld.param.u32 1, [n];", "ld.param.u32: the destination must be a register"},
    {"atom.global.add.u32 5, [%rd1], 1;", "atom.global.add.u32: the destination must be a register"},
    {"shfl.sync.idx.b32 5, %r1, 0, 31, -1;", "shfl.sync.idx.b32: the destination must be a register"},
    {"vote.sync.ballot.b32 5, %p1, -1;", "vote.sync.ballot.b32: the destination must be a register"},
    {"redux.sync.add.s32 %laneid, %r1, -1;", "redux.sync.add.s32: the destination must be a register"},
    {"match.any.sync.b32 5, %r1, -1;", "match.any.sync.b32: the destination must be a register"},
    {"elect.sync %laneid|%p1, -1;", "elect.sync: the destination must be a register"},
    {"activemask.b32 5;", "activemask.b32: the destination must be a register"},
    {"bar.red.popc.u32 5, 0, %p1;", "bar.red.popc.u32: the destination must be a register"},
    {"isspacep.global 1, %rd1;", "isspacep.global: the destination must be a register"},
    {"cvta.global.u64 5, %rd1;", "cvta.global.u64: the destination must be a register"},
    {"cvta.local.u64 %clock64, lo;", "cvta.local.u64: the destination must be a register"},
    /* calls: of what, with what */
    {"call (word), f, (word);",
     "call: result 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (common);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (sh), f, (pa);",
     "call: result 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (lo);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (fixed);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (n);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (pa+4096);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, ([pa]);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (pd);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (ps);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (%rd1);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, (%p1);",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (pa), f, ({%r1, %r2});",
     "call: argument 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call (5), f, (pa);",
     "call: result 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {"call wide, (pa);",
     "call: argument 1 does not match that of wide: a .param variable or a register of 4096 bytes"},
    {"call (pa), f;", "call: 0 arguments for f, which has 1"},
    {"call (pa), f, (pa, pa);", "call: 2 arguments for f, which has 1"},
    {"call f, (pa);", "call: 0 results for f, which has 1"},
    {"call (pa), v;", "call: 1 results for v, which has 0"},
    {"call (pa, pa), f, (pa);", "call: 2 results for f, which has 1"},
    {"call k, (pd, pa);", "call: k is a kernel"},
    {"call word;", "call: a function is expected, or the register of its address"},
    {"call L; L:", "call: a function is expected, or the register of its address"},
    {"call 5;", "call: a function is expected, or the register of its address"},
    {"call (pa);", "call: a function is expected, or the register of its address"},
    {"call;", "call: a function is expected, or the register of its address"},
    {"call (pa), f, (pa), f;", "call: a function is expected, or the register of its address"},
    {"call v, (), v, v;", "call: more operands than (results), function, (arguments)"},
    {"call (pd), malloc, (pa);",
     "call: argument 1 does not match that of malloc: a .param variable or a register of 8 bytes"},
    {"call (word), malloc, (pd);",
     "call: result 1 does not match that of malloc: a .param variable or a register of 8 bytes"},
    /* calls by address */
    {"call %rd1;", "call: a call by address needs a .callprototype or .calltargets"},
    {"call %rd1, (), v;", "call: a call by address needs a .callprototype or .calltargets"},
    {"T: .branchtargets L; L: call %rd1, (), T;",
     "call: a call by address needs a .callprototype or .calltargets"},
    {"T: .callprototype _ (); call %r1, (), T;",
     "call: a function's address must be in a register of 64 bits"},
    {"T: .callprototype _ (); call %fd1, (), T;",
     "call: a function's address must be in a register of 64 bits"},
    {"T: .callprototype _ (.param .b32 _); call %rd1, (word), T;",
     "call: argument 1 does not match that of the prototype: a .param variable or a register of 4 bytes"},
    {"T: .callprototype _ (.param .b64 _); call %rd1, (pa), T;",
     "call: argument 1 does not match that of the prototype: a .param variable or a register of 8 bytes"},
    {"T: .callprototype (.param .b32 _) _ (); call %rd1, (), T;",
     "call: 0 results for the prototype, which has 1"},
    {"T: .calltargets k; call %rd1, (pd, pa), T;", "call: k is a kernel"},
    /* asynchronous copies, mbarriers, clusters */
    {"cp.async.cg.shared.global [%rd1], [%rd2], 8;", "cp.async.cg.shared.global: with .cg it copies 16 bytes, not 8"},
    {"cp.async.ca.shared.global [%rd1], [%rd2], 5;", "cp.async.ca.shared.global: it copies 4, 8 or 16 bytes, not 5"},
    {"cp.async.ca.shared.global [%rd1], [%rd2], 4, 8;",
     "cp.async.ca.shared.global: it cannot read more bytes than it writes"},
    {"cp.async.ca.shared.global [%rd1], [%rd2], 4, %rd1;",
     "cp.async.ca.shared.global: operand 4 must be a register of .u32, found one of .b64"},
    {"cp.async.ca.shared.global [%rd1], [%rd2], %r1;",
     "cp.async.ca.shared.global: operand 3 must be an integer constant"},
    {"cp.async.ca.shared.global [word], [sh], 4;",
     "cp.async.ca.shared.global: word is a .global variable, not .shared"},
    {"cp.async.shared.global [%rd1], [%rd2], 4;", "cp.async.shared.global: it needs the modifier ca|cg"},
    {"cp.async.wait_group %r1;", "cp.async.wait_group: operand 1 must be an integer constant"},
    {"cp.async.wait_all 1;", "cp.async.wait_all: it takes 0 operands, found 1"},
    {"cp.async.mbarrier.arrive [%r1];", "cp.async.mbarrier.arrive: it needs the modifier b64"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], 15, [sh];",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes: the number of bytes must be a multiple of 16, "
     "not 15"},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2], %rd3, [sh];",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes: operand 3 must be a register of .u32, found one "
     "of .b64"},
    {"cp.async.bulk.shared::cluster.global.bulk_group [%r1], [%rd2], %r3;",
     "cp.async.bulk.shared::cluster.global.bulk_group: it cannot have the modifier .shared::cluster"},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r1], {%rd1, %rd1, %rd1, %rd1}, [%r2];",
     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b64: a vector of more than 16 bytes"},
    {"st.async.shared::cluster.b32 [%r1], %r2, [%r3];",
     "st.async.shared::cluster.b32: it needs the modifier mbarrier::complete_tx::bytes"},
    {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u64 [%r1], %rd1, [%r3];",
     "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u64: its operation is not one of its type"},
    {"tex.2d.v4.f32.f32 {%f1, %f2, %f3}, [%rd1, {%f1, %f2}];", "tex.2d.v4.f32.f32: operand 1 must be a vector of 4"},
    {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
     "tex.2d.v4.f32.f32: operand 2 must be a handle and coordinates, [handle, {x, ..}]"},
    {"tex.level.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}];",
     "tex.level.1d.v4.f32.f32: it takes 3 operands, found 2"},
    {"suld.b.2d.b32.trap %r1, [%rd1, {%r1, %r2}];", "suld.b.2d.b32.trap: operand 1 must be a vector of 1"},
    {"suld.b.2d.v4.b64.trap {%rd1, %rd2, %rd3, %rd4}, [%rd1, {%r1, %r2}];",
     "suld.b.2d.v4.b64.trap: it needs a type .b8 to .b64, and 16 bytes at most"},
    {"suld.b.2d.f32.trap {%f1}, [%rd1, {%r1, %r2}];",
     "suld.b.2d.f32.trap: it needs a type .b8 to .b64, and 16 bytes at most"},
    {"sust.b.1d.v2.b32.trap [%rd1, {%r1}], {%r1};", "sust.b.1d.v2.b32.trap: operand 2 must be a vector of 2"},
    {"sust.b.1d.b32.trap [%rd1], {%r1};",
     "sust.b.1d.b32.trap: operand 1 must be a handle and coordinates, [handle, {x, ..}]"},
    {"sust.b.1d.b32.trap [%f1, {%r1}], {%r1};", "sust.b.1d.b32.trap: an address cannot be a register of .f32"},
    {"sust.p.1d.b16.trap [%rd1, {%r1}], {%rs1};", "sust.p.1d.b16.trap: it cannot have the modifier .b16"},
    {"sured.p.add.1d.u32.trap [%rd1, {%r1}], %r1;", "sured.p.add.1d.u32.trap: it cannot have the modifier .u32"},
    {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1}], [sh];",
     "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group: operand 1 must have 2 coordinates"},
    {"cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd1], [sh];",
     "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group: operand 1 must be the address of a tensor map and the "
     "coordinates of a box, [address, {x, ..}]"},
    {"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sh], [%rd1, {%rd2}], [sh];",
     "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: operand 2 must be a register of "
     ".b32, found one of .b64"},
    {"cp.async.bulk.tensor.global.shared::cta.tile.bulk_group [%rd1, {%r1}], [sh];",
     "cp.async.bulk.tensor.global.shared::cta.tile.bulk_group: it needs the modifier 1d|2d|3d|4d|5d"},
    {"cp.async.bulk.global.shared::cta.bulk_group [sh], [sh], 16;",
     "cp.async.bulk.global.shared::cta.bulk_group: sh is a .shared variable, not .global"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd1], [%r2], %r3;",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32: its operation is not one of its type"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r2], %r3;",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16: .noftz belongs to .add of .f16 and .bf16"},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%rd1], [%r2], %r3;",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64: its operation is not one of its type"},
    {"mbarrier.init.shared::cluster.b64 [%r1], 5;",
     "mbarrier.init.shared::cluster.b64: it cannot have the modifier .shared::cluster"},
    {"mbarrier.init.global.b64 [%rd1], 5;", "mbarrier.init.global.b64: it cannot have the modifier .global"},
    {"mbarrier.init [%rd1], 5;", "mbarrier.init: it needs the modifier b64"},
    {"mbarrier.init.shared.b64 [word], 5;", "mbarrier.init.shared.b64: word is a .global variable, not .shared"},
    {"mbarrier.init.shared.b64 [sh], %rd1;",
     "mbarrier.init.shared.b64: operand 2 must be a register of .u32, found one of .b64"},
    {"mbarrier.arrive.shared.b64 %r1, [sh];",
     "mbarrier.arrive.shared.b64: operand 1 must be a register of .b64, found one of .b32"},
    {"mbarrier.arrive.shared.b64 [sh];", "mbarrier.arrive.shared.b64: it takes 2 operands, found 1"},
    {"mbarrier.arrive.release.cluster.shared::cluster.b64 %rd1, [%r2];",
     "mbarrier.arrive.release.cluster.shared::cluster.b64: with .shared::cluster the destination must be '_'"},
    {"mbarrier.arrive.noComplete.b64 %rd1, [%rd2];", "mbarrier.arrive.noComplete.b64: it takes 3 operands, found 2"},
    {"mbarrier.test_wait.parity.b64 %p1, [%rd1], %rd2;",
     "mbarrier.test_wait.parity.b64: operand 3 must be a register of .u32, found one of .b64"},
    {"mbarrier.test_wait.b64 %p1, [%rd1], %r2;",
     "mbarrier.test_wait.b64: operand 3 must be a register of .b64, found one of .b32"},
    {"mbarrier.test_wait.parity.b64 %p1, [%rd1], 1, %r1;",
     "mbarrier.test_wait.parity.b64: it takes 3 operands, found 4"},
    {"mbarrier.try_wait.b64 _, [%rd1], %rd2;", "mbarrier.try_wait.b64: the destination must be a register"},
    {"mbarrier.pending_count.b64 %rd1, %rd1;",
     "mbarrier.pending_count.b64: operand 1 must be a register of .u32, found one of .b64"},
    {"fence.proxy.async.shared;", "fence.proxy.async.shared: it cannot have the modifier .shared"},
    {"fence.mbarrier_init.release.cta;", "fence.mbarrier_init.release.cta: it cannot have the modifier .cta"},
    {"barrier.cluster.wait.relaxed;", "barrier.cluster.wait.relaxed: it cannot have the modifier .relaxed"},
    {"barrier.cluster.arrive 0;", "barrier.cluster.arrive: it takes 0 operands, found 1"},
    {"mapa.u64 %rd1, %r2, 0;", "mapa.u64: the address must have the size of its type"},
    {"red.global.add.v2.u32 [word], {%r1, %r2};", "red.global.add.v2.u32: it cannot have the modifier .u32"},
    {"red.global.add.v4.f64 [word], {%fd1, %fd2, %fd1, %fd2};",
     "red.global.add.v4.f64: it cannot have the modifier .f64"},
    {"red.global.add.v8.f32 [word], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};",
     "red.global.add.v8.f32: a vector of more than 16 bytes"},
    {"red.global.min.v2.f32 [word], {%f1, %f1};", "red.global.min.v2.f32: of f32 there are only sums"},
    {"red.global.add.v2.f16x2 [word], {%r1, %r1};",
     "red.global.add.v2.f16x2: it needs the modifier noftz, which f32 cannot have"},
    {"atom.global.add.v2.f32 %f1, [word], {%f1, %f1};", "atom.global.add.v2.f32: operand 1 must be a vector of 2"},
    {"alloca.u64 %rd1, %rd2, 3;", "alloca.u64: the alignment must be a power of 2 up to 8388608"},
    {"alloca.u64 %rd1, %rd2, 16777216;", "alloca.u64: the alignment must be a power of 2 up to 8388608"},
    {"alloca.u64 %rd1, %r2;", "alloca.u64: operand 2 must be a register of .u64, found one of .b32"},
    {"alloca.s32 %r1, %r2;", "alloca.s32: it cannot have the modifier .s32"},
    {"stackrestore.u64 %r1;", "stackrestore.u64: operand 1 must be a register of .u64, found one of .b32"},
    {"getctarank.u32 %r1, %rd1;", "getctarank.u32: the address must have the size of its type"},
    /* branches */
    {"T: .calltargets f; brx.idx %r1, T;", "brx.idx: operand 2 must be a list of .branchtargets"},
    {"T: .callprototype _ (); brx.idx %r1, T;", "brx.idx: operand 2 must be a list of .branchtargets"},
    {"L: brx.idx %r1, L;", "brx.idx: operand 2 must be a list of .branchtargets"},
    {"T: .branchtargets L; L: brx.idx %rd1, T;",
     "brx.idx: operand 1 must be a register of .u32, found one of .b64"},
    {"T: .branchtargets L; L: brx.idx %p1, T;",
     "brx.idx: operand 1 must be a register of .u32, found one of .pred"},
    {"T: .branchtargets L; L: bra T;", "bra: operand 1 must be a label"},
    {"bra f;", "bra: operand 1 must be a label"},
    {"bra 5;", "bra: operand 1 must be a label"},
    {"bra;", "bra: it takes 1 operands, found 0"},
    {"L: bra L, L;", "bra: it takes 1 operands, found 2"},
    {"ret %r1;", "ret: it takes 0 operands, found 1"},
    {"L: add.s32 %r1, L, 1;", "add.s32: operand 2 must be a register or a constant"},
    /* packing */
    {"mov %rd1, {%r1, %r2};", "mov: it needs a type"},
    {"mov {%r1, %r2}, %rd1;", "mov: it needs a type"},
    {"mov %r1, %r2;", "mov: it needs a type"},
    {"mov.b64 %rd1, {%r1, %r2, %r3};", "mov.b64: .b64 cannot have 3 parts"},
    {"mov.b64 %rd1, {%r1};", "mov.b64: operand 2 must be a register of .b64, found one of .b32"}, /* which is %r1 */
    {"mov.b64 %rd1, {%r1, %r2, %r3, %r4};",
     "mov.b64: operand 2 must be a register of .b16, found one of .b32"},
    {"mov.b64 %rd1, {%rd2, %rd3};", "mov.b64: operand 2 must be a register of .b32, found one of .b64"},
    {"mov.b64 {%r1, %rs1}, %rd1;", "mov.b64: operand 1 must be a register of .b32, found one of .b16"},
    {"mov.b64 {%p1, %p2}, %rd1;", "mov.b64: operand 1 must be a register of .b32, found one of .pred"},
    {"mov.b32 {%rs1, %rs2}, %rd1;", "mov.b32: operand 2 must be a register of .b32, found one of .b64"},
    {"mov.b16 {%rs1, %rs2, %rs3, %rs4}, %rs1;", "mov.b16: .b16 cannot have 4 parts"},
    {"mov.u64 {%r1, %r2}, %rd1;", "mov.u64: packing parts needs the type .b16, .b32, .b64 or .b128"},
    {"mov.b8 {%r1, %r2}, %rd1;", "mov.b8: packing parts needs the type .b16, .b32, .b64 or .b128"},
    {"mov.pred {%p1, %p2}, %r1;", "mov.pred: packing parts needs the type .b16, .b32, .b64 or .b128"},
    {"mov.b64 {%r1, %r2}, {%r3, %r4};", "mov.b64: operand 2 must be a register or a constant"},
    {"mov.b64 %rd1, {%r1, _};", "mov.b64: operand 2 must be a register or a constant"},
    {"mov.b64 %rd1, {%r1, {%r2}};", "mov.b64: operand 2 must be a register or a constant"},
    /* widths and classes of registers */
    {"add.s32 %r1, %rd1, %r2;", "add.s32: operand 2 must be a register of .s32, found one of .b64"},
    {"add.s32 %r1, %p1, %r2;", "add.s32: operand 2 must be a register of .s32, found one of .pred"},
    {"add.s64 %q1, %q2, %rd1;", "add.s64: operand 1 must be a register of .s64, found one of .b128"},
    {"add.u64 %rd1, %rd2, %q1;", "add.u64: operand 3 must be a register of .u64, found one of .b128"},
    {"add.s16 %c1, %c2, %c3;", "add.s16: operand 1 must be a register of .s16, found one of .b8"},
    {"add.s32 %f1, %r1, %r2;", "add.s32: operand 1 must be a register of .s32, found one of .f32"},
    {"add.f32 %u1, %f1, %f2;", "add.f32: operand 1 must be a register of .f32, found one of .u32"},
    {"add.f32 %f1, %f2, 1;", "add.f32: operand 3 must be a floating-point constant or a register"},
    {"add.s32 %r1, %r2, 1.5;", "add.s32: operand 3 must be an integer constant or a register"},
    {"setp.eq.s32 %r1, %r2, %r3;", "setp.eq.s32: operand 1 must be a register of .pred, found one of .b32"},
    {"selp.b32 %r1, %r2, %r3, %r4;", "selp.b32: operand 4 must be a register of .pred, found one of .b32"},
    {"mov.b32 %r1, %rd1;", "mov.b32: operand 2 must be a register of .b32, found one of .b64"},
    {"mov.u16 %rs1, word;", "mov.u16: an address is an integer of 32 or 64 bits, not .u16"},
    {"mov.f32 %f1, f;", "mov.f32: an address is an integer of 32 or 64 bits, not .f32"},
    {"cvt.u64.u32 %r1, %r2;", "cvt.u64.u32: operand 1 must be a register of .u64, found one of .b32"},
    {"cvt.f64.f32 %q1, %f1;", "cvt.f64.f32: operand 1 must be a register of .f64, found one of .b128"},
    {"ld.global.u64 %r1, [%rd1];", "ld.global.u64: operand 1 must be a register of .u64, found one of .b32"},
    {"ld.global.u8 %p1, [%rd1];", "ld.global.u8: operand 1 must be a register of .u8, found one of .pred"},
    {"ld.global.u32 %q1, [%rd1];", "ld.global.u32: operand 1 must be a register of .u32, found one of .b128"},
    {"st.global.u64 [%rd1], %r1;", "st.global.u64: operand 2 must be a register of .u64, found one of .b32"},
    {"atom.global.add.u64 %rd1, [%rd2], %p1;",
     "atom.global.add.u64: operand 3 must be a register of .u64, found one of .pred"},
    {"shfl.sync.idx.b32 %r1, %rd1, 0, 31, -1;",
     "shfl.sync.idx.b32: operand 2 must be a register of .b32, found one of .b64"},
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31, %p1;",
     "shfl.sync.idx.b32: operand 5 must be a register of .u32, found one of .pred"},
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31, %rs1;",
     "shfl.sync.idx.b32: operand 5 must be a register of .u32, found one of .b16"},
    {"redux.sync.add.s32 %p1, %r1, -1;",
     "redux.sync.add.s32: operand 1 must be a register of .s32, found one of .pred"},
    {"shfl.sync.idx.b32 %r1, %r2, %f1, 31, -1;",
     "shfl.sync.idx.b32: operand 3 must be a register of .u32, found one of .f32"},
    {"bar.sync %p1;", "bar.sync: operand 1 must be a register of .u32, found one of .pred"},
    {"bar.sync 0, %rs1;", "bar.sync: operand 2 must be a register of .u32, found one of .b16"},
    {"bar.red.popc.u32 %r1, 0, %r2;",
     "bar.red.popc.u32: operand 3 must be a register of .pred, found one of .b32"},
    {"bar.warp.sync %rs1;", "bar.warp.sync: operand 1 must be a register of .u32, found one of .b16"},
    {"nanosleep.u32 %rd1;", "nanosleep.u32: operand 1 must be a register of .u32, found one of .b64"},
    {"vote.sync.all.pred %p1, %r1, -1;",
     "vote.sync.all.pred: operand 2 must be a register of .pred, found one of .b32"},
    /* numbers and kinds of operands */
    {"add.s32 %r1, %r2;", "add.s32: it takes 3 operands, found 2"},
    {"add.s32 %r1, %r2, %r3, %r4;", "add.s32: it takes 3 operands, found 4"},
    {"add.s32 %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10;", "add.s32: it takes 3 operands, found 10"},
    {"add.s32;", "add.s32: it takes 3 operands, found 0"},
    {"add.s32 %r1|%r2, %r3;", "add.s32: it has one result"},
    {"setp.eq.s32 %p1, %p2, %r1, %r2;", "setp.eq.s32: its results are written d|p"},
    {"add.s32 {%r1}, %r2, %r3;", "add.s32: the destination must be a register"},
    {"add.s32 %r1, {%r2}, %r3;", "add.s32: operand 2 must be a register or a constant"},
    {"add.s32 %r1, [word], %r3;", "add.s32: operand 2 must be a register or a constant"},
    {"add.u64 %rd1, word, %rd2;", "add.u64: operand 2 must be a register or a constant"},
    {"add.u64 %rd1, %rd2, f;", "add.u64: operand 3 must be a register or a constant"},
    {"add.u32 %r1, %tid.x, 1;", "add.u32: operand 2 must be a register or a constant"},
    {"add.s32 %r1, !%r2, %r3;", "add.s32: operand 2 must be without '!'"},
    {"add.s32 %r1, _, %r3;", "add.s32: operand 2 must be a register or a constant"},
    {"shfl.sync.idx.b32 %r1, %r2, 0, 31;", "shfl.sync.idx.b32: it takes 5 operands, found 4"},
    {"shfl.sync.idx.b32 %r1, !%r2, 0, 31, -1;", "shfl.sync.idx.b32: operand 2 must be without '!'"},
    {"match.any.sync.b32 %r1|%p1, %r2, -1;", "match.any.sync.b32: the destination must be a register"},
    {"activemask.b32;", "activemask.b32: it takes 1 operands, found 0"},
    {"mov.u32 %r1;", "mov.u32: it takes 2 operands, found 1"},
    {"mov.u32 %r1, [word];", "mov.u32: operand 2 must be a register or a constant"},
    {"mov.u64 %rd1, pa;", "mov.u64: pa is passed to a function and has no address"},
    {"nanosleep.u32;", "nanosleep.u32: it takes 1 operands, found 0"},
    {"bar.sync;", "bar.sync: it takes 1 operands, found 0"},
    {"bar.sync 0.5;", "bar.sync: operand 1 must be an integer constant or a register"},
    {"fence.sc.gpu %r1;", "fence.sc.gpu: it takes 0 operands, found 1"},
    /* memory */
    {"ld.global.u32 %r1, word;", "ld.global.u32: operand 2 must be an address in brackets"},
    {"ld.global.u32 %r1, %rd1;", "ld.global.u32: operand 2 must be an address in brackets"},
    {"ld.global.u32 %r1, [%rd1, %rd2];", "ld.global.u32: operand 2 must be an address in brackets"},
    {"ld.global.u32 %r1, [%f1];", "ld.global.u32: an address cannot be a register of .f32"},
    {"ld.global.u32 %r1, [%p1];", "ld.global.u32: an address cannot be a register of .pred"},
    {"ld.global.u32 %r1, [%rs1];", "ld.global.u32: an address cannot be a register of .b16"},
    {"ld.global.u32 %r1, [%q1];", "ld.global.u32: an address cannot be a register of .b128"},
    {"ld.global.u32 %r1, [sh];", "ld.global.u32: sh is a .shared variable, not .global"},
    {"ld.shared.u32 %r1, [word];", "ld.shared.u32: word is a .global variable, not .shared"},
    {"ld.local.u32 %r1, [n];", "ld.local.u32: n is a .param variable, not .local"},
    {"ld.param.u32 %r1, [lo];", "ld.param.u32: lo is a .local variable, not .param"},
    {"ld.const.u32 %r1, [word];", "ld.const.u32: word is a .global variable, not .const"},
    {"cvta.shared.u64 %rd1, word;", "cvta.shared.u64: word is a .global variable, not .shared"},
    {"cvta.global.u64 %rd1, [word];", "cvta.global.u64: operand 2 must be a register or a constant"},
    {"st.const.u32 [fixed], 1;", "st.const.u32: it cannot update .const memory"},
    {"st.param.u32 [n], 1;", "st.param.u32: the parameter n cannot be written"},
    {"atom.param.add.u32 %r1, [pa], 1;", "atom.param.add.u32: it cannot update .param memory"},
    {"atom.local.add.u32 %r1, [lo], 1;", "atom.local.add.u32: it cannot update .local memory"},
    {"red.const.add.u32 [fixed], 1;", "red.const.add.u32: it cannot update .const memory"},
    {"ld.global.v2.u32 %r1, [%rd1];", "ld.global.v2.u32: operand 1 must be a vector of 2"},
    {"ld.global.v2.u32 {%r1, %r2, %r3, %r4}, [%rd1];", "ld.global.v2.u32: operand 1 must be a vector of 2"},
    {"ld.global.u32 {%r1, %r2}, [%rd1];", "ld.global.u32: the destination must be a register"},
    {"st.global.u32 [%rd1], {%r1, %r2};", "st.global.u32: operand 2 must be a register or a constant"},
    {"st.global.v2.u32 [%rd1], {%r1, _};", "st.global.v2.u32: operand 2 must be a register or a constant"},
    {"ld.global.v8.u64 {%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1,%rd1}, [%rd1];",
     "ld.global.v8.u64: a vector of more than 32 bytes"},
    {"ld.global %r1, [%rd1];", "ld.global: it needs a type other than .pred"},
    {"ld.global.pred %p1, [%rd1];", "ld.global.pred: it needs a type other than .pred"},
    {"ld.global.u32 %r1, [%rd1], %rd2;", "ld.global.u32: it takes 2 operands, found 3"},
    {"atom.global.cas.b32 %r1, [%rd1], %r2;", "atom.global.cas.b32: it takes 4 operands, found 3"},
};

static void check_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        static simt_message message;
        char expected[512];
        simt_module *module;
        const char *text = text_of(refused[i].body);
        snprintf(expected, sizeof expected, "test:11: %s", refused[i].message);
        simt_error error = simt_module_parse(text, strlen(text), "test", &module, &message);
        if (error != SIMT_ERROR_SYNTAX || module || strcmp(message.text, expected))
            fail(refused[i].body, expected, error ? message.text : "nothing");
        simt_module_destroy(module);
    }
}

/* ---- declarations that are refused */

static const struct {
    const char *text, *message;
} declarations[] = {
    {".func f() { ret; } .func g(.param .b32 a) { ret; } .func h() { T: .calltargets f, g; }",
     "test:4:83: its parameters or result differ from those of the first of the .calltargets: 'g'"},
    {".local .b32 x;", "test:4:1: expected a directive of a module, found '.local'"},
    {".extern .global .b8 x[1] = {1}; .global .b8 x[9];",
     "test:4:21: an .extern variable has no initial value: 'x'"},
    {".extern .shared .b32 x; .global .b32 x;", "test:4:38: declared differently before: 'x'"},
    {".extern .global .b32 x; .global .b64 x;", "test:4:38: declared differently before: 'x'"},
    {".func f(.param .b32 a); .func f(.param .b64 a) { ret; }",
     "test:4:31: declared differently before: 'f'"},
    {".func f(); .entry f() { ret; }", "test:4:19: declared differently before: 'f'"},
    {".func f(); .func f(.param .b32 a);", "test:4:18: declared differently before: 'f'"},
    {".entry (.param .b32 r) f() { ret; }", "test:4:24: a kernel has no result: 'f'"},
    {".func f(); .func h(.param .b32 a) { ret; } .alias f, h;",
     "test:4:54: declared differently before: 'h'"},
    {".func f(); .entry h() { ret; } .alias f, h;", "test:4:42: not a function with a body: 'h'"},
    {".func h() { ret; } .entry f() { ret; } .alias f, h;",
     "test:4:50: f has a definition, so it cannot be an alias of 'h'"},
    {".func f() { .reg .v2 .pred p; }", "test:4:28: not a type of registers: 'p'"},
    {".func f() { .reg .texref t; }", "test:4:26: not a type of registers: 't'"},
    {".func f(.param .b32 x) { .extern .param .b32 x; }",
     "test:4:34: expected a state space, found '.param'"},
    {".func f(.param .b32 x) { .extern .shared .b32 x; }", "test:4:47: declared differently before: 'x'"},
    {".func f() { .local .b8 x[600000]; }",
     "test: f: 600000 bytes of .local variables are more than the limit of 524288"},
    {".func f() { .param .b8 x[2000000]; }",
     "test: f: 2000000 bytes of .param variables are more than the limit of 1048576"},
    {".func (.param .b32 r) f() { .reg .b32 x; ld.param.b32 x, [r]; }",
     "test:4: ld.param.b32: the result r cannot be read"},
    {".func f(.param .b32 a) { st.param.b32 [a], 1; }",
     "test:4: st.param.b32: the parameter a cannot be written"},
    {".func (.param .b32 r) f(.param .b32 a) { call (r), f, (a); }",
     "test:4: call: result 1 does not match that of f: a .param variable or a register of 4 bytes"},
    {".extern .func (.param .b32 r) malloc(.param .b64 n); .func f() { .param .b32 x; .param .b64 n;"
     " call (x), malloc, (n); }",
     "test:4: call: malloc is not declared as in the CUDA device runtime"},
    {".extern .func vprintf(); .func f() { call vprintf; }",
     "test:4: call: vprintf is not declared as in the CUDA device runtime"},
    {".extern .func __assertfail(.param .b64 a); .func f() { .param .b64 x; call __assertfail, (x); }",
     "test:4: call: __assertfail is not declared as in the CUDA device runtime"},
};

static void check_declarations(void) {
    for (size_t i = 0; i < sizeof declarations / sizeof declarations[0]; i++) {
        static simt_message message;
        char text[1024];
        simt_module *module;
        int length = snprintf(text, sizeof text, HEADER "%s\n", declarations[i].text);
        simt_error error = simt_module_parse(text, (size_t)length, "test", &module, &message);
        if (error != SIMT_ERROR_SYNTAX || module || strcmp(message.text, declarations[i].message))
            fail(declarations[i].text, declarations[i].message, error ? message.text : "nothing");
        simt_module_destroy(module);
    }
}

/* ---- what can be told only when it happens */

struct hostile {
    const char *body;
    enum simt_finding_kind kind;
    const char *message; /* of the first finding */
    uint32_t block;      /* threads; 0: 32 */
};

#define MUST_NAME_ALL ", and must name all that come here (0xffffffff: the whole warp)"

static const struct hostile found[] = {
    {"mov.u32 %r1, 0; mbarrier.init.shared.b64 [sh], %r1;", SIMT_FINDING_BARRIER,
     "mbarrier.init.shared.b64 at byte 0 of shared memory (index 0 of `sh`, 2 elements of 8 bytes): "
     "an mbarrier expects 1 to 1048575 arrivals", 0},
    {"mbarrier.arrive.shared.b64 _, [sh];", SIMT_FINDING_BARRIER,
     "mbarrier.arrive.shared.b64 at byte 0 of shared memory (index 0 of `sh`, 2 elements of 8 bytes): "
     "there is no mbarrier here: mbarrier.init must come "
     "first, and nothing may overwrite it", 0},
    {"mbarrier.init.shared.b64 [sh], 1; mbarrier.arrive.shared.b64 _, [sh], 2;", SIMT_FINDING_BARRIER,
     "mbarrier.arrive.shared.b64 at byte 0 of shared memory (index 0 of `sh`, 2 elements of 8 bytes): "
     "more threads arrive in a phase than it expects", 1},
    {"mbarrier.init.shared.b64 [sh+4], 1;", SIMT_FINDING_MISALIGNED,
     "stores 8 bytes of shared memory at 0x4, which is not a multiple of 8", 0},
    {"mov.u64 %rd1, 0; mbarrier.init.b64 [%rd1], 1;", SIMT_FINDING_BOUNDS,
     "an mbarrier at 0x0, which is not in shared memory", 0},
    {"mov.u32 %r1, -16; mov.u64 %rd1, word; mbarrier.init.shared.b64 [sh], 1; "
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [common], [%rd1], %r1, [sh];",
     SIMT_FINDING_BOUNDS, "copies from 4294967280 bytes of global memory at byte 0 of an allocation of 16", 1},
    {"mov.u32 %r1, 0x2000000; mov.u64 %rd1, word; cp.async.ca.shared.global [%r1], [%rd1], 4;", SIMT_FINDING_BOUNDS,
     "stores 4 bytes of shared memory at byte 33554432 of 16", 1},
    {"mov.u32 %r1, 9; mov.u64 %rd1, word; cp.async.ca.shared.global [sh], [%rd1], 4, %r1;", SIMT_FINDING_BOUNDS,
     "cp.async is to read more bytes than it writes", 1},
    {"mapa.shared::cluster.u32 %r1, sh, 1;", SIMT_FINDING_BOUNDS,
     "maps an address to a block that the cluster does not have", 0},
    {"mov.u64 %rd2, -1; alloca.u64 %rd1, %rd2;", SIMT_FINDING_BOUNDS,
     "takes 18446744073709551615 bytes of the stack (alloca): a thread's has 524288 bytes", 1},
    {"mov.u32 %r2, -8; alloca.u32 %r1, %r2, 64;", SIMT_FINDING_BOUNDS,
     "takes 4294967288 bytes of the stack (alloca): a thread's has 524288 bytes", 1},
    {"mov.u64 %rd2, 8; alloca.u64 %rd1, %rd2; st.local.u32 [%rd1+4], 1; ld.local.u32 %r1, [%rd1+8];", SIMT_FINDING_BOUNDS,
     "loads 4 bytes of local memory at byte 24 of 24: an index beyond an array of the thread's own", 1},
    {"stacksave.u64 %rd3; mov.u64 %rd2, 8; alloca.u64 %rd1, %rd2; stackrestore.u64 %rd3; ld.local.u32 %r1, [%rd1];",
     SIMT_FINDING_BOUNDS, "loads 4 bytes of local memory at byte 16 of 16: an index beyond an array of the thread's own", 1},
    {"mov.u32 %r2, 12345; stackrestore.u32 %r2;", SIMT_FINDING_BOUNDS,
     "restores a stack that the function did not have (0x3039)", 1},
    {"mov.u32 %r2, %tid.x; mul.lo.u32 %r2, %r2, 8; alloca.u32 %r1, %r2, 8; st.local.u32 [%r1+16], %r2;", SIMT_FINDING_BOUNDS,
     "stores 4 bytes of local memory at byte 32 of 16: an index beyond an array of the thread's own", 4},
    {"barrier.cluster.wait;", SIMT_FINDING_BARRIER, "waits at the cluster's barrier without having arrived there", 0},
    {"barrier.cluster.arrive; barrier.cluster.arrive;", SIMT_FINDING_BARRIER,
     "arrives at the cluster's barrier again without having waited there", 32},
    {"T: .branchtargets L; mov.u32 %r1, 5; brx.idx %r1, T; L:", SIMT_FINDING_BOUNDS,
     "branches to entry 5 of a table of 1", 0},
    {"T: .branchtargets L; mov.u32 %r1, -1; brx.idx %r1, T; L:", SIMT_FINDING_BOUNDS,
     "branches to entry 4294967295 of a table of 1", 0},
    {"T: .callprototype _ (); mov.u64 %rd1, 4096; call %rd1, (), T;", SIMT_FINDING_BOUNDS,
     "calls 0x1000: no function is there", 0},
    {"T: .callprototype _ (); mov.u64 %rd1, word; call %rd1, (), T;", SIMT_FINDING_BOUNDS,
     "calls 0x700000000000: no function is there", 0},
    {"T: .callprototype _ (.param .b64 _); mov.u64 %rd1, f; call %rd1, (pd), T;", SIMT_FINDING_BOUNDS,
     "calls 0x600000000001: 0 results for f, which has 1", 0},
    {"T: .callprototype (.param .b32 _) _ (.param .b64 _); mov.u64 %rd1, f; call (pa), %rd1, (pd), T;",
     SIMT_FINDING_BOUNDS,
     "calls 0x600000000001: argument 1 does not match that of f: a .param variable or a register of 4 bytes",
     0},
    {"T: .callprototype _ (.param .b32 _); mov.u64 %rd1, wide; call %rd1, (pa), T;", SIMT_FINDING_BOUNDS,
     "calls 0x600000000003: argument 1 does not match that of wide: a .param variable or a register of 4096 "
     "bytes",
     0},
    {"T: .callprototype _ (.param .b64 _, .param .b32 _); mov.u64 %rd1, k; call %rd1, (pd, pa), T;",
     SIMT_FINDING_BOUNDS, "calls 0x600000000004: k is a kernel", 0},
    {"T: .calltargets v; mov.u64 %rd1, wide; call %rd1, (), T;", SIMT_FINDING_BOUNDS,
     "calls 0x600000000003: 0 arguments for wide, which has 1", 0},
    {"T: .callprototype _ (.param .b64 _); mov.u64 %rd1, malloc; call %rd1, (pd), T;", SIMT_FINDING_BOUNDS,
     "calls 0x600000000000: 0 results for malloc, which has 1", 0},
    /* lanes that their own mask leaves out */
    {"mov.u32 %r1, 15; shfl.sync.idx.b32 %r2, %r1, 0, 31, %r1;", SIMT_FINDING_SHUFFLE,
     "lanes 4-31 of warp 0 execute shfl.sync.idx.b32 with a mask that omits them: the mask of lane 4, "
     "0x0000000f, names lanes 0-3" MUST_NAME_ALL,
     0},
    {"mov.u32 %r1, 0; redux.sync.add.s32 %r2, %r1, %r1;", SIMT_FINDING_SHUFFLE,
     "lanes 0-31 of warp 0 execute redux.sync.add.s32 with a mask that omits them: the mask of lane 0, "
     "0x00000000, names no lanes" MUST_NAME_ALL,
     0},
    {"elect.sync %r1|%p1, 0;", SIMT_FINDING_SHUFFLE,
     "lanes 0-31 of warp 0 execute elect.sync with a mask that omits them: the mask of lane 0, "
     "0x00000000, names no lanes" MUST_NAME_ALL,
     0},
    {"vote.sync.any.pred %p1, %p1, 0x7fffffff;", SIMT_FINDING_SHUFFLE,
     "lane 31 of warp 0 executes vote.sync.any.pred with a mask that omits it: the mask of lane 31, "
     "0x7fffffff, names lanes 0-30" MUST_NAME_ALL,
     0},
    {"match.any.sync.b32 %r1, %r1, 0xfffffffe;", SIMT_FINDING_SHUFFLE,
     "lane 0 of warp 0 executes match.any.sync.b32 with a mask that omits it: the mask of lane 0, "
     "0xfffffffe, names lanes 1-31" MUST_NAME_ALL,
     0},
    {"mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4; @%p1 bar.warp.sync 3;", SIMT_FINDING_BARRIER,
     "lanes 2-3 of warp 0 execute bar.warp.sync with a mask that omits them: the mask of lane 2, "
     "0x00000003, names lanes 0-1" MUST_NAME_ALL,
     0},
    /* barriers */
    {"bar.sync 16;", SIMT_FINDING_BARRIER, "there is no barrier 16, only 0 to 15", 0},
    {"bar.sync 1, 33;", SIMT_FINDING_BARRIER, "a barrier for 33 threads: the number must be a multiple of the warp size, 32",
     64},
    {"mov.u32 %r1, 16; barrier.sync 1, %r1;", SIMT_FINDING_BARRIER,
     "a barrier for 16 threads: the number must be a multiple of the warp size, 32", 64},
    {"bar.sync 1, 0;", SIMT_FINDING_BARRIER, "a barrier for 0 threads: the number must be a multiple of the warp size, 32",
     64},
    {"bar.arrive 1, 96;", SIMT_FINDING_BARRIER, "a barrier for 96 threads in a block of 64", 64},
    {"bar.red.popc.u32 %r1, 1, 65536, %p1;", SIMT_FINDING_BARRIER,
     "a barrier for 65536 threads in a block of 64", 64},
    {"mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 0xffffffe0; add.u32 %r2, %r2, 64; bar.sync 1, %r2;",
     SIMT_FINDING_BARRIER, "barrier 1 expects 96 threads here, but 64 where others wait at it", 96},
};

static void launch(const char *body, const char *message, uint32_t threads, const struct hostile *hostile) {
    static simt_message told;
    simt_module *module;
    simt_machine *machine;
    simt_report *report;
    const char *text = text_of(body);
    if (simt_module_parse(text, strlen(text), "test", &module, &told)) {
        fail(body, message, told.text);
        return;
    }
    if (simt_machine_create(NULL, &machine)) exit(1);
    const uint64_t zero = 0;
    const void *const arguments[] = {&zero, &zero};
    const simt_launch request = {.module = module,
                                 .block = {threads ? threads : 32},
                                 .arguments = arguments,
                                 .observers = simt_observers};
    simt_error error = simt_machine_launch(machine, &request, &report, &told);
    const simt_finding *first = report ? simt_report_finding(report, 0) : NULL;
    if (!hostile && (error || first)) fail(body, "no finding", first ? first->message : told.text);
    if (hostile && (!first || strcmp(first->message, message) || first->kind != hostile->kind))
        fail(body, message, first ? first->message : "nothing");
    if (hostile && (error == SIMT_ERROR_STOPPED) != (hostile->kind != SIMT_FINDING_SHUFFLE))
        fail(body, "stopped, unless the finding is one of a shuffle", told.text);
    simt_report_destroy(report);
    simt_machine_destroy(machine);
    simt_module_destroy(module);
}

/* ---- what is unusual, and sound */

static const char *const sound[] = {
    "call (pa), f, (pa); call (%r1), f, (%r2); call (%f1), f, (%u1); call v; call v, ();",
    "T: .calltargets f; mov.u64 %rd1, f; call (pa), %rd1, (pa), T;",
    "{ .param .f32 x; call (x), f, (x); }",
    "mov.b64 {%r1, _}, %rd1; mov.b32 {%c1, %c2, %c3, %c4}, %r1; mov.b16 %rs1, {%c1, %c2}; mov.b64 {%r1, "
    "%f1}, 5;",
    "mov.b32 %r1, 0f3F800000; mov.pred %p1, -1; add.f32 %r1, %r2, 0f3F800000; add.s32 %r1, %r2, WARP_SZ;",
    "ld.const.u8 %r1, [fixed]; ld.const.f32 %rd1, [fixed]; ld.u32 %r1, [%rd2+0x7]; ",
    "bar.sync 1, 32; bar.sync 0, 32; barrier.sync 15; bar.red.and.pred %p1, 3, 32, !%p2;",
    "setp.eq.s32 %p1|_, %r1, %r2; setp.eq.and.s32 _|%p2, %r1, %r2, !%p1; lop3.or.b32 _|%p1, %r1, %r2, %r3, "
    "7, %p2;",
    "cvt.u8.u32 %c1, %r1; cvt.u32.u16 %r1, %r2; cvt.u64.u32 %rd1, %rd2; cvt.rzi.s32.f32 %r1, %f1;",
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}]; suld.b.a2d.v2.b64.clamp {%rd1, _}, [%rd1, {%r1, %r2, %r3, "
    "%r3}]; sust.b.3d.b8.zero [%rd1, {%r1, %r2, %r3, %r3}], {%r1}; sust.p.1d.b32.trap [%rd1, {%r1}], {%r1}; wgmma.fence.sync.aligned;",
};

/* Opcodes that the simulator does not know are no reason to refuse a module. */
static void check_sound(void) {
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++) {
        char body[1024];
        bool runs =
            i != 5 && i + 1 != sizeof sound / sizeof sound[0]; /* the others: a wild address, a texture */
        snprintf(body, sizeof body, "%s%s%s", runs ? "" : "ret; ", sound[i], runs ? " ret;" : "");
        launch(body, "", 0, NULL);
    }
}

int main(void) {
    check_refused();
    check_declarations();
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
        launch(found[i].body, found[i].message, found[i].block, &found[i]);
    check_sound();
    printf("hostile: %d failures\n", failures);
    return failures > 0;
}
