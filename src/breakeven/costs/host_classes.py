"""Classes of operations that cost the host about the same: the profile of the host model is kept per class."""

from __future__ import annotations

from typing import Final

from breakeven.costs.works import (
    attention,
    convolutions,
    dense_algebra,
    free,
    images,
    indexing,
    movement,
    multi_tensor,
    norms,
    pointwise,
    products,
    recurrent,
    reductions,
)
from breakeven.costs.works.records import words

VIEW: Final = "view"
ALLOCATION: Final = "allocation"
QUESTION: Final = "question"
FOREACH: Final = "foreach"
UNKNOWN: Final = "pointwise"  # what has no entry is taken for the commonest class

_ROWS = words("_softmax _log_softmax softmax log_softmax _safe_softmax native_layer_norm _fused_rms_norm")
_ROWS_BACKWARD = words(
    "_softmax_backward_data _log_softmax_backward_data native_layer_norm_backward _fused_rms_norm_backward nll_loss_backward"
)

#: First match wins; each name has one class.
_CLASSES: tuple[tuple[str, frozenset[str]], ...] = (
    (VIEW, free.VIEWS),
    (ALLOCATION, free.ALLOCATIONS),
    (QUESTION, free.QUESTIONS),
    ("rows", frozenset(_ROWS)),
    ("rows_backward", frozenset(_ROWS_BACKWARD)),
    ("convolution", frozenset(n for n in convolutions.CONVOLUTIONS if not n.endswith("_backward"))),
    ("convolution_backward", frozenset(convolutions.CONVOLUTIONS)),
    ("norm", frozenset(n for n in norms.NORMS if not n.endswith("_backward"))),
    ("norm_backward", frozenset(norms.NORMS)),
    ("attention", frozenset(attention.ATTENTION)),
    ("product", frozenset(products.PRODUCTS)),
    ("reduction", frozenset(reductions.REDUCTIONS)),
    ("index", frozenset(indexing.INDEXING)),
    ("copy", frozenset(words("clone contiguous copy _to_copy to copy_ _copy_from"))),
    (
        "fill",
        frozenset(
            words("fill zero zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full scalar_tensor arange")
        ),
    ),
    ("join", frozenset(words("cat stack _stack split_copy split_with_sizes_copy unbind_copy"))),
    ("image", frozenset(images.IMAGES)),
    (FOREACH, frozenset(multi_tensor.MULTI_TENSOR)),
    ("algebra", frozenset(dense_algebra.ALGEBRA)),
    ("pointwise", frozenset((*pointwise.POINTWISE, *movement.MOVEMENT))),
    ("cell", frozenset(recurrent.CELLS)),
    ("recurrent", frozenset(name.removeprefix("cudnn::") for name in recurrent.RECURRENT)),
)


def host_class(name: str) -> str:
    """Class of an operation.

    >>> host_class("aten::addmm"), host_class("aten::add_"), host_class("aten::t")
    ('product', 'pointwise', 'view')
    """
    bare = name.split("::")[-1].split(".")[0]
    for wanted in (bare, bare.removesuffix("_")):
        for label, names in _CLASSES:
            if wanted in names:
                return label
    return UNKNOWN
