"""What is written about the package is so: the examples of README.md and docs/python.md, and the stubs."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_examples_run(name):
    block = re.search(r"^```python\n(.*?)^```", (ROOT / name).read_text(), re.MULTILINE | re.DOTALL)[1]
    examples = doctest.DocTestParser().get_doctest(block, {}, name, name, 0)
    assert len(examples.examples) >= 2
    assert doctest.DocTestRunner().run(examples).failed == 0


def stub_functions():
    tree = ast.parse((ROOT / "python" / "warpfold" / "__init__.pyi").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}, tree


def test_stubs_name_everything():
    functions, tree = stub_functions()
    names = set(functions) | {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    names |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert set(wf.__all__) <= names and "sum" in functions


@pytest.mark.parametrize("name", sorted(set(stub_functions()[0])))
def test_stubs_have_the_parameters_of_the_functions(name):
    arguments = stub_functions()[0][name].args
    stub = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    parameters = inspect.signature(getattr(wf, name)).parameters.values()
    given = [p.name for p in parameters if p.kind != p.VAR_KEYWORD]
    assert stub[:len(given)] == given if len(given) < len(stub) else stub == given


def test_accumulators_stub_is_complete():
    stub = next(node for node in stub_functions()[1].body if getattr(node, "name", None) == "Accumulator")
    named = {getattr(node, "name", None) or node.target.id for node in stub.body}
    assert {name for name in vars(wf.Accumulator) if not name.startswith("_")} <= named


def test_help_page_lists_every_function():
    text = (ROOT / "docs" / "python.md").read_text()
    for name in wf.__all__:
        if name.islower() and not name.startswith(("segment_", "nan")):
            assert re.search(rf"\b{name}\b", text), name


def test_the_page_of_all_functions(tmp_path):
    """scripts/python-docs has a section for each, and the methods of the classes."""
    package = tmp_path / "python"
    package.mkdir()
    (package / "warpfold").symlink_to(Path(wf.__file__).parent)
    subprocess.run([sys.executable, ROOT / "scripts" / "python-docs", tmp_path], check=True, timeout=60)
    page = (tmp_path / "python.html").read_text()
    for name in (*wf.__all__, "Accumulator.subtract", "Rolling.update", "torch.scatter_add"):
        assert page.count(f'id="{name}"') == 1, name
    assert "class=" not in page and page.count("<pre>") == page.count("</pre>") > 50
