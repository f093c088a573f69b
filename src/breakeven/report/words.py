"""What the page calls things: the causes of an account and the remedies, in words that need no manual."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CauseWords:
    """How one cause of an account is drawn and named.

    Attributes:
        letter: stands at the start of its piece of the bar and before its line in the legend; no two causes share one.
        fill: the rest of its piece. Busy causes are dark, idle ones light.
        plain_fill: the same where only ASCII can be shown.
        style: its colour, which never says anything that the letter does not.
        words: what it is, to stand behind its name.
    """

    letter: str
    fill: str
    plain_fill: str
    style: str
    words: str


#: In the order of the design: the device works, then the device waits.
CAUSES: dict[str, CauseWords] = {
    "compute": CauseWords("C", "█", "#", "green", "calculating"),
    "bandwidth": CauseWords("B", "▓", "%", "cyan", "moving data in its own memory"),
    "small_kernel": CauseWords("K", "▒", "+", "blue", "work too small to fill the GPU"),
    "overhead": CauseWords("P", "░", "-", "yellow", "Python and PyTorch in between"),
    "launch": CauseWords("L", "░", "-", "yellow", "GPU waits for Python to issue work"),
    "sync": CauseWords("S", "╌", "=", "red", "Python waited for a result, GPU idle"),
    "copy": CauseWords("T", "═", ">", "magenta", "transfers between main memory and GPU"),
    "input": CauseWords("I", "┄", "~", "bright_red", "waiting for the next batch of data"),
    "warmup": CauseWords("W", "╱", "^", "bright_blue", "set-up that only first steps have"),
    "memory": CauseWords("M", "▪", ":", "bright_magenta", "asking for and freeing GPU memory"),
    "communication": CauseWords("N", "≡", "@", "bright_cyan", "waiting for other GPUs"),
    "other": CauseWords("O", "·", ".", "dim", "not explained by the data"),
}


def cause_words(cause: str) -> CauseWords:
    """The words for a cause; one that has none yet is shown by its name alone."""
    return CAUSES.get(cause) or CauseWords("?", "·", ".", "dim", "")


#: One line each: what to do. The ids are those of the JSON.
REMEDIES: dict[str, str] = {
    "larger_batch": "give each step more samples: the fixed costs are then paid less often",
    "smaller_batch": "give each step fewer samples: the data then fits into the cache",
    "window_loop": "cut the sequence into windows once, outside of the training loop",
    "fuse_rnn": "use nn.RNN, nn.LSTM or nn.GRU over the whole sequence instead of a loop over cells",
    "hoist_projection": "multiply the inputs by their weights for all time steps at once, before the loop",
    "fuse_bidirectional": "use bidirectional=True instead of two networks, one of them reversed",
    "bucket_lengths": "put sequences of like length into one batch, so that less padding is computed",
    "metrics_on_device": "add up the loss on the GPU and read it (.item()) every 50 steps, not every step",
    "detach_metrics": "keep loss.detach() instead of loss, so that old graphs can be freed",
    "create_on_device": "make tensors where they are used: torch.zeros(…, device=device)",
    "move_to_device": "move every tensor of the step to the same device",
    "merge_copies": "send one large tensor instead of many small ones",
    "pin_memory": "use pin_memory=True in the DataLoader and .to(device, non_blocking=True)",
    "loader_workers": "let worker processes prepare the batches: DataLoader(num_workers=…)",
    "persistent_workers": "keep the workers between epochs: persistent_workers=True",
    "prefetch": "fetch the next batch while this one is computed",
    "data_on_device": "put the whole data set on the GPU once, before training",
    "index_batches": "take batches by index from one tensor instead of collecting single samples",
    "set_to_none": "use optimizer.zero_grad(set_to_none=True)",
    "fused_optimizer": "use the optimizer with fused=True",
    "cuda_graph": "record the step once as a CUDA graph and replay it: one launch instead of hundreds",
    "compile": "wrap the model in torch.compile, which joins small operations",
    "compile_step": "put forward, loss and backward into one function under torch.compile",
    "autocast": "use torch.autocast: half precision where it is safe",
    "tf32": "allow TF32: torch.set_float32_matmul_precision('high')",
    "float32": "use float32 instead of float64",
    "channels_last": "store images channels last: model.to(memory_format=torch.channels_last)",
    "benchmark_on": "let cuDNN try its algorithms: torch.backends.cudnn.benchmark = True",
    "benchmark_off": "sizes change all the time: torch.backends.cudnn.benchmark = False",
    "inference_mode": "evaluate under torch.inference_mode()",
    "checkpoint_less": "recompute less: use gradient checkpointing only where memory runs out",
    "debug_off": "switch anomaly detection and other debugging aids off",
    "no_empty_cache": "do not call torch.cuda.empty_cache() in the loop",
    "threads": "set the number of threads to the cores that are free: torch.set_num_threads(…)",
    "flush_denormals": "treat tiny numbers as zero: torch.set_flush_denormal(True)",
    "synchronise": "call torch.cuda.synchronize() before each reading of the clock",
    "warm_up": "run a few steps before you start the clock",
    "gpu_runtime": "choose a runtime that has a GPU, and a PyTorch that was built for CUDA",
    "use_cpu": "stay on the CPU",
    "parallel_architecture": "use a model that handles all time steps at once (attention, convolution)",
}


def remedy_words(remedy: str) -> str:
    """What to do, in one line; a remedy that has no words yet is shown by its own name."""
    return REMEDIES.get(remedy) or remedy.replace("_", " ")
