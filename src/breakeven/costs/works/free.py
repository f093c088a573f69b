"""Operations that run no kernel: views, allocations, and questions that the host answers itself."""

from __future__ import annotations

from breakeven.costs.works.records import words

#: New tensors over old storage (PyTorch documentation, "Tensor Views").
VIEWS = frozenset(
    words(
        """
    view _unsafe_view reshape _reshape_alias as_strided t transpose permute expand expand_as squeeze unsqueeze select
    slice narrow split split_with_sizes unsafe_split unsafe_split_with_sizes unsafe_chunk chunk tensor_split hsplit vsplit
    dsplit unbind unfold diagonal alias detach flatten unflatten view_as movedim moveaxis swapaxes swapdims numpy_T mT mH
    adjoint T H real imag view_as_real view_as_complex _conj _neg_view conj squeeze_ unsqueeze_ transpose_ t_ detach_
    as_strided_ lift lift_fresh _fw_primal _make_dual values _values indices _indices crow_indices col_indices
    ccol_indices row_indices coalesce slice_inverse atleast_1d atleast_2d atleast_3d broadcast_to broadcast_tensors
    meshgrid ravel resolve_conj resolve_neg positive data requires_grad_ retain_grad _nested_view_from_buffer
    _nested_view_from_jagged
    _unwrap_optional
    """
    )
)

#: Memory from the caching allocator, nothing written.
ALLOCATIONS = frozenset(
    words(
        """
    empty empty_like empty_strided empty_permuted empty_quantized new_empty new_empty_strided resize resize_ resize_as
    resize_as_ _resize_output _resize_output_ set set_ record_stream
    """
    )
)

#: Answered from the tensor's description.
QUESTIONS = frozenset(
    words(
        """
    is_same_size is_set_to is_pinned is_coalesced _nnz dense_dim sparse_dim _dimI _dimV size stride storage_offset numel
    dim is_floating_point is_complex is_contiguous result_type can_cast promote_types _has_compatible_shallow_copy_type
    _has_same_storage_numel output_nr is_leaf _version _fused_sdp_choice _use_cudnn_ctc_loss _cudnn_rnn_flatten_weight
    _assert_tensor_metadata _assert_scalar sym_size sym_numel sym_stride sym_constrain_range sym_constrain_range_for_size
    _debug_has_internal_overlap _local_scalar_dense item _pin_memory pin_memory qscheme q_scale q_zero_point _print
    _linalg_check_errors _backward _is_zerotensor _assert_async _functional_assert_async
    """
    )
)

FREE = VIEWS | ALLOCATIONS | QUESTIONS
