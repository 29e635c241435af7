"""The machine record: its id, and that nothing in it names a person's computer."""

from __future__ import annotations

import json
import re
import socket

import pytest

from tokentrail import jsonio
from tokentrail.config import read_machines
from tokentrail.machine.probe import cpu_slug, identify, probe, slug
from tokentrail.problems import Problem

KNOWN = {
    "rtx4090": {"name": "x", "match": {"gpu_name": "RTX 4090$"}},
    "cpu-epyc-2c": {"name": "x", "match": {"cpu_model": "EPYC", "cpus": 2}},
    "by-hand": {"name": "x"},
}


@pytest.mark.parametrize(
    ("gpus", "cpu", "cpus", "expected"),
    [
        (["NVIDIA GeForce RTX 4090"], "AMD EPYC", 2, "rtx4090"),
        (["NVIDIA GeForce RTX 4090 D"], "AMD EPYC", 2, "rtx-4090-d"),
        (["Tesla T4"], "AMD EPYC", 2, "t4"),
        ([], "AMD EPYC", 2, "cpu-epyc-2c"),
        ([], "AMD EPYC", 4, "cpu-epyc-4c"),
        ([], "Intel(R) Core(TM) i7-12700H CPU @ 2.30GHz", 14, "cpu-core-i7-12700h-14c"),
        ([], None, 8, "cpu-unknown-8c"),
    ],
)
def test_identify(gpus, cpu, cpus, expected) -> None:
    """By the first entry that fits, else by a slug of the GPU's or the CPU's name."""
    assert expected == identify("auto", KNOWN, gpus, cpu, cpus)


def test_named_by_hand() -> None:
    """A name given is taken, unless its data sheet is another GPU's."""
    assert identify("by-hand", KNOWN, ["NVIDIA H200"], None, 2) == "by-hand"
    assert identify("my-laptop", KNOWN, [], None, 2) == "my-laptop"
    with pytest.raises(Problem, match=r"rtx4090.*NVIDIA H200"):
        identify("rtx4090", KNOWN, ["NVIDIA H200"], None, 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AMD EPYC", "epyc"),
        ("Intel(R) Xeon(R) Platinum 8480+", "xeon-platinum-8480"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "ryzen-9-7950x"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "ryzen-7-7840u-w-radeon-780m-graphics"),
        ("Apple M2 Pro", "apple-m2-pro"),
    ],
)
def test_cpu_slug(name: str, expected: str) -> None:
    """Marketing words go, the model stays."""
    assert expected == cpu_slug(name)


def test_slug_is_an_id() -> None:
    """Whatever a GPU is called, its slug can be a folder."""
    assert slug("NVIDIA  A100-SXM4-80GB (MIG 1g.5gb)") == "nvidia-a100-sxm4-80gb-mig-1g-5gb"


def test_probe_of_this_machine() -> None:
    """Valid by its schema; no host name, no path, no UUID."""
    found = probe()

    jsonio.validate(found, "machine", "this machine")
    text = json.dumps(found)
    assert "GPU-" not in text
    assert not re.search(r'"/\w', text)
    assert len(socket.gethostname()) < 3 or socket.gethostname() not in text
    assert found["threads"]["value"] >= 1


def test_known_machines() -> None:
    """Every entry is valid, and every figure has a source and a unit that fits."""
    machines = read_machines()

    jsonio.validate({"machines": machines}, "machines", "config/machines.yaml")
    units = {"memory_bandwidth": "B/s", "tensor_flops": "FLOP/s", "memory_bytes": "B", "price": "USD/h"}
    for entry in machines.values():
        for key, unit in units.items():
            if key in entry:
                assert unit == entry[key]["unit"]
                assert entry[key]["source"]


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA H200 NVL", "h200-nvl"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA A100-SXM4-80GB", "a100-80"),
        ("NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"),
        ("NVIDIA GeForce RTX 3090", "rtx3090"),
        ("NVIDIA L40S", "l40s"),
    ],
)
def test_figures_of_the_right_card(gpu: str, expected: str) -> None:
    """A sibling with other memory must not get this card's figures."""
    assert expected == identify("auto", read_machines(), [gpu], "AMD EPYC", 2)
