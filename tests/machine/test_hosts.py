"""Hosts by name."""

from __future__ import annotations

import math
import statistics

import pytest

from breakeven.errors import InputError
from breakeven.machine.hosts import SAME_HOST, SAME_HOST_ERROR, THIS_MACHINE, find_host, host_name, hosts, this_machine
from breakeven.machine.records import Cpu, Host

CPU = Cpu("test", 2, 2, dispatch_us=6.0)


def test_presets_say_where_they_come_from_and_how_sure_they_are() -> None:
    for host in hosts():
        assert 0 < host.scale_low < host.scale_mid < host.scale_high
        assert host.source


def test_no_two_presets_share_a_name() -> None:
    assert len({host.name for host in hosts()}) == len(hosts())


@pytest.mark.parametrize("text", ["colab", "Colab", " COLAB "])
def test_names_are_taken_loosely(text: str) -> None:
    assert find_host(text, CPU, 5.0).name == "colab"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("colab", "colab"),
        ("A100_server", "a100 server"),
        ("mi300-server", "mi300 server"),
        (" Workstation   2019", "workstation 2019"),
    ]
    + [(text, THIS_MACHINE) for text in ("this machine", "This_Machine", "here", "LOCAL")],
)
def test_a_loose_name_means_one_host(text: str, name: str) -> None:
    assert host_name(text) == name


@pytest.mark.parametrize("host", hosts(), ids=lambda h: h.name)
def test_each_preset_is_found_by_its_own_name_whatever_this_machine_is(host: Host) -> None:
    assert find_host(host.name.upper(), CPU, 5.0) == find_host(host.name, Cpu("other", 1, 1), 9.0) == host


def test_this_machine_works_as_its_probe_says_and_issues_to_a_gpu_more_dearly() -> None:
    host = find_host("this-machine", CPU, 5.0)
    assert (host.name, host.own_scale) == (THIS_MACHINE, pytest.approx(1.2))
    assert host.scale_mid == pytest.approx(1.2 * SAME_HOST)


def test_this_machines_interval_is_that_of_what_issuing_costs_more() -> None:
    host = this_machine(CPU, 5.0)
    assert host.scale_high / host.scale_mid == pytest.approx(SAME_HOST_ERROR)
    assert host.scale_mid / host.scale_low == pytest.approx(SAME_HOST_ERROR)
    assert "6.0 us" in host.source


def test_what_issuing_costs_more_is_what_its_five_reports_say() -> None:
    """The figures that stand beside the constant, times of the CPU's own scale; only their mean is used."""
    reports = [math.log(factor) for factor in (1.75, 0.94, 1.27, 1.06, 2.0)]
    assert math.exp(statistics.mean(reports)) == pytest.approx(SAME_HOST, rel=0.01)
    error = 1.645 * statistics.stdev(reports) / math.sqrt(len(reports))
    assert math.exp(error) == pytest.approx(SAME_HOST_ERROR, rel=0.01)


def test_this_machine_without_a_probe_is_anything_that_the_traces_show() -> None:
    host = find_host(THIS_MACHINE, Cpu("test", 2, 2), 5.0)
    assert host.scale_high / host.scale_low > 4
    assert host.own_scale is None


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"did you mean 'colab'.*this machine, colab"):
        find_host("colob", CPU, 5.0)
