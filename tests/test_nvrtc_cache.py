"""What stands in for NVRTC in the tests gives what the real one gives, and compiles again whatever could have changed; so do
the programs of tests/programs, which nvcc compiles."""

import ctypes
import shutil

import pytest

import program_helpers
from kernel_helpers import NVRTC_CACHE, has_nvrtc
from test_ladder_sources import ladder_ptx

SOURCE = '#include "value.h"\nextern "C" __global__ void set(int *out) { *out = VALUE; }\n'
HEADERS = {"value.h": "#define VALUE 12345\n"}
OPTIONS = ["--gpu-architecture=compute_75"]


@pytest.fixture
def nvrtc(monkeypatch, tmp_path):
    if not NVRTC_CACHE.exists() or not has_nvrtc():
        pytest.skip("no NVRTC, or nothing that stands in for it was built")
    monkeypatch.setenv("WARPFOLD_NVRTC", str(NVRTC_CACHE))
    monkeypatch.setenv("TESTS_NVRTC_CACHE", str(tmp_path / "kept"))
    return ladder_ptx.Nvrtc()


@pytest.fixture
def entries(tmp_path):
    """entries() -> the files of what is kept."""
    return lambda: sorted((tmp_path / "kept").glob("warpfold/*"))


def test_what_was_compiled_is_what_nvrtc_compiles(nvrtc, entries, monkeypatch):
    twice = [nvrtc.compile("a.cu", SOURCE, HEADERS, OPTIONS) for _ in range(2)]
    assert len(entries()) == 1 and "12345" in twice[0]
    monkeypatch.delenv("WARPFOLD_NVRTC")
    assert twice == [ladder_ptx.Nvrtc().compile("a.cu", SOURCE, HEADERS, OPTIONS)] * 2


def test_each_compilation_is_noted(nvrtc, monkeypatch, tmp_path):
    """And not what was found."""
    monkeypatch.setenv("TESTS_NVRTC_LOG", str(tmp_path / "log"))
    texts = [nvrtc.compile("a.cu", SOURCE, HEADERS, OPTIONS) for _ in range(2)]
    seconds, nbytes, mode, name, test, options = (tmp_path / "log").read_text().splitlines()[0].split("\t")
    assert (tmp_path / "log").read_text().count("\n") == 1
    assert 0 < float(seconds) < 60 and int(nbytes) == len(texts[0].encode()) + 1
    assert (mode, name, options) == ("full", "a.cu", OPTIONS[0] + " ") and "test_each_compilation_is_noted" in test


def test_whatever_decides_is_heeded(nvrtc, entries, monkeypatch, tmp_path):
    nvrtc.compile("a.cu", SOURCE, HEADERS, OPTIONS)
    assert "54321" in nvrtc.compile("a.cu", SOURCE, {"value.h": "#define VALUE 54321\n"}, OPTIONS)
    assert "7777" in nvrtc.compile("a.cu", SOURCE.replace("VALUE;", "7777;"), HEADERS, OPTIONS)
    assert "compute_75" not in nvrtc.compile("a.cu", SOURCE, HEADERS, ["--gpu-architecture=compute_80"])
    nvrtc.compile("b.cu", SOURCE, HEADERS, OPTIONS)
    nvrtc.compile("b.cu", SOURCE, HEADERS, [*OPTIONS, "-Ifolder"])
    nvrtc.compile("folder/b.cu", SOURCE, HEADERS, OPTIONS)
    monkeypatch.chdir(tmp_path)  # which both may depend on
    nvrtc.compile("b.cu", SOURCE, HEADERS, [*OPTIONS, "-Ifolder"])
    nvrtc.compile("folder/b.cu", SOURCE, HEADERS, OPTIONS)
    assert len(entries()) == 9


def test_a_kernel_compiled_in_another_folder_is_the_same(nvrtc, entries, monkeypatch, tmp_path):
    """As two checkouts compile the engine's: -lineinfo writes the folder into the PTX."""
    header = "static_assert(sizeof(int) == 4);\nstatic __device__ int value() { return 12345; }\n"
    words = "a.cu", SOURCE.replace("VALUE", "value()"), {"value.h": header}, [*OPTIONS, "-lineinfo"]
    texts = {}
    for name in ("one", "another", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / name)
        texts[name] = nvrtc.compile(*words)
        assert f"{tmp_path / name}/a.cu" in texts[name] and len(entries()) == 1
    monkeypatch.delenv("WARPFOLD_NVRTC")
    for name, text in texts.items():
        monkeypatch.chdir(tmp_path / name)
        assert ladder_ptx.Nvrtc().compile(*words) == text


def test_machine_code_is_kept_whole(nvrtc, entries, monkeypatch):
    def machine_code():
        program, size, library = ctypes.c_void_p(), ctypes.c_size_t(), ladder_ptx.Nvrtc().library
        assert library.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"a.cu", 1, ladder_ptx.strings(HEADERS.values()),
                                          ladder_ptx.strings(HEADERS)) == 0
        assert library.nvrtcCompileProgram(program, 1, ladder_ptx.strings(["--gpu-architecture=sm_80"])) == 0
        assert library.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
        code = ctypes.create_string_buffer(size.value)
        assert library.nvrtcGetCUBIN(program, code) == 0
        return code.raw

    twice = [machine_code() for _ in range(2)]
    assert len(entries()) == 1 and twice[0].startswith(b"\x7fELF")
    monkeypatch.delenv("WARPFOLD_NVRTC")
    assert twice == [machine_code()] * 2


def in_folder(folder, text, *options):
    """The words of a compile as `warpfold inspect` has it of a file there."""
    folder.mkdir(exist_ok=True)
    return str(folder / "a.cu"), text, HEADERS, [*OPTIONS, "-lineinfo", f"-I{folder}/", *options]


def test_a_source_in_another_folder_is_the_same(nvrtc, entries, monkeypatch, tmp_path):
    folders = [tmp_path / name for name in ("one", "another")]
    texts = [nvrtc.compile(*in_folder(folder, SOURCE)) for folder in folders]
    assert len(entries()) == 1 and texts[0] != texts[1]
    for _ in range(2):
        with pytest.raises(ladder_ptx.CompileError) as error:
            nvrtc.compile(*in_folder(folders[1], SOURCE.replace("VALUE", "MISSING")))
        assert f"{folders[1]}/a.cu(2)" in str(error.value)
    with pytest.raises(ladder_ptx.CompileError) as error:
        nvrtc.compile(*in_folder(folders[0], SOURCE.replace("VALUE", "MISSING")))
    assert f"{folders[0]}/a.cu(2)" in str(error.value) and len(entries()) == 2
    monkeypatch.delenv("WARPFOLD_NVRTC")
    assert texts == [ladder_ptx.Nvrtc().compile(*in_folder(folder, SOURCE)) for folder in folders]


@pytest.mark.parametrize("place", ['// sizeof __FILE__', '// __has_include(<a>)', '// static_assert(1); assert(1)',
                                   '// std::source_location()', '#define a "value.h"\n#include a'])
def test_a_source_that_may_know_its_folder_is_not(nvrtc, entries, tmp_path, place):
    for count, name in enumerate(("one", "another"), 1):
        nvrtc.compile(*in_folder(tmp_path / name, f"{SOURCE}{place}\n"))
        assert len(entries()) == count


def test_a_source_that_is_told_its_folder_or_finds_files_there_is_not(nvrtc, entries, tmp_path):
    source = "#include <given.h>\n" + SOURCE.replace("VALUE", "GIVEN")
    for count, (name, value) in enumerate((("one", 11111), ("another", 22222)), 1):
        words = in_folder(tmp_path / name, source)
        (tmp_path / name / "given.h").write_text(f"#define GIVEN {value}\n")
        assert str(value) in nvrtc.compile(*words) and len(entries()) == count
    for count, name in enumerate(("three", "four"), 3):
        nvrtc.compile(*in_folder(tmp_path / name, SOURCE, f"-DPLACE={tmp_path / name}"))
        assert len(entries()) == count


def test_what_lies_in_other_files_is_read_again(nvrtc, entries, tmp_path):
    for value, include in (("11111", "#include"), ("22222", "#include"), ("33333", "#  include"), ("44444", "#  include")):
        (tmp_path / "value.h").write_text(f"#define VALUE {value}\n")
        source = SOURCE.replace("#include", include)
        assert value in nvrtc.compile("a.cu", source, {}, [*OPTIONS, f"-I{tmp_path}"])
    assert entries() == []


def test_without_its_process_nothing_is_kept_that_was_to_be_quick(nvrtc, entries, monkeypatch, tmp_path):
    """As where the program could not start: what is given is as good, under a key for something else."""
    lone = tmp_path / NVRTC_CACHE.name
    shutil.copy(NVRTC_CACHE, lone)
    monkeypatch.setenv("WARPFOLD_NVRTC", str(lone))
    monkeypatch.setenv("TESTS_NVRTC_QUICK", "max")
    engines = ladder_ptx.Nvrtc().compile("a.cu", SOURCE, {**HEADERS, "kernels/parts.cuh": ""}, OPTIONS)
    assert "12345" in engines and entries() == []


@pytest.mark.parametrize("source", [
    'extern "C" __global__ void read(float *out, cudaTextureObject_t from) { out[0] = tex1Dfetch<float>(from, 1); }\n',
    'extern "C" __global__ void write(float x, cudaSurfaceObject_t to) { surf1Dwrite(x, to, 4); }\n',
    'extern "C" __global__ void tell(void **out) { printf("%d", 1); out[0] = malloc(9); }\n',
])
def test_what_is_left_out_at_first_is_there_where_it_is_used(nvrtc, monkeypatch, source):
    """Before and after sources that do without."""
    sources = ["#line 1\n" + source, SOURCE, source]
    texts = [nvrtc.compile("a.cu", text, HEADERS, [*OPTIONS, "-lineinfo"]) for text in sources]
    monkeypatch.delenv("WARPFOLD_NVRTC")
    assert texts == [ladder_ptx.Nvrtc().compile("a.cu", text, HEADERS, [*OPTIONS, "-lineinfo"]) for text in sources]


def test_an_error_is_kept_with_its_words(nvrtc, entries):
    for _ in range(2):
        with pytest.raises(ladder_ptx.CompileError, match='"VALUE" is undefined'):
            nvrtc.compile("a.cu", SOURCE, {"value.h": ""}, OPTIONS)
    assert len(entries()) == 1


def test_a_damaged_entry_counts_as_none(nvrtc, entries):
    right = nvrtc.compile("a.cu", SOURCE, HEADERS, OPTIONS)
    [entry] = entries()
    whole = entry.read_bytes()
    for damaged in (whole[:-1], whole[:100], whole.replace(b"12345", b"12346"), b""):
        assert damaged != whole
        entry.write_bytes(damaged)
        assert nvrtc.compile("a.cu", SOURCE, HEADERS, OPTIONS) == right
        assert entry.read_bytes() == whole


def test_what_is_compiled_quickly_changes_nothing_else(nvrtc, entries, monkeypatch, tmp_path):
    """Of the engine's kernels alone, NVRTC is asked to optimize less, in a process of its own."""
    source = 'extern "C" __global__ void sum(int *out) { for (int i = 0; i < 9; i++) out[threadIdx.x] += out[i]; }\n'
    headers = {"kernels/parts.cuh": ""}
    monkeypatch.delenv("TESTS_NVRTC_QUICK", raising=False)
    plain, engines = (nvrtc.compile("a.cu", source, given, OPTIONS) for given in ({}, headers))
    assert plain == engines
    monkeypatch.setenv("TESTS_NVRTC_QUICK", "max")
    assert nvrtc.compile("a.cu", source, headers, OPTIONS) != plain, "or an NVRTC that knows no --Ofast-compile"
    full, other = ([*OPTIONS, f"-DTYPE_{name}"] for name in ("bf16", "f16"))
    monkeypatch.setenv("TESTS_NVRTC_FULL", "f32 bf16")
    assert nvrtc.compile("a.cu", source, headers, full) == plain
    assert nvrtc.compile("a.cu", source, headers, other) != plain
    least = nvrtc.compile("words.f16", source, headers, other)
    monkeypatch.setenv("TESTS_NVRTC_QUICK", "mid")
    assert nvrtc.compile("words.f16", source, headers, other) == least != nvrtc.compile("groups.f16", source, headers, other)
    monkeypatch.setenv("TESTS_NVRTC_CACHE", str(tmp_path / "others"))  # not what was kept before
    assert nvrtc.compile("a.cu", source, {}, OPTIONS) == plain
    assert len(entries()) == 7


def test_options_behind_the_mode_are_given_to_nvrtc_and_left_out_if_it_refuses_them(nvrtc, entries, monkeypatch, tmp_path):
    source = 'extern "C" __global__ void sum(int *out) { for (int i = 0; i < VALUE; i++) out[threadIdx.x] += out[i]; }\n'
    made = {}
    for mode in ("max", "max -DVALUE=9", "max -no-such-option -DVALUE=9", "no-such-mode -no-such-option"):
        monkeypatch.setenv("TESTS_NVRTC_QUICK", mode)
        made[mode] = nvrtc.compile("a.cu", source, {"kernels/parts.cuh": "#ifndef VALUE\n#define VALUE 7\n#endif\n"},
                                   [*OPTIONS, "--pre-include=kernels/parts.cuh"])
    assert len(set(made.values())) == 3 and made["max"] == made["max -no-such-option -DVALUE=9"]
    assert len(entries()) == 4


# ---- programs

# A stand-in for nvcc: it appends its words to a file, and makes the text of the source, and of what lies beside it.
FAKE_NVCC = """#!/bin/sh -e
if [ "$1" = --version ]; then echo {version}; exit; fi
echo "$@" >>'{calls}'
for source; do :; done
while [ "$1" != -o ]; do shift; done
cat "$source" "$(dirname "$source")/beside.cuh" >"$2"
chmod +x "$2"
"""


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """(make(*options) -> the text of the program, the folder of its sources, install(version), calls() -> how many there were)"""
    sources, calls = tmp_path / "sources", tmp_path / "calls"
    sources.mkdir()
    calls.touch()
    (sources / "a.cu").write_text("a")
    (sources / "beside.cuh").write_text("b")

    def install(version):
        (tmp_path / "nvcc").write_text(FAKE_NVCC.format(version=version, calls=calls))
        (tmp_path / "nvcc").chmod(0o755)
        program_helpers.version.cache_clear()

    def make(*options, source=sources / "a.cu"):
        folder = tmp_path / f"made {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        path = program_helpers.compiled(folder, "program", source, *options)
        assert path.parent == folder and path.stat().st_mode & 0o111
        return path.read_text()

    monkeypatch.setattr(program_helpers, "NVCC", tmp_path / "nvcc")
    monkeypatch.setattr(program_helpers, "SOURCES", sources)
    monkeypatch.setenv("TESTS_NVRTC_CACHE", str(tmp_path / "kept"))
    install("1")
    yield make, sources, install, lambda: len(calls.read_text().splitlines())
    program_helpers.version.cache_clear()


def test_a_program_is_compiled_once_until_something_changes(programs, monkeypatch, tmp_path):
    make, sources, install, calls = programs
    assert [make(), make()] == ["ab", "ab"] and calls() == 1
    make("-lineinfo")
    assert calls() == 2
    (sources / "beside.cuh").write_text("c")
    assert [make(), make()] == ["ac", "ac"] and calls() == 3
    (sources / "a.cu").write_text("d")
    assert make() == "dc" and calls() == 4
    install("2")
    assert make() == "dc" and calls() == 5
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-G")
    assert make() == "dc" and calls() == 6
    elsewhere = tmp_path / "made of a test" / "a.cu"
    elsewhere.parent.mkdir()
    elsewhere.write_text("e")
    elsewhere.with_name("beside.cuh").write_text("f")
    assert [make(source=elsewhere) for _ in range(2)] == ["ef", "ef"] and calls() == 8


def test_a_program_that_does_not_compile_is_not_kept(programs, tmp_path):
    make, sources, _, calls = programs
    (sources / "beside.cuh").unlink()
    for count in (1, 2):
        with pytest.raises(program_helpers.subprocess.CalledProcessError):
            make()
        assert calls() == count
    assert list((tmp_path / "kept" / "programs").iterdir()) == []
