"""Tensors of two devices meet while a loop is watched: their names, their lines, and where each was made."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

import breakeven  # noqa: E402  # after torch is known to be there
from breakeven.results.records import Finding  # noqa: E402

#: The meta device stands in for an accelerator: PyTorch refuses to mix it with the CPU in the same way.
CASES = {
    "a name of the same function": (
        """
        import torch
        def train(step):
            weight = torch.ones(3, 3, device="meta")
            for _ in range(2):
                batch = torch.ones(3, 3)
                step()
                out = weight + batch  # meets
        """,
        "weight (line 4) on meta, batch (line 6) on cpu",
        [8, 6],
    ),
    "an attribute of a module, and an argument": (
        """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.start = torch.zeros(3, 3)
            def forward(self, x):
                return x + self.start  # meets
        def train(step):
            net = Net()
            given = torch.ones(3, 3, device="meta")
            step()
            net(given)
        """,
        "x (line 11) on meta, self.start (line 6) on cpu",
        [8, 6],
    ),
    "a buffer": (
        """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(3, 3))
            def forward(self, x):
                return x.t() + self.scale  # meets
        def train(step):
            Net()(torch.ones(3, 3, device="meta"))
        """,
        "x on meta, self.scale (line 6) on cpu",
        [8, 6],
    ),
    "an attribute of an object that answers for its attributes itself": (
        """
        import torch
        class Holder:
            __slots__ = ("weight",)
            def __getattr__(self, name):
                raise RuntimeError("asked for " + name)
        def train(step):
            held = Holder()
            held.weight = torch.ones(3, 3)
            given = torch.ones(3, 3, device="meta")
            other = torch.ones(3, 3)
            out = given + other if held.weight is not None else None
        """,
        "given (line 10) on meta, other (line 11) on cpu",
        [12, 11],
    ),
    "a global": (
        """
        import torch
        kernel = torch.ones(3, 3)
        def other():
            kernel = 3
        def train(step):
            image = torch.ones(3, 3, device="meta")
            step()
            return image + kernel
        """,
        "image (line 7) on meta, kernel (line 3) on cpu",
        [9, 3],
    ),
}


def loaded(text: str, folder: Path) -> ModuleType:
    """The text as a module of the user's own."""
    import textwrap

    file = folder / "mine.py"
    file.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location("mine", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def watched(text: str, folder: Path) -> tuple[Finding, ...]:
    """What a watch of its `train` found."""
    train = loaded(text, folder).train
    seen = breakeven.watch(stream=None)
    with pytest.raises(RuntimeError), seen:
        train(seen.step)
    return tuple(one for one in seen.report.findings if one.id == "device_mismatch")


@pytest.mark.parametrize("name", CASES)
def test_the_names_are_told_with_the_lines_that_made_them(name: str, tmp_path: Path) -> None:
    text, told, lines = CASES[name]
    (finding,) = watched(text, tmp_path)
    assert finding.sentence.startswith(f"Tensors of two devices meet: {told}. PyTorch says: ")
    assert [site.line for site in finding.sites] == lines
    assert finding.remedies == ("move_to_device",)


def test_an_error_of_another_kind_is_no_meeting(tmp_path: Path) -> None:
    text = """
    import torch
    def train(step):
        step()
        torch.mm(torch.ones(3, 4), torch.ones(3, 4))
    """
    assert watched(text, tmp_path) == ()


@pytest.mark.parametrize(
    "said",
    [
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
        "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
        "Placeholder storage has not been allocated on MPS device!",
    ],
)
def test_each_wording_of_pytorch_is_known(said: str, tmp_path: Path) -> None:
    (finding,) = watched(f"def train(step):\n    step()\n    raise RuntimeError({said!r})\n", tmp_path)
    assert said in finding.sentence
    assert [site.line for site in finding.sites] == [3]
