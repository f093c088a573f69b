"""What the recorder needs to know of an ATen operation before it meets it: read off its schema, once per operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

#: Arguments that say what shapes do not (the rest vary from step to step, or do not change the cost).
_TELLING = frozenset(
    [
        "dim",
        "dims",
        "dim0",
        "dim1",
        "keepdim",
        "stride",
        "padding",
        "dilation",
        "transposed",
        "output_padding",
        "groups",
        "kernel_size",
        "ceil_mode",
        "count_include_pad",
        "training",
        "train",
        "reduction",
        "normalized_shape",
        "group",
        "N",
        "C",
        "HxW",
        "num_groups",
        "descending",
        "largest",
        "sorted",
        "k",
        "diagonal",
        "upper",
        "is_causal",
        "approximate",
        "half_to_float",
        "output_size",
        "output_mask",
        "correction",
        "unbiased",
        "accumulate",
        "padding_idx",
        "mode",
        "include_last_offset",
        "sparse",
        "ord",
        "p",
        "exponent",
        "align_corners",
        "hermitian",
        "return_inverse",
        "return_counts",
        "replacement",
        "num_weights",
        "amsgrad",
        "maximize",
        "nesterov",
    ]
)

#: Operations that are no operation on CUDA either: not worth a row.
_SILENT = frozenset({"aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift", "aten::_has_compatible_shallow_copy_type"})

#: Names that differ between the CPU build and CUDA.
_NAMES = {
    "aten::_scaled_dot_product_flash_attention_for_cpu": "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "aten::_scaled_dot_product_efficient_attention_backward",
    "aten::mkldnn_convolution": "aten::convolution",
}

#: Operations in which a CPU tensor may meet a cuda one on CUDA too.
_MIXING = frozenset(
    [
        "aten::copy_",
        "aten::_to_copy",
        "aten::index",
        "aten::index_put_",
        "aten::_index_put_impl_",
        "aten::_pack_padded_sequence",
        "aten::set_",
        "aten::_foreach_copy_",
        "aten::_pad_packed_sequence",
        "aten::ctc_loss",
        "aten::_ctc_loss",
        "aten::_cudnn_ctc_loss",
        "aten::_use_cudnn_ctc_loss",
        "aten::_pin_memory",
        "aten::resize_as_",
        "aten::empty_like",
        "aten::zeros_like",
        "aten::ones_like",
        "aten::full_like",
        "aten::rand_like",
        "aten::randn_like",
        "aten::new_empty",
        "aten::new_zeros",
        "aten::new_ones",
        "aten::new_full",
        "aten::equal",
        "aten::is_set_to",
        "aten::tensor_split",
        "aten::index_put",
        "aten::_foreach_norm",
        "aten::lift_fresh",
        "aten::_nested_tensor_from_mask",
        "aten::segment_reduce",
        "aten::_pack_padded_sequence_backward",
        "aten::_linalg_check_errors",
        "aten::_convert_weight_to_int4pack",
        "aten::slice_scatter",
    ]
)

#: Operations that take lists whose 0-dimensional CPU members must be on the device too.
_STRICT = frozenset({"aten::cat", "aten::stack", "aten::gather", "aten::scatter"})

Special = Callable[["Plan", tuple[Any, ...], dict[str, Any], int], Any]  # Any: arguments and result of any operation


class Plan:
    """One operation (overload) as the recorder sees it.

    Attributes:
        name: its name in a stream.
        run: what executes it.
        kept: positions and names of the arguments that tell something.
        kept_names: the same arguments, given by name.
        fresh: its result owns new storage (no view, nothing written in place).
        factory: it takes no tensor.
        writes: it writes into an argument.
        product: it multiplies matrices, which may take long.
        in_place: it writes into its first argument and returns it, so its result's shape tells nothing new.
        composite: it is made of other operations, and reaches a mode only under inference mode.
        silent: it leaves no row.
        mixes: a CPU tensor may meet a cuda one.
        special: what handles it instead of the common path.
    """

    __slots__ = (
        "composite",
        "factory",
        "fresh",
        "func",
        "in_place",
        "kept",
        "kept_names",
        "looked_at",
        "mixes",
        "name",
        "product",
        "random",
        "run",
        "seen",
        "silent",
        "special",
        "strict",
        "writes",
    )

    def __init__(self, func: Any) -> None:  # Any: an OpOverload, which torch leaves without annotations
        schema = func._schema
        self.func = func
        self.run: Callable[..., Any] = getattr(func, "_op", func)  # Any: as above
        base = schema.name
        self.name = _NAMES.get(base, base)
        telling = [(i, a.name) for i, a in enumerate(schema.arguments) if a.name in _TELLING and _plain(a)]
        self.kept = tuple(telling)
        self.kept_names = frozenset(name for _, name in telling)
        returns = schema.returns
        self.fresh = all(r.alias_info is None for r in returns)
        self.in_place = bool(returns) and all(r.alias_info is not None and r.alias_info.is_write for r in returns)
        self.composite = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
        self.silent = base in _SILENT or base.startswith("profiler::")
        self.mixes = base in _MIXING
        self.strict = base in _STRICT
        self.random = any(a.name == "generator" for a in schema.arguments)
        self.factory = self.fresh and all(_plain(a) for a in schema.arguments)  # takes no tensor
        self.writes = any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
        self.product = base in ("aten::mm", "aten::bmm", "aten::addmm", "aten::mv") and not self.writes
        self.seen = False  # ran on the device before
        self.looked_at = 0  # calls counted until the next look at its numbers; 0: none is taken
        self.special: Special | None = None


def _plain(argument: Any) -> bool:  # Any: a schema argument, not annotated by torch
    return "Tensor" not in str(argument.type)


def frozen(value: Any) -> Any:  # Any: an argument of any operation
    """An argument as something that hashes and that JSON knows."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(v) for v in value)
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
