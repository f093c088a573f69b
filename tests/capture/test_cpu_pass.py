"""In the CPU pass every `cuda` means the CPU, whatever it is said to, and nothing asks for a CUDA build."""

from __future__ import annotations

import json
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="captures run PyTorch scripts")

#: Public names of `torch.cuda` and `torch.accelerator` that need arguments of their own, or that only a driver has.
NEEDS_MORE = """
    CUDAGraph CUDAPluggableAllocator MemPool GreenContext NewType Any Callable cast classproperty lru_cache deprecated
    change_current_allocator check_error device_of get_stream_from_external graph Graph is_current_stream_capturing
    make_graphed_callables set_stream stream use_mem_pool cudaStatus
"""

LINES = """\
torch.zeros(2, device="cuda")
torch.tensor([1.0], device="cuda:0").cuda(non_blocking=True).pin_memory()
torch.ones(2).to("cuda").to(torch.device("cuda", 0)).to(device="cuda", dtype=torch.float64)
torch.ones(2).to(torch.zeros(1, device="cuda"))
torch.arange(3, device=0), torch.ones_like(torch.ones(2), device="cuda"), torch.ones(2).new_zeros(3, device="cuda")
torch.nn.Linear(2, 2, device="cuda")(torch.ones(1, 2).cuda())
torch.nn.LSTM(2, 3).cuda()(torch.ones(4, 1, 2).cuda())
torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)]).cuda().to("cuda")
torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()(torch.ones(1, 2))
torch.nn.DataParallel(torch.nn.Linear(2, 2), device_ids=[0])(torch.ones(1, 2))
torch.nn.Module.to(torch.nn.Linear(2, 2), "cuda", torch.float64)
torch.cuda.FloatTensor([1, 2]), torch.ones(2).type(torch.cuda.LongTensor), torch.ones(2).type("torch.cuda.HalfTensor")
torch.randn(2, device="cuda", generator=torch.Generator(device="cuda").manual_seed(1))
torch.normal(0.0, 1.0, (2,), device="cuda", generator=torch.Generator(device="cuda")), torch.normal(torch.zeros(2), 1.0)
torch.cuda.manual_seed_all(1), torch.manual_seed(1), torch.cuda.set_device(0), torch.cuda.synchronize("cuda:0")
torch.cuda.Event(enable_timing=True).record(), torch.cuda.Stream().wait_stream(torch.cuda.current_stream())
exec("with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0): torch.ones(1, device='cuda')")
exec("with torch.device('cuda'): assert torch.zeros(2).sum() == 0")
exec("with torch.autocast('cuda', dtype=torch.float16): assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32")
exec("with torch.cuda.amp.autocast(): pass")
torch.amp.GradScaler("cuda").scale(torch.ones(1)), torch.cuda.amp.GradScaler().update()
torch.compile(torch.nn.Linear(2, 2))(torch.ones(1, 2)), torch.compile(mode="max-autotune")(len)([])
next(iter(torch.utils.data.DataLoader([torch.ones(2)] * 4, batch_size=2, pin_memory=True))).cuda()
torch.random.fork_rng().__enter__(), torch.cuda.get_rng_state(), torch.cuda.set_rng_state(torch.cuda.get_rng_state())
torch.utils.checkpoint.checkpoint(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2).cuda(), use_reentrant=False).sum().backward()
torch.optim.AdamW(torch.nn.Linear(2, 2).cuda().parameters(), fused=True)
torch.optim.SGD([torch.ones(1, device="cuda")], 0.1).step()
torch.sparse_coo_tensor([[0]], [1.0], device="cuda"), torch.as_tensor([1.0], device="cuda"), torch.full((2,), 1.0, device="cuda")
torch.save({"a": torch.ones(2).cuda()}, b := __import__("io").BytesIO()), b.seek(0), torch.load(b, map_location="cuda:0")
b.seek(0), torch.load(b, map_location=lambda storage, place: storage.cuda(0))
torch.set_default_device("cuda"), torch.ones(2), torch.set_default_device(None)
torch.accelerator.current_accelerator(), torch.accelerator.synchronize(), torch.cuda.mem_get_info()
"""


def in_a_child(code: str) -> object:
    """Run code after the patches are in, and hand back what it leaves in `out`."""
    begin = "import json, torch\nfrom breakeven.capture import cpu_pass\nasked = cpu_pass.install()\n"
    whole = f"{begin}{code}\nprint(json.dumps(out))\n"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_every_way_to_name_a_device_ends_on_the_cpu() -> None:
    code = "out = []\nimport torch.utils.checkpoint\nglobals()['b'] = None\n"
    code += f"for line in {LINES.splitlines()!r}:\n    try:\n        eval(line, globals())\n    except BaseException as error:\n"
    code += "        out.append((line, f'{type(error).__name__}: {error}'))\n"
    assert in_a_child(code) == []


CALL_ALL = """
out = []
for owner, names in NAMES.items():
    for name in names:
        for args in ((), (0,), (torch.ones(1),)):
            try:
                getattr(eval(owner), name)(*args)
                break
            except TypeError:
                continue
            except BaseException as error:
                out.append((owner, name, str(error)))
                break
"""


@pytest.mark.slow
def test_no_public_name_of_torch_cuda_asks_for_a_cuda_build() -> None:
    names = {}
    for owner, module in (("torch.cuda", torch.cuda), ("torch.accelerator", torch.accelerator)):
        public = [n for n in dir(module) if not n.startswith("_") and n not in NEEDS_MORE.split()]
        names[owner] = [n for n in public if isinstance(getattr(module, n), types.FunctionType)]
    assert in_a_child(CALL_ALL.replace("NAMES", repr(names))) == []


@pytest.mark.slow
def test_the_logical_device_of_an_optimizer_is_where_its_parameters_were_moved() -> None:
    code = """
one, two = torch.nn.Linear(2, 2).to("cuda"), torch.nn.Linear(2, 2)
torch.ones(1).to("cpu")
out = [asked.device_of(torch.optim.SGD(m.parameters(), 0.1)) for m in (one, two)] + [list(asked.named)]
torch.ones(1, device="cuda:0")
out.append(asked.device_of(None))
"""
    assert in_a_child(code) == ["cuda", "cpu", ["cuda"], "cuda"]
