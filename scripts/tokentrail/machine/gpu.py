"""What NVML says of NVIDIA GPUs: facts, telemetry, processes, energy. Without NVML: nothing, and the reason.

Every single reading may be unsupported on one card and fine on another, so each falls back to None alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from tokentrail.jsonio import sha256_text

# CUDA_VISIBLE_DEVICES where there are several GPUs and the user chose none: a run is of one GPU, as its data sheet is.
ONE_OF_MANY = "0"

# Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h). "gpu-idle" says nothing about a measurement.
THROTTLE = {
    0x1: "gpu-idle",
    0x2: "application-clocks",
    0x4: "power-cap",
    0x8: "hardware-slowdown",
    0x10: "sync-boost",
    0x20: "software-thermal",
    0x40: "hardware-thermal",
    0x80: "hardware-power-brake",
    0x100: "display-clocks",
}


def throttle_names(mask: int | None) -> list[str]:
    """Names of the bits set, lowest first; an unknown bit is named by its value."""
    if not mask:
        return []
    bits = [1 << n for n in range(mask.bit_length()) if mask >> n & 1]
    return [THROTTLE.get(bit, f"bit-{bit:#x}") for bit in bits]


def visible(indices: list[int], uuids: list[str], setting: str | None) -> list[int]:
    """Indices that CUDA_VISIBLE_DEVICES leaves (PCI order): all when unset; an unknown entry ends the list."""
    if setting is None:
        return indices
    chosen = []
    for word in (w.strip() for w in setting.split(",")):
        if word.isdigit() and int(word) in indices:
            chosen.append(int(word))
        elif word.startswith("GPU-") and (
            hits := [i for i, u in zip(indices, uuids, strict=True) if u.startswith(word)]
        ):
            chosen.append(hits[0])
        else:
            break
    return chosen


class Nvml:
    """NVML, opened once. `reason` says why there is none; then `count` is 0 and every list is empty."""

    def __init__(self) -> None:
        self.reason: str | None = None
        # a driver that is there but cannot work: llama.cpp would go on with the CPU and say nothing
        self.broken = False
        self._handles: list[Any] = []
        try:
            import pynvml
        except ImportError:
            self.reason = "nvidia-ml-py is not installed"
            return
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        except pynvml.NVMLError as error:
            self.reason = _why(pynvml, error)
            self.broken = getattr(error, "value", None) not in (
                pynvml.NVML_ERROR_LIBRARY_NOT_FOUND,
                pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
            )
        if not self._handles and self.reason is None:
            self.reason = "NVML lists no GPU"

    @property
    def count(self) -> int:
        """GPUs that the driver lists, whether CUDA may use them or not."""
        return len(self._handles)

    def driver(self) -> str | None:
        """Version of the display driver, e.g. "580.159.03"."""
        return self._try(lambda n: _str(n.nvmlSystemGetDriverVersion())) if self.count else None

    def chosen(self) -> list[int]:
        """The GPUs that the tools see: those the user chose, else the first one (see measuring.environment)."""
        uuids = [self._uuid(handle) or "" for handle in self._handles]
        setting = os.environ.get("CUDA_VISIBLE_DEVICES", ONE_OF_MANY if self.count > 1 else None)
        return visible(list(range(self.count)), uuids, setting)

    def facts(self) -> list[dict[str, Any]]:
        """One entry (schema `machine`, gpus) per GPU; the UUID only as its SHA-256."""
        return [self._facts(index, handle) for index, handle in enumerate(self._handles)]

    def sample(self) -> list[dict[str, Any]]:
        """The chosen GPUs' state now: W, MHz, °C, %, bytes, mJ since the driver started, processes."""
        return [self._sample(index, self._handles[index]) for index in self.chosen()]

    def memory(self, pid: int | None = None) -> list[dict[str, Any]]:
        """[{index, used_bytes, total_bytes, process_bytes, how}] of the chosen GPUs; used as nvidia-smi shows it.

        `process_bytes` is what `pid` holds, None where its number is not seen (containers hide it).
        """
        found = []
        for index in self.chosen():
            handle = self._handles[index]
            info, how = self._memory(handle)
            mine = [p["memory_bytes"] for p in self._processes(handle) if p["pid"] == pid and p["memory_bytes"]]
            found.append(
                {
                    "index": index,
                    "used_bytes": None if info is None else info.used,
                    "total_bytes": None if info is None else info.total,
                    "process_bytes": sum(mine) if mine else None,
                    "how": how,
                }
            )
        return found

    def _facts(self, index: int, handle: Any) -> dict[str, Any]:
        info, _ = self._memory(handle)
        uuid = self._uuid(handle)
        cuda = self._try(lambda n: n.nvmlSystemGetCudaDriverVersion_v2())
        capability = self._try(lambda n: n.nvmlDeviceGetCudaComputeCapability(handle))
        width = self._try(lambda n: n.nvmlDeviceGetMaxPcieLinkWidth(handle))
        generation = self._try(lambda n: n.nvmlDeviceGetMaxPcieLinkGeneration(handle))
        limit = self._try(lambda n: n.nvmlDeviceGetPowerManagementLimit(handle))
        return {
            "index": index,
            "name": self._try(lambda n: _str(n.nvmlDeviceGetName(handle))) or "unknown GPU",
            "memory_bytes": None if info is None else info.total,
            "uuid_sha256": sha256_text(uuid) if uuid else None,
            "driver": self.driver(),
            "cuda_driver": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
            "compute_capability": ".".join(map(str, capability)) if capability else None,
            "power_limit_w": limit / 1000 if limit else None,
            "pcie": f"{generation}.0 x{width}" if generation and width else None,
            "max_sm_clock_mhz": self._try(lambda n: n.nvmlDeviceGetMaxClockInfo(handle, n.NVML_CLOCK_SM)),
            "max_memory_clock_mhz": self._try(lambda n: n.nvmlDeviceGetMaxClockInfo(handle, n.NVML_CLOCK_MEM)),
        }

    def _sample(self, index: int, handle: Any) -> dict[str, Any]:
        info, _ = self._memory(handle)
        rates = self._try(lambda n: n.nvmlDeviceGetUtilizationRates(handle))
        power = self._try(lambda n: n.nvmlDeviceGetPowerUsage(handle))
        mask = self._try(lambda n: n.nvmlDeviceGetCurrentClocksEventReasons(handle))
        if mask is None:
            mask = self._try(lambda n: n.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
        return {
            "index": index,
            "power_w": power / 1000 if power is not None else None,
            "sm_mhz": self._try(lambda n: n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_SM)),
            "memory_mhz": self._try(lambda n: n.nvmlDeviceGetClockInfo(handle, n.NVML_CLOCK_MEM)),
            "temperature_c": self._try(lambda n: n.nvmlDeviceGetTemperature(handle, n.NVML_TEMPERATURE_GPU)),
            "utilisation_percent": rates.gpu if rates else None,
            "memory_used_bytes": None if info is None else info.used,
            "throttle_mask": mask,
            "throttle": throttle_names(mask),
            "energy_mj": self._try(lambda n: n.nvmlDeviceGetTotalEnergyConsumption(handle)),
            "processes": self._processes(handle),
        }

    def limits(self) -> list[dict[str, Any]]:
        """Power limit now and as shipped, per chosen GPU, in W."""
        found = []
        for index in self.chosen():
            handle = self._handles[index]
            now = self._try(lambda n, h=handle: n.nvmlDeviceGetPowerManagementLimit(h))
            shipped = self._try(lambda n, h=handle: n.nvmlDeviceGetPowerManagementDefaultLimit(h))
            persistent = self._try(lambda n, h=handle: n.nvmlDeviceGetPersistenceMode(h))
            found.append(
                {
                    "index": index,
                    "power_limit_w": now / 1000 if now else None,
                    "default_power_limit_w": shipped / 1000 if shipped else None,
                    "persistence": None if persistent is None else bool(persistent),
                }
            )
        return found

    def _processes(self, handle: Any) -> list[dict[str, Any]]:
        running = self._try(lambda n: n.nvmlDeviceGetComputeRunningProcesses(handle)) or []
        return [{"pid": p.pid, "memory_bytes": p.usedGpuMemory} for p in sorted(running, key=lambda p: p.pid)]

    def _memory(self, handle: Any) -> tuple[Any, str]:
        """Version 2 leaves the driver's reserve out of `used`, as nvidia-smi's memory.used does."""
        version = getattr(self._nvml, "nvmlMemory_v2", None)
        if version is not None:
            info = self._try(lambda n: n.nvmlDeviceGetMemoryInfo(handle, version=version))
            if info is not None:
                return info, "NVML memory info, version 2"
        return self._try(lambda n: n.nvmlDeviceGetMemoryInfo(handle)), "NVML memory info, version 1"

    def _uuid(self, handle: Any) -> str | None:
        return self._try(lambda n: _str(n.nvmlDeviceGetUUID(handle)))

    def _try(self, read: Callable[[Any], Any]) -> Any:
        """The reading, or None where this card, driver or library has no such reading."""
        with contextlib.suppress(self._nvml.NVMLError, AttributeError):
            return read(self._nvml)
        return None


def _why(pynvml: Any, error: Any) -> str:
    code = getattr(error, "value", None)
    if code == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "the NVIDIA driver and its library have different versions; reboot, or reload the driver"
    if code in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED):
        return "no NVIDIA driver is loaded here"
    return f"NVML: {error}"


def _str(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
