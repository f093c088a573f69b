"""Ways in which people write the same training script: imports, names, quotes, layout, comments."""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass

#: How a script may import; each with the names of torch, torch.nn, torch.nn.functional and torch.optim.
IMPORTS = (
    ("import torch\nfrom torch import nn\n", "torch", "nn", "nn.functional", "torch.optim"),
    ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n", "torch", "nn", "F", "torch.optim"),
    ("import math\n\nimport torch\nfrom torch import nn, optim\n", "torch", "nn", "torch.nn.functional", "optim"),
    ('"""A training."""\nimport torch as th\nimport torch.nn as tnn\n', "th", "tnn", "tnn.functional", "th.optim"),
    ("from __future__ import annotations\nimport torch\n", "torch", "torch.nn", "torch.nn.functional", "torch.optim"),
)


@dataclass(frozen=True)
class Style:
    """One way of writing."""

    random: random.Random
    imports: str
    names: dict[str, str]
    in_main: bool

    def fill(self, code: str) -> str:
        """Put the names in: `<torch>`, `<model>`, `<loss>` …"""
        for word, name in self.names.items():
            code = code.replace(f"<{word}>", name)
        return code

    def script(self, classes: str, body: str, result: str, extra_imports: str = "") -> str:
        """The whole script: classes at the top, the body there or in a guarded `main`; the result in RESULT."""
        body = self.littered(self.fill(textwrap.dedent(body).strip("\n") + "\n"))
        classes = self.fill(textwrap.dedent(classes).strip("\n"))
        head = self.imports + self.fill(extra_imports) + "\n" + (f"\n{classes}\n\n\n" if classes else "\n")
        if not self.in_main:
            return f"{head}{body}RESULT = {self.fill(result)}\n"
        inner = textwrap.indent(f"{body}return {self.fill(result)}\n", "    ")
        return f"{head}def main():\n{inner}\n\nif __name__ == '__main__':\n    RESULT = main()\n"

    def littered(self, code: str) -> str:
        """Comments and blank lines thrown in."""
        lines: list[str] = []
        for line in code.splitlines():
            indent = line[: len(line) - len(line.lstrip())]
            plain = line.strip() and not line.strip().startswith(("else", "elif", "except", ")", "]", "finally"))
            if plain and self.random.random() < 0.08:
                lines.append(f"{indent}# {self.random.choice(('why', 'as in the paper', 'todo: check', 'x -> y'))}")
            if plain and not indent and self.random.random() < 0.1:
                lines.append("")
            tail = (
                "  # noted"
                if plain and line.rstrip()[-1:] not in ("(", "[", "{", ",", "\\") and self.random.random() < 0.05
                else ""
            )
            lines.append(line + tail)
        return "\n".join(lines) + "\n"


def style(rng: random.Random, in_main: bool | None = None) -> Style:
    """Draw a way of writing."""
    imports, torch, nn, functional, optim = rng.choice(IMPORTS)
    quote = rng.choice(("'", '"'))
    names = {
        "torch": torch,
        "nn": nn,
        "F": functional,
        "optim": optim,
        "model": rng.choice(("model", "net", "network")),
        "opt": rng.choice(("optimizer", "opt", "sgd")),
        "loss": rng.choice(("loss", "cost", "err")),
        "losses": rng.choice(("losses", "history", "curve")),
        "total": rng.choice(("total", "running", "value")),
        "seed": str(rng.randrange(1000)),
        "n": str(rng.choice((24, 30, 36))),
        "b": str(rng.choice((5, 6, 12))),
        "h": str(rng.choice((3, 5, 8))),
        "q": quote,
        "dev": rng.choice((f"{quote}cpu{quote}", f"{torch}.device({quote}cpu{quote})",
                           f"{torch}.device({quote}cuda{quote} if {torch}.cuda.is_available() else {quote}cpu{quote})",
                           f"{quote}cuda{quote} if {torch}.cuda.is_available() else {quote}cpu{quote}")),
    }  # fmt: skip
    return Style(rng, imports, names, rng.random() < 0.4 if in_main is None else in_main)
