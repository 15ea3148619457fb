"""What the GPU benchmark measures."""

from dataclasses import dataclass

NBYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i8": 1, "i32": 4, "i64": 8}
SUM_TYPES = tuple(NBYTES)
ORDER_TYPES = ("f32", "f64", "f16", "i8", "i32")
WIDE_DATA = {"f32": ("normal", "wide60", "full"), "f64": ("normal", "wide60", "full"), "f16": ("normal", "full"),
             "bf16": ("normal", "wide60", "full")}
# Kinds of data as users have them, and as they hurt: data.cu says what each is.
KINDS = ("uniform", "normal", "relu", "sparse", "ints", "grad", "lognormal", "one_nan", "one_infinity", "nan_1000",
         "nan_2", "subnormal", "half_subnormal", "wide20", "wide60", "wide100", "wide250", "full", "bits",
         "alternating", "sorted", "missed", "two_scales")
NAN_KINDS = ("one_nan", "nan_1000", "nan_2")  # with each policy that goes on
KIND_TYPES = ("f32", "f64", "bf16", "f16")
KIND_OPS = ("sum", "mean", "norm1", "var", "std", "norm2", "dot", "stats", "min", "max", "argmin", "argmax", "nonzero", "prod")
QUICK_KIND_OPS = ("sum", "norm1", "var", "norm2", "dot", "stats", "max", "argmax", "nonzero", "prod")  # whose kernels differ
KIND_NBYTES = 1 << 30
SMALL = 1 << 20  # up to here the time of a call in a CUDA graph is measured
POOL = 1 << 28   # elements; arrays of a call are taken from them in turn
LARGEST = 1 << 30


@dataclass(frozen=True)
class Case:
    """An op over an array: count elements, of dot in two halves."""

    op: str
    type: str
    data: str
    count: int
    nan: str = "propagate"
    has_peers: bool = True

    @property
    def nbytes(self):
        return self.count * NBYTES[self.type]

    @property
    def is_in_graph(self):
        return self.count <= SMALL and self.op != "stats"  # whose values come to the host

    @property
    def row(self):
        return {"place": "gpu", "op": self.op, "type": self.type, "data": self.data, "count": self.count, "nan": self.nan,
                "nbytes": self.nbytes, "how": "graph" if self.is_in_graph else "calls"}


def reductions():
    """(op, type) of whole arrays."""
    for type_name in SUM_TYPES:
        yield "sum", type_name
    for type_name in ORDER_TYPES:
        for op in ("min", "max", "argmin", "argmax"):
            yield op, type_name
    for type_name in ("f32", "f64"):
        for op in ("dot", "norm2", "var", "std", "stats", "prod"):
            yield op, type_name
    yield "dot", "f16"


def cases(quick):
    """All, those of one array together."""
    counts = (SMALL, POOL) if quick else (SMALL, 1 << 24, POOL)
    found = [Case(op, type_name, "uniform", count) for op, type_name in reductions() for count in counts]
    found += [Case("sum", type_name, data, count) for type_name, kinds in WIDE_DATA.items() for data in kinds
              for count in counts[-1:]]
    found += [Case(op, type_name, "uniform", count)
              for op, type_name in (("sum", "f32"), ("sum", "f64"), ("sum", "i32"), ("min", "f32"), ("max", "f32"),
                                    ("min", "i32"), ("max", "i32"))
              for count in (1 << 10, 1 << 14, 1 << 17)]
    found.append(Case("sum", "f32", "uniform", LARGEST))
    return sorted(found, key=lambda case: (list(NBYTES).index(case.type), case.data, case.count))


def cases_of_kinds(quick):
    """Every float op over every kind of data, in arrays of as many bytes."""
    return [Case(op, type_name, data, KIND_NBYTES // NBYTES[type_name], nan, has_peers=False)
            for type_name in KIND_TYPES for data in KINDS
            for nan in (("propagate", "omit") if data in NAN_KINDS else ("propagate",))
            for op in (QUICK_KIND_OPS if quick else KIND_OPS)]
