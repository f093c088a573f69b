"""Hosts by name."""

from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.machine.hosts import THIS_MACHINE, find_host, hosts
from breakeven.machine.records import Cpu

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


def test_this_machine_is_its_probe() -> None:
    host = find_host("this-machine", CPU, 5.0)
    assert (host.name, host.scale_mid) == (THIS_MACHINE, pytest.approx(1.2))


def test_this_machine_without_a_probe_is_anything_that_the_traces_show() -> None:
    host = find_host(THIS_MACHINE, Cpu("test", 2, 2), 5.0)
    assert host.scale_high / host.scale_low > 4


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"did you mean 'colab'.*this machine, colab"):
        find_host("colob", CPU, 5.0)
