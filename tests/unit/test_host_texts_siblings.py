"""Texts of other hosts: quotas, cores, lists of GPU users, driver faults and versions in other shapes and wordings."""

import json

import pytest

from tokentrail.tools import host_texts
from tokentrail.tools.version_text import parse_version

APPS = "pid, process_name, used_gpu_memory [MiB]\n"
LSCPU_JSON = """{"lscpu": [{"field": "CPU(s):", "data": "16", "children": [{"field": "Model name:", "data": "X",
 "children": [{"field": "Thread(s) per core:", "data": "2"}, {"field": "Core(s) per socket:", "data": "8"},
 {"field": "Socket(s):", "data": "1"}]}]}, {"field": "Hypervisor vendor:", "data": "KVM"}]}"""
BIG_LITTLE = """CPU(s): 8
  Model name: Small
    Thread(s) per core: 1
    Core(s) per socket: 4
    Socket(s): 1
  Model name: Big
    Thread(s) per core: 1
    Core(s) per socket: 2
    Socket(s): 2
"""
SYSCTL = "hw.ncpu: 12\nhw.physicalcpu: 12\nhw.logicalcpu: 12\nmachdep.cpu.brand_string: Apple M2 Max\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4242, a, 1530 MiB\n5151, python, 19135 MiB\n", [(4242, "a", 1530), (5151, "python", 19135)]),
        ("\ufeff" + APPS + "4242, a, 1530 MiB\r\n", [(4242, "a", 1530)]),
        (APPS.replace(" [MiB]", "") + "4242, a, 1.5 GiB\n", [(4242, "a", 1536)]),
        ("process_name, pid, used_gpu_memory [MiB]\na, 4242, 1530 MiB\n", [(4242, "a", 1530)]),
        (APPS + '4242, "a, b", 5 MiB\n', [(4242, "a, b", 5)]),
        (APPS + '4242, "a, 5 MiB\n5151, b, 6 MiB\n', [(4242, '"a', 5), (5151, "b", 6)]),
        (APPS + "[N/A], a, 5 MiB\n", [(None, "a", 5)]),
        ("No running processes found\n", []),
    ],
    ids=["no header", "mark, CRLF", "GiB", "reordered", "quoted comma", "lone quote", "pid not told", "none"],
)
def test_gpu_lists_of_other_shapes(text, expected):
    """No process is lost, whatever the shape: one lost is a shared GPU taken for our own."""
    found = host_texts.gpu_processes(text)

    assert [(p["pid"], p["name"], p["memory_mib"]) for p in found] == expected
    assert (host_texts.shared_gpu(found, set()) is None) == (not expected)


@pytest.mark.parametrize(
    ("texts", "cpus"),
    [
        (("50000 100000", None, None), 0.5),
        (("200000", None, None), 2.0),
        (("-1 100000", None, None), None),
        (("150000 0", None, None), 1.5),
        (("not a quota", None, None), None),
        ((None, "0", "100000"), None),
        ((None, "400000\n", ""), 4.0),
        (("", "200000", "0"), 2.0),
        ((None, "x", "y"), None),
    ],
)
def test_quotas_of_odd_texts(texts, cpus):
    """A text that names no quota limits nothing and stops nothing."""
    assert host_texts.cgroup_quota(*texts) == cpus


def test_a_quota_that_is_whole_but_for_a_float_bit():
    assert host_texts.usable_cpus(8, 2.9999999999) == (3, "cgroup quota of 3 CPUs")


@pytest.mark.parametrize(
    ("text", "logical", "physical", "word"),
    [
        (LSCPU_JSON, 16, 8, "SMT"),
        (SYSCTL, 12, 12, None),
        ("CPU(s): 8\nThread(s) per core: 1\nCore(s) per cluster: 4\nSocket(s): -\nCluster(s): 2\n", 8, 8, None),
        ("CPU(s): 16\nThread(s) pro Kern: 2\nKern(e) pro Sockel: 8\nSockel: 1\n", 16, None, "LC_ALL=C"),
        ("Processeur(s) : 16\nThread(s) par cœur : 2\n", None, None, "LC_ALL=C"),
        ("{", None, None, "LC_ALL=C"),
        (BIG_LITTLE, 8, 8, None),
        (json.dumps({"lscpu": [1, {"field": None, "data": [], "children": "x"}]}), None, None, "LC_ALL=C"),
    ],
    ids=["json", "macOS", "clusters", "German", "French", "cut", "big and little", "other JSON"],
)
def test_cores_of_other_systems(text, logical, physical, word):
    """JSON, macOS and ARM clusters are read; another language is said, not guessed at."""
    found = host_texts.lscpu(text)

    assert (found["logical"], found["physical"]) == (logical, physical)
    assert (word in found["remark"]) if word else found["remark"] is None


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("CUDA error: system has unsupported display driver / cuda driver combination", "do not fit"),
        ("CUDA error: the provided PTX was compiled with an unsupported toolchain.", "update the driver"),
        ("x: error while loading shared libraries: libcuda.so.1: cannot open shared object file", "container the GPU"),
        ("x: error while loading shared libraries: libcudart.so.12: cannot open shared object file", "runtime"),
        ("CUDA error: system not yet initialized", "fabric manager"),
        ("rocBLAS error: Cannot read TensileLibrary.dat for GPU arch : gfx1036", "gfx number"),
        ("CUDA error: no kernel image is available for execution on the device", "compute capability"),
        ("Failed to initialize NVML: Unknown Error", "whether the container was given the GPU"),
        ("CUDA driver version is insufficient for CUDA runtime version", "too old"),
    ],
)
def test_driver_faults_of_other_wordings(line, word):
    """Cause and remedy, and the line itself."""
    found = host_texts.driver_problem(f"some line\n{line}\n")

    assert word in found["message"]
    assert line in found["message"]


@pytest.mark.parametrize(
    ("text", "build", "commit"),
    [
        ("b11434-0123abcd\n", 11434, "0123abcd"),
        ("version: b11434 (0123abcd)", 11434, "0123abcd"),
        ("version: 4091-dirty (0123abcd)", 4091, "0123abcd"),
        ("version: 0 (unknown)\r\nbuilt with MSVC 19.3 for x64\r\n", None, None),
    ],
)
def test_version_texts_of_other_builds(text, build, commit):
    found = parse_version(text)

    assert (found["build_number"], found["commit"]) == (build, commit)
