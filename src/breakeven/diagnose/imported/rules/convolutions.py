"""cudnn_fallback: convolutions that unfold their input instead of running in cuDNN, in a trace."""

from __future__ import annotations

import re

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding, Interval

#: PyTorch's own convolutions (native/cuda/ConvolutionMM2d.cu, NaiveConvolutionTranspose2d.cu) write the unfolded input first.
_UNFOLDS = ("im2col_kernel", "col2im_kernel", "vol2col_kernel", "col2vol_kernel", "im2col_batched")
_SLOW = re.compile(r"^aten::_?(?:slow_conv|thnn_conv|conv_depthwise3d)")


def cudnn_fallback(evidence: TraceEvidence) -> Finding | None:
    """A convolution runs in PyTorch's own kernels, since cuDNN does not take it or is switched off.

    What it sees: kernels that unfold a convolution's input (`im2col`), or operations named `slow_conv`.
    Why it costs: the unfolded input is written to memory and read again, as many times as large as the kernel has elements;
        cuDNN never writes it.
    Evidence: the time of the kernels that unfold, which cuDNN does without; the product itself stays.
    Example: `torch.backends.cudnn.enabled = False`, left from debugging; float64 or odd dilations.
    Remedy: cuDNN switched on, a dtype and a layout that it takes.
    When it is wrong: `nn.Unfold` and `nn.Fold`, where a program asks for just this, run the same kernels.
    """
    if evidence.on_cpu:
        return None
    unfolding = evidence.device_in_steps.containing(*_UNFOLDS)
    if not len(unfolding):
        return None
    spent = unfolding.total_ms / evidence.count
    price = Interval(0.5 * spent, spent, spent) if len(evidence.host_in_steps.named(_SLOW)) else Interval(0.0, spent, spent)
    sentence = (
        f"Convolutions run without cuDNN: {count(len(unfolding) / evidence.count, 'kernel')} {unit(evidence)} only unfold "
        f"({unfolding.longest(1)}), {part(evidence, price)}."
    )
    return finding(evidence, "cudnn_fallback", "bandwidth", price, sentence, ("benchmark_on", "channels_last"))
