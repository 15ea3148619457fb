"""CUDA kernels on the simulator, without a GPU: by the program `warpfold inspect`, which is part of the package."""

import html
import json
import re
import struct
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

from warpfold import _kinds

_PROGRAM = Path(__file__).resolve().parent / "bin" / "warpfold"
_HEADER = b"\x93NUMPY\x01\x00"


class KernelRun:
    """The result of run_kernel(): counts and findings; a notebook shows it as a page.

    kernel    its name
    counts    numbers by name: "instructions", "divergent_branches", "shared_wavefronts", "global_sectors" ...
    findings  races, accesses out of bounds and the like, each with kind, message, file, line, block, thread, count ...
    advice    what makes the kernel slow, each with its line; empty if there is none
    lines     the counts of each line of the source
    printed   what the kernel printed
    stopped   whether a finding stopped the kernel; nothing is written back in that case
    report    everything above, as the JSON object of `warpfold inspect`
    page      the page, as a complete HTML document
    """

    def __init__(self, report, page):
        self.report, self.page = report, page
        self.kernel, self.counts = report["kernel"], report["counts"]
        self.printed, self.stopped = report["printed"], report["stopped"]
        self.findings, self.advice, self.lines = (
            [SimpleNamespace(**item) for item in report.get(name) or []] for name in ("findings", "advice", "lines"))

    def __repr__(self):
        found = ", ".join(f"{finding.kind} at line {finding.line}" for finding in self.findings) or "no findings"
        return f"<KernelRun of {self.kernel}: {self.counts['instructions']} instructions, {found}>"

    def _repr_html_(self):
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 40em; border: 0"></iframe>'


def _is_text(source):
    return isinstance(source, str) and ("\n" in source or "{" in source)


def _suffix(text):
    return ".ptx" if re.search(r"^\s*\.version\s", text, re.MULTILINE) else ".cu"


def _bytes(array):
    """A buffer's bytes, in place, and the name of its elements' type."""
    name = getattr(getattr(array, "dtype", None), "name", None)
    view = memoryview(array.view("uint16") if name == "bfloat16" else array)
    if not view.c_contiguous:
        raise ValueError("a kernel's arrays must be contiguous, in C order")
    kind = _kinds.type_name(name if name and name != "bfloat16" else _NAMES[view.format.lstrip("@=<")])
    return (view.cast("B") if view.nbytes else memoryview(bytearray())), kind, view.readonly


_NAMES = {code: name for name, code in (("bool", "?"), ("int8", "b"), ("int16", "h"), ("int32", "i"), ("int64", "q"),
                                        ("uint8", "B"), ("uint16", "H"), ("uint32", "I"), ("uint64", "Q"),
                                        ("float16", "e"), ("float32", "f"), ("float64", "d"))}
_NAMES.update({"l": "int64", "L": "uint64"})


def _write_npy(path, data, kind):
    code = {"bool": "|b1"}.get(kind, "<" + {"i": "i", "u": "u", "f": "f"}[kind[0]] + str(_kinds.nbytes(kind)))
    text = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({len(data) // _kinds.nbytes(kind)},), }}"
    text = text.encode().ljust(117) + b"\n"
    path.write_bytes(_HEADER + struct.pack("<H", len(text)) + text + data)


def _read_npy(path):
    data = path.read_bytes()
    return memoryview(data)[10 + struct.unpack_from("<H", data, 8)[0]:]


def _scalar(value):
    """The words of --arg: NumPy's scalars have their own type, int is int and float is float in C."""
    name = getattr(getattr(value, "dtype", None), "name", None)
    if name:
        kind = _kinds.type_name(name)
        return f"{kind}:{float(value).hex() if 'f' in kind else int(value)}"
    if isinstance(value, int):
        return f"i32:{int(value)}"
    if isinstance(value, float):
        return f"f32:{value.hex()}"
    if isinstance(value, (bytes, bytearray)):
        return f"bytes:{value.hex()}"
    raise TypeError(f"a kernel takes arrays, numbers, bytes (of a struct) and None (a null pointer), not {value!r}")


def _is_array(value):
    if isinstance(value, (bytes, bytearray, str, int, float)) or value is None:
        return False
    return bool(getattr(value, "shape", ())) or (not hasattr(value, "dtype") and hasattr(value, "__len__"))


def _extent(extent):
    return ",".join(str(int(n)) for n in (extent if isinstance(extent, (tuple, list)) else (extent,)))


class _Arguments:
    """A kernel's arguments in a folder, and back."""

    def __init__(self, args, folder):
        self.words, self.written = [], []
        for i, value in enumerate(args):
            if value is None:
                self.words += ["--arg", "u64:0"]
            elif not _is_array(value):
                self.words += ["--arg", _scalar(value)]
            else:
                self._add_array(i, value, folder)

    def _add_array(self, i, value, folder):
        data, kind, is_read_only = _bytes(value)
        path, out = folder / f"in{i}.npy", folder / f"out{i}.npy"
        _write_npy(path, data, kind)
        self.words += ["--arg", f"{kind}[{len(data) // _kinds.nbytes(kind)}]={path}"]
        if not is_read_only:
            self.words += ["--out", f"{i}={out}"]
            self.written.append((data, out))

    def write_back(self):
        for data, out in self.written:
            if out.exists():
                data[:] = _read_npy(out)


def _run(words, folder):
    try:
        done = subprocess.run([_PROGRAM, "inspect", *words], capture_output=True, text=True, cwd=folder)
    except FileNotFoundError:
        raise RuntimeError(f"this build of the package has no simulator: {_PROGRAM} is missing") from None
    if done.returncode in (0, 3):
        return json.loads(done.stdout)
    message = done.stderr.removeprefix("warpfold: ").partition("\nwarpfold: try")[0].strip()
    raise (ValueError if done.returncode == 2 else RuntimeError)(message)


def run_kernel(source, grid=1, block=32, args=(), *, kernel=None, shared=0, cluster=None, schedule="lockstep", limit=None,
               warp=32, banks=32):
    """Runs a CUDA kernel on the simulator, without a GPU, and returns what it counted and found, a KernelRun.

    source: the text of a kernel, CUDA C or PTX, or the path of a .cu or .ptx file.  PTX needs nothing; CUDA C needs NVRTC
    or nvcc.  grid, block, cluster: numbers, or up to three each.  shared: bytes of dynamic shared memory.  kernel: which,
    where there are several; "add<int>" makes an instance of a template.

    args: an array (NumPy's, array.array, whatever has a contiguous buffer) is a pointer to its elements in the memory of
    the GPU; what the kernel has written is copied back, unless the array is read-only or a finding stopped the kernel.
    NumPy's scalars keep their type; int is a C int, float a C float, bytes a struct, None a null pointer.

    schedule: "lockstep", "split" or "random:SEED"; limit: of warp instructions.  ValueError: what cannot be launched so;
    RuntimeError: what cannot be compiled or run.

    >>> run = run_kernel('extern "C" __global__ void f(int *p) { p[threadIdx.x] = 7; }', args=[array('i', [0] * 8)])  # doctest: +SKIP
    >>> run.findings[0].kind  # doctest: +SKIP
    'bounds'
    """
    with tempfile.TemporaryDirectory(prefix="warpfold-") as name:
        folder = Path(name)
        path = f"kernel{_suffix(source)}" if _is_text(source) else str(Path(source).resolve())
        if _is_text(source):
            (folder / path).write_text(source)
        arguments, page = _Arguments(args, folder), folder / "page.html"
        words = ["--json", "--html", str(page), "--grid", _extent(grid), "--block", _extent(block), "--shared", str(shared),
                 "--schedule", schedule, "--warp", str(warp), "--banks", str(banks), *arguments.words]
        for option, value in (("--kernel", kernel), ("--cluster", cluster and _extent(cluster)), ("--limit", limit)):
            if value is not None:
                words += [option, str(value)]
        report = _run([*words, path], folder)
        arguments.write_back()
        return KernelRun(report, page.read_text())
