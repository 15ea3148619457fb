"""Kernels on the simulator: arrays go in and come back, counts and findings are objects, the page shows itself."""

import contextlib
import io
import json
import struct
from array import array
from pathlib import Path

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
if not (Path(wf.__file__).parent / "bin" / "warpfold").exists():
    pytest.skip("the package was built without the simulator", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent.parent

# Each thread: y[i] += a * i, and a struct's second byte, by a kernel without a compiler.
PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 y, .param .f32 a, .param .u32 n, .param .align 1 .b8 pair[2])
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    ld.param.u8 %r4, [pair+1];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra done;
    add.u32 %r3, %r2, %r4;
    cvt.rn.f32.u32 %f2, %r3;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f3, [%rd3];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd3], %f4;
done:
    ret;
}
"""


def test_arrays_go_in_and_come_back(tmp_path):
    expected = [1.0 + 2.5 * (i + 3) for i in range(8)]
    (tmp_path / "scale.ptx").write_text(PTX)
    for source in (PTX, tmp_path / "scale.ptx", str(tmp_path / "scale.ptx")):
        y = array("f", [1.0] * 8)
        run = wf.run_kernel(source, 1, 32, [y, 2.5, 8, b"\x07\x03"])
        assert y.tolist() == expected and run.findings == [] and run.kernel == "scale" and not run.stopped
    assert run.counts["divergent_branches"] == 1 and run.counts["global_bytes"] == 64 and run.advice == []
    assert repr(run) == f"<KernelRun of scale: {run.counts['instructions']} instructions, no findings>"
    page = run._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "&lt;!" in page[:40] and run.page.rstrip().endswith("</html>")
    fixed = memoryview(struct.pack("8f", *[1.0] * 8)).cast("f")
    wf.run_kernel(PTX, 1, 32, [fixed, 2.5, 8, b"\x07\x03"])
    assert fixed.tolist() == [1.0] * 8  # read-only


def test_findings_are_objects():
    y = array("f", [1.0] * 8)
    run = wf.run_kernel(PTX, 1, 32, [y, 2.5, 32, bytes(2)])
    assert run.stopped and [finding.kind for finding in run.findings] == ["bounds"]
    assert run.findings[0].thread[0] >= 8 and "bounds" in repr(run) and y.tolist() == [1.0] * 8
    run = wf.run_kernel(PTX, 1, 4, [None, 2.5, 4, bytes(2)])
    assert run.findings[0].kind == "bounds"


def test_numpys_arrays():
    np = pytest.importorskip("numpy", reason="no NumPy")
    y = np.ones((2, 4), "f4")
    wf.run_kernel(PTX, (1, 1), (8, 1, 1), [y, np.float32(0.5), np.uint32(8), bytes(2)])
    assert (y == 1 + np.arange(8).reshape(2, 4) / 2).all()
    for wrong in (y[:, ::2], y.T):
        with pytest.raises(ValueError, match="contiguous"):
            wf.run_kernel(PTX, args=[wrong, 0.5, 8, bytes(2)])
    with pytest.raises((TypeError, ValueError)):
        wf.run_kernel(PTX, args=[np.ones(2, complex), 0.5, 8, bytes(2)])


def test_what_is_wrong_is_told():
    y = array("f", [1.0] * 8)
    for error, match, call in (
            (ValueError, "takes 4 arguments", lambda: wf.run_kernel(PTX, args=[y])),
            (ValueError, "--grid", lambda: wf.run_kernel(PTX, 0, 8, [y, 1.0, 8, bytes(2)])),
            (ValueError, "--schedule", lambda: wf.run_kernel(PTX, 1, 8, [y, 1.0, 8, bytes(2)], schedule="none")),
            (TypeError, "a kernel takes arrays", lambda: wf.run_kernel(PTX, args=["x"])),
            (RuntimeError, "No such file", lambda: wf.run_kernel("absent.ptx")),
            (RuntimeError, "kernel.ptx", lambda: wf.run_kernel(".version 7.0\nnonsense"))):
        with pytest.raises(error, match=match):
            call()


def test_the_notebook_runs(monkeypatch):
    """Cell by cell, as a notebook would; each prints or shows what it says."""
    pytest.importorskip("numpy", reason="no NumPy")
    monkeypatch.chdir(ROOT / "notebooks")
    notebook = json.loads((ROOT / "notebooks" / "ladder.ipynb").read_text())
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    names, printed = {}, []
    for source in sources:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(source, "ladder.ipynb", "exec"), names)
        printed.append(out.getvalue())
    counts = {name[:2]: one.counts for name, one in names["seen"].items()}
    assert counts["04"]["divergent_branches"] > counts["05"]["divergent_branches"] == counts["06"]["divergent_branches"]
    assert counts["05"]["shared_wavefronts"] > counts["05"]["shared_wavefronts_least"]
    assert counts["06"]["shared_wavefronts"] == counts["06"]["shared_wavefronts_least"]
    assert len(printed[1].splitlines()) == 5 and printed[3].startswith("race") and printed[4]
    assert hasattr(eval(sources[2], names), "_repr_html_")
