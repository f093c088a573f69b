"""Operations over lists of tensors: `_foreach_*`, fused optimizers, gradient scaling.

Source: ATen/native/cuda/MultiTensorApply.cuh: a launch takes at most `depth_to_max_tensors` tensors and 320 blocks, each block
one chunk of 65,536 elements, where depth is the number of lists; a tensor that does not fit goes on in the next launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from breakeven.costs.works.records import Operation, Shape, Works, item_size, numel, stream, words

#: MultiTensorApply.cuh: `depth_to_max_tensors`, `depth_to_max_blocks`, `kChunkSize`.
MAX_TENSORS = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
MAX_BLOCKS = 320
CHUNK = 65_536


def launches(sizes: Sequence[int], depth: int) -> int:
    """Launches that multi-tensor-apply takes for lists of tensors of these sizes.

    >>> launches([100] * 111, 1), launches([65_536 * 321], 1)
    (2, 2)
    """
    most = MAX_TENSORS[min(max(depth, 1), 5)]
    count = tensors = blocks = 0
    for size in sizes:
        if not size:
            continue
        tensors += 1
        chunks = -(-size // CHUNK)
        count += (blocks + chunks) // MAX_BLOCKS
        full = (blocks + chunks) % MAX_BLOCKS == 0
        spilled = blocks + chunks > MAX_BLOCKS
        blocks = (blocks + chunks) % MAX_BLOCKS
        if full:
            tensors = 0
        elif spilled:
            tensors = 1
        if tensors == most and blocks:
            count, tensors, blocks = count + 1, 0, 0
    return count + (1 if blocks else 0)


def foreach(op: Operation) -> Works:
    """In place the first list is written; out of place a new one, which is one list more."""
    tensors = _tensors(op)
    lists = max(1, len(op.inputs) // max(1, len(tensors)))
    in_place = op.name.endswith("_")
    return _applied(op, tensors, lists if in_place else lists + 1, lists + 1)


def foreach_norm(op: Operation) -> Works:
    """Partial sums per chunk, zeroed first, then one kernel that finishes each norm (ForeachReduceOp.cu)."""
    tensors = _tensors(op)
    partial = _applied(op, tensors, 1, 1)
    small = max(1, len(tensors))
    return (
        (stream(small * CHUNK // 1024 * 4, small, op.compute_dtype), *partial, stream(small * 64, small, op.compute_dtype))
        if partial
        else ()
    )


def foreach_zero(op: Operation) -> Works:
    """Written only."""
    tensors = _tensors(op)
    return _applied(op, tensors, 1, 1)


def fused_adam(op: Operation) -> Works:
    """Parameters, gradients and both moments read; all but gradients written (7 passes; amsgrad 9)."""
    tensors = _tensors(op)
    amsgrad = bool(op.attributes.get("amsgrad"))
    return _applied(op, tensors, 5 if amsgrad else 4, 9 if amsgrad else 7)


def fused_sgd(op: Operation) -> Works:
    """Parameters and gradients, and a momentum where there is one."""
    tensors = _tensors(op)
    momentum = len(op.inputs) >= 3 * max(1, len(tensors))
    return _applied(op, tensors, 3 if momentum else 2, 5 if momentum else 3)


def _applied(op: Operation, tensors: Sequence[Shape], depth: int, passes: int) -> Works:
    sizes = [numel(shape) for shape in tensors]
    count = launches(sizes, depth)
    if not count:
        return ()
    total = sum(sizes)
    return (stream(passes * total * item_size(op.compute_dtype), total, op.compute_dtype, kernels=count),)


def _tensors(op: Operation) -> tuple[Shape, ...]:
    """The tensors of one list: as many as recorded (`tensors`), else as came out, else by the operation's number of lists."""
    per_list = op.attributes.get("tensors")
    if isinstance(per_list, int) and 0 < per_list <= len(op.inputs):
        named = per_list
    elif op.outputs:
        named = len(op.outputs)
    else:
        named = len(op.inputs) // _LISTS.get(op.name.removeprefix("aten::").removesuffix("_"), 1)
    return op.inputs[: max(1, named)]


#: Lists of an operation's inputs where nothing recorded says it (the usual overload of an optimizer's step).
_LISTS = {
    "_foreach_addcmul": 3,
    "_foreach_addcdiv": 3,
    "_foreach_lerp": 2,
    "_foreach_copy": 2,
    "_fused_adam": 5,
    "_fused_adamw": 5,
    "_fused_sgd": 2,
    "_fused_adagrad": 4,
}

_NAMES = words(
    """
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone copy cos cosh div erf erfc exp expm1 floor frac
    lerp lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan
    tanh trunc
    """
)

MULTI_TENSOR: dict[str, Callable[[Operation], Works]] = {
    **{f"_foreach_{name}": foreach for name in _NAMES},
    **dict.fromkeys(("_foreach_norm", "_foreach_max", "_foreach_powsum"), foreach_norm),
    "_foreach_zero": foreach_zero,
    **dict.fromkeys(("_fused_adam", "_fused_adamw"), fused_adam),
    **dict.fromkeys(("_fused_sgd", "_fused_adagrad"), fused_sgd),
    "_amp_foreach_non_finite_check_and_unscale": foreach,
}
