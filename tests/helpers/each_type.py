"""The element types as parameters: `make check` takes one of each kind of loop, `make test` all, but for
kernels that have to be compiled."""

import os

import pytest

from gpu_memory import real_driver
from oracle import TYPES


def but_slow(names, *slow):
    """The names as parameters, of which `make check` leaves some out."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]


# CI compiles every kernel; elsewhere those of types that are treated as others are left out where there is no GPU.
EVERY_KERNEL = bool(os.environ.get("TESTS_EVERY_KERNEL")) or bool(real_driver())
# For a program's environment: its kernels are as NVRTC optimizes them for users, in CI.
AS_FOR_USERS = {"TESTS_NVRTC_QUICK": None} if EVERY_KERNEL else {}
ALIKE = ("bool", "i16", "u16", "i32", "u32", "u64")


def but_alike(names, alike=ALIKE):
    """The names as parameters, of which CI takes all."""
    skipped = pytest.mark.skip(reason="its kernels are as those of other types: TESTS_EVERY_KERNEL=1, as in CI, takes them all")
    return [pytest.param(name, marks=skipped) if name in alike and not EVERY_KERNEL else name for name in names]


def one_of(names, turn=0):
    """Of ops whose kernels are alike; of which CI takes all, and other tests another turn's."""
    return names if EVERY_KERNEL or not names else (names[turn % len(names)],)


needs_every_kernel = pytest.mark.skipif(
    not EVERY_KERNEL, reason="its kernels differ from others by what those show: TESTS_EVERY_KERNEL=1, as in CI, takes them all")


CHECKED = ("bool", "i8", "u32", "f16", "f32", "f64")
EACH_TYPE = but_slow(TYPES, *(name for name in TYPES if name not in CHECKED))
