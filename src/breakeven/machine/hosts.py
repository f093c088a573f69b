"""Hosts by name: the machine that a predicted GPU sits in. A host is its single-thread speed at dispatching, and its link.

Scales are relative to the host model's reference (`costs/data/host.json`), whose fit gives each trace's own scale. Hosts of the
same kind differ, and are shared with other tenants: the intervals say so.
"""

from __future__ import annotations

from difflib import get_close_matches

from breakeven.errors import InputError
from breakeven.machine.records import Cpu, Host

THIS_MACHINE = "this machine"

#: How much dearer issuing to a GPU is than the probe (which only a CPU can run) makes it, against the traces' profile: the
#: geometric mean of what five public reports of both devices in one machine ask for, each a script whose step is all host
#: time: 1.75 (jacobian of a small MLP, 11.1 s against 19.5 s), 0.94 (20 layers of 50 units, 17 against 35 min), 1.27 (MNIST
#: at batch 32, 4.4 against 6.5 s), 1.06 (DQN on CartPole, 29.1 against 36.0 s), 2.0 (char-RNN on Colab, 650 against 340 steps
#: a second, with the optimizer of its day, which looped over parameters). Their logarithms have a standard deviation of 0.32.
SAME_HOST = 1.35
#: 90 % interval of that mean, as a factor each way: exp(1.645 x 0.32 / sqrt(5)).
SAME_HOST_ERROR = 1.26

#: Presets. Scales of traces are fits by `tools/fit_host.py` ("scales" in `costs/data/host.json`); their intervals are the fit's
#: error of a whole step (0.22 in logarithms) at 90 %, wider where the figure is indirect.
_PRESETS: tuple[Host, ...] = (
    Host(
        "colab",
        1.5,
        2.2,
        3.1,
        "Google Colab virtual machine, two virtual CPUs of a 2.0-2.3 GHz Xeon: what the one report from Colab itself asks for "
        "(a char-RNN at 340 steps a second on its GPU runtime). Lower end: eager calls on other clouds' hosts of a T4 (26 us "
        "per add) and a V100 (32 us) against the profile's 17; upper end as far above",
    ),
    Host(
        "a100 server",
        0.7,
        1.0,
        1.45,
        "the reference: host of a100_recsys_6steps (facebookresearch/HolisticTraceAnalysis); a100_recsys_graphs, v100_dlrm alike "
        "(0.99 to 1.04)",
    ),
    Host("h100 server", 0.48, 0.70, 1.0, "hosts of h100_bert_small, h100_vit_small and h100_tiny_transformer: 0.65 to 0.82"),
    Host("mi300 server", 0.4, 0.57, 0.82, "hosts of mi300_bert_small and mi300_ddp_resnet18: 0.50 to 0.63"),
    Host("a100 pcie server", 1.5, 2.1, 3.0, "host of a100_pt_batch2 and _batch256 (harryjmoss/particle_transformer): 2.1 to 2.2"),
    Host("workstation 2019", 1.5, 2.2, 3.3, "hosts of gp100_small_loop (1.8) and rtx2080ti_resnet_30iter (2.6)"),
)


def hosts() -> tuple[Host, ...]:
    """All presets."""
    return _PRESETS


def find_host(name: str, cpu: Cpu, reference_dispatch_us: float) -> Host:
    """A host by name.

    Args:
        name: a preset, or `this machine`.
        cpu: the CPU measured here, for `this machine`.
        reference_dispatch_us: what the dispatch probe says on the reference host (`costs.host_model.host_model().dispatch_us`).

    Raises:
        InputError: no such host; the message lists them.
    """
    wanted = host_name(name)
    if wanted == THIS_MACHINE:
        return this_machine(cpu, reference_dispatch_us)
    return next(host for host in _PRESETS if host.name == wanted)


def host_name(text: str) -> str:
    """The name of a host, loosely written.

    Raises:
        InputError: no such host; the message lists them.

    >>> host_name("Colab"), host_name("A100_server"), host_name("here")
    ('colab', 'a100 server', 'this machine')
    """
    wanted = " ".join(text.lower().replace("-", " ").replace("_", " ").split())
    names = [THIS_MACHINE, *(host.name for host in _PRESETS)]
    if wanted in ("here", "local"):
        return THIS_MACHINE
    if wanted in names:
        return wanted
    nearest = get_close_matches(wanted, names, n=1)
    hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
    raise InputError(f"no host is called {text!r}{hint}: one of {', '.join(names)}")


def this_machine(cpu: Cpu, reference_dispatch_us: float) -> Host:
    """The machine that this runs on, by its dispatch probe; without one, anything that the traces show."""
    if cpu.dispatch_us is None:
        return Host(THIS_MACHINE, 0.5, 1.0, 2.6, "not probed: the range of hosts in the traces")
    probed = cpu.dispatch_us / reference_dispatch_us
    source = f"dispatch probe: {cpu.dispatch_us:.1f} us per operation of a tiny step; issuing to a GPU against it: {SAME_HOST}"
    scale = probed * SAME_HOST
    return Host(THIS_MACHINE, scale / SAME_HOST_ERROR, scale, scale * SAME_HOST_ERROR, source, own_scale=probed)
