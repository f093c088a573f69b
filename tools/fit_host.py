"""Fit the host model to real traces: what one operation costs the thread that issues it.

    PYTHONPATH=src python tools/fit_host.py TRACES_FOLDER [--bridge] [-o src/breakeven/costs/data/host.json]

Every trace gives, per class of operations, the host time inside an operation without its runtime calls; per launch, copy and
synchronising call; per gap between operations; per node of the autograd engine. A class's profile and a scale per trace are
fitted together, `time = class x scale`, in logarithms. `--bridge` measures this machine's small operations with and without the
profiler (needs torch): that gives the profiler's own cost per event, and ties the dispatch probe of `breakeven.measure.probe` to
the traces' scale. Without it the bridge of the existing output file is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from host_bridge import measure_bridge
from host_traces import Observed, observe

from breakeven.costs.host_classes import FOREACH, host_class
from breakeven.measure.probe import PROBE_BACKWARD, PROBE_FORWARD

#: Scale 1: the host of this trace (16,000 operations forward, backward and optimizer; an A100 server).
REFERENCE = "a100_recsys_6steps.json.gz"

#: Traces of issuing hosts that are not disturbed by Python stack recording or sampling; `gpu` ones have runtime calls.
GPU_TRACES = (
    "a100_pt_batch2.json.gz", "a100_pt_batch256.json.gz", "a100_recsys_6steps.json.gz", "a100_recsys_graphs.json.gz",
    "a100_sam_fast.json.gz", "a100_ddp_3steps.json.gz", "gp100_small_loop.json.gz", "rtx2080ti_resnet_30iter.json.gz",
    "v100_dlrm_8ranks.tar.gz", "resnet50_workers4.json.gz",
)  # fmt: skip
#: With Python stacks: operations' own times count, the gaps between them do not.
STACK_TRACES = (
    "h100_bert_small.json.gz", "h100_vit_small.json.gz", "h100_tiny_transformer.json.gz", "mi300_bert_small.json.gz",
    "mi300_ddp_resnet18.json.gz", "b200_vllm_eager.json.gz",
)  # fmt: skip
CPU_TRACES = ("cpu_mlp_tiny.json.gz", "cpu_loader_workers4.json.gz")
#: Classes that run no kernel: on a CPU trace only these show the host alone.
HOST_ONLY = ("view", "allocation", "gap")
HERE = "this machine"


def main() -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--bridge", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=Path("src/breakeven/costs/data/host.json"))
    args = parser.parse_args()
    bridge = measure_bridge() if args.bridge else json.loads(args.output.read_text(encoding="utf-8"))["bridge"]
    observed = {name: observe(args.traces / name) for name in (*GPU_TRACES, *STACK_TRACES, *CPU_TRACES)}
    result = fit(observed, bridge)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for key, value in result.items():
        print(f"{key}: {value}", file=sys.stderr)


def fit(observed: dict[str, Observed], bridge: dict[str, Any]) -> dict[str, Any]:
    """The whole model from observations, as the JSON file holds it."""
    scales = dict.fromkeys((*observed, HERE), 1.0)
    tables: dict[str, dict[str, float]] = {}
    profile: dict[str, float] = {}
    for _ in range(8):  # the profiler's cost scales with the host, which scales with the fit
        event = {name: bridge["profiler_event_us"] * scales[name] / scales[HERE] for name in observed}
        tables = {name: _table(name, seen, event[name]) for name, seen in observed.items()}
        weights = {name: seen.counts for name, seen in observed.items()}
        profile, scales = _two_way(tables, weights)
        unit = scales[REFERENCE]
        profile = {label: time * unit for label, time in profile.items()}
        scales = {name: scale / unit for name, scale in scales.items()}
        cpu_node = _pooled({n: observed[n].node_us(event[n]) for n in CPU_TRACES}, scales)
        gaps, nodes = (
            _by_class({n: observed[n].gaps_before_us(event[n], engine=engine) for n in GPU_TRACES}, scales)
            for engine in (False, True)
        )
        step = _probe_step_us(profile, gaps, nodes, cpu_node)
        operations = len(PROBE_FORWARD) + len(PROBE_BACKWARD)
        fixed = bridge["backward_call_us"] + bridge["optimizer_call_us"] + bridge["kernels_us"]
        scales[HERE] = (operations * bridge["dispatch_us"] - fixed) / step
    lists = {name: seen.foreach_us(event[name], profile["pointwise"] * scales[name]) for name, seen in observed.items()}
    calls = {
        kind: {name: observed[name].call_us(kind) for name in (*GPU_TRACES, *STACK_TRACES)} for kind in ("launch", "copy", "sync")
    }
    residuals = [
        np.log(time / (profile[label] * scales[name])) for name, table in tables.items() for label, time in table.items()
    ]
    errors = _leave_one_out(observed, profile, scales, event, tables, calls["launch"])
    return {
        "command": "PYTHONPATH=src:tools python tools/fit_host.py TRACES",
        "reference": REFERENCE,
        "sources": sorted(observed),
        "classes_us": {label: round(time, 3) for label, time in sorted(profile.items()) if label not in ("gap", "node")},
        "gap_us": round(profile["gap"], 3),
        "node_us": round(profile["node"], 3),
        "gaps_us": gaps,
        "nodes_us": nodes,
        "gap_log_sd": round(float(np.std([np.log(tables[n]["gap"] / scales[n]) for n in GPU_TRACES if "gap" in tables[n]])), 3),
        "cpu_node_us": round(cpu_node, 3),
        "backward_call_us": round(bridge["backward_call_us"] / scales[HERE], 3),
        "optimizer_call_us": round(bridge["optimizer_call_us"] / scales[HERE], 3),
        "launch_us": round(_pooled(calls["launch"], scales), 3),
        "copy_call_us": round(_pooled(calls["copy"], scales), 3),
        "sync_call_us": round(_pooled(calls["sync"], scales), 3),
        "foreach_tensor_us": round(_pooled(lists, scales), 4),
        "dispatch_us": round(bridge["dispatch_us"] / scales[HERE], 3),
        "scales": {name: round(scale, 4) for name, scale in sorted(scales.items())},
        "class_log_sd": round(float(np.std(residuals)), 3),
        "step_log_sd": round(float(np.sqrt(np.mean(np.square(list(errors.values()))))), 3),
        "step_log_errors": {name: round(error, 3) for name, error in errors.items()},
        "bridge": bridge,
    }


def _probe_step_us(profile: Mapping[str, float], gaps: Mapping[str, float], nodes: Mapping[str, float], cpu_node: float) -> float:
    """The dispatch probe's step on the reference host by this model, its start of the backward pass left out."""
    forward = sum(gaps.get(host_class(name), profile["gap"]) for name in PROBE_FORWARD)
    backward = sum(nodes.get(host_class(name), profile["node"]) for name in PROBE_BACKWARD) * cpu_node / profile["node"]
    return forward + backward + (len(PROBE_FORWARD) + len(PROBE_BACKWARD)) * profile["view"]


def _pooled(values: Mapping[str, float | None], scales: Mapping[str, float]) -> float:
    """Median over traces of a time brought to the reference host."""
    return float(np.median([value / scales[name] for name, value in values.items() if value is not None]))


def _by_class(tables: Mapping[str, Mapping[str, float]], scales: Mapping[str, float]) -> dict[str, float]:
    """Per class the median over traces, for classes that at least two of them show (one, for list operations)."""
    labels = sorted({label for table in tables.values() for label in table})
    shown = {label: {name: table[label] for name, table in tables.items() if label in table} for label in labels}
    return {label: round(_pooled(values, scales), 3) for label, values in shown.items() if len(values) >= 2 or label == FOREACH}


def _table(name: str, seen: Observed, event_us: float) -> dict[str, float]:
    """Times per class of one trace; pauses between operations and the engine's bookkeeping are classes of their own."""
    table = dict(seen.class_us(event_us))
    gap, node = seen.gap_us(event_us), seen.node_us(event_us)
    if gap is not None and name not in STACK_TRACES:
        table["gap"] = gap
    if node is not None and name in GPU_TRACES:
        table["node"] = node
    if name in CPU_TRACES:
        table = {label: time for label, time in table.items() if label in HOST_ONLY}
    return {label: time for label, time in table.items() if time > 0}


def _two_way(
    tables: dict[str, dict[str, float]], weights: dict[str, dict[str, int]]
) -> tuple[dict[str, float], dict[str, float]]:
    """Classes and scales of `time = class x scale`, by weighted alternating means of logarithms (weights: root of calls)."""
    tables = {name: {k: v for k, v in table.items() if v > 0} for name, table in tables.items()}
    tables = {name: table for name, table in tables.items() if table}
    labels = sorted({label for table in tables.values() for label in table})
    names = sorted(tables)
    log = np.full((len(names), len(labels)), np.nan)
    weight = np.zeros_like(log)
    for i, name in enumerate(names):
        for j, label in enumerate(labels):
            time = tables[name].get(label)
            if time is not None and time > 0:
                log[i, j], weight[i, j] = np.log(time), min(30.0, np.sqrt(weights[name].get(label, 1)))
    a, s = np.zeros(len(labels)), np.zeros(len(names))
    filled = np.nan_to_num(log)
    for _ in range(200):
        a = (weight * (filled - s[:, None])).sum(0) / weight.sum(0)
        s = (weight * (filled - a[None, :])).sum(1) / weight.sum(1)
    return dict(zip(labels, np.exp(a).tolist(), strict=True)), dict(zip(names, np.exp(s).tolist(), strict=True))


def _leave_one_out(
    observed: Mapping[str, Observed], profile: Mapping[str, float], scales: Mapping[str, float], event: Mapping[str, float],
    tables: Mapping[str, Mapping[str, float]], launches: Mapping[str, float | None],
) -> dict[str, float]:  # fmt: skip
    """Log error of a whole trace's issuing time by the profile, its launch, gap and node costs taken from the other traces."""
    errors = {}
    for name in GPU_TRACES:
        others = [other for other in GPU_TRACES if other != name]
        gap, node = (_pooled({n: tables[n].get(label) for n in others}, scales) for label in ("gap", "node"))
        launch = _pooled({n: launches[n] for n in others}, scales)
        real, said = observed[name].totals(event[name], profile, gap, node, launch)
        errors[name] = float(np.log(real / (said * scales[name])))
    return errors


if __name__ == "__main__":
    main()
