"""Texts of the host: quotas, cores, users of the GPU, driver faults."""

import pytest
from fixture_files import case_text

from tokentrail.tools import host_texts
from tokentrail.tools.version_text import parse_version


def test_quota_of_cgroup_v2_and_v1():
    """200000 of 100000 is 2 CPUs; max and −1 are no limit; v1 gives fractions."""
    v1 = host_texts.cgroup_quota(None, case_text("e01", "cpu.cfs_quota_us"), case_text("e01", "cpu.cfs_period_us"))

    assert host_texts.cgroup_quota(case_text("e01", "cpu.max")) == 2
    assert host_texts.cgroup_quota(case_text("e01", "cpu.max.unlimited")) is None
    assert v1 == 7.65
    assert host_texts.cgroup_quota(None, "-1\n", "100000\n") is None
    assert host_texts.cgroup_quota(None, None) is None


@pytest.mark.parametrize(
    ("quota", "physical", "threads", "word"),
    [(2.0, None, 2, "quota"), (7.65, None, 7, "quota"), (None, 8, 8, "physical"), (None, None, 16, "visible"),
     (0.5, 8, 1, "quota")],
)  # fmt: skip
def test_usable_cpus(quota, physical, threads, word):
    """The smallest limit, rounded down, at least one; and which it was."""
    found, why = host_texts.usable_cpus(16, quota, physical)

    assert found == threads
    assert word in why


def test_threads_above_the_quota_are_throttled():
    assert host_texts.over_quota(16, 2.0)["code"] == "throttled"
    assert host_texts.over_quota(2, 2.0) is None
    assert host_texts.over_quota(16, None) is None


def test_cores_and_threads():
    """SMT is told on bare metal; in a virtual machine cores are vCPUs."""
    metal, virtual = (host_texts.lscpu(case_text("e02", n)) for n in ("lscpu.txt", "lscpu_vm.txt"))

    assert (metal["logical"], metal["physical"], metal["virtual"]) == (16, 8, False)
    assert (virtual["physical"], virtual["virtual"]) == (2, True)
    assert "vCPU" in virtual["remark"]


def test_lscpu_without_the_lines():
    assert host_texts.lscpu("")["physical"] is None


def test_shared_gpu():
    """Any process that is not ours, and, where none can be seen, a GPU that is busy before the start."""
    processes = host_texts.gpu_processes(case_text("e06", "apps.csv"))

    assert [p["memory_mib"] for p in processes] == [1530, 19135]
    assert "pid 5151" in host_texts.shared_gpu(processes, {4242})["message"]
    assert host_texts.shared_gpu(processes, {4242, 5151}) is None
    assert host_texts.gpu_processes(case_text("e06", "apps_none.csv")) == []
    assert host_texts.shared_gpu([], set(), 0) is None
    assert host_texts.shared_gpu([], set(), 37.0)["code"] == "shared-gpu"


@pytest.mark.parametrize("text", ["", "No devices were found\n", "pid, process_name\n1\n"])
def test_gpu_list_that_is_none(text):
    assert host_texts.gpu_processes(text) == []


def test_gpu_memory_not_told():
    """In some containers the memory column is [N/A]; a comma in a name is no column."""
    found = host_texts.gpu_processes("pid, process_name, used_gpu_memory [MiB]\n7, a, b, [N/A]\n8, x, [N/A]\n")

    assert found == [{"pid": 7, "name": "a, b", "memory_mib": None}, {"pid": 8, "name": "x", "memory_mib": None}]
    assert "pid 7)" in host_texts.shared_gpu(found, {8})["message"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("bench_stderr.txt", "newer than the driver"),
        ("nvidia-smi.txt", "reboot"),
        ("old_driver_stderr.txt", "no code for this GPU"),
    ],
)
def test_driver_faults(name, word):
    """Each fault names its cause and what to do."""
    found = host_texts.driver_problem(case_text("e07", name))

    assert found["code"] == "driver-mismatch"
    assert word in found["message"]


def test_no_driver_fault():
    assert host_texts.driver_problem("ggml_cuda_init: found 1 CUDA devices:\n") is None


def test_version_texts_of_both_wordings():
    new, old = (parse_version(case_text("a22", n)) for n in ("version.txt", "version_old.txt"))

    assert (new["version"], new["build_number"], new["commit"], new["compiler"]) == (
        "0.6.0-dev",
        None,
        None,
        "GNU 12.2.0",
    )
    assert (old["build_number"], old["commit"]) == (6264, "043fb27d")
    assert parse_version("version: 8064 (unknown)")["build_number"] == 8064
    assert parse_version("")["build_number"] is None
