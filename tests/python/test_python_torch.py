"""warpfold.torch with torch itself, where it is installed; its arithmetic of indices with NumPy's arrays in its stead."""

import itertools
import math
import sys
import types
from fractions import Fraction

import pytest

wf = pytest.importorskip("warpfold", reason="the Python package was not built: no headers of Python")
import warpfold.torch as wft

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="no torch")
DEVICES = [pytest.param("cpu", marks=needs_torch), *(["cuda"] if torch and torch.cuda.is_available() else [])]


@pytest.fixture
def tensors(monkeypatch):
    """Makes NumPy's arrays with the methods of torch's that are used."""
    np = pytest.importorskip("numpy", reason="no NumPy")

    class Tensor(np.ndarray):
        device = "cpu"

        def dim(self):
            return self.ndim

        def numel(self):
            return self.size

        def narrow(self, dim, begin, length):
            return np.moveaxis(np.moveaxis(self, dim, 0)[begin:begin + length], 0, dim)

    Tensor.__module__ = "standin"

    def tensor(numbers, dtype="f4"):
        return np.asarray(numbers, dtype).view(Tensor)

    monkeypatch.setitem(sys.modules, "standin", types.SimpleNamespace(
        arange=lambda n, dtype="i8", device=None: tensor(np.arange(n), dtype),
        cat=lambda parts, dim=0: np.concatenate(parts, dim).view(Tensor)))
    return tensor


def test_index_add_of_stand_ins(tensors):
    got = wft.index_add(tensors([[1, 2], [3, 4]]), 1, tensors([1, 1, 0], "i8"), tensors([[1e30, -1e30, 5], [1, 2, 3]]))
    assert got.tolist() == [[6, 2], [6, 7]] and got.dtype == "f4"


def test_scatter_add_of_stand_ins(tensors):
    """As the loop of torch's documentation."""
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(2)
    for shape, index_shape, dim in (((4, 5), (4, 5), 0), ((4, 5), (3, 2), 1), ((3, 4, 2), (2, 6, 2), 1), ((7,), (50,), 0),
                                    ((3, 4, 2), (2, 3, 2), -1), ((2, 3), (0, 3), 0)):
        table, src = rng.integers(-9, 9, shape), rng.integers(-9, 9, [n + 1 for n in index_shape])
        index, expected = rng.integers(0, shape[dim], index_shape), table.copy()
        for at in np.ndindex(*index_shape):
            to = list(at)
            to[dim] = index[at]
            expected[tuple(to)] += src[at]
        got = wft.scatter_add(tensors(table), dim, tensors(index, "i8"), tensors(src))
        assert (got == expected).all() and got.dtype == "f4"
    for wrong in (4, -1):
        with pytest.raises(IndexError, match="0 to 3"):
            wft.scatter_add(tensors([0, 0, 0, 0]), 0, tensors([wrong], "i8"), tensors([1]))


def test_grad_norm_of_stand_ins(tensors):
    pytest.importorskip("numpy")
    parameters = [types.SimpleNamespace(grad=types.SimpleNamespace(double=lambda part=part: part))
                  for part in ([3.0], [[1e200, 4.0]])] + [types.SimpleNamespace(grad=None)]
    assert wft.grad_norm(parameters) == 1e200 and wft.grad_norm(parameters[:1]) == 3.0
    with pytest.raises(ValueError, match="norm_type"):
        wft.grad_norm([], 3)


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def exact(numbers, dtype):
    """The exact sum, rounded once."""
    total = sum(map(Fraction, numbers))
    return torch.tensor(total.numerator / total.denominator, dtype=torch.float64).to(dtype).item()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_index_add(name, device, deterministic):
    """What pytorch#98060, pytorch_geometric#446, #2788, #3175 and #8866 ask for: the same in every order."""
    dtype = getattr(torch, name)
    torch.manual_seed(1)
    table, rows = torch.randn(5, 3, dtype=dtype), torch.randn(200, 3, dtype=dtype) * 10.0 ** torch.randint(-9, 9, (200, 1))
    index = torch.randint(0, 5, (200,))
    got = wft.index_add(table.to(device), 0, index.to(device), rows.to(device)).cpu()
    order = torch.randperm(200)
    again = wft.index_add(table.to(device), 0, index[order].to(device), rows[order].to(device)).cpu()
    assert got.dtype == dtype and torch.equal(got, again)
    for i, j in itertools.product(range(5), range(3)):
        numbers = [table[i, j].item(), *rows[index == i, j].tolist()]
        assert dtype != torch.float64 or got[i, j].item() == exact(numbers, dtype)
        assert math.isclose(got[i, j].item(), exact(numbers, dtype), rel_tol=1e-6)
    torch.testing.assert_close(got, table.index_add(0, index, rows), rtol=1e-4, atol=1e2)
    wide = wft.index_add(table.to(device), 1, torch.tensor([2, 2]).to(device), torch.ones(5, 2, dtype=dtype).to(device))
    assert torch.equal(wide.cpu()[:, 2], wf.sum(torch.stack([table[:, 2], torch.ones(5, dtype=dtype),
                                                             torch.ones(5, dtype=dtype)]), axis=0))
    with pytest.raises(IndexError):
        wft.index_add(table.to(device), 0, torch.tensor([5]).to(device), rows[:1].to(device))


@pytest.mark.parametrize("device", DEVICES)
def test_scatter_add(device, deterministic):
    """pytorch#108569: under deterministic algorithms; whole numbers, of which torch's own sums are exact, too."""
    torch.manual_seed(2)
    for shape, index_shape, dim in (((4, 5), (4, 5), 0), ((4, 5), (3, 2), 1), ((3, 4, 2), (2, 6, 2), 1), ((7,), (50,), 0),
                                    ((3, 4, 2), (2, 3, 2), -1)):
        table = torch.randint(-9, 9, shape).float()
        src = torch.randint(-9, 9, [n + 1 for n in index_shape]).float()
        index = torch.randint(0, shape[dim], index_shape)
        got = wft.scatter_add(table.to(device), dim, index.to(device), src.to(device))
        assert torch.equal(got.cpu(), table.scatter_add(dim, index, src))
    large = torch.tensor([1e30, 1.0, -1e30]).to(device)
    assert wft.scatter_add(torch.zeros(1).to(device), 0, torch.tensor([0, 0, 0]).to(device), large).item() == 1.0
    with pytest.raises(IndexError):
        wft.scatter_add(torch.zeros(1).to(device), 0, torch.tensor([1]).to(device), large[:1])


@pytest.mark.parametrize("device", DEVICES)
def test_bincount_with_weights(device, deterministic):
    """torchmetrics#3086: which torch refuses on a GPU where algorithms must be deterministic."""
    torch.manual_seed(4)
    ids, weights = torch.randint(0, 4, (500,)), torch.randn(500, dtype=torch.float64) * 10.0 ** torch.randint(-9, 9, (500,))
    order = torch.randperm(500)
    got = wf.bincount(ids.to(device), weights.to(device)).cpu()
    assert torch.equal(got, wf.bincount(ids[order].to(device), weights[order].to(device), threads=2).cpu())
    assert got.tolist() == [exact(weights[ids == key].tolist(), torch.float64) for key in range(4)]


@pytest.mark.parametrize("device", DEVICES)
def test_a_lazily_negated_tensor_is_refused(device):
    """The memory of a conjugate's imaginary part has the other sign."""
    a = torch.view_as_complex(torch.ones(3, 2).to(device)).conj().imag
    assert a.is_neg()
    with pytest.raises(TypeError, match="resolve_neg"):
        wf.sum(a)
    assert wf.sum(a.resolve_neg()) == a.sum() == -3


@pytest.mark.parametrize("device", DEVICES)
def test_grad_norm(device, deterministic):
    torch.manual_seed(3)
    gradients = torch.randn(1000) * 10.0 ** torch.randint(-6, 6, (1000,))
    found = set()
    for cuts in ([1000], [1, 999], [400, 300, 300]):
        parameters = []
        for part in gradients.split(cuts):
            parameters.append(torch.nn.Parameter(torch.zeros_like(part).to(device)))
            parameters[-1].grad = part.to(device)
        found.add(wft.grad_norm([*parameters, torch.nn.Parameter(torch.zeros(3))]))
        assert wft.grad_norm(parameters, 1) == math.fsum(map(abs, gradients.tolist()))
        assert wft.grad_norm(parameters, math.inf) == gradients.abs().max().item()
    assert len(found) == 1
    assert math.isclose(found.pop(), math.sqrt(math.fsum(x * x for x in gradients.tolist())), rel_tol=1e-15)
