"""The floating-point environment is the caller's: it changes no result, and comes back as it was."""

import ctypes
import ctypes.util
import itertools
import os
import subprocess
import sys
from ctypes import POINTER, byref, c_int, c_void_p
from pathlib import Path

import pytest

import warpfold_ctypes as wf
from oracle import FLOATS, Oracle, PairOracle, ops_of
from samples import agree, nbytes_of, outcome, run_compiler, sample
from warpfold_ctypes import library

SHIM = r"""
#define _GNU_SOURCE
#include <fenv.h>
#include "warpfold.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

struct environment {
    int rounding, flags, traps;
    unsigned control;
};

static struct environment look(void) {
    struct environment now = {fegetround(), fetestexcept(FE_ALL_EXCEPT), fegetexcept(), 0};
#ifdef __SSE2__
    now.control = _mm_getcsr();
#endif
    return now;
}

static void enter(int rounding, int flush, int flags, int traps) {
    feclearexcept(FE_ALL_EXCEPT);
    if (flags) feraiseexcept(FE_ALL_EXCEPT);
    fesetround(roundings[rounding]);
#ifdef __SSE2__
    if (flush) _mm_setcsr(_mm_getcsr() | 0x8040); /* FTZ and DAZ */
#endif
    if (traps) feenableexcept(FE_ALL_EXCEPT);
}

typedef wf_error reduce_function(wf_handle *, const wf_reduction *, const wf_array *, const wf_array *, wf_value *);

/* wf_reduce_value under the environment described; *changed tells whether that was another afterwards. */
wf_error reduce_under(int rounding, int flush, int flags, int traps, wf_handle *handle,
                      const wf_reduction *reduction, const wf_array *a, const wf_array *b, wf_value *value,
                      int *changed, reduce_function *reduce) {
    fenv_t callers;
    fegetenv(&callers);
    enter(rounding, flush, flags, traps);
    struct environment before = look();
    wf_error error = reduce(handle, reduction, a, b, value);
    struct environment after = look();
    fesetenv(&callers);
    *changed = before.rounding != after.rounding || before.flags != after.flags ||
               before.traps != after.traps || before.control != after.control;
    return error;
}
"""


def load_shim(directory):
    source, path = Path(directory) / "shim.c", Path(directory) / "shim.so"
    if not path.exists():
        source.write_text(SHIM)
        run_compiler(
            "-shared", "-fPIC", "-O1", "-frounding-math", "-I", wf.ROOT / "include", source, "-o", path, "-lm"
        )
    shim = ctypes.CDLL(str(path))
    pointer = POINTER(wf.wf_array)
    shim.reduce_under.argtypes = [
        c_int,
        c_int,
        c_int,
        c_int,
        c_void_p,
        POINTER(wf.wf_reduction),
        pointer,
        pointer,
        POINTER(wf.wf_value),
        POINTER(c_int),
        c_void_p,
    ]
    return shim


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return load_shim(tmp_path_factory.mktemp("shim"))


def reduce_under(shim, environment, handle, op, a, b=None, threads=0, **chosen):
    value, changed = wf.wf_value(), c_int()
    handle.set_threads(threads)
    code = shim.reduce_under(
        *environment,
        handle.pointer,
        byref(wf.reduction(op, **chosen)),
        byref(a),
        byref(b) if b else None,
        byref(value),
        byref(changed),
        ctypes.cast(library.wf_reduce_value, c_void_p),
    )
    assert not changed.value, f"{op}: the caller's environment is another afterwards"
    handle.check(code)
    return wf.value_bits(value)


def check_under(shim, environments, handle, type_name, count, flavour):
    a, b = (sample(type_name, count, flavour, seed) for seed in (20, 21))
    views = [wf.vector(data, type_name) for data in (a, b)]
    whole = Oracle(type_name, a)
    for environment in environments:
        for op, threads in itertools.product(ops_of(type_name), (1, 3) if count > 1000 else (1,)):
            agree(
                whole.reduce(op),
                outcome(reduce_under, shim, environment, handle, op, views[0], threads=threads),
                op,
                type_name,
                count,
                flavour,
                environment,
                f"threads {threads}",
            )
        agree(
            PairOracle(type_name, a, b).reduce(),
            outcome(reduce_under, shim, environment, handle, "dot", *views),
            "dot",
            type_name,
            count,
            environment,
        )


@pytest.mark.slow
@pytest.mark.parametrize("type_name", (*FLOATS, "i32", "u64"))
def test_rounding_flushing_and_flags(shim, type_name):
    handle = wf.Handle()
    environments = [(*way, 0) for way in itertools.product(range(4), (0, 1), (0, 1))]
    for count, flavour in itertools.product((3, 300), ("plain", "wild", "special", "unit")):
        check_under(shim, environments, handle, type_name, count, flavour)
    check_under(shim, environments[::5], handle, type_name, 200_000 // nbytes_of(type_name), "wild")


@pytest.mark.parametrize("type_name", ("f32", "f64"))
def test_subnormals_are_kept(shim, type_name):
    """With FTZ and DAZ set by the caller, subnormals still count."""
    handle = wf.Handle()
    elements = (ctypes.c_double if type_name == "f64" else ctypes.c_float) * 5000
    data = bytes(elements(*[5e-324 if type_name == "f64" else 1e-45] * 5000))
    view = wf.vector(data, type_name)
    whole = Oracle(type_name, data)
    for op, threads in itertools.product(ops_of(type_name), (1, 2)):
        got = outcome(reduce_under, shim, (1, 1, 0, 0), handle, op, view, threads=threads)
        agree(whole.reduce(op), got, op, type_name)


def reduce_with_traps(directory):
    """What test_traps runs in a process of its own, since a trap would end it."""
    shim, handle = load_shim(directory), wf.Handle()
    for type_name, flavour in itertools.product(FLOATS, ("wild", "special", "unit")):
        check_under(shim, [(0, 0, 0, 1), (2, 1, 0, 1)], handle, type_name, 3000, flavour)


@pytest.mark.slow
def test_traps(shim, tmp_path):
    script = f"import test_environment; test_environment.reduce_with_traps({str(tmp_path)!r})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, env=environment, check=True)


@pytest.mark.parametrize("op", ("prod", "sum", "var"))
@pytest.mark.parametrize("shape", ((), (7,)))
def test_saving_and_loading_ignore_the_rounding_mode(op, shape):
    """The rounding modes by the C library; python itself computes nothing in between."""
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    handle = wf.Handle()
    data = wf.strided(sample("f64", 1001, "unit"), "f64", (143, 7), (56, 8))
    groups = library.wf_groups_axes(1) if shape else None
    result = wf.Accumulator.results if shape else wf.Accumulator.result

    def accumulate():
        accumulator = handle.accumulator(op, "f64", shape)
        accumulator.add(data, groups=groups)
        following = handle.accumulator(op, "f64", shape, first_index=143 if shape else 1001)
        following.add(data, groups=groups)
        accumulator.merge(following)
        return accumulator

    accumulator = accumulate()
    expected, saved = result(accumulator, op), accumulator.save()
    callers = libm.fegetround()
    seen = []
    for rounding in (0x000, 0x400, 0x800, 0xC00) if os.uname().machine == "x86_64" else (callers,):
        assert libm.fesetround(rounding) == 0
        try:
            again = accumulator.save()
            seen.append((again, accumulate().save(), result(handle.load(again), op)))
        finally:
            libm.fesetround(callers)
    assert seen == [(saved, saved, expected)] * len(seen)
