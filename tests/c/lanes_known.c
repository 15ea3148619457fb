/* lanes_known: answers of lane operations that are known, from PTX's tables or a GPU; the carry flag; arrays
 * that are source and destination; wide registers of narrow types; instructions that must be refused;
 * atomics. */
#include "lanes_check.h"

static const struct answer {
    const char *opcode;
    uint32_t count;
    uint64_t sources[4], result;
} answers[] = {
    /* bits */
    {"prmt.b32", 4, {0x33221100, 0x77665544, 0x7531}, 0x77553311},
    {"prmt.b32", 4, {0x33221180, 0x77665544, 0x3298}, 0x332200ff},
    {"prmt.b32.f4e", 4, {0x33221100, 0x77665544, 2}, 0x55443322},
    {"prmt.b32.b4e", 4, {0x33221100, 0x77665544, 1}, 0x66770011},
    {"prmt.b32.rc8", 4, {0x33221100, 0x77665544, 2}, 0x22222222},
    {"prmt.b32.ecl", 4, {0x33221100, 0x77665544, 2}, 0x33222222},
    {"prmt.b32.ecr", 4, {0x33221100, 0x77665544, 1}, 0x11111100},
    {"prmt.b32.rc16", 4, {0x33221100, 0x77665544, 1}, 0x33223322},
    {"bfe.u32", 4, {0xabcdef12, 8, 12}, 0xdef},
    {"bfe.s32", 4, {0xabcdef12, 8, 12}, 0xfffffdef},
    {"bfe.s32", 4, {0x80000000, 40, 4}, 0xffffffff},
    {"bfe.u32", 4, {0x80000000, 31, 8}, 1},
    {"bfe.s32", 4, {0x80000000, 0, 0}, 0},
    {"bfe.s64", 4, {0xf0000000000, 40, 4}, UINT64_MAX},
    {"bfi.b32", 5, {0xff, 0x12345678, 8, 4}, 0x12345f78},
    {"bfi.b32", 5, {0xff, 0x12345678, 32, 4}, 0x12345678},
    {"bfi.b64", 5, {0xff, 0, 60, 8}, 0xf000000000000000},
    {"bfind.u32", 2, {0x00010000}, 16},
    {"bfind.u32", 2, {0}, 0xffffffff},
    {"bfind.s32", 2, {0xfffffff0}, 3},
    {"bfind.shiftamt.u32", 2, {0x00010000}, 15},
    {"bfind.s64", 2, {UINT64_MAX}, 0xffffffff},
    {"popc.b64", 2, {0xff00ff00000000ff}, 24},
    {"clz.b32", 2, {0}, 32},
    {"clz.b64", 2, {1}, 63},
    {"brev.b32", 2, {0x80000001}, 0x80000001},
    {"brev.b32", 2, {0x12}, 0x48000000},
    {"brev.b64", 2, {1}, 0x8000000000000000},
    {"fns.b32", 4, {0x000000f0, 4, 2}, 5},
    {"fns.b32", 4, {0x000000f0, 7, 0xfffffffe}, 6},
    {"fns.b32", 4, {0x000000f0, 3, 0}, 0xffffffff},
    {"lop3.b32", 5, {0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0x96}, 0xc33cc33c},
    {"lop3.b32", 5, {0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0x80}, 0xc000c000},
    {"lop3.b32", 5, {0xff00ff00, 0xf0f0f0f0, 0xcccccccc, 0xfe}, 0xfffcfffc},
    {"shf.l.wrap.b32", 4, {0x80000000, 1, 33}, 3},
    {"shf.l.clamp.b32", 4, {0x80000001, 1, 40}, 0x80000001},
    {"shf.r.wrap.b32", 4, {0x80000000, 1, 33}, 0xc0000000},
    {"shf.r.clamp.b32", 4, {0x80000000, 0x1234, 99}, 0x1234},
    {"bmsk.clamp.b32", 3, {4, 8}, 0xff0},
    {"bmsk.clamp.b32", 3, {32, 8}, 0},
    {"bmsk.wrap.b32", 3, {36, 40}, 0xff0},
    {"szext.clamp.s32", 3, {0x80, 8}, 0xffffff80},
    {"szext.wrap.u32", 3, {0xffffffff, 36}, 0xf},
    {"cnot.b32", 2, {0}, 1},
    {"cnot.b16", 2, {5}, 0},
    {"not.b16", 2, {0x00ff}, 0xff00},
    {"dp4a.s32.s32", 4, {0x01ff0280, 0x04030201, 10}, 0xffffff8f},
    {"dp4a.u32.u32", 4, {0xff000000, 0xff000000, 1}, 65026},
    {"dp2a.lo.u32.s32", 4, {0x00020001, 0x0000ff05, 0}, 3},
    {"dp2a.hi.s32.u32", 4, {0xffff0001, 0x0307ffff, 0}, 4},
    {"mul24.lo.s32", 3, {0x00ffffff, 2}, 0xfffffffe},
    {"mul24.hi.u32", 3, {0x00ffffff, 0x00ffffff}, 0xfffffe00},
    {"selp.b32", 4, {1, 2, 0}, 2},
    {"selp.b64", 4, {1, 2, 1}, 1},
    {"slct.b32.s32", 4, {1, 2, 0x80000000}, 2},
    {"slct.b32.f32", 4, {1, 2, 0x80000000}, 1},
    {"slct.b32.f32", 4, {1, 2, 0x7fc00000}, 2},
    {"slct.b32.f32", 4, {1, 2, 0x80000001}, 2},
    {"slct.ftz.b32.f32", 4, {1, 2, 0x80000001}, 1},
    {"and.pred", 3, {1, 0}, 0},
    {"xor.pred", 3, {1, 0}, 1},
    {"not.pred", 2, {0}, 1},
    {"abs.s32", 2, {0xfffffffb}, 5},
    {"neg.s64", 2, {1}, UINT64_MAX},
    {"min.relu.s32", 3, {0xffffffff, 5}, 0},
    {"max.s16x2", 3, {0x8000ffff, 0x00010002}, 0x00010002},
    /* zeros, NaN, flushing, saturation */
    {"add.f32", 3, {0x7f800000, 0xff800000}, 0x7fffffff},
    {"add.f32", 3, {0xffc12345, 0}, 0x7fffffff},
    {"add.f64", 3, {0x7ff0000000000000, 0xfff0000000000000}, 0xfff8000000000000},
    {"add.f64", 3, {0x7ff8000000001234, 0}, 0x7ff8000000001234},
    {"add.f64", 3, {0x7ff8000000001234, 0xfff0000000000001}, 0xfff8000000000001},
    {"div.rn.f64", 3, {0x7ff8000000001234, 0xfff8000000000001}, 0x7ff8000000001234},
    {"fma.rn.f64", 4, {0x7ff8000000000001, 0, 0x7ff8000000000003}, 0x7ff8000000000003},
    {"add.rm.f32", 3, {0x3f800000, 0xbf800000}, 0x80000000},
    {"add.ftz.f32", 3, {0x00000001, 0x80000002}, 0},
    {"add.ftz.f32", 3, {0x80000001, 0x80000002}, 0x80000000},
    {"mul.ftz.f32", 3, {0x3f7fffff, 0x00800000}, 0},
    /* an H200's: flushed unless it rounds up to the least normal number, as if the exponent had no end */
    {"fma.rn.ftz.f32", 4, {0x80c00000, 0x1f8055d5, 0x00800000}, 0x00800000},
    {"fma.rp.ftz.f32", 4, {0x80c00000, 0x20000000, 0x00800000}, 0x00800000},
    {"fma.rz.ftz.f32", 4, {0x80c00000, 0x1f8055d5, 0x00800000}, 0},
    {"fma.rm.ftz.f32", 4, {0x80c00000, 0x1f8055d5, 0x00800000}, 0},
    {"fma.rn.ftz.f32", 4, {0x867024aa, 0xb98873b0, 0x80000000}, 0x00800000},
    {"fma.rn.ftz.f32", 4, {0x19cfbb3e, 0xa61dbdfd, 0x80000000}, 0x80000000},
    {"mul.rn.ftz.f32", 3, {0x867024aa, 0xb98873b0}, 0x00800000},
    {"mul.rn.ftz.f32", 3, {0x19cfbb3e, 0xa61dbdfd}, 0x80000000},
    {"mul.rp.ftz.f32", 3, {0x052006d8, 0x3accc40a}, 0x00800000},
    {"mul.rp.ftz.f32", 3, {0x0ae8c533, 0x350cc622}, 0},
    {"div.rp.ftz.f32", 3, {0x047e4c27, 0x437e4c28}, 0},
    {"cvt.rn.ftz.f32.f64", 2, {0xb80ffffffd6451cd}, 0x80800000},
    {"cvt.rn.ftz.f32.f64", 2, {0x380fffffe67dc595}, 0},
    {"cvt.rp.ftz.f32.f64", 2, {0x380fffffe67dc595}, 0x00800000},
    {"cvt.rp.ftz.f32.f64", 2, {0x380fffffc1840184}, 0},
    {"fma.rn.ftz.f16", 4, {0x13f2, 0x2c07, 0x8000}, 0x0400},
    {"fma.rn.ftz.f16", 4, {0x0b70, 0x8e0d, 0x0401}, 0},
    {"mul.ftz.f16", 3, {0x13f2, 0x2c07}, 0x0400},
    {"mul.ftz.f16", 3, {0xb097, 0x0ef8}, 0x8000},
    {"mul.f32", 3, {0x3f7fffff, 0x00800000}, 0x00800000},
    {"add.sat.f32", 3, {0x40000000, 0x3f800000}, 0x3f800000},
    {"add.sat.f32", 3, {0x7fc00000, 0x3f800000}, 0},
    {"add.sat.f32", 3, {0xc0000000, 0x3f800000}, 0},
    {"neg.f32", 2, {0x7f800001}, 0x7fffffff},
    {"abs.ftz.f32", 2, {0x80000001}, 0},
    {"min.f32", 3, {0x7fc00000, 0x3f800000}, 0x3f800000},
    {"min.f32", 3, {0, 0x80000000}, 0x80000000},
    {"max.f32", 3, {0x80000000, 0}, 0},
    {"max.NaN.f32", 3, {0xffc00000, 0x3f800000}, 0x7fffffff},
    {"min.xorsign.abs.f32", 3, {0xc0000000, 0x3f800000}, 0xbf800000},
    {"max.f32", 4, {0x3f800000, 0x40400000, 0x40000000}, 0x40400000},
    {"min.f64", 3, {0x8000000000000000, 0}, 0x8000000000000000},
    {"copysign.f32", 3, {0x80000000, 0x3f800000}, 0xbf800000},
    {"fma.rn.relu.f16", 4, {0xbc00, 0x3c00, 0}, 0},
    {"mul.sat.f16x2", 3, {0x40003c00, 0x40003800}, 0x3c003800},
    {"add.ftz.f16", 3, {0x0001, 0x0001}, 0},
    {"max.NaN.bf16x2", 3, {0x3f807fc1, 0x40003f80}, 0x40007fff},
    {"testp.normal.f32", 2, {0}, 1},
    {"testp.subnormal.f32", 2, {0x80000001}, 1},
    {"testp.finite.f64", 2, {0x7ff0000000000000}, 0},
    {"testp.notanumber.f64", 2, {0x7ff0000000000001}, 1},
    /* approximate ones: their special values, and what is exact */
    {"rcp.approx.f32", 2, {0x80000000}, 0xff800000},
    {"rcp.approx.ftz.f32", 2, {0x7f000000}, 0},
    {"rsqrt.approx.f32", 2, {0x40800000}, 0x3f000000},
    {"rsqrt.approx.f32", 2, {0x80000000}, 0xff800000},
    {"sqrt.approx.f32", 2, {0xbf800000}, 0x7fffffff},
    {"ex2.approx.f32", 2, {0x40400000}, 0x41000000},
    {"ex2.approx.f32", 2, {0xff800000}, 0},
    {"lg2.approx.f32", 2, {0x41000000}, 0x40400000},
    {"lg2.approx.f32", 2, {0x80000000}, 0xff800000},
    {"lg2.approx.ftz.f32", 2, {0x00000001}, 0xff800000},
    {"sin.approx.f32", 2, {0x80000000}, 0x80000000},
    {"cos.approx.f32", 2, {0x7f800000}, 0x7fffffff},
    {"tanh.approx.f32", 2, {0x7f800000}, 0x3f800000},
    {"div.approx.f32", 3, {0x7e800000, 0x7e800001}, 0},
    {"div.approx.f32", 3, {0x7f800000, 0x7e800001}, 0x7fffffff},
    {"div.full.f32", 3, {0x40c00000, 0x40000000}, 0x40400000},
    {"rcp.approx.ftz.f64", 2, {0x4008000000000000}, 0x3fd5555500000000},
    /* conversions */
    {"cvt.s32.s8", 2, {0x1280}, 0xffffff80},
    {"cvt.u16.s8", 2, {0x80}, 0xff80},
    {"cvt.sat.u8.s32", 2, {0xffffffff}, 0},
    {"cvt.sat.s8.u32", 2, {0xffffffff}, 0x7f},
    {"cvt.u64.s32", 2, {0x80000000}, 0xffffffff80000000},
    {"cvt.rzi.s32.f32", 2, {0x7fc00000}, 0},
    {"cvt.rzi.s64.f32", 2, {0x7fc00000}, 0x8000000000000000},
    {"cvt.rzi.ftz.s32.f32", 2, {0xcf800000}, 0x80000000},
    {"cvt.rpi.ftz.s32.f32", 2, {0x00000001}, 0},
    {"cvt.rni.f32.f32", 2, {0x40200000}, 0x40000000},
    {"cvt.rmi.f32.f32", 2, {0x80000001}, 0xbf800000},
    {"cvt.rpi.f32.f32", 2, {0xbf000000}, 0x80000000},
    {"cvt.rni.f64.f64", 2, {0x7ff0000000000001}, 0x7ff8000000000001},
    {"cvt.sat.f32.f32", 2, {0x7fc00000}, 0},
    {"cvt.ftz.f32.f32", 2, {0x80000001}, 0x80000000},
    {"cvt.f64.f32", 2, {0xff800001}, 0xfff8000020000000},
    {"cvt.f32.f16", 2, {0x0001}, 0x33800000},
    {"cvt.f32.f16", 2, {0xfc01}, 0x7fffffff},
    {"cvt.f32.bf16", 2, {0x3f80}, 0x3f800000},
    {"cvt.rz.f16.f32", 2, {0x477fffff}, 0x7bff},
    {"cvt.rn.satfinite.f16.f32", 2, {0x7f800000}, 0x7bff},
    {"cvt.rn.relu.bf16.f32", 2, {0xbf800000}, 0},
    {"cvt.rn.f16.s32", 2, {2049}, 0x6800},
    {"cvt.rp.f16.u16", 2, {2049}, 0x6801},
    {"cvt.rzi.u16.f16", 2, {0x7bff}, 65504},
    {"cvt.rn.f16x2.f32", 3, {0x3f800000, 0x40000000}, 0x3c004000},
    {"cvt.rn.bf16x2.f32", 3, {0x3f800000, 0x40000000}, 0x3f804000},
    {"cvt.rna.tf32.f32", 2, {0x3f801000}, 0x3f802000},
    {"cvt.rna.tf32.f32", 2, {0xbf801000}, 0xbf802000},
    {"cvt.rna.tf32.f32", 2, {0x3f800fff}, 0x3f800000},
    {"cvt.rna.tf32.f32", 2, {0x7f7fffff}, 0x7f800000},
    {"cvt.rna.tf32.f32", 2, {0x7f800001}, 0x7f800000},
    {"cvt.rna.tf32.f32", 2, {0x7f8190a0}, 0x7f818000},
    {"cvt.rna.tf32.f32", 2, {0xffffffff}, 0xffffe000},
    {"cvt.rna.tf32.f32", 2, {0x00001000}, 0x00002000},
    {"cvt.rna.satfinite.tf32.f32", 2, {0x7f7fffff}, 0x7f7fe000},
    {"cvt.rna.satfinite.tf32.f32", 2, {0xff800000}, 0xff7fe000},
    {"cvt.rna.satfinite.tf32.f32", 2, {0x7f8190a0}, 0x7f816000},
    {"cvt.rna.satfinite.tf32.f32", 2, {0x7f800001}, 0x7f7fe000},
    {"cvt.rna.satfinite.tf32.f32", 2, {0x3f801000}, 0x3f802000},
    {"cvt.rn.tf32.f32", 2, {0x3f801000}, 0x3f800000},
    {"cvt.rn.tf32.f32", 2, {0x3f803000}, 0x3f804000},
    {"cvt.rn.tf32.f32", 2, {0x3f801001}, 0x3f802000},
    {"cvt.rn.tf32.f32", 2, {0xff800001}, 0x7fffe000},
    {"cvt.rn.tf32.f32", 2, {0x7f7fffff}, 0x7f800000},
    {"cvt.rn.relu.tf32.f32", 2, {0xbf800000}, 0x00000000},
    {"cvt.rn.relu.tf32.f32", 2, {0xffc00000}, 0x7fffe000},
    {"cvt.rn.relu.tf32.f32", 2, {0x80000000}, 0x00000000},
    {"cvt.rz.tf32.f32", 2, {0x3f801fff}, 0x3f800000},
    {"cvt.rz.tf32.f32", 2, {0x7f7fffff}, 0x7f7fe000},
    {"cvt.rz.tf32.f32", 2, {0xffffffff}, 0x7fffe000},
    {"cvt.rz.relu.tf32.f32", 2, {0xff800000}, 0x00000000},
    {"cvt.rz.relu.tf32.f32", 2, {0x3f801fff}, 0x3f800000},
    {"cvt.pack.sat.s16.s32", 3, {0x00012345, 0xffff0000}, 0x7fff8000},
    {"cvt.pack.sat.s4.s32.b32", 4, {9, -9, 0x123456}, 0x12345678},
    {"cvt.pack.sat.u4.s32.b32", 4, {9, -9, 0xff000001}, 0x00000190},
    {"cvt.pack.sat.u4.s32.b32", 4, {16, 5, 0x12}, 0x12f5},
    {"cvt.pack.sat.s2.s32.b32", 4, {2, -3, 0x51}, 0x516},
    {"cvt.pack.sat.u2.s32.b32", 4, {4, 2, 0xf0000001}, 0x1e},
    {"cvt.rn.bf16.f16", 2, {0x3555}, 0x3eab},
    {"cvt.rn.bf16.f16", 2, {0x0001}, 0x3380},
    {"cvt.rn.f16.bf16", 2, {0x3eab}, 0x3558},
    {"cvt.rn.f16.bf16", 2, {0x7f00}, 0x7c00},
    {"cvt.rn.f32.bf16", 2, {0x3f81}, 0x3f810000},
    {"cvt.rz.f64.bf16", 2, {0x8001}, 0xb7a0000000000000},
    {"cvt.pack.sat.u8.s32.b32", 4, {300, 0xffffffff, 0x1234}, 0x1234ff00},
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x3f800000, 0xc3e00000}, 0x38fe}, /* 1, -448 */
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x43e80001, 0xff800000}, 0x7efe}, /* above 464, -infinity */
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x7fc00000, 0x80000000}, 0x7f80},
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x3a800000, 0x3a800001}, 0x0001}, /* half of the least subnormal, and above */
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x3c780000, 0x3c700000}, 0x0808}, /* 7.75 and 7.5 of the least are 8 */
    {"cvt.rn.satfinite.e4m3x2.f32", 3, {0x3f880000, 0x3f980000}, 0x383a}, /* 1.0625 and 1.1875: ties to even */
    {"cvt.rn.satfinite.relu.e4m3x2.f32", 3, {0xbf800000, 0xffc00000}, 0x007f},
    {"cvt.rn.satfinite.e5m2x2.f32", 3, {0x3f800000, 0x47600000}, 0x3c7b}, /* 1, 57344 */
    {"cvt.rn.satfinite.e5m2x2.f32", 3, {0x7f7fffff, 0xff7fffff}, 0x7bfb},
    {"cvt.rn.satfinite.e5m2x2.f32", 3, {0x37800000, 0x37000000}, 0x0100}, /* the least subnormal, and its half */
    {"cvt.rn.satfinite.e4m3x2.f16x2", 2, {0x3c00fc00}, 0x38fe},
    {"cvt.rn.satfinite.e5m2x2.f16x2", 2, {0x7bff7e00}, 0x7b7f},
    {"cvt.rn.f16x2.e4m3x2", 2, {0x7efe}, 0x5f00df00},
    {"cvt.rn.f16x2.e4m3x2", 2, {0x7f01}, 0x7fff1800},
    {"cvt.rn.relu.f16x2.e4m3x2", 2, {0xb838}, 0x00003c00},
    {"cvt.rn.f16x2.e5m2x2", 2, {0x7c01}, 0x7c000100},
    {"cvt.rn.f16x2.e5m2x2", 2, {0xfdbc}, 0x7fffbc00},
    {"vabsdiff4.u32.u32.u32", 4, {0x00ff8001, 0xff007f03, 9}, 0xffff0102},
    {"vabsdiff4.u32.u32.u32.add", 4, {0x00ff8001, 0xff007f03, 9}, 522},
    {"vabsdiff4.u32.s32.s32", 4, {0x00ff8001, 0xff007f03, 9}, 0x0101ff02},
    {"vabsdiff4.u32.s32.s32.add", 4, {0x00ff8001, 0xff007f03, 9}, 268},
    {"vabsdiff2.u32.u32.u32", 4, {0x00018000, 0xffff7fff, 0}, 0xfffe0001},
    {"vabsdiff2.s32.s32.s32.add", 4, {0x00018000, 0xffff7fff, 5}, 65542},
    {"set.lt.u32.s32", 3, {0xffffffff, 0}, 0xffffffff},
    {"set.lt.u16.f16", 3, {0x3c00, 0x4000}, 0xffff},
    {"set.lt.s16.f16", 3, {0x4000, 0x3c00}, 0},
    {"set.lt.ftz.u16.f16", 3, {0x0000, 0x0001}, 0},
    {"set.eq.s16.bf16", 3, {0x3f80, 0x3f80}, 0xffff},
    {"set.neu.u16.bf16", 3, {0x7fc0, 0x7fc0}, 0xffff},
    {"set.lt.f16.f32", 3, {0x3f800000, 0x40000000}, 0x3c00},
    {"set.lt.f16.s32", 3, {0xffffffff, 0}, 0x3c00},
    {"set.gt.bf16.f16", 3, {0x4000, 0x3c00}, 0x3f80},
    {"set.lt.s32.f16x2", 3, {0x3c003c00, 0x40003800}, 0xffff0000},
    /* The NaN for elements outside a tensor: as an H200 has it, of all 65536 numbers in each place. */
    {"fma.rn.oob.f16", 4, {0x7ff7, 0x3c00, 0x3c00}, 0},
    {"fma.rn.oob.f16", 4, {0x7fff, 0xfff7, 0x3c00}, 0},
    {"fma.rn.oob.f16", 4, {0x3c00, 0x3c00, 0x7ff7}, 0x7fff},
    {"fma.rn.oob.f16", 4, {0xfff6, 0x3c00, 0x3c00}, 0x7fff},
    {"fma.rn.oob.f16", 4, {0x4000, 0x3c00, 0x3c00}, 0x4200},
    {"fma.rn.oob.relu.f16", 4, {0xfff7, 0x3c00, 0x7fff}, 0},
    {"fma.rn.oob.relu.f16", 4, {0xc000, 0x3c00, 0x3c00}, 0},
    {"fma.rn.oob.f16x2", 4, {0x7ff73c00, 0x3c003c00, 0x3c003c00}, 0x00004000},
    {"fma.rn.oob.bf16", 4, {0x3f80, 0x7ff7, 0x3f80}, 0},
    {"fma.rn.oob.bf16", 4, {0x7fc0, 0x3f80, 0x3f80}, 0x7fff},
    {"fma.rn.oob.relu.bf16", 4, {0xfff7, 0x3f80, 0x3f80}, 0},
    {"fma.rn.oob.relu.bf16x2", 4, {0x3f80fff7, 0x3f803f80, 0x3f803f80}, 0x40000000},
    {"set.gt.f32.f32", 3, {0x40000000, 0x3f800000}, 0x3f800000},
    {"set.eq.f16.f16", 3, {0x8000, 0}, 0x3c00},
    {"set.leu.f16x2.f16x2", 3, {0x3c007e00, 0x40003c00}, 0x3c003c00},
    {"set.ne.u32.bf16x2", 3, {0x3f803f80, 0x3f803f81}, 0x0000ffff},
};

static void check_answers(void) {
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const struct answer *answer = &answers[i];
        struct lane_operation operation;
        uint64_t values[VALUES][LANES] = {{0}};
        if (!find(answer->opcode, answer->count, false, &operation)) continue;
        for (uint32_t o = 1; o < answer->count; o++)
            for (uint32_t lane = 0; lane < LANES; lane++) values[o][lane] = answer->sources[o - 1];
        execute(&operation, UINT32_MAX, values, 0);
        uint64_t expected = answer->result;
        if (simt_width(operation.types[0]) == WIDTH_32) expected &= 0xffffffff;
        for (uint32_t lane = 0; lane < LANES; lane += 31)
            expect(answer->opcode, answer->sources, expected, values[0][lane]);
        bool is_approximate = strstr(answer->opcode, ".approx") || strstr(answer->opcode, ".full");
        expect("is_approximate", answer->sources, is_approximate, operation.is_approximate);
    }
}

/* ---- the carry flag: numbers of 128 bits in two steps, and what subtracting leaves in the flag */

static void step(const char *opcode, uint32_t count, const uint64_t *sources, uint64_t *result,
                 uint64_t *carry) {
    struct lane_operation operation;
    uint64_t values[VALUES][LANES];
    if (!find(opcode, count, false, &operation)) return;
    for (uint32_t o = 1; o < count; o++)
        for (uint32_t lane = 0; lane < LANES; lane++) values[o][lane] = sources[o - 1];
    for (uint32_t lane = 0; lane < LANES; lane++) values[count][lane] = values[count + 1][lane] = *carry;
    execute(&operation, UINT32_MAX, values, 0);
    *result = values[0][7];
    *carry = values[count][7];
}

static void check_carries(void) {
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t a[2] = {random_integer(64), random_integer(64)},
                 b[2] = {random_integer(64), random_integer(64)};
        unsigned __int128 x = (unsigned __int128)a[1] << 64 | a[0], y = (unsigned __int128)b[1] << 64 | b[0];
        uint64_t low[3] = {a[0], b[0]}, high[3] = {a[1], b[1]}, result[2], carry = round & 1;
        step("add.cc.u64", 3, low, &result[0], &carry);
        step("addc.u64", 3, high, &result[1], &carry);
        expect("add.cc.u64", low, (uint64_t)(x + y), result[0]);
        expect("addc.u64", high, (uint64_t)((x + y) >> 64), result[1]);
        step("sub.cc.s64", 3, low, &result[0], &carry);
        expect("the flag of sub.cc.s64", low, a[0] >= b[0], carry);
        step("subc.cc.s64", 3, high, &result[1], &carry);
        expect("sub.cc.s64", low, (uint64_t)(x - y), result[0]);
        expect("subc.cc.s64", high, (uint64_t)((x - y) >> 64), result[1]);
        expect("the flag of subc.cc.s64", high, x >= y, carry);
        uint64_t factors[3] = {a[0], b[0], a[1]};
        unsigned __int128 sum = (unsigned __int128)a[0] * b[0] + a[1];
        step("mad.lo.cc.u64", 4, factors, &result[0], &carry);
        factors[2] = 0;
        step("madc.hi.u64", 4, factors, &result[1], &carry);
        expect("mad.lo.cc.u64", low, (uint64_t)sum, result[0]);
        expect("madc.hi.u64", low, (uint64_t)(sum >> 64), result[1]);
    }
}

/* ---- one array as source and destination; wide registers of narrow types; what is refused */

static void check_same_array(void) {
    static const struct {
        const char *opcode;
        uint32_t count;
    } operations[] = {{"add.u32", 3},         {"add.f64", 3}, {"fma.rn.f32", 4}, {"shl.b32", 3},
                      {"mul.lo.s64", 3},      {"max.f32", 3}, {"mov.b64", 2},    {"selp.b32", 4},
                      {"cvt.rni.f32.f32", 2}, {"min.s16", 3}, {"fma.rn.f16", 4}, {"brev.b64", 2}};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        struct lane_operation operation;
        if (!find(operations[i].opcode, operations[i].count, false, &operation)) continue;
        for (uint32_t same = 1; same < operations[i].count; same++) {
            if (operation.types[same] == TYPE_PRED) continue;
            for (int round = 0; round < 20; round++) {
                uint64_t apart[VALUES][LANES], together[VALUES][LANES];
                uint32_t mask = round & 1 ? UINT32_MAX : (uint32_t)random_bits() | 1;
                fill(&operation, apart);
                memcpy(apart[0], apart[same], sizeof apart[0]);
                memcpy(together, apart, sizeof together);
                execute(&operation, mask, apart, 0);
                execute(&operation, mask, together, same);
                for (uint32_t lane = 0; lane < LANES; lane++)
                    expect(operations[i].opcode, &apart[same][lane / 4 * 4], apart[0][lane],
                           together[0][lane]);
            }
        }
    }
}

static void check_widths(void) {
    static const struct {
        const char *opcode;
        enum width widths[2];
        uint64_t source, result;
    } wide_ones[] = {{"cvt.s8.s32", {WIDTH_32, WIDTH_32}, 0x1280, 0xffffff80},
                     {"cvt.u8.u32", {WIDTH_32, WIDTH_64}, 0xffff000012ff, 0xff},
                     {"cvt.sat.u8.s32", {WIDTH_32, WIDTH_32}, 300, 255},
                     {"cvt.rzi.s8.f32", {WIDTH_32, WIDTH_32}, 0xc3000000, 0xffffff80},
                     {"cvt.rn.f32.s8", {WIDTH_32, WIDTH_32}, 0xff, 0xbf800000},
                     {"cvt.u64.u16", {WIDTH_64, WIDTH_32}, 0x12345678, 0x5678}};
    for (size_t i = 0; i < sizeof wide_ones / sizeof *wide_ones; i++) {
        struct lane_operation operation;
        _Alignas(LANE_ALIGNMENT) unsigned char frame[2 * REGISTER_NBYTES] = {0};
        unsigned char *const result = frame, *const source = frame + REGISTER_NBYTES;
        if (!find_with(wide_ones[i].opcode, 2, false, wide_ones[i].widths, &operation)) {
            failures++, fprintf(stderr, "lanes: %s is not known\n", wide_ones[i].opcode);
            continue;
        }
        put(source, wide_ones[i].widths[1], 5, wide_ones[i].source);
        const struct lane_call call = {.slots = {0, REGISTER_NBYTES}, .context = operation.context};
        operation.function((struct lane_operands){frame, &call}, 1 << 5);
        uint64_t sources[3] = {wide_ones[i].source};
        expect(wide_ones[i].opcode, sources, wide_ones[i].result, get(result, wide_ones[i].widths[0], 5));
        expect(wide_ones[i].opcode, sources, 0, get(result, wide_ones[i].widths[0], 6));
    }
}

static void check_refused(void) {
    static const struct {
        const char *opcode;
        uint32_t count;
    } refused[] = {
        {"add.s33", 3},     {"add.wide.s32", 3},      {"add.sat.u32", 3},     {"add.u32.u32", 3},
        {"add.s32", 2},     {"fma.f32", 4},           {"mul.s32", 3},         {"div.f32", 3},
        {"setp.lo.s32", 3}, {"setp.lt.b32", 3},       {"setp.lt.and.s32", 3}, {"setp.ltu.s32", 3},
        {"cvt.s32.f32", 2}, {"cvt.rn.f64.f32", 2},    {"cvt.f32.f64", 2},     {"cvt.rni.f32.f64", 2},
        {"cvt.f32.s32", 2}, {"cvt.rn.rz.f32.s32", 2}, {"shf.l.b32", 4},       {"min.NaN.f64", 3},
        {"add.ftz.f64", 3}, {"fma.rn.sat.bf16", 4},   {"add.rn.rn.f32", 3},   {"wgmma.f32", 3},
        {"bfe.b32", 4},     {"testp.f32", 2},         {"cvt.tf32.f32", 2},    {"mad.cc.u32", 4},
        {"cvt.rna.f32.f64", 2}, {"cvt.rna.relu.tf32.f32", 2},
        {"cvt.rn.satfinite.tf32.f32", 2}, {"add.tf32", 3}}; /* the former of sm_100 alone */
    struct lane_operation operation;
    uint64_t nothing[3] = {0};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(refused[i].opcode, nothing, false,
               find_with(refused[i].opcode, refused[i].count, false, NULL, &operation));
    enum width widths[3] = {WIDTH_32, WIDTH_32, WIDTH_64};
    expect("add.u32 with a register of 64 bits", nothing, false,
           find_with("add.u32", 3, false, widths, &operation));
}

/* ---- atomics */

static void check_scalars(void) {
    static const struct {
        const char *name;
        enum type type;
        uint64_t old, value, compare, result, mask;
    } scalars[] = {
        {"add", TYPE_S32, 0xffffffff, 2, 0, 1, 0xffffffff},
        {"add", TYPE_U64, UINT64_MAX, 2, 0, 1, UINT64_MAX},
        {"add", TYPE_F32, 0x3f800000, 0x40000000, 0, 0x40400000, 0xffffffff},
        {"add", TYPE_F32, 0x7f800000, 0xff800000, 0, 0x7fffffff, 0xffffffff},
        {"add", TYPE_F64, 0x3ff0000000000000, 0x3ff0000000000000, 0, 0x4000000000000000, UINT64_MAX},
        {"add", TYPE_F16X2, 0x3c003c00, 0x3c004000, 0, 0x40004200, 0xffffffff},
        {"add", TYPE_BF16, 0x3f80, 0x3f80, 0, 0x4000, 0xffff},
        {"min", TYPE_S32, 0xffffffff, 1, 0, 0xffffffff, 0xffffffff},
        {"min", TYPE_U32, 0xffffffff, 1, 0, 1, 0xffffffff},
        {"max", TYPE_S64, UINT64_MAX, 1, 0, 1, UINT64_MAX},
        {"max", TYPE_F16, 0x7e00, 0x3c00, 0, 0x3c00, 0xffff},
        {"and", TYPE_B32, 12, 10, 0, 8, 0xffffffff},
        {"or", TYPE_B64, 12, 10, 0, 14, UINT64_MAX},
        {"xor", TYPE_B32, 12, 10, 0, 6, 0xffffffff},
        {"inc", TYPE_U32, 7, 7, 0, 0, 0xffffffff},
        {"inc", TYPE_U32, 6, 7, 0, 7, 0xffffffff},
        {"dec", TYPE_U32, 0, 7, 0, 7, 0xffffffff},
        {"dec", TYPE_U32, 9, 7, 0, 7, 0xffffffff},
        {"dec", TYPE_U32, 5, 7, 0, 4, 0xffffffff},
        {"exch", TYPE_B64, 1, 2, 0, 2, UINT64_MAX},
        {"cas", TYPE_B16, 5, 9, 5, 9, 0xffff},
        {"cas", TYPE_B32, 5, 9, 6, 5, 0xffffffff}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        scalar_function *function = simt_scalar_find(scalars[i].name, scalars[i].type);
        uint64_t sources[3] = {scalars[i].old, scalars[i].value, scalars[i].compare};
        if (function)
            expect(scalars[i].name, sources, scalars[i].result,
                   function(sources[0], sources[1], sources[2]) & scalars[i].mask);
        else failures++, fprintf(stderr, "lanes: atomic %s is not known\n", scalars[i].name);
    }
    uint64_t nothing[3] = {0};
    expect("sub is no atomic", nothing, 0, simt_scalar_find("sub", TYPE_S32) != NULL);
    expect("inc has no signed type", nothing, 0, simt_scalar_find("inc", TYPE_S32) != NULL);
}

int main(void) {
    check_answers();
    check_carries();
    check_same_array();
    check_widths();
    check_refused();
    check_scalars();
    printf("%d results of lane operations: %d failures\n", checks, failures);
    return failures > 0;
}
