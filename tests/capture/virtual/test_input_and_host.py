"""Data loading, host time, clocks, threads, DataParallel and what the script is told about itself."""

from __future__ import annotations

import threading
import time

import pytest

from .recording import record, torch

nn = torch.nn
data = torch.utils.data


class Squares(data.Dataset):
    """Each item is made by some operations of its own."""

    def __len__(self):
        return 12

    def __getitem__(self, at):
        return torch.full((3,), float(at)).pow(2), at


def test_loading_is_one_row_of_host_input_per_batch():
    loader = data.DataLoader(Squares(), batch_size=4)

    def step():
        for batch, _ in loader:
            batch.cuda()

    found = record(step)
    assert found.names.count("host::input") == 5  # the iterator, three batches and the end
    assert {row.phase for row in found.rows if row.op == "host::input"} == {"input"}
    assert not any(row.op.startswith("aten::") and row.device == "cpu" for row in found.rows)
    assert found.names.count("copy::h2d") == 3


def test_workers_are_left_in_peace_and_their_batches_are_on_the_host():
    loader = data.DataLoader(Squares(), batch_size=4, num_workers=1)
    seen = []

    def step():
        for batch, _ in loader:
            assert not batch.is_cuda
            seen.append(batch.cuda().sum().item())

    found = record(step)
    assert seen == [3 * sum(i * i for i in range(s, s + 4)) for s in (0, 4, 8)]
    assert found.names.count("host::input") == 5


@pytest.mark.parametrize("workers", [0, 1])
def test_a_pinning_loader_gives_pinned_batches(workers):
    def step():
        for batch, index in data.DataLoader(Squares(), batch_size=6, pin_memory=True, num_workers=workers):
            assert batch.is_pinned()
            assert index.is_pinned()
            batch.to("cuda", non_blocking=True)

    copies = [row for row in record(step).rows if row.op == "copy::h2d"]
    assert [(row.said["pinned"], row.waits_for) for row in copies] == [(True, -1)] * 2


def test_copies_that_a_dataset_makes_itself_are_recorded():
    class OnDevice(Squares):
        def __getitem__(self, at):
            return torch.full((3,), float(at)).cuda()

    assert record(lambda: list(data.DataLoader(OnDevice(), batch_size=6))).names.count("copy::h2d") == 12


def test_host_time_between_operations_is_kept_and_never_negative():
    def step():
        there = torch.ones(3, device="cuda")
        end = time.perf_counter() + 0.003
        while time.perf_counter() < end:
            pass
        there.add_(1)

    found = record(step)
    assert found.the("aten::add_").host_ns > 2_000_000
    assert all(row.host_ns >= 0 and row.cpu_ns >= 0 for row in found.rows)


def test_a_clock_around_work_without_a_wait_is_noted_with_both_lines():
    def step():
        begin = time.time()
        torch.ones(3, device="cuda") * 2
        return time.time() - begin

    (fact,) = record(step).facts["no_sync"]
    assert [site.text for site in fact.sites] == ["begin = time.time()", "return time.time() - begin"]


def test_from_one_timed_region_round_the_loop_to_the_next_is_no_timed_region():
    def step():
        for _ in range(3):
            begin = time.time()
            torch.cuda.synchronize()
            time.time() - begin
            torch.ones(3, device="cuda")

    assert "no_sync" not in record(step).facts


@pytest.mark.parametrize("wait", [lambda t: torch.cuda.synchronize(), lambda t: t.sum().item(), lambda t: t.cpu()])
def test_a_clock_that_waits_is_healthy(wait):
    def step():
        begin = time.perf_counter()
        wait(torch.ones(3, device="cuda") * 2)
        return time.perf_counter() - begin

    assert "no_sync" not in record(step).facts


def test_a_first_call_inside_a_timed_region_is_noted():
    def step():
        begin = time.perf_counter()
        torch.ones(3, device="cuda").sum().item()
        return time.perf_counter() - begin

    (fact,) = record(step).facts["first_call"]
    assert fact.values["first"] is True

    def warm():
        torch.ones(3, device="cuda").sum().item()

    assert "first_call" not in record(step, before=warm).facts


def test_clocks_of_others_are_not_noted():
    def step():
        torch.ones(3, device="cuda")
        threading.Event().wait(0)

    assert "no_sync" not in record(step).facts


def test_a_thread_of_the_scripts_own_knows_the_device_and_is_said_to_be_missing():
    seen = []

    def work():
        there = torch.ones(3).cuda() * 2
        seen.append((there.is_cuda, (there + 1).device.type, there.cpu().tolist()))

    def step():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    found = record(step)
    assert seen == [(True, "cuda", [2, 2, 2])]
    assert found.rows == ()
    assert "user_threads" in found.facts


def test_data_parallel_on_the_one_device_is_the_module_itself():
    net = nn.Linear(3, 2)
    found = record(lambda: nn.DataParallel(net)(torch.rand(4, 3)), before=net.cuda)
    assert found.waits() == ["copy::h2d"]
    assert found.the("aten::addmm").device == "cuda:0"


def test_denormal_weights_are_noted_with_their_line():
    weights = torch.full((4, 4), 1e-41)
    found = record(lambda: torch.rand(4, 4, device="cuda") @ weights.cuda())
    (fact,) = found.facts["denormals"]
    assert fact.values["fraction"] == 1
    assert "denormals" not in record(lambda: torch.rand(4, 4, device="cuda") @ torch.rand(4, 4).cuda()).facts


def test_float64_on_the_device_is_noted():
    found = record(lambda: torch.rand(4, 4, device="cuda", dtype=torch.float64).sin())
    assert "float64" in found.facts
    assert "float64" not in record(lambda: torch.rand(4, dtype=torch.float64).sin()).facts


def test_settings_that_cost_are_noted():
    def step():
        with torch.autograd.detect_anomaly(check_nan=False):
            torch.rand(3, device="cuda", requires_grad=True).sum().backward()

    with torch.backends.cudnn.flags(enabled=True, benchmark=True), pytest.warns(UserWarning, match="Anomaly"):
        found = record(step)
    assert {"anomaly", "cudnn_benchmark"} <= set(found.facts)


def test_the_batch_is_what_enters_the_outermost_module():
    net = nn.Sequential(nn.Linear(3, 2))
    assert record(lambda: net(torch.rand(17, 3, device="cuda")), before=net.cuda).stream.batch == 17
    layer = nn.LSTM(3, 2)
    assert record(lambda: layer(torch.rand(5, 11, 3, device="cuda")), before=layer.cuda).stream.batch == 11


def test_steps_follow_each_other_and_what_comes_after_the_last_edge_is_left_out():
    from breakeven.capture.virtual import install

    with install() as session:
        torch.ones(1, device="cuda")
        session.start()
        for size in (2, 3):
            torch.ones(size, device="cuda")
            session.edge()
        torch.ones(4, device="cuda")
        stream = session.stop(unit="loop")
    assert (stream.steps, stream.unit, len(stream)) == (2, "loop", 2)
    assert stream.rows["step"].to_list() == [0, 1]


def test_equal_calls_are_kept_once():
    def step():
        for _ in range(50):
            torch.ones(3, device="cuda").add_(1)

    found = record(step)
    assert (len(found.rows), found.stream.calls.height) == (100, 2)


def test_the_batch_is_that_of_the_call_that_learns_not_of_the_agent_that_acts():
    net = nn.Linear(4, 2)

    def step():
        with torch.no_grad():
            net(torch.rand(1, 4, device="cuda"))
        net(torch.rand(32, 4, device="cuda"))

    assert record(step, before=net.cuda).stream.batch == 32
