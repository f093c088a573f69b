"""Copies, fills, joins and re-orderings on the device, and random numbers: written once, read at most once.

Sources: ATen/native/cuda/Copy.cu (same dtype and layout: cudaMemcpyAsync, else one pointwise kernel), Shape.cu (`cat`:
up to 128 tensors a launch, CAT_ARRAY_BATCH_SIZE), DistributionTemplates.h (one kernel per random fill), RangeFactories.cu.
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.pointwise import pointwise
from breakeven.costs.works.records import Operation, Works, item_size, numel, stream, words, work

_CAT_BATCH = 128


def copied(op: Operation) -> Works:
    """clone, contiguous, copy_, _to_copy: read once, written once; a change of dtype reads the old width."""
    source = len(op.inputs) - 1 if op.name.removesuffix("_").endswith("copy") and len(op.inputs) > 1 else 0
    if not op.inputs or not numel(op.inputs[source]):
        return ()
    shape = op.outputs[0] if op.outputs else op.inputs[0]
    read, written = op.input_bytes(source), numel(shape) * item_size(op.output_dtype)
    return (stream(read + written, numel(shape), op.compute_dtype),)


def device_copy(op: Operation) -> Works:
    """`copy::h2d`, `copy::d2h`, `copy::d2d` from their attributes."""
    name = op.name.replace("::", "_")
    nbytes = int(op.attributes.get("bytes") or op.read_bytes or op.written_bytes)
    if not nbytes:
        return ()
    if name == "copy_d2d":
        return (work(name, "", bytes=nbytes),)
    return (work(name, "", bytes=nbytes, pinned=int(bool(op.attributes.get("pinned")))),)


def filled(op: Operation) -> Works:
    """fill_, zeros, ones, full, eye, arange, linspace and random fills: written once."""
    size = max((numel(s) for s in op.outputs), default=numel(op.inputs[0]) if op.inputs else 0)
    return (stream(size * item_size(op.output_dtype), size, op.compute_dtype),) if size else ()


def joined(op: Operation) -> Works:
    """cat, stack: every input read, the output written, 128 inputs a launch."""
    if not op.written_bytes:
        return ()
    size = numel(op.outputs[0]) if op.outputs else op.size
    return (stream(op.read_bytes + op.written_bytes, size, op.compute_dtype, kernels=max(1, -(-len(op.inputs) // _CAT_BATCH))),)


def split_copied(op: Operation) -> Works:
    """split_copy, unbind_copy: one copy per part."""
    return (stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype, kernels=max(1, len(op.outputs))),)


def padded(op: Operation) -> Works:
    """constant_pad_nd: filled, then the inside copied."""
    size = numel(op.outputs[0]) if op.outputs else op.size
    return (*filled(op), stream(2 * op.read_bytes, size, op.compute_dtype))


def slice_backward(op: Operation) -> Works:
    """slice_backward, select_backward, diagonal_backward: a zeroed gradient, then the part copied in."""
    return (*filled(op), stream(2 * op.input_bytes(0), numel(op.inputs[0]), op.compute_dtype))


def part_written(op: Operation) -> Works:
    """slice_scatter, select_scatter: the whole copied, then the part."""
    return (
        stream(2 * op.written_bytes, op.size, op.compute_dtype),
        stream(2 * op.input_bytes(len(op.inputs) - 1), op.size, op.compute_dtype),
    )


def dropout(op: Operation) -> Works:
    """native_dropout (`fused_dropout_kernel`): read, written, and a mask of one byte."""
    x = op.inputs[0]
    return (stream(numel(x) * (2 * item_size(op.compute_dtype) + 1), numel(x), op.compute_dtype),) if numel(x) else ()


def permutation(op: Operation) -> Works:
    """randperm: random keys sorted (cub), positions written; multinomial: the same with a cumulative sum."""
    size = max((numel(s) for s in (*op.outputs, *op.inputs)), default=1)
    return (stream(2 * 16 * size * 5, size, "int64", kernels=8),)


def repeat_interleave(op: Operation) -> Works:
    """A cumulative sum of the repeats, then one kernel that writes."""
    return (stream(op.read_bytes, op.size, op.compute_dtype), *filled(op))


_COPIES = words(
    """
    clone contiguous copy _to_copy to copy_ _copy_from _reshape_copy reshape_copy repeat tile flip roll rot90 tril triu
    diag diag_embed _unsafe_copy permute_copy transpose_copy t_copy view_copy expand_copy squeeze_copy unsqueeze_copy
    slice_copy select_copy as_strided_copy diagonal_copy detach_copy alias_copy unfold_copy _conj_copy pixel_shuffle
    pixel_unshuffle channel_shuffle lift_fresh_copy narrow_copy    _lazy_clone unfold_backward
    im2col col2im block_diag linalg_diagonal complex_copy view_as_real_copy view_as_complex_copy _pack_padded_sequence
    _pack_padded_sequence_backward type_as float half double long int bool bfloat16
    """
)

_FILLS = words(
    """
    fill zero zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full eye arange range linspace
    logspace scalar_tensor tril_indices triu_indices _new_zeros_with_same_feature_meta uniform normal normal_functional
    random randint randint_like rand rand_like randn randn_like bernoulli exponential geometric log_normal cauchy poisson
    binomial _standard_gamma _sample_dirichlet _dirichlet_grad _standard_gamma_grad _philox_normal _philox_uniform
    hann_window hamming_window bartlett_window blackman_window kaiser_window fft_fftfreq fft_rfftfreq
    affine_grid_generator _cudnn_init_dropout_state
    """
)

MOVEMENT: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(_COPIES, copied),
    **dict.fromkeys(_FILLS, filled),
    **dict.fromkeys(
        ("cat", "stack", "_stack", "hstack", "vstack", "concat", "_chunk_cat", "combinations", "cartesian_prod"), joined
    ),
    **dict.fromkeys(("split_copy", "split_with_sizes_copy", "unbind_copy"), split_copied),
    "constant_pad_nd": padded,
    **dict.fromkeys(
        ("slice_backward", "select_backward", "diagonal_backward", "value_selecting_reduction_backward"), slice_backward
    ),
    **dict.fromkeys(("slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter"), part_written),
    **dict.fromkeys(("native_dropout", "_fused_dropout", "dropout"), dropout),
    **dict.fromkeys(("randperm", "multinomial"), permutation),
    "repeat_interleave": repeat_interleave,
    **dict.fromkeys(("rrelu", "feature_dropout"), pointwise),
}

#: By whole name.
DEVICE_COPIES: dict[str, Callable[[Operation], Works]] = dict.fromkeys(("copy::h2d", "copy::d2h", "copy::d2d"), device_copy)
