"""The catalogue of remedies, by id. Texts are for a student: one line of what, one of how, one of when it is safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from breakeven.errors import InputError
from breakeven.timeline import OpStream
from breakeven.whatif.create_on_device import create_on_device
from breakeven.whatif.cuda_graph import cuda_graph
from breakeven.whatif.float32 import float32
from breakeven.whatif.foreach_optimizer import foreach_optimizer
from breakeven.whatif.fuse_rnn import fuse_rnn
from breakeven.whatif.fused_pointwise import fused_pointwise
from breakeven.whatif.half_precision import half_precision
from breakeven.whatif.hoist_projection import hoist_projection
from breakeven.whatif.merge_copies import merge_copies
from breakeven.whatif.pinned_copies import pinned_copies
from breakeven.whatif.without_copies import without_copies
from breakeven.whatif.without_host_work import without_host_work
from breakeven.whatif.without_input import without_input
from breakeven.whatif.without_syncs import without_syncs

Rewrite = Callable[[OpStream], OpStream]


@dataclass(frozen=True)
class Remedy:
    """One thing to do.

    Attributes:
        id: its id, the same everywhere.
        title: what to do, in one line.
        text: how, and what it brings.
        safe: when it changes nothing but the time.
        rewrite: the what-if that shows its effect on a stream; None: a stream cannot show it.
    """

    id: str
    title: str
    text: str
    safe: str
    rewrite: Rewrite | None = None


def remedy(name: str) -> Remedy:
    """The remedy of this id.

    Raises:
        InputError: there is no such remedy.
    """
    if name not in REMEDIES:
        raise InputError(f"no remedy is called {name!r}; there are: {', '.join(sorted(REMEDIES))}")
    return REMEDIES[name]


_ALL: Final = (
    Remedy(
        "larger_batch", "Take more samples per step",
        "A GPU does hundreds of samples in nearly the time of one. Raise the batch size, and adapt the learning rate to it.",
        "Fewer updates per epoch: check the validation loss.",
    ),
    Remedy(
        "window_loop", "Send a window of time steps through one call",
        "Give the recurrent layer a whole window (`rnn(x[t:t + w])`) and take one optimizer step per window.",
        "Another training than one update per time step, mostly a better one: gradients flow through the window.",
    ),
    Remedy(
        "fuse_rnn", "Use nn.LSTM, nn.GRU or nn.RNN over the whole sequence",
        "One call for all time steps runs as one cuDNN call each way instead of a loop of small operations.",
        "The same numbers up to rounding, where no time step needs the model's own output of the step before.", fuse_rnn,
    ),
    Remedy(
        "hoist_projection", "Take the product with the input out of the time loop",
        "It needs no state: compute it for all time steps with one product before the loop, and index the result inside.",
        "The same numbers up to rounding.", hoist_projection,
    ),
    Remedy(
        "fuse_bidirectional", "Use bidirectional=True instead of two layers",
        "One bidirectional layer runs both directions in one cuDNN call.", "The same numbers with the weights copied over.",
    ),
    Remedy(
        "bucket_lengths", "Put sequences of similar length into one batch",
        "Sort by length, cut into batches, shuffle the batches, and pad each only to its own longest sequence.",
        "Batches are no longer drawn from all lengths: shuffle within buckets of similar length.",
    ),
    Remedy(
        "metrics_on_device", "Keep losses and metrics on the device, read them once an epoch",
        "Add up `loss.detach()` instead of `loss.item()`; read or print the sum at the end.",
        "Always, unless the value decides what the loop does next.", without_syncs,
    ),
    Remedy(
        "detach_metrics", "Detach what is kept",
        "`losses.append(loss.detach())`: a loss that is kept with its graph keeps every activation of its step alive.",
        "Always, unless the kept tensors are differentiated later.",
    ),
    Remedy(
        "create_on_device", "Make tensors where they are used",
        "`torch.randn(n, device=x.device)` instead of `torch.randn(n).to(x.device)`.",
        "Random numbers come from the device's generator: other draws from the same seed.", create_on_device,
    ),
    Remedy(
        "move_to_device", "Move the tensor to the device of the others",
        "Make it with `device=x.device`, or register it as a buffer so that `model.to` takes it along.", "Always.",
    ),
    Remedy(
        "merge_copies", "Stack first, copy once",
        "Stack the samples on the host and move the batch with one copy.", "The same numbers.", merge_copies,
    ),
    Remedy(
        "pin_memory", "Pin the host's memory and copy without waiting",
        "`DataLoader(..., pin_memory=True)` and `x.to(device, non_blocking=True)`.",
        "Where the host's tensor is not changed before the copy is done; needs page-locked memory of the batch's size.",
        pinned_copies,
    ),
    Remedy(
        "loader_workers", "Let worker processes make the batches",
        "`DataLoader(..., num_workers=2)`: batches are made beside the training.",
        "Where cores are free; guard the script's entry with `if __name__ == '__main__'`.", without_input,
    ),
    Remedy(
        "persistent_workers", "Keep the workers from epoch to epoch",
        "`persistent_workers=True` saves starting them anew.", "Where the data set does not change between epochs.",
    ),
    Remedy(
        "prefetch", "Have more batches ready",
        "`prefetch_factor=4`, more workers, or a copy to the device one batch ahead.", "Costs host memory.", without_input,
    ),
    Remedy(
        "data_on_device", "Keep the data on the device",
        "Move the whole data set once, before the loop, and index it there.", "Where it fits into the device's memory.",
        without_copies,
    ),
    Remedy(
        "index_batches", "Fetch whole batches by index",
        "Data in memory need no row by row loader: `for rows in torch.randperm(n).split(batch): x = data[rows]`.",
        "The same batches in another random order.", without_input,
    ),
    Remedy(
        "set_to_none", "Let zero_grad drop the gradients",
        "`optimizer.zero_grad()` (its default, `set_to_none=True`) writes no zeros and adds nothing to them.",
        "Where nothing reads `.grad` between the steps.",
    ),
    Remedy(
        "fused_optimizer", "Use the optimizer's fused or for-each form",
        "`fused=True`, or leave `foreach` at its default: one call for all parameters instead of several for each.",
        "The same numbers up to rounding.", foreach_optimizer,
    ),
    Remedy(
        "cuda_graph", "Replay the step as a CUDA graph",
        "`torch.cuda.make_graphed_callables`, or `torch.compile(mode='reduce-overhead')`: one launch for the whole step.",
        "Where shapes stay the same and nothing within the step waits for the device.", cuda_graph,
    ),
    Remedy(
        "compile", "Compile the model",
        "`model = torch.compile(model)` joins elementwise operations, takes Python out of the step; the first steps take longer.",
        "The same numbers up to rounding; many different shapes compile again and again.", fused_pointwise,
    ),
    Remedy(
        "compile_step", "Compile forward and backward together",
        "Put the model's call, the loss, `backward()` and the clipping into one function under `@torch.compile`: one graph, "
        "without the overhead of each operation and of autograd.",
        "The same numbers up to rounding; many different shapes compile again and again.",
    ),
    Remedy(
        "autocast", "Use mixed precision",
        "`with torch.autocast('cuda', dtype=torch.float16):` and a `GradScaler` (none with bfloat16): uses tensor cores.",
        "Check the loss: half precision rounds more.", half_precision,
    ),
    Remedy(
        "tf32", "Allow TF32 products",
        "`torch.set_float32_matmul_precision('high')`: float32 products on tensor cores, from Ampere on.",
        "Products keep about three decimal figures.",
    ),
    Remedy(
        "float32", "Compute in single precision",
        "`.float()` where the data are made, and no `model.double()`.",
        "Where seven figures are enough, as in nearly all training.", float32,
    ),
    Remedy(
        "channels_last", "Store images channels-last",
        "`model.to(memory_format=torch.channels_last)` and the same for its input: what tensor cores want of a convolution.",
        "The same numbers up to rounding.",
    ),
    Remedy(
        "benchmark_on", "Let cuDNN try its algorithms",
        "`torch.backends.cudnn.benchmark = True` picks the fastest convolution for each shape at its first call.",
        "Where shapes stay the same.",
    ),
    Remedy(
        "benchmark_off", "Do not let cuDNN try its algorithms for every shape",
        "With shapes that change, `cudnn.benchmark = True` tries them all again for each new one.", "Always.",
    ),
    Remedy(
        "inference_mode", "Evaluate without a graph",
        "`with torch.inference_mode():` around validation saves recording what no one differentiates.",
        "Where the results are not differentiated.",
    ),
    Remedy(
        "checkpoint_less", "Save less often",
        "Write the checkpoint once an epoch, or every so many minutes.", "A crash loses what came after the last one.",
        without_host_work,
    ),
    Remedy(
        "debug_off", "Switch debugging off",
        "`torch.autograd.set_detect_anomaly(False)`, no profiler, no `gradcheck` in the training loop.",
        "Once the bug is found.", without_host_work,
    ),
    Remedy(
        "no_empty_cache", "Leave the memory cache alone",
        "`torch.cuda.empty_cache()` frees nothing that PyTorch would not reuse itself, and makes the next step allocate anew.",
        "Always, unless another process needs the memory.", without_host_work,
    ),
    Remedy(
        "threads", "Use as many threads as there are cores",
        "`torch.set_num_threads(len(os.sched_getaffinity(0)))`, or `OMP_NUM_THREADS` in the environment.", "Always.",
    ),
    Remedy(
        "flush_denormals", "Flush denormal numbers to zero",
        "`torch.set_flush_denormal(True)` at the start of the script.",
        "Where numbers under 1e-38 mean nothing, as in nearly all training.",
    ),
    Remedy(
        "synchronise", "Wait for the device before reading the clock",
        "`torch.cuda.synchronize()` before each `time.time()`: operations are queued, not done, when the call returns.",
        "Always.",
    ),
    Remedy(
        "warm_up", "Run some steps before the clock starts",
        "The first call sets up the context, loads libraries and picks algorithms; a measurement starts after it.", "Always.",
    ),
    Remedy("use_cpu", "Run this training on the CPU", "`device = 'cpu'`: no launches, no copies.",
    "Always; look again after the model grows."),
    Remedy(
        "parallel_architecture", "Use a layer that treats all time steps at once",
        "Attention or dilated convolutions have no chain of time steps, which is what a GPU waits for.",
        "Another model: compare what it learns.",
    ),
    Remedy(
        "gpu_runtime", "Make the GPU visible to PyTorch",
        "Choose a machine with a GPU, and a PyTorch build for its CUDA; print `torch.cuda.is_available()` and the device.",
        "Always.",
    ),
    Remedy("smaller_batch", "Take fewer samples per step", "Halve the batch until the step fits.", "Check the validation loss."),
)  # fmt: skip

#: Every remedy by id.
REMEDIES: Final[dict[str, Remedy]] = {one.id: one for one in _ALL}
