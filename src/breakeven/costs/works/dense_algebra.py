"""Factorisations, solves, Fourier transforms and sparse operations: by arithmetic or bytes alone, with wide intervals.

A blocked factorisation of order n runs about n / 64 panels one after another, each a product of n x n x 64 and a few small
kernels (LAPACK working note 41's operation counts; cuSOLVER and MAGMA block alike). No public sweep by shape is at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2

from breakeven.costs.works.pointwise import by_bytes
from breakeven.costs.works.records import Operation, Works, item_size, numel, stream, work

_PANEL = 64
_SPREAD = 4.0  # high over mid and mid over low: nothing measured stands behind these


def _factorisation(products: float) -> Callable[[Operation], Works]:
    """Work of `products` times n^3 multiply-adds, by panels."""

    def price(op: Operation) -> Works:
        matrix = max(op.inputs, key=numel, default=())
        if len(matrix) < 2 or not numel(matrix):
            return ()
        n, batch = max(matrix[-2:]), numel(matrix[:-2])
        panels = -(-n // _PANEL)
        count = max(1, ceil(products * panels))
        return (work("bmm", op.compute_dtype, kernels=3, count=count, spread=_SPREAD, b=batch, m=n, n=n, k=min(n, _PANEL)),)

    return price


def fourier(op: Operation) -> Works:
    """cuFFT: one pass over the data per about 2^10 points of a dimension."""
    size = op.size
    dims = op.attributes.get("dim")
    count = len(dims) if isinstance(dims, list) else 1
    longest = max((max(s) for s in op.inputs if s), default=1)
    passes = max(1, ceil(log2(max(2, longest)) / 10)) * max(1, count)
    return (stream(passes * (op.read_bytes + op.written_bytes), size, op.compute_dtype, kernels=passes, spread=2.0),)


def pairwise(op: Operation) -> Works:
    """cdist, pdist: every pair of rows reads both."""
    x, y = op.inputs[0], op.inputs[1] if len(op.inputs) > 1 else op.inputs[0]
    if len(x) < 2 or len(y) < 2:
        return (by_bytes(op),)
    return (work("bmm", op.compute_dtype, spread=2.0, b=numel(x[:-2]), m=x[-2], n=y[-2], k=x[-1]),)


def by_traffic(op: Operation) -> Works:
    """Sparse operations: by the bytes of what goes in and out; the pattern is not recorded."""
    return (stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype, kernels=3, spread=_SPREAD),) if op.size else ()


def unpacked(op: Operation) -> Works:
    """lu_unpack, linalg_cross, householder pieces: pointwise."""
    return (
        (stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype, spread=2.0),)
        if op.size * item_size(op.dtype)
        else ()
    )


_third, _two_thirds, _solve, _inverse, _iterated = (_factorisation(f) for f in (1 / 3, 2 / 3, 1.0, 2.0, 12.0))

ALGEBRA: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(("linalg_cholesky_ex", "cholesky"), _third),
    **dict.fromkeys(("linalg_lu_factor_ex", "linalg_lu", "_linalg_det", "_linalg_slogdet", "linalg_ldl_factor_ex"), _two_thirds),
    **dict.fromkeys(
        (
            "_linalg_solve_ex",
            "linalg_solve_triangular",
            "triangular_solve",
            "linalg_lu_solve",
            "cholesky_solve",
            "_cholesky_solve_helper",
            "linalg_ldl_solve",
            "linalg_lstsq",
        ),
        _solve,
    ),
    **dict.fromkeys(
        ("linalg_inv_ex", "cholesky_inverse", "linalg_qr", "geqrf", "ormqr", "linalg_householder_product", "linalg_matrix_exp"),
        _inverse,
    ),
    **dict.fromkeys(
        ("_linalg_svd", "_linalg_eigh", "_linalg_eigvals", "linalg_eig", "linalg_eigvals", "linalg_pinv", "linalg_matrix_rank"),
        _iterated,
    ),
    **dict.fromkeys(("_fft_r2c", "_fft_c2r", "_fft_c2c"), fourier),
    **dict.fromkeys(("_cdist_forward", "_cdist_backward", "_pdist_forward", "_pdist_backward", "_euclidean_dist"), pairwise),
    **dict.fromkeys(("lu_unpack", "linalg_cross", "cross"), unpacked),
    **dict.fromkeys(
        (
            "_sparse_mm",
            "_sparse_addmm",
            "sspaddmm",
            "hspmm",
            "_coalesce",
            "_to_dense",
            "_to_sparse",
            "_to_sparse_csr",
            "_sparse_sum",
            "sparse_mask",
            "_sparse_softmax",
            "_spsolve",
            "_spdiags",
            "copy_sparse_to_sparse",
        ),
        by_traffic,
    ),
}
