"""Scripts drawn at random, per remedy: what the remedy is for, and look-alikes where it must hold back or do no harm."""

# ruff: noqa: E501  # lines of scripts within lines

from __future__ import annotations

import random
from collections.abc import Callable

from tests.remedies.edits.styles import Style, style

SETUP = """
<torch>.manual_seed(<seed>)
device = <dev>
x = <torch>.randn(<n>, 4).to(device)
y = <torch>.randn(<n>, 1, device=device)
<model> = <nn>.Sequential(<nn>.Linear(4, <h>), <nn>.Tanh(), <nn>.Linear(<h>, 1)).to(device)
"""
STEP = """
        <loss> = <F>.mse_loss(<model>(x[i:i + <b>]), y[i:i + <b>])
        <opt>.zero_grad()
        <loss>.backward()
        <opt>.step()
"""
PARAMETERS = "list(<model>.parameters())"


def optimizer(s: Style) -> str:
    """A line that makes an optimizer."""
    kinds = ("SGD(<model>.parameters(), lr=0.05)", "SGD(<model>.parameters(), lr=0.05, momentum=0.9)", "Adam(<model>.parameters(), lr=1e-2)",
             "AdamW(<model>.parameters(), lr=1e-2, weight_decay=0.1)")  # fmt: skip
    return f"<opt> = <optim>.{s.random.choice(kinds)}\n"


def training(
    s: Style, before: str = "", step: str = STEP, after_step: str = "", after_epoch: str = "", opt: str | None = None
) -> str:
    """A usual training: epochs, batches, a step."""
    return (
        f"{SETUP}{opt if opt is not None else optimizer(s)}{before}for epoch in range(2):\n    for i in range(0, <n>, <b>):{step}"
        f"{after_step}{after_epoch}"
    )


def metrics_on_device(rng: random.Random) -> str:
    s = style(rng)
    read = rng.choice(("<loss>.item()", "float(<loss>)", "<loss>.detach().item()", "<loss>.cpu().item()", "<loss>.data.item()"))
    kind = rng.randrange(9)
    before, after = "<losses> = []\n<total> = 0.0\n", f"        <losses>.append({read})\n"
    epoch = "    print(epoch, sum(<losses>[-3:]))\n"
    step = STEP
    if kind == 1:
        after = f"        <total> += {read}\n"
    elif kind == 2:
        after = f"        <total> = <total> + {read} * len(x[i:i + <b>])\n        <losses>.append({read})\n"
    elif kind == 3:  # the value decides
        after += f"        if {read} < 0.1:\n            break\n"
    elif kind == 4:  # read in the loop
        after += "        if len(<losses>) % 5 == 4:\n            print(<losses>[-1])\n"
    elif kind == 5:  # written over after it is read
        after = f"        <losses>.append({read})\n        with <torch>.no_grad():\n            <loss> += 1\n"
    elif kind == 6:
        after = f"        <losses>.append(round({read}, 3))\n        <total> += ((<model>(x) > 0) == (y > 0)).sum().item()\n"
    elif kind == 7:
        before = "<losses> = {'train': []}\n<total> = 0\n"
        after = f"        <losses>['train'].append({read} / 2)\n"
        epoch = ""
    elif kind == 8:  # a second name
        before = "<losses> = []\nbook = <losses>\n<total> = 0.0\n"
        after += "        <total> += len(book)\n"
    return s.script("", training(s, before, step, after, epoch), f"[<losses>, <total>, {PARAMETERS}]")


def detach_metrics(rng: random.Random) -> str:
    s = style(rng)
    after = rng.choice(
        (
            "        <losses>.append(<loss>)\n",
            "        <losses>.append(<loss>)\n        <total> += <loss>\n",
            "        <total> += <loss>\n",
        )
    )
    epoch = ""
    if rng.random() < 0.3:  # differentiated after all
        after = "        <losses>.append(<loss>)\n"
        step = "\n        <loss> = <F>.mse_loss(<model>(x[i:i + <b>]), y[i:i + <b>])\n"
        epoch = "    <opt>.zero_grad()\n    <torch>.stack(<losses>).sum().backward()\n    <opt>.step()\n    <losses> = []\n"
    else:
        step = STEP
    body = training(s, "<losses> = []\n<total> = 0.0\n", step, after, epoch)
    return s.script("", body, f"[[float(v) for v in <losses>], float(<total>), {PARAMETERS}]")


def set_to_none(rng: random.Random) -> str:
    s = style(rng)
    call = rng.choice(("<opt>.zero_grad(set_to_none=False)", "<opt>.zero_grad(False)", "<model>.zero_grad(set_to_none=False)"))
    step = STEP.replace("<opt>.zero_grad()", call)
    after = rng.choice(("", "", "        print(max(p.grad.abs().max() for p in <model>.parameters()))\n"))
    return s.script("", training(s, step=step, after_step=after), PARAMETERS)


def fused_optimizer(rng: random.Random) -> str:
    s = style(rng)
    kind = rng.choice(("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "NAdam"))
    more = rng.choice(("", ", foreach=False", ", foreach=False, weight_decay=0.01", ", fused=False", ", differentiable=False"))
    spread = rng.choice((f"(<model>.parameters(), lr=1e-2{more})", f"(\n    <model>.parameters(),\n    lr=1e-2{more},\n)"))
    return s.script("", training(s, opt=f"<opt> = <optim>.{kind}{spread}\n"), PARAMETERS)


def plain(rng: random.Random) -> str:
    """A usual training, for switches that hold for a whole script."""
    s = style(rng)
    return s.script(
        "", training(s, "<losses> = []\n", after_step="        <losses>.append(<loss>.item())\n"), f"[<losses>, {PARAMETERS}]"
    )


def convolutions(rng: random.Random) -> str:
    """A training of a small convolutional net."""
    s = style(rng)
    flat = rng.choice(("a.flatten(1)", "a.reshape(len(a), -1)", "a.view(a.size(0), -1)"))
    classes = f"""
class Net(<nn>.Module):
    def __init__(self):
        super().__init__()
        self.conv = <nn>.Conv2d(3, <h>, 3, padding=1)
        self.out = <nn>.Linear(<h> * 36, 2)

    def forward(self, a):
        a = <torch>.relu(self.conv(a))
        return self.out({flat})
"""
    switch = rng.choice(("", "<torch>.backends.cudnn.benchmark = True\n", "<torch>.backends.cudnn.benchmark = False\n"))
    body = f"""
{switch}<torch>.manual_seed(<seed>)
device = <dev>
images = <torch>.randn(8, 3, 6, 6, device=device)
labels = <torch>.randint(0, 2, (8,), device=device)
<model> = Net().to(device)
<opt> = <optim>.SGD(<model>.parameters(), lr=0.05)
for epoch in range(3):
    <opt>.zero_grad()
    <loss> = <F>.cross_entropy(<model>(images), labels)
    <loss>.backward()
    <opt>.step()
"""
    return s.script(classes, body, PARAMETERS)


def threads(rng: random.Random) -> str:
    s = style(rng)
    line = rng.choice((
        "<torch>.set_num_threads(64)\n", "workers = 32\n<torch>.set_num_threads(workers)\n",
        "<torch>.set_num_threads(1)\n", "<torch>.set_num_threads(max(2, 16))\n", "os.environ['OMP_NUM_THREADS'] = '48'\n",
        "<torch>.set_num_threads(os.cpu_count())\n",
    ))  # fmt: skip
    return s.script("", line + training(s), PARAMETERS, "import os\n" if "os." in line or rng.random() < 0.5 else "")


def debug_off(rng: random.Random) -> str:
    s = style(rng)
    kind = rng.randrange(4)
    if kind == 0:
        body = "<torch>.autograd.set_detect_anomaly(True)\n" + training(s)
    elif kind == 1:
        inner = training(s).replace(SETUP, "")
        body = (
            SETUP
            + "with <torch>.autograd.detect_anomaly():\n"
            + "".join(f"    {line}\n" if line else "\n" for line in inner.split("\n"))
        )
    elif kind == 2:
        body = training(s, "debug = len(x) > 3\n<torch>.autograd.set_detect_anomaly(debug)\n")
    else:
        step = STEP.replace("<loss>.backward()", "with <torch>.autograd.set_detect_anomaly(True):\n            <loss>.backward()")
        body = training(s, step=step)
    return s.script("", body, PARAMETERS)


def no_empty_cache(rng: random.Random) -> str:
    s = style(rng)
    after = rng.choice((
        "        <torch>.cuda.empty_cache()\n", "        if i % 2:\n            <torch>.cuda.empty_cache()\n",
        "        if <torch>.cuda.is_available():\n            <torch>.cuda.empty_cache()\n",
        "        if i:\n            <torch>.cuda.empty_cache()\n        else:\n            print(i)\n",
    ))  # fmt: skip
    return s.script("", training(s, after_step=after), PARAMETERS)


def create_on_device(rng: random.Random) -> str:
    s = style(rng)
    shape = rng.choice(("x[i:i + <b>].shape", "(1, 4)", "1, 4"))
    made = rng.choice((f"<torch>.randn({shape})", f"<torch>.zeros({shape})", "<torch>.ones(4)", "<torch>.arange(4)", "<torch>.full((4,), 0.5)",
                       "<torch>.tensor([1.0, 2.0, 3.0, 4.0])", "<torch>.ones(4, requires_grad=True)"))  # fmt: skip
    moved = rng.choice((".to(device)", ".to(x.device)", ".to(device=x.device)", ".to(x.dtype)", ".to(device, non_blocking=True)"))
    step = STEP.replace("<model>(x[i:i + <b>])", f"<model>(x[i:i + <b>] + 0.1 * {made}{moved})")
    return s.script("", training(s, step=step), PARAMETERS)


def checkpoint_less(rng: random.Random) -> str:
    s = style(rng)
    save = rng.choice(("<torch>.save(<model>.state_dict(), 'last.pt')", "<torch>.save({'model': <model>.state_dict(), 'i': i}, 'last.pt')",
                       "<torch>.save(<model>.state_dict(), f'step{i}.pt')", "save(<model>, 'last.pt')"))  # fmt: skip
    classes = "def save(model, path):\n    <torch>.save(model.state_dict(), path)\n"
    after = f"        {save}\n" + rng.choice(("", "", "        if i > 8:\n            break\n"))
    body = (
        training(s, after_step=after)
        + "\nkept = sorted(p for p in os.listdir('.') if p.endswith('.pt'))\nlast = <torch>.load(kept[-1])\n"
    )
    return s.script(
        classes, body, f"[len(kept), list((last['model'] if 'model' in last else last).values()), {PARAMETERS}]", "import os\n"
    )


def loaders(rng: random.Random) -> str:
    """A training with a loader over tensors in memory."""
    s = style(rng)
    data = rng.choice(("data = TensorDataset(x, y)\n", "data, rest = random_split(TensorDataset(x, y), [<n> - 6, 6])\n",
                       "whole = TensorDataset(x, y)\ndata = Subset(whole, range(2, <n>))\n"))  # fmt: skip
    order = rng.choice(("", ", shuffle=True", ", shuffle=True, drop_last=True", ", shuffle=False",
                        ", sampler=RandomSampler(data)", ", shuffle=True, generator=<torch>.Generator().manual_seed(3)", ", shuffle=True, generator=order"))  # fmt: skip
    more = rng.choice(("", "", ", pin_memory=False", ", num_workers=0"))
    layout = rng.choice((f"DataLoader(data, batch_size=<b>{order}{more})", f"DataLoader(\n    data,\n    batch_size=<b>{order}{more},\n)",
                         f"DataLoader(dataset=data, batch_size=<b>{order})", f"DataLoader(data, <b>{order})", f"DataLoader(TensorDataset(x, y), <b>{order})"))  # fmt: skip
    extra = rng.choice(("", "", "print(loader.batch_size)\n", "print(len(loader), len(loader.dataset))\n"))
    noise = rng.choice(("", " + 0.01 * <torch>.randn(1)"))
    body = f"""{SETUP.replace(".to(device)", "", 1).replace(", device=device", "")}{optimizer(s)}{data}order = <torch>.Generator().manual_seed(3)
loader = {layout}
{extra}<losses> = []
for epoch in range(3):
    for a, c in loader:
        a = a.to(device)
        c = c.to(device)
        <opt>.zero_grad()
        <loss> = <F>.mse_loss(<model>(a{noise}), c)
        <loss>.backward()
        <opt>.step()
        <losses>.append(<loss>.item())
"""
    imports = "from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset, random_split\n"
    return s.script("", body, f"[<losses>, {PARAMETERS}]", imports)


def workers(rng: random.Random) -> str:
    """A training with a data set of its own class."""
    s = style(rng, in_main=rng.random() < 0.8)
    item = rng.choice(("self.x[k] * 2, self.y[k]", "self.x[k] + 0 * <torch>.rand(1), self.y[k]", "self.x[k], self.y[k]"))
    keep = rng.choice(("", "", "", "        self.last = k\n"))
    classes = f"""
class Rows(Dataset):
    def __init__(self, n):
        self.x = <torch>.linspace(0, 1, n * 4).view(n, 4)
        self.y = self.x.sum(1, keepdim=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, k):
{keep}        return {item}
"""
    more = rng.choice(("", ", num_workers=0", ", num_workers=1", ", num_workers=1, shuffle=True", ", shuffle=True"))
    body = f"""{SETUP}{optimizer(s)}loader = DataLoader(Rows(<n>), batch_size=<b>{more})
for epoch in range(2):
    for a, c in loader:
        <opt>.zero_grad()
        <loss> = <F>.mse_loss(<model>(a), c)
        <loss>.backward()
        <opt>.step()
"""
    return s.script(classes, body, PARAMETERS, "from torch.utils.data import DataLoader, Dataset\n")


def kept_workers(rng: random.Random) -> str:
    """Mostly loaders with a worker, in one order."""
    text = workers(rng)
    while rng.random() < 0.9 and ("num_workers=1" not in text or "shuffle" in text):
        text = workers(rng)
    return text


def inference_mode(rng: random.Random) -> str:
    s = style(rng)
    back = rng.choice(("total / len(x), hits.item()", "float(total), int(hits)", "total, hits", "round(total, 4), hits.item()"))
    guard = rng.choice(("", "", "with <torch>.no_grad():"))
    lines = ["out = model(x)", "total = <F>.mse_loss(out, y).item()", "hits = (out > 0).sum()"]
    inner = (
        f"    {guard}\n" + "".join(f"        {line}\n" for line in lines) if guard else "".join(f"    {line}\n" for line in lines)
    )
    classes = f"def evaluate(model, x, y):\n    model.eval()\n{inner}    return {back}\n"
    kind = rng.randrange(3)
    if kind == 0:
        epoch = "    <losses>.append(evaluate(<model>, x, y))\n    <model>.train()\n"
    elif kind == 1:
        epoch = ("    <model>.eval()\n    good = 0\n    for k in range(0, <n>, <b>):\n        out = <model>(x[k:k + <b>])\n"
                 "        good += (out > 0).sum().item()\n    <model>.train()\n    <losses>.append(good)\n")  # fmt: skip
    else:
        epoch = "    <model>.eval()\n    with <torch>.no_grad():\n        out = <model>(x)\n        bad = (out - y).abs().max()\n"
        epoch += rng.choice(("    <losses>.append(bad.item())\n", "    y = y + 0.1 * bad\n    <losses>.append(0)\n"))
    return s.script(classes, training(s, "<losses> = []\n", after_epoch=epoch), f"[<losses>, {PARAMETERS}]")


def fuse_rnn(rng: random.Random) -> str:
    s = style(rng)
    kind = rng.choice(("LSTM", "GRU", "RNN"))
    batch_first = rng.random() < 0.5
    steps = rng.choice(("x.size(<d>)", "x.shape[<d>]", "steps", "4"))
    more = rng.choice(("", ", bias=False")) if kind != "RNN" else rng.choice(("", ", nonlinearity=<q>relu<q>"))
    state = "h, c" if kind == "LSTM" else "h"
    given = f"({state})" if kind == "LSTM" else "h"
    slice_ = rng.choice(("x[:, t]", "x[:, t, :]")) if batch_first else rng.choice(("x[t]", "x[t, :, :]"))
    feed = rng.choice((slice_, slice_, f"self.lift({slice_})"))
    fetch, fed = (f"            now = {feed}\n", "now") if rng.random() < 0.3 else ("", feed)
    rest = rng.choice(("", "            outs.append(h)\n", "            outs.append(self.head(h))\n", "            h = h * 0.9\n",
                       "            outs.append(<torch>.tanh(h))\n"))  # fmt: skip
    header = f"for t in range({steps}):"
    if not batch_first and rng.random() < 0.3:
        header, fetch, fed = "for xt in x:", "", rng.choice(("xt", "self.lift(xt)"))
    elif batch_first and rng.random() < 0.3:
        header, fetch, fed = "for xt in x.unbind(1):", "", "xt"
    last = rng.choice(("self.head(h)", "self.head(h) + (sum(outs).mean() / 10 if outs else 0)"))
    classes = f"""
class Net(<nn>.Module):
    def __init__(self, hidden=<h>):
        super().__init__()
        self.lift = <nn>.Linear(4, 4)
        self.cell = <nn>.{kind}Cell(4, hidden{more})
        self.head = <nn>.Linear(hidden, 1)

    def forward(self, x):
        steps = x.size(<d>)
        h = x.new_zeros(x.size(<e>), self.head.in_features)
        c = <torch>.zeros_like(h)
        outs = []
        {header}
{fetch}            {state} = self.cell({fed}, {given})
{rest}        return {last}
"""
    classes = classes.replace("<d>", "1" if batch_first else "0").replace("<e>", "0" if batch_first else "1")
    other = rng.choice(("", "", "", "print(<model>.cell.weight_hh.shape)\n"))
    body = f"""
<torch>.manual_seed(<seed>)
sequence = <torch>.randn({"6, 5, 4" if batch_first else "5, 6, 4"})
goal = <torch>.randn(6, 1)
<model> = Net()
{other}<opt> = <optim>.SGD(<model>.parameters(), lr=0.05)
for step in range(3):
    <opt>.zero_grad()
    <loss> = <F>.mse_loss(<model>(sequence), goal)
    <loss>.backward()
    <opt>.step()
"""
    return s.script(classes, body, f"[<loss>, {PARAMETERS}]")


def hoist_projection(rng: random.Random) -> str:
    s = style(rng)
    batch_first = rng.random() < 0.5
    slice_ = "x[:, t]" if batch_first else "x[t]"
    product = rng.choice(
        (
            f"self.inp({slice_})",
            f"<F>.linear({slice_}, self.w, self.b)",
            f"{slice_} @ self.u",
            f"<torch>.matmul({slice_}, self.u)",
        )
    )
    header = "for t in range(x.size(<d>)):"
    if rng.random() < 0.3:
        header, product = (
            ("for xt in x.unbind(1):", product.replace(slice_, "xt"))
            if batch_first
            else ("for xt in x:", product.replace(slice_, "xt"))
        )
    spoil = rng.choice(("", "", "            x = x + 0.1\n", "            self.count += 1\n"))
    classes = f"""
class Net(<nn>.Module):
    def __init__(self, hidden=<h>):
        super().__init__()
        self.count = 0
        self.inp = <nn>.Linear(4, hidden)
        self.rec = <nn>.Linear(hidden, hidden)
        self.w = <nn>.Parameter(<torch>.randn(hidden, 4) * 0.3)
        self.u = <nn>.Parameter(<torch>.randn(4, hidden) * 0.3)
        self.b = <nn>.Parameter(<torch>.zeros(hidden))
        self.head = <nn>.Linear(hidden, 1)

    def forward(self, x):
        h = <torch>.zeros(x.size(<e>), self.head.in_features, device=x.device)
        {header}
            h = <torch>.tanh({product} + self.rec(h))
{spoil}        return self.head(h)
"""
    classes = classes.replace("<d>", "1" if batch_first else "0").replace("<e>", "0" if batch_first else "1")
    body = f"""
<torch>.manual_seed(<seed>)
sequence = <torch>.randn({"6, 5, 4" if batch_first else "5, 6, 4"})
<model> = Net()
<opt> = <optim>.SGD(<model>.parameters(), lr=0.05)
for step in range(3):
    <opt>.zero_grad()
    <loss> = <model>(sequence).square().mean()
    <loss>.backward()
    <opt>.step()
"""
    return s.script(classes, body, f"[<loss>, {PARAMETERS}]")


def window_loop(rng: random.Random) -> str:
    s = style(rng)
    steps = rng.choice((24, 48, 30, 7))
    spoil = rng.choice(("", "", "        print(t)\n"))
    body = f"""
<torch>.manual_seed(<seed>)
series = <torch>.randn({steps + 1}, 3, 2)
<model> = <nn>.GRU(2, <h>)
<opt> = <optim>.SGD(<model>.parameters(), lr=0.05)
for epoch in range(2):
    state = <torch>.zeros(1, 3, <h>)
    for t in range({steps}):
        out, state = <model>(series[t:t + 1], state)
        <loss> = (out.mean(2) - series[t + 1:t + 2].sum(2)).square().mean()
        <opt>.zero_grad()
        <loss>.backward()
        <opt>.step()
        state = state.detach()
{spoil}"""
    return s.script("", body, PARAMETERS)


def merge_copies(rng: random.Random) -> str:
    s = style(rng)
    kind = rng.randrange(4)
    if kind == 0:
        joined = "batch = <torch>.stack([row.to(device) for row in rows])\n"
    elif kind == 1:
        joined = "kept = []\nfor row in rows:\n    kept.append(row.to(device))\nbatch = <torch>.stack(kept)\n"
    elif kind == 2:
        joined = (
            "kept = []\nfor row in rows:\n    kept.append(row.to(device))\nprint(kept[0])\nbatch = <torch>.stack(kept, dim=0)\n"
        )
    else:
        joined = "batch = <torch>.cat([row.to(device)[None] for row in rows])\n"
    body = f"{SETUP}rows = [<torch>.randn(4) for _ in range(<n>)]\n{joined}out = <model>(batch)\n"
    return s.script("", body, "[batch, out]")


def synchronise(rng: random.Random) -> str:
    s = style(rng)
    clock = rng.choice(("time.time()", "time.perf_counter()"))
    before = f"began = {clock}\n"
    after = f"    took = {clock} - began\n    print(took > 0)\n"
    if rng.random() < 0.3:
        before, after = "began = 0.0\n", f"    began = {clock}\n"
    return s.script("", training(s, before, after_epoch=after), PARAMETERS, "import time\n")


def use_cpu(rng: random.Random) -> str:
    s = style(rng)
    name = rng.choice(("cuda:0", "cuda"))
    dev = rng.choice((f"<torch>.device(<q>{name}<q> if <torch>.cuda.is_available() else <q>cpu<q>)", f"<q>{name}<q> if <torch>.cuda.is_available() else <q>cpu<q>",
                      "<torch>.device(<q>cpu<q>)"))  # fmt: skip
    body = training(s).replace("<dev>", dev)
    return s.script("", body, PARAMETERS)


def float32(rng: random.Random) -> str:
    s = style(rng)
    made = rng.choice(("<torch>.from_numpy(data)", "<torch>.tensor(data)", "<torch>.randn(<n>, 4).double()",
                       "<torch>.randn(<n>, 4, dtype=<torch>.float64)", "<torch>.from_numpy(unknown())"))  # fmt: skip
    model = rng.choice((".double()", ".to(<torch>.float64)"))
    classes = "def unknown():\n    return np.ones((<n>, 4))\n"
    body = f"""
rng = np.random.default_rng(<seed>)
data = rng.normal(size=(<n>, 4)) / 2
<torch>.manual_seed(<seed>)
x = {made}
y = x.sum(1, keepdim=True)
<model> = <nn>.Sequential(<nn>.Linear(4, <h>), <nn>.Tanh(), <nn>.Linear(<h>, 1))
<model> = <model>{model}
<opt> = <optim>.SGD(<model>.parameters(), lr=0.05)
for epoch in range(2):
    for i in range(0, <n>, <b>):{STEP}"""
    return s.script(classes, body, PARAMETERS, "import numpy as np\n")


def move_to_device(rng: random.Random) -> str:
    s = style(rng)
    made = rng.choice(("<torch>.zeros(1, 3, <h>)", "<torch>.randn(1, 3, <h>)", "<torch>.zeros(1, 3, <h>, device=device)"))
    body = f"""
<torch>.manual_seed(<seed>)
device = <dev>
sequence = <torch>.randn(5, 3, 2).to(device)
<model> = <nn>.GRU(2, <h>).to(device)
start = {made}
out, last = <model>(sequence, start)
"""
    return s.script("", body, "[out, last]")


def data_on_device(rng: random.Random) -> str:
    s = style(rng)
    rows = rng.choice(("x[i:i + <b>]", "x[order[i:i + <b>]]"))
    moved = rng.choice((".to(device)", ".to(device)", ".to(device, non_blocking=True)"))
    step = STEP.replace("<model>(x[i:i + <b>])", f"<model>({rows}{moved})")
    other = rng.choice(("", "", "        print(x[0].numpy())\n", "        x = x * 0.9\n"))
    body = training(s, "order = <torch>.randperm(<n>)\n", step, other).replace("randn(<n>, 4).to(device)", "randn(<n>, 4)")
    return s.script("", body, PARAMETERS)


def compile_step(rng: random.Random) -> str:
    s = style(rng)
    forward = rng.choice(("<model>(x[i:i + <b>])", "<model>(batch)", "<model>(x[i:i + <b>].to(device))"))
    first = "        batch = x[i:i + <b>]\n" if "batch" in forward else ""
    clip = rng.choice(("", "        <nn>.utils.clip_grad_norm_(<model>.parameters(), 0.5)\n"))
    between = rng.choice(("", "", "", "        print(float(guess.sum()))\n", "        guess = guess * (i + 1)\n",
                          "        if i > 3:\n            guess = guess * 2\n", "        guess = <torch>.tanh(guess)\n"))  # fmt: skip
    zeroed = rng.choice((("        <opt>.zero_grad()\n", ""), ("", "        <opt>.zero_grad()\n")))
    after = rng.choice(("", "        <losses>.append(<loss>.item())\n", "        <losses>.append(guess.mean().item())\n",
                        "        <losses>.append(<loss>.item())\n        kept = kept * 0.9 + <loss>.detach()\n"))  # fmt: skip
    step = (
        f"\n{first}{zeroed[0]}        guess = {forward}\n{between}        <loss> = <F>.mse_loss(guess, y[i:i + <b>]) * 3\n{zeroed[1]}"
        f"        <loss>.backward({rng.choice(('', '', '', 'retain_graph=True'))})\n{clip}        <opt>.step()\n"
    )
    if rng.random() < 0.2:  # gradients of two batches together
        step = step.replace("        <opt>.zero_grad()\n", "").replace(
            "        <opt>.step()\n", "        if i % 2:\n            <opt>.step()\n            <opt>.zero_grad()\n"
        )
    body = training(s, "<losses> = []\nkept = <torch>.zeros(())\n", step, after)
    if rng.random() < 0.15:  # draws at random
        body = body.replace("<nn>.Tanh()", "<nn>.Dropout(0.5)")
    return s.script("", body, f"[<losses>, kept, {PARAMETERS}]")


def one_step_rnn(rng: random.Random) -> str:
    """A recurrent layer that sees one time step in each call, and carries its state; sometimes more than one."""
    s = style(rng)
    kind = rng.choice(("RNN", "GRU"))
    first = rng.choice((".unsqueeze(0)", ".unsqueeze(0)", ".view(3, -1, 2)"))
    keep = rng.choice(("hidden = hidden.detach()", "hidden = hidden.detach()", "hidden = hidden.data.clone()"))
    body = f"""
<torch>.manual_seed(<seed>)
device = <dev>
x = <torch>.randn(12, 6, 2).to(device)
<model> = <nn>.{kind}(2, <h>).to(device)
loss_fn = <nn>.MSELoss()
{optimizer(s)}
<losses> = []
hidden = <torch>.zeros(1, 2 if ".view" in "{first}" else 6, <h>, device=device)
for i in range(11):
    now = x[i]{first}
    out, hidden = <model>(now, hidden)
    {keep}
    <loss> = loss_fn(out.mean(2), x[i + 1].mean(1).unsqueeze(0) if out.size(0) == 1 else out.mean(2).detach() * 0.5)
    <opt>.zero_grad()
    <loss>.backward()
    <opt>.step()
    <losses>.append(<loss>.item())
"""
    if rng.random() < 0.8:
        body = body.replace(
            "x[i + 1].mean(1).unsqueeze(0) if out.size(0) == 1 else out.mean(2).detach() * 0.5", "out.mean(2) * 0.5"
        )
    return s.script("", body, f"[<losses>, {PARAMETERS}]")


def compiled_steps(rng: random.Random) -> str:
    return one_step_rnn(rng) if rng.random() < 0.25 else compile_step(rng)


GENERATORS: dict[str, Callable[[random.Random], str]] = {
    "autocast": plain,
    "benchmark_off": convolutions,
    "benchmark_on": convolutions,
    "channels_last": convolutions,
    "checkpoint_less": checkpoint_less,
    "compile": plain,
    "compile_step": compiled_steps,
    "create_on_device": create_on_device,
    "cuda_graph": plain,
    "data_on_device": data_on_device,
    "debug_off": debug_off,
    "detach_metrics": detach_metrics,
    "float32": float32,
    "flush_denormals": plain,
    "fuse_rnn": fuse_rnn,
    "fused_optimizer": fused_optimizer,
    "hoist_projection": hoist_projection,
    "index_batches": loaders,
    "inference_mode": inference_mode,
    "larger_batch": loaders,
    "loader_workers": workers,
    "merge_copies": merge_copies,
    "metrics_on_device": metrics_on_device,
    "move_to_device": move_to_device,
    "no_empty_cache": no_empty_cache,
    "persistent_workers": kept_workers,
    "pin_memory": loaders,
    "prefetch": workers,
    "set_to_none": set_to_none,
    "synchronise": synchronise,
    "tf32": plain,
    "threads": threads,
    "use_cpu": use_cpu,
    "window_loop": window_loop,
}
