"""Every public name of `torch.cuda` and `torch.accelerator`."""

from __future__ import annotations

import pytest

from breakeven.capture.virtual import install

from .recording import record, torch

cuda_surface = pytest.importorskip("breakeven.capture.virtual.cuda_surface")

#: How to call what takes arguments.
ARGUMENTS = {
    "set_device": (0,),
    "manual_seed": (1,),
    "manual_seed_all": (1,),
    "set_rng_state": (torch.get_rng_state(),),
    "set_rng_state_all": ([torch.get_rng_state()],),
    "set_per_process_memory_fraction": (0.5,),
    "set_stream": (None,),
    "stream": (None,),
    "set_sync_debug_mode": (0,),
    "can_device_access_peer": (0, 0),
    "make_graphed_callables": (abs, ()),
    "graph": (None,),
    "StreamContext": (None,),
    "cudart": (),
    "MemPool": (),
    "use_mem_pool": (None,),
    "change_current_allocator": (None,),
    "caching_allocator_alloc": (8,),
    "caching_allocator_delete": (0,),
    "get_stream_from_external": (0,),
    "ExternalStream": (0,),
    "CUDAPluggableAllocator": ("", "", ""),
    "GreenContext": (),
}


def test_each_public_name_of_cuda_is_answered_or_on_the_list():
    names = set(cuda_surface.public_names(torch.cuda))
    with install() as session:
        patched = set(session.surface.answers())
    assert names - patched - cuda_surface.UNSUPPORTED - cuda_surface.AS_IS == set()
    assert not patched & cuda_surface.UNSUPPORTED
    assert not patched & cuda_surface.AS_IS


def test_each_answer_can_be_called():
    with install() as session:
        for name, answer in session.surface.answers().items():
            if callable(answer):
                getattr(torch.cuda, name)(*ARGUMENTS.get(name, ()))
        assert "unsupported" not in session.facts


def test_each_unsupported_name_warns_once_and_goes_on():
    present = [n for n in sorted(cuda_surface.UNSUPPORTED) if hasattr(torch.cuda, n)]
    with install() as session:
        for name in present:
            for _ in range(2):
                assert getattr(torch.cuda, name)(*ARGUMENTS.get(name, ())) is None
        session.start()
        warnings = session.stop().warnings
        assert [w for w in warnings if "not answered" in w] == [
            f"torch.cuda.{n} is not answered by the virtual GPU; it gave None." for n in present
        ]


def test_each_function_of_accelerator_is_answered():
    with install():
        for name in cuda_surface.public_names(torch.accelerator):
            found = getattr(torch.accelerator, name)
            if callable(found) and getattr(found, "__module__", "").startswith("breakeven"):
                found(0) if name in ("set_device_index", "set_device_idx") else found(None) if name == "set_stream" else found()
        assert torch.accelerator.is_available()
        assert torch.accelerator.current_accelerator() == torch.device("cuda")


def test_the_device_says_what_it_is():
    from breakeven.machine.records import Gpu

    gpu = Gpu(
        "GPU A",
        "NVIDIA",
        "Ampere",
        "2020",
        "8.6",
        46,
        1725.0,
        20.3,
        None,
        None,
        None,
        None,
        8.0,
        448.0,
        4.0,
        4,
        16,
        220.0,
        "test",
    )
    with install(gpu=gpu):
        assert torch.cuda.get_device_name() == torch.cuda.get_device_name("cuda:0") == "GPU A"
        assert torch.cuda.get_device_capability() == (8, 6)
        shown = torch.cuda.get_device_properties(0)
        assert (shown.total_memory, shown.multi_processor_count, shown.major) == (8 * 2**30, 46, 8)
        assert torch.cuda.mem_get_info()[1] == shown.total_memory
        assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
        assert torch.cuda.is_bf16_supported()
        with torch.cuda.device(0), torch.cuda.device_of(torch.ones(2, device="cuda")):
            pass


def test_memory_figures_follow_the_tensors_that_live():
    with install():
        assert torch.cuda.memory_allocated() == 0
        big = torch.zeros(1000, device="cuda")
        assert torch.cuda.memory_allocated() == 4000
        del big
        assert torch.cuda.memory_allocated() == 0
        assert torch.cuda.max_memory_allocated() == 4000


def test_asking_whether_a_gpu_is_there_is_noted_with_its_line():
    found = record(lambda: torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    (fact,) = found.facts["is_available"]
    assert "is_available" in fact.sites[0].text


def test_events_streams_and_synchronize_wait_for_the_work_before_them():
    def step():
        event = torch.cuda.Event(enable_timing=True)
        other = torch.cuda.Event(enable_timing=True)
        torch.ones(3, device="cuda")
        event.record()
        torch.zeros(3, device="cuda")
        other.record()
        event.synchronize()
        assert event.elapsed_time(other) >= 0
        torch.cuda.current_stream().synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.synchronize()

    found = record(step)
    ones, zeros = found.names.index("aten::ones"), found.names.index("aten::zeros")
    waits = {row.op: row.waits_for for row in found.rows if row.op.startswith("sync::")}
    assert waits == {"sync::event": ones, "sync::stream": zeros, "sync::synchronize": zeros}


def test_an_event_without_timing_does_not_tell_time():
    with install():
        one, other = torch.cuda.Event(), torch.cuda.Event()
        one.record()
        other.record()
        with pytest.raises(RuntimeError, match="enable_timing"):
            one.elapsed_time(other)


def test_emptying_the_cache_is_host_work():
    assert "host::empty_cache" in record(lambda: torch.cuda.empty_cache()).names


def test_legacy_types_make_and_recognise_cuda_tensors():
    with install():
        there = torch.cuda.FloatTensor([1, 2])
        assert there.is_cuda
        assert isinstance(there, torch.cuda.FloatTensor)
        assert not isinstance(there.cpu(), torch.cuda.FloatTensor)
        assert torch.cuda.LongTensor([1]).dtype is torch.int64


def test_a_captured_graph_computes_again_at_each_replay():
    with install():
        here = torch.zeros(3, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = here * 2
        here.fill_(4)
        graph.replay()
        assert out.cpu().tolist() == [8, 8, 8]


def test_compiled_and_scripted_functions_run_as_eager_code_and_it_is_said():
    def step():
        double = torch.compile(lambda t: t * 2)
        triple = torch.jit.script(torch.nn.Linear(1, 1))
        assert double(torch.ones(2, device="cuda")).is_cuda
        assert isinstance(triple, torch.nn.Linear)

    found = record(step)
    assert len(found.facts["compile"]) == 2
    assert any("torch.compile" in w for w in found.stream.warnings)
