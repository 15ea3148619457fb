"""What `make install` gives: programs outside the tree build on it, the man page and the completions say what the
program says, and uninstalling leaves nothing.

Everything is tried in a directory that the installation was moved to after: it must not know where it was made.
"""

import math
import os
import re
import shlex
import shutil
import struct
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from oracle import OPS, TYPES

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("WARPFOLD_BUILD", ROOT / "build")).absolute()
CACHE = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
ALL_OPS = {*OPS, "dot", "stats"}

if re.search(r"^WARPFOLD_SANITIZE:\w+=.", CACHE, re.MULTILINE):
    pytest.skip("a build with sanitizers is not installed", allow_module_level=True)

PROGRAM = r"""
#include <stdio.h>
#include <warpfold.h>

int main(void) {
    const double data[] = {1e100, 1.0, -1e100, 0.5};
    printf("%s %g\n", wf_version(), wf_sum_f64(data, 4));
    return 0;
}
"""


def run(*command, **options):
    """Runs the command to a good end and returns what it printed, errors before the rest."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr + done.stdout


def need(tool):
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    return tool


def files_below(directory):
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    directory = tmp_path_factory.mktemp("install")
    environment = {name: value for name, value in os.environ.items() if name != "DESTDIR"}
    run("cmake", "--install", BUILD, "--prefix", directory / "made", env=environment)
    return (directory / "made").rename(directory / "moved")


@pytest.fixture(scope="module")
def library(prefix):
    return next(prefix.rglob("libwarpfold.a")).parent


@pytest.fixture
def environment(library):
    return {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_LIBRARY_PATH": str(library)}


@pytest.fixture(scope="module")
def version():
    header = (ROOT / "include" / "warpfold.h").read_text()
    return ".".join(re.findall(r"#define WF_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


@pytest.fixture(scope="module")
def help_options(prefix):
    """{option: argument}, as the installed program's help has them."""
    text = run(prefix / "bin" / "warpfold", "--help")
    return dict(re.findall(r"^  (--[a-z-]+)(?: (\S+))?", text, re.MULTILINE))


@pytest.fixture(scope="module")
def operations(prefix):
    """Ops, and the commands of the help's usage."""
    usage = re.findall(r"^[ a-z:]{6} warpfold ([a-z]+)", run(prefix / "bin" / "warpfold", "--help"), re.MULTILINE)
    assert {"merge", "devices"} <= set(usage)
    return ALL_OPS | set(usage)


# ---- the files


def test_files(prefix, library, version):
    lib = library.relative_to(prefix).as_posix()
    expected = {
        "bin/warpfold", "include/warpfold.h", "include/warpfold_mpi.h", "include/simt.h", "include/simt_observer.h",
        "share/doc/warpfold/LICENSE", "share/man/man1/warpfold.1",
        "share/bash-completion/completions/warpfold", "share/zsh/site-functions/_warpfold",
        "share/fish/vendor_completions.d/warpfold.fish",
        *(f"{lib}/warpfold/{name}" for name in ("libcuda.so.1", "libcudart.so.13", "libredirect.so", "ptxas")), f"{lib}/libsimt.a", f"{lib}/libwarpfold.a", f"{lib}/libwarpfold.so", f"{lib}/libwarpfold.so.{version[0]}",
        f"{lib}/libwarpfold.so.{version}", f"{lib}/pkgconfig/warpfold.pc", f"{lib}/pkgconfig/simt.pc",
        *(f"{lib}/cmake/warpfold/warpfold-{part}.cmake" for part in ("config", "config-version", "targets")),
        *(f"share/warpfold/{path.relative_to(ROOT).as_posix()}" for folder, endings in (("tasks", [".task"]),
          ("puzzles", [".cu", ".task"])) for path in (ROOT / folder).iterdir() if path.suffix in endings),
    }
    found = {name for name in files_below(prefix) if not re.search(r"warpfold-targets-\w+\.cmake$", name)}
    assert found == expected


def test_no_file_knows_where_it_was_built(prefix):
    for name in files_below(prefix):
        if name.startswith("bin/") or re.search(r"/lib\w+\.(a|so)", name):
            continue
        text = (prefix / name).read_text()
        assert str(ROOT) not in text and str(BUILD) not in text and str(prefix.parent) not in text, name


def test_soname(library, version):
    soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", library / "libwarpfold.so")).group(1)
    assert soname == f"libwarpfold.so.{version.split('.')[0]}"
    assert os.readlink(library / "libwarpfold.so") == soname
    assert os.readlink(library / soname) == f"libwarpfold.so.{version}"


def test_exports(library):
    lines = run("nm", "-D", "--defined-only", library / "libwarpfold.so").splitlines()
    names = {line.split()[-1] for line in lines}
    assert "wf_sum_f64" in names
    assert {name for name in names if not name.startswith("wf_")} == set()


def test_program(prefix, version):
    assert run(prefix / "bin" / "warpfold", "--version") == f"warpfold {version}\n"


# ---- a program outside the tree


@pytest.mark.parametrize("compiler", ["cc", "clang"])
def test_pkg_config(compiler, environment, tmp_path, version):
    need("pkg-config")
    (tmp_path / "program.c").write_text(PROGRAM)
    line = f"{need(compiler)} program.c $(pkg-config --cflags --libs warpfold)"
    run("sh", "-c", line, cwd=tmp_path, env=environment)
    assert run(tmp_path / "a.out", env=environment) == f"{version} 1.5\n"
    assert "libwarpfold.so." in run("objdump", "-p", tmp_path / "a.out")
    assert run("pkg-config", "--modversion", "warpfold", env=environment) == f"{version}\n"


@pytest.mark.parametrize("static", ["-static", "-l:libwarpfold.a"])
def test_pkg_config_static(static, environment, tmp_path, version):
    """Without any shared library, or without that of warpfold alone."""
    need("pkg-config")
    (tmp_path / "program.c").write_text(PROGRAM)
    flags = run("pkg-config", "--static", "--cflags", "--libs", "warpfold", env=environment).split()
    if static != "-static":
        flags[flags.index("-lwarpfold")] = static
    run("cc", "program.c", *flags, static, cwd=tmp_path)
    assert run(tmp_path / "a.out", env={}) == f"{version} 1.5\n"
    assert "libwarpfold" not in run("objdump", "-p", tmp_path / "a.out")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["warpfold::warpfold", "warpfold::static"])
def test_cmake_package(target, prefix, tmp_path, version):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(program LANGUAGES C)\n"
        f"find_package(warpfold {version} REQUIRED)\n"
        "add_executable(program program.c)\n"
        f"target_link_libraries(program PRIVATE {target})\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "program") == f"{version} 1.5\n"
    is_shared = "libwarpfold.so" in run("objdump", "-p", tmp_path / "build" / "program")
    assert is_shared == (target == "warpfold::warpfold")


EXAMPLES = ROOT / "examples"


def test_every_example_is_listed():
    linked = re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "README.md").read_text())
    there = {name for name in files_below(EXAMPLES) if "__pycache__" not in name}  # which other tests leave
    assert sorted(linked) == sorted(there - {"README.md"})


def test_commands_of_the_examples_page(environment, prefix, tmp_path):
    """Those of C, C++ and CMake, as they are written; the others have tests of their own."""
    need("pkg-config")
    commands = re.findall(r"^    (c.*)$", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["cc", "c++", "cmake"]
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for command in commands:
        assert run("sh", "-c", command.replace("/usr/local", shlex.quote(str(prefix))), cwd=tmp_path / "examples", env=environment)


def test_example_in_c_by_cmake(prefix, tmp_path):
    run("cmake", "-S", EXAMPLES / "cmake", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    matrix = [[1e16, 0.1, 1], [1, 0.2, 2], [-1e16, 0.3, 3], [1, 0.4, 5]]
    means = " ".join(f"{float(sum(map(Fraction, column)) / 4):g}" for column in zip(*matrix))
    values = [Fraction(value) for row in matrix for value in row]
    variance = (12 * sum(value * value for value in values) - sum(values) ** 2) / (12 * 11)
    assert run(tmp_path / "columns") == f"means {means}\nvariance {float(variance):.17g}\n"


@pytest.mark.slow
def test_example_in_cplusplus(environment, tmp_path):
    need("pkg-config")
    flags = run("pkg-config", "--cflags", "--libs", "warpfold", env=environment).split()
    run(need("c++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread", EXAMPLES / "cpp" / "threads.cpp", *flags,
        "-o", tmp_path / "threads")
    # The exact sum of the floats 1/1, 1/2 ..., as each is rounded, rounded once.
    as_f32 = [struct.unpack("f", struct.pack("f", 1 / i))[0] for i in range(1, 100001)]
    exact = math.fsum(as_f32)
    rounded = struct.unpack("f", struct.pack("f", exact))[0]
    printed = run(tmp_path / "threads", env=environment).splitlines()
    assert [line.split(": ")[0] for line in printed] == ["1 parts", "2 parts", "7 parts"]
    assert {float.fromhex(line.split(": ")[1]) for line in printed} == {rounded}


def test_example_at_the_shell(prefix, tmp_path):
    (tmp_path / "data").mkdir()
    for day in range(6):
        rows = "".join(f"{'north' if i % 3 else 'south'},{i / 7 + day}\n" for i in range(20))
        (tmp_path / "data" / f"day {day}.csv").write_text("region,price\n" + rows)
    environment = {**os.environ, "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}
    joined = run("sh", EXAMPLES / "shell" / "many_files.sh", tmp_path / "data", env=environment)
    files = sorted((tmp_path / "data").iterdir())
    whole = run(prefix / "bin" / "warpfold", "sum,mean,max", "--by", "region", "--column", "price", "--sort", *files)
    assert joined == whole and joined.splitlines()[1].startswith("north\t")


def test_simulator_by_cmake(prefix, tmp_path):
    """simt.h and libsimt.a, without a look at warpfold.h."""
    (tmp_path / "program.c").write_text(
        "#include <simt.h>\n"
        "int main(void) {\n"
        "    simt_module *module;\n"
        "    simt_message message;\n"
        '    return simt_module_parse("x", 1, "x", &module, &message) == SIMT_ERROR_SYNTAX ? 0 : 1;\n'
        "}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(program LANGUAGES C)\n"
        "find_package(warpfold REQUIRED)\n"
        "add_executable(program program.c)\n"
        "target_link_libraries(program PRIVATE warpfold::simt)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "build")
    run(tmp_path / "build" / "program")


# One block doubles its element, and an observer of the program's own counts what the warp executes.
SIMULATION = r"""
#include <stdio.h>
#include <simt_observer.h>

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry twice(.param .u64 data) {\n"
    "    .reg .u64 %rd<2>;\n    .reg .u32 %r<2>;\n"
    "    ld.param.u64 %rd1, [data];\n"
    "    ld.global.u32 %r1, [%rd1];\n"
    "    add.u32 %r1, %r1, %r1;\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n}\n";

static void count(void *block, const simt_event *event) {
    (void)event;
    ++*(int *)block;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    *(int *)launch += *(int *)block;
}

static void end_launch(void *launch, simt_report *report) {
    simt_report_add(report, "mine", *(int *)launch);
}

int main(void) {
    simt_observer mine = {0};
    const simt_observer *observers[2] = {0};
    simt_module *module;
    simt_machine *machine;
    simt_report *report;
    simt_message message;
    uint64_t address;
    uint32_t value = 21;
    const void *arguments[1];
    simt_launch launch = {0};
    mine.name = "mine";
    mine.launch_nbytes = mine.block_nbytes = sizeof(int);
    mine.instruction = count;
    mine.block_end = end_block;
    mine.launch_end = end_launch;
    observers[0] = &mine;
    if (simt_module_parse(ptx, sizeof ptx - 1, "twice.ptx", &module, &message) ||
        simt_machine_create(NULL, &machine) || simt_machine_allocate(machine, sizeof value, &address) ||
        simt_machine_write(machine, address, &value, sizeof value))
        return 1;
    arguments[0] = &address;
    launch.module = module;
    launch.arguments = arguments;
    launch.observers = observers;
    if (simt_machine_launch(machine, &launch, &report, &message)) return 1;
    simt_machine_read(machine, address, &value, sizeof value);
    printf("%u %g\n", (unsigned)value, simt_report_counter_value(report, "mine", 0));
    simt_report_destroy(report);
    simt_machine_destroy(machine);
    simt_module_destroy(module);
    return 0;
}
"""


@pytest.mark.parametrize("source, compiler", [("program.c", "cc"), ("program.cc", "c++")])
def test_simulator_by_pkg_config(source, compiler, environment, tmp_path, version):
    """A kernel and an observer of one's own, from the installed headers and libsimt.a alone."""
    need("pkg-config")
    (tmp_path / source).write_text(SIMULATION)
    flags = run("pkg-config", "--cflags", "--libs", "simt", env=environment).split()
    run(need(compiler), source, *flags, cwd=tmp_path)
    assert run(tmp_path / "a.out", env={}) == "42 5\n"
    assert run("pkg-config", "--modversion", "simt", env=environment) == f"{version}\n"


def test_cmake_package_refuses_another_major_version(prefix, tmp_path, version):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(program LANGUAGES C)\n"
        f"find_package(warpfold {int(version.split('.')[0]) + 1}.0 QUIET)\n"
        "if(warpfold_FOUND)\n"
        "    message(FATAL_ERROR found)\n"
        "endif()\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}")


# ---- the man page


def man_page(prefix):
    return prefix / "share" / "man" / "man1" / "warpfold.1"


def test_man_page_renders_without_a_warning(prefix):
    assert run(need("groff"), "-man", "-Tutf8", "-ww", "-z", man_page(prefix)) == ""


def test_man_page_is_found(prefix):
    environment = {**os.environ, "LC_ALL": "C"}
    shown = run(need("man"), "-M", prefix / "share" / "man", "--warnings", "warpfold", env=environment)
    if "minimized" in shown:
        pytest.skip("skipped: this system's man shows no pages")
    assert re.match(r"WARPFOLD\(1\) ", shown)


def command_tag(form, lines):
    """The line of the page that is this form of the command."""
    return next(line for line in lines if re.sub(r"\\f[BIR]", "", line) == form)


def test_man_page_holds_what_the_help_holds(prefix, help_options):
    # As lines of letters: without hyphenation, places to break, justification and fonts.
    lines = man_page(prefix).read_text().replace(r"\-", "-").replace(r"\:", "").splitlines()
    tags = {re.sub(r"\\f[BIR]|^\.B ", "", line) for line in lines}
    assert ALL_OPS | set(TYPES) <= tags
    for option, argument in help_options.items():
        assert f"{option} {argument}".strip() in tags
    usage = run(prefix / "bin" / "warpfold", "--help").split("usage:")[1].split("\n\n")[0]
    for line in usage.splitlines():
        form, _, meaning = line.strip().partition("  ")
        assert not meaning or lines[lines.index(command_tag(form, lines), lines.index(".SH COMMANDS")) + 1] == meaning.strip() + "."
    help_words = re.sub(r"\s+", " ", run(prefix / "bin" / "warpfold", "--help"))
    for meaning in (lines[i + 1] for i, line in enumerate(lines) if line.startswith(r"\fB--")):
        assert meaning.rstrip(".").replace(r"\(aq", "'").replace(r"\e", "\\") in help_words


def test_man_page_says_what_each_op_gives(prefix):
    text = man_page(prefix).read_text()
    assert ".B argmin\nu64: the smallest index that holds the minimum.\n" in text
    assert ".B and\n.TQ\n.B or\n.TQ\n.B xor\n" in text


# ---- completion in bash

DRIVE_BASH = """
source "$1" || exit
complete -p warpfold >/dev/null || exit
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_warpfold warpfold "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(prefix, tmp_path):
    """Gives the completions of the last word, in a directory with some files."""
    script = prefix / "share" / "bash-completion" / "completions" / "warpfold"
    for name in ("data one.npy", "data two.raw", "sum"):
        (tmp_path / name).touch()

    def completions(*words):
        printed = run(need("bash"), "--norc", "-uc", DRIVE_BASH, "bash", script, "warpfold", *words, cwd=tmp_path)
        return set(printed.splitlines()) - {""}

    return completions


FILES = {"data one.npy", "data two.raw", "sum"}


def test_bash_completes_ops_and_commands(complete, operations):
    assert complete("") == operations
    assert complete("help", "") == operations
    assert complete("arg") == {"argmin", "argmax"}
    assert complete("me") == {"mean", "median", "merge"}
    assert complete("--json", "me") == {"mean", "median", "merge"}
    assert complete("--nan", "omit", "st") == {"std", "stats"}
    assert complete("--nan", "=", "omit", "st") == {"std", "stats"}
    assert complete("zz") == set()


def options_of(prefix, name):
    return set(re.findall(r"^  (--[a-z-]+)", run(prefix / "bin" / "warpfold", name, "--help"), re.MULTILINE))


def test_bash_completes_options(complete, help_options, prefix):
    assert complete("-") == set(help_options)
    assert {"--nan", "--save"} < complete("sum", "--") and not {"--arg", "--bins", "--ddof"} & complete("sum", "--")
    assert complete("merge", "a.acc", "--") < complete("sum", "--")
    for name in ("sum", "var", "argmax", "dot", "xor", "count", "sum,mean", "median", "judge"):
        assert complete(name, "--") == options_of(prefix, name), name
    assert complete("histogram", "--b") == {"--bins", "--by", "--byte-order"}
    assert complete("inspect", "k.cu", "--ar") == {"--arg"}
    assert {"--by", "--ddof"} < complete("sum,std", "--") and "--axis" not in complete("sum,std", "--")
    assert complete("devices", "") == complete("explain", "") == set()
    assert complete("sum", "data.npy", "--resul") == {"--result-type"}


def test_bash_completes_what_options_take(complete, help_options):
    assert complete("sum", "--type", "") == set(TYPES)
    assert complete("sum", "--type", "f") == {"f16", "f32", "f64"}
    assert complete("sum", "--result-type", "=", "bf") == {"bf16"}
    assert complete("sum", "--nan", "=") == {"propagate", "omit", "error"}
    for option, words in help_options.items():
        if re.fullmatch(r"[a-z]+(\|[a-z]+)+", words):
            assert complete("sum", option, "") == set(words.split("|"))
    assert complete("sum", "--threads", "") == set()
    assert complete("sum", "--save", "data") == {"data one.npy", "data two.raw"}


def test_bash_completes_files(complete):
    assert complete("sum", "") == FILES
    assert complete("sum", "data o") == {"data one.npy"}
    assert complete("sum", "--type", "f32", "x.raw", "data") == {"data one.npy", "data two.raw"}
    assert complete("--threads", "2", "sum", "") == FILES
    assert complete("merge", "-", "s") == {"sum"}


# ---- completion in zsh


def test_zsh_completion_parses(prefix):
    run(need("zsh"), "-n", prefix / "share" / "zsh" / "site-functions" / "_warpfold")


def test_zsh_completion_offers_what_the_help_lists(prefix, help_options, operations):
    script = prefix / "share" / "zsh" / "site-functions" / "_warpfold"
    printed = run(need("zsh"), "-fc", '_arguments() { print -rl -- "$@" }; source "$1"', "zsh", script)
    specifications = printed.splitlines()
    options = {re.split(r"=?\[", line)[0]: line for line in specifications if line.startswith("--")}
    assert set(options) == set(help_options)
    for option, argument in help_options.items():
        assert (option + "=[" in options[option]) == bool(argument)
    assert options["--type"].endswith(":T:(" + " ".join(TYPES) + ")")
    assert options["--nan"].endswith(":(propagate omit error)")
    assert options["--save"].endswith(":_files")
    first_operand = next(line for line in specifications if line.startswith("1:"))
    assert set(re.search(r"\((.*)\)", first_operand).group(1).split()) == operations


DRIVE_ZSH = """
# FUNCTIONS TYPED: has an interactive shell complete what is typed, and prints the words that it offers.
zmodload zsh/zpty
setup=$(mktemp) offered=$(mktemp)
cat >$setup <<'SETUP'
autoload -Uz compinit && compinit -D -u
zstyle ':completion:*' completer _complete
compadd() {
    typeset -a hits
    [[ " $* " == *" -"[OAD]" "* ]] || { builtin compadd -A hits "$@"; print -rl -- $hits >>$OFFERED }
    builtin compadd "$@"
}
leave() { exit }
zle -N leave
bindkey '^I' complete-word '^X' leave
SETUP
export OFFERED=$offered
zpty shell "PROMPT= zsh -fi"
zpty -w shell "fpath=(${(q)1} \\$fpath); source $setup"
zpty -w -n shell "$2"$'\\t\\C-x'
while zpty -r shell line; do done
cat $offered
rm $setup $offered
"""


@pytest.mark.slow
def test_zsh_completes(prefix, operations, tmp_path):
    for name in ("data one.npy", "data two.raw", "sum"):
        (tmp_path / name).touch()
    functions = prefix / "share" / "zsh" / "site-functions"

    def complete(typed):
        return set(run(need("zsh"), "-fc", DRIVE_ZSH, "zsh", functions, typed, cwd=tmp_path).splitlines()) - {""}

    assert complete("warpfold ") == operations
    assert complete("warpfold sum --nan ") == complete("warpfold sum --nan=") == {"propagate", "omit", "error"}
    assert options_of(prefix, "sum") == complete("warpfold sum --") and "--ddof" in complete("warpfold std --")
    assert complete("warpfold histogram --bin") == {"--bins"}
    assert complete("warpfold sum data") == {r"data\ one.npy", r"data\ two.raw"}


# ---- completion in fish


def test_fish_completes(prefix, operations, help_options, tmp_path):
    for name in ("data one.npy", "data two.raw"):
        (tmp_path / name).touch()
    script = prefix / "share" / "fish" / "vendor_completions.d" / "warpfold.fish"
    fish = need("fish")
    run(fish, "--no-execute", script)

    def complete(typed):
        offered = run(fish, "--no-config", "-c", f"source {shlex.quote(str(script))}; complete -C {shlex.quote(typed)}", cwd=tmp_path)
        return {line.split("\t")[0] for line in offered.splitlines()}

    assert complete("warpfold ") == operations == complete("warpfold help ")
    assert complete("warpfold --") == set(help_options)
    for name in ("sum", "dot", "var", "sum,mean", "merge", "judge"):
        assert complete(f"warpfold {name} --") == options_of(prefix, name), name
    assert complete("warpfold sum --nan ") == {"propagate", "omit", "error"}
    assert complete("warpfold sum data") == complete("warpfold sum --save data") == {"data one.npy", "data two.raw"}
    assert complete("warpfold devices ") == set()


# ---- uninstalling


@pytest.mark.parametrize("destination", ["", "stage"])
def test_uninstall_leaves_nothing_of_ours(destination, tmp_path):
    """By the scripts that `make install` and `make uninstall` call, with and without DESTDIR."""
    prefix = tmp_path / "a prefix"
    stage = tmp_path / destination if destination else ""
    root = Path(str(stage) + str(prefix))
    (root / "lib" / "cmake").mkdir(parents=True)
    (root / "lib" / "libother.so").write_text("of others\n")
    environment = {**os.environ, "DESTDIR": str(stage)}
    run(ROOT / "scripts" / "install", BUILD, prefix, env=environment)
    assert (root / "bin" / "warpfold").exists()
    run(ROOT / "scripts" / "uninstall", BUILD, prefix, env=environment)
    assert files_below(root) == {"lib/libother.so"}
    assert list(root.rglob("*warpfold*")) == []
    assert (root / "lib" / "cmake").is_dir()
