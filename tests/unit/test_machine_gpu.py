"""NVML through a stand-in library: what is read, and that nothing unsupported breaks the rest."""

from __future__ import annotations

import json
import sys
import types

import pytest

from tokentrail.machine.gpu import Nvml, throttle_names, visible

GIB = 1 << 30


class NVMLError(Exception):
    """As pynvml's: `value` is the code."""

    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


def library(**changes) -> types.ModuleType:
    """A pynvml of one H200 with one process; `changes` replace its functions."""
    fake = types.ModuleType("pynvml")
    fake.NVMLError = NVMLError
    fake.NVML_ERROR_LIB_RM_VERSION_MISMATCH, fake.NVML_ERROR_LIBRARY_NOT_FOUND = 18, 12
    fake.NVML_ERROR_DRIVER_NOT_LOADED = 9
    fake.NVML_CLOCK_SM, fake.NVML_CLOCK_MEM, fake.NVML_TEMPERATURE_GPU = 1, 2, 0
    fake.nvmlMemory_v2 = 2
    memory = types.SimpleNamespace(used=1691 << 20, total=141 * GIB)
    answers = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda i: f"handle-{i}",
        "nvmlSystemGetDriverVersion": lambda: b"580.1",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 13000,
        "nvmlDeviceGetName": lambda h: "NVIDIA H200",
        "nvmlDeviceGetUUID": lambda h: "GPU-1234-secret",
        "nvmlDeviceGetMemoryInfo": lambda h, version=None: memory,
        "nvmlDeviceGetCudaComputeCapability": lambda h: (9, 0),
        "nvmlDeviceGetPowerUsage": lambda h: 75_500,
        "nvmlDeviceGetPowerManagementLimit": lambda h: 700_000,
        "nvmlDeviceGetClockInfo": lambda h, kind: {1: 1980, 2: 3201}[kind],
        "nvmlDeviceGetTemperature": lambda h, kind: 31,
        "nvmlDeviceGetUtilizationRates": lambda h: types.SimpleNamespace(gpu=0, memory=0),
        "nvmlDeviceGetCurrentClocksEventReasons": lambda h: 0x1,
        "nvmlDeviceGetTotalEnergyConsumption": lambda h: 123_456,
        "nvmlDeviceGetComputeRunningProcesses": lambda h: [types.SimpleNamespace(pid=42, usedGpuMemory=1530 << 20)],
    }
    for name, function in {**answers, **changes}.items():
        setattr(fake, name, function)
    return fake


def raises(code: int):
    """A function of NVML that fails with this code, whatever it is given."""

    def fail(*_, **__):
        raise NVMLError(code)

    return fail


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No choice of GPUs from outside."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def opened(monkeypatch: pytest.MonkeyPatch, **changes) -> Nvml:
    """NVML over the stand-in library."""
    monkeypatch.setitem(sys.modules, "pynvml", library(**changes))
    return Nvml()


def test_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The UUID appears as its hash only."""
    (found,) = opened(monkeypatch).facts()

    assert found["name"] == "NVIDIA H200"
    assert found["driver"] == "580.1"
    assert found["cuda_driver"] == "13.0"
    assert found["compute_capability"] == "9.0"
    assert "secret" not in json.dumps(found)
    assert len(found["uuid_sha256"]) == 64


def test_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units: W from mW, reasons by name, processes with their memory."""
    (found,) = opened(monkeypatch).sample()

    assert found["power_w"] == 75.5
    assert found["throttle"] == ["gpu-idle"]
    assert found["energy_mj"] == 123_456
    assert found["processes"] == [{"pid": 42, "memory_bytes": 1530 << 20}]


def test_memory_as_nvidia_smi_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 2 of the memory info where the library has it; the process's own part where it is seen."""
    nvml = opened(monkeypatch)

    assert nvml.memory(42)[0]["used_bytes"] == 1691 << 20
    assert nvml.memory(42)[0]["process_bytes"] == 1530 << 20
    assert nvml.memory(7)[0]["process_bytes"] is None
    assert nvml.memory()[0]["how"].endswith("version 2")


def test_one_unsupported_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card without an energy counter still gives its power."""
    (found,) = opened(monkeypatch, nvmlDeviceGetTotalEnergyConsumption=raises(3)).sample()

    assert found["energy_mj"] is None
    assert found["power_w"] == 75.5


@pytest.mark.parametrize(("code", "words"), [(18, "reboot"), (9, "no NVIDIA driver"), (12, "no NVIDIA driver")])
def test_no_nvml(monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    """Without a usable driver: no GPU, and the reason in words."""
    nvml = opened(monkeypatch, nvmlInit=raises(code))

    assert nvml.facts() == nvml.sample() == nvml.memory() == []
    assert nvml.driver() is None
    assert words in nvml.reason
    assert nvml.broken == (code == 18)


def test_one_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """With several GPUs only the first is measured and watched; who uses the others does not matter."""
    nvml = opened(monkeypatch, nvmlDeviceGetCount=lambda: 4)

    assert len(nvml.facts()) == 4
    assert [gpu["index"] for gpu in nvml.sample()] == [0]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert [gpu["index"] for gpu in nvml.sample()] == [2]


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is optional."""
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert Nvml().reason == "nvidia-ml-py is not installed"


def test_throttle_names() -> None:
    """Each bit has its name; one not known yet is not lost."""
    assert throttle_names(0x4 | 0x20) == ["power-cap", "software-thermal"]
    assert throttle_names(0x400) == ["bit-0x400"]
    assert throttle_names(None) == throttle_names(0) == []


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, [0, 1, 2]), ("1", [1]), ("2,0", [2, 0]), ("", []), ("-1", []), ("0,9,1", [0]), ("GPU-b", [1])],
)
def test_visible(setting: str | None, expected: list[int]) -> None:
    """CUDA_VISIBLE_DEVICES as CUDA reads it."""
    assert expected == visible([0, 1, 2], ["GPU-a1", "GPU-b2", "GPU-c3"], setting)
