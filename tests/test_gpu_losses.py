"""Results of large arrays on the GPU that are made of sums which may lack what is wide (src/cuda/kernels/losses.cuh): the CPU's
bits, whatever the data."""

import itertools

import pytest

numpy = pytest.importorskip("numpy", reason="no numpy")

import gpu_data  # noqa: E402
import warpfold_ctypes as wf  # noqa: E402
from cuda_helpers import gpu  # noqa: E402, F401: a fixture
from each_type import but_slow  # noqa: E402
from samples import NAN_POLICIES, agree, nbytes_of  # noqa: E402
from test_gpu import LARGE_WAYS, ONE_BLOCK, Engines, outcome, outcome_on_device  # noqa: E402

LOSING = {"WARPFOLD_CUDA_LOSES_FROM": "0"}
OPS = ("var", "std", "norm2")
TYPES = but_slow(("f64", "f32"), "f32")


@pytest.fixture(scope="module")
def engines(gpu):  # noqa: F811
    return Engines(gpu)


def reals(make):
    """The packed elements that a function makes of a count and a source of random numbers."""
    def packed(type_name, count):
        draw = gpu_data.Draw(type_name, count)
        with numpy.errstate(all="ignore"):
            return draw.from_reals(numpy.asarray(make(count, numpy.random.default_rng(count)), numpy.float64)).tobytes()

    return packed


def uniform(count, random):
    return random.uniform(-1, 1, count)


def wide(count, random):
    return random.standard_normal(count) * numpy.exp(random.uniform(-40, 40, count))


def with_some(special, count, random):
    return numpy.where(random.random(count) < 0.001, special, wide(count, random))


# What decides the result lies below what is lost, or just there; or it decides nothing, but leaves the range.
ADVERSARIES = {
    "a mean that cancels": lambda count, random: 1e9 + 1e-7 * random.standard_normal(count),
    "but one all alike": lambda count, random: numpy.r_[numpy.full(count - 1, 0.1), 1e-40],
    "one huge one, the last": lambda count, random: numpy.r_[random.standard_normal(count - 1), 1e250],
    "one huge one, the first": lambda count, random: numpy.r_[1e200, random.standard_normal(count - 1)],
    "rising": lambda count, random: numpy.sort(numpy.exp(random.uniform(-600, 600, count))),
    "falling": lambda count, random: -numpy.sort(numpy.exp(random.uniform(-300, 300, count)))[::-1],
    "by turns": lambda count, random: numpy.where(numpy.arange(count) // 700 % 2, uniform(count, random), wide(count, random)),
    "squares that underflow": lambda count, random: wide(count, random) * 2.0**-600,
    "squares that overflow": lambda count, random: wide(count, random) * 2.0**600,
    "least subnormals": lambda count, random: random.integers(-3, 4, count) * 2.0**-1074,
    "subnormals of all sizes": lambda count, random: numpy.exp2(random.uniform(-1074, -1000, count)),
    "a root that is a tie": lambda count, random: numpy.r_[2.0**53 + 2, 2.0**27, 2.0**-200, numpy.zeros(count - 3)],
    "a square and a bit": lambda count, random: numpy.r_[1.0, 2.0**-500, numpy.zeros(count - 2)],
    "pairs that cancel": lambda count, random: numpy.outer(wide(count // 2 + 1, random), (1, -1)).ravel()[:count],
    "nothing but -0 and one": lambda count, random: numpy.r_[numpy.full(count - 1, -0.0), 1e-200],
    "infinities among wide ones": lambda count, random: with_some(numpy.inf, count, random),
    "NaNs among wide ones": lambda count, random: with_some(numpy.nan, count, random),
    "wide": wide,
    "lognormal": lambda count, random: numpy.exp(8 * random.standard_normal(count)),
    "uniform": uniform,
}


def check(engines, ways, type_name, data, *context):
    """Each op, with each policy where there are NaNs.  The first call of a handle loses what it may."""
    on_host, on_device = wf.vector(data, type_name), engines.gpu_vector(data, type_name)
    has_nans = any("nan" in str(word).lower() or word in ("changing", "any_bits", "specials_often") for word in context)
    for op, nan in itertools.product(OPS, NAN_POLICIES if has_nans else NAN_POLICIES[:1]):
        handle = wf.Handle("cuda:0", **ways | LOSING)
        expected = outcome(engines.host, op, [on_host], nan=nan)
        expected = expected.split(":")[0] if isinstance(expected, str) else expected
        agree(expected, outcome_on_device(engines, op, [on_device], handle=handle, nan=nan), op, type_name, *context, nan)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("ways", (LARGE_WAYS, ONE_BLOCK), ids=("blocks", "one block"))
@pytest.mark.parametrize("name", ADVERSARIES)
def test_results_of_hard_data(engines, name, ways, type_name):
    """Of a few chunks, and of several segments of each warp."""
    for count in engines.choose((5, 70001, (1 << 22) + 5), (7001,)):
        check(engines, ways, type_name, reals(ADVERSARIES[name])(type_name, count), name, count)


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("kind", gpu_data.FLOAT_KINDS)
def test_results_of_each_kind(engines, kind, type_name):
    for count in engines.choose(((1 << 20) + 77, (1 << 22) + 5), (60_000 // nbytes_of(type_name),)):
        check(engines, ONE_BLOCK, type_name, gpu_data.make(type_name, count, kind, "losses"), kind, count)


@pytest.mark.parametrize("type_name", TYPES)
def test_a_handle_goes_on_with_what_was_best(engines, type_name):
    """Until it looks again: after data that lose something and are certain come some that are not, or lose nothing."""
    handle = wf.Handle("cuda:0", **LARGE_WAYS | LOSING)
    names = ("wide", "wide", "but one all alike", "pairs that cancel", "uniform", "lognormal") * engines.choose(30, 1)
    arrays = {name: reals(ADVERSARIES[name])(type_name, engines.choose(70001, 3001)) for name in names}
    for turn, name in enumerate(names):
        expected = outcome(engines.host, "var", [wf.vector(arrays[name], type_name)])
        on_device = engines.gpu_vector(arrays[name], type_name)
        agree(expected, outcome_on_device(engines, "var", [on_device], handle=handle), name, turn)
