"""Where a llama-bench row was computed, from what the row says of build, flags and hardware."""

from __future__ import annotations

import re

# Backends that compute on the CPU: a build with only these has no other device.
CPU_BACKENDS = {"CPU", "BLAS", "AMX", "ZENDNN", "NONE", ""}
# Vulkan and Direct3D drivers that compute on the CPU.
_SOFTWARE = re.compile(r"llvmpipe|lavapipe|softpipe|swiftshader|microsoft basic render", re.I)
RENAMED = {"MTL": "Metal"}
# Builds before Nov 2024 had one boolean per backend instead of `backends`, and named the GPUs of these only.
_OLD_NAMED_GPUS = {"CUDA", "SYCL", "CANN"}
OLD_BACKEND_FLAGS = {"cuda": "CUDA", "vulkan": "Vulkan", "kompute": "Kompute", "metal": "Metal", "sycl": "SYCL",
                     "rpc": "RPC", "blas": "BLAS", "gpu_blas": None, "opencl": "OpenCL", "cann": "CANN"}  # fmt: skip


def backends(row: dict) -> list[str]:
    """Registered backends by their lasting names (MTL is Metal); ["CPU"] where there is no other."""
    text = row.get("backends")
    if text is None:
        names = [name for flag, name in OLD_BACKEND_FLAGS.items() if name and _on(row.get(flag))]
    else:
        names = [RENAMED.get(n.strip(), n.strip()) for n in re.split(r"[,/]", str(text)) if n.strip()]
    return names or ["CPU"]


def gpus(row: dict) -> list[str]:
    """GPUs visible to the process, one name each; seen is not used."""
    names = re.split(r", (?![^()]*\))", str(row.get("gpu_info") or ""))
    return [name.strip() for name in names if name.strip()]


def device(row: dict, layers: int | None = None) -> str:
    """Where one row was computed: "cpu", "gpu" or "hybrid".

    cpu: no GPU seen (a CUDA build without one goes on and exits 0) or only ones in software, a CPU-only build,
    `-dev none`, or `-ngl 0` together with no_op_offload 1. With `-ngl 0` alone a GPU build still sends batches of 32
    tokens and more to the GPU: hybrid. Hybrid too: some layers only (when `layers` is known), experts or tensors
    placed on the CPU, the KV cache kept off the GPU.
    """
    chosen = re.split(r"[/,]", str(row.get("devices") or "auto"))
    if _only_cpu(backends(row)) or _only_cpu(chosen):
        return "cpu"
    if "gpu_info" in row and all(_SOFTWARE.search(name) for name in gpus(row)) and names_gpus(row):
        return "cpu"
    offloaded = _int(row.get("n_gpu_layers"))
    if offloaded == 0:
        return "cpu" if _on(row.get("no_op_offload")) else "hybrid"
    # the output matrix counts as one layer more
    partly = layers is not None and offloaded is not None and 0 < offloaded <= layers
    experts = (_int(row.get("n_cpu_moe")) or 0) > 0
    overrides = "CPU" in str(row.get("tensor_buft_overrides") or "")
    return "hybrid" if partly or experts or overrides or _on(row.get("no_kv_offload")) else "gpu"


def names_gpus(row: dict) -> bool:
    """Whether an empty list of GPUs means none: old builds of Metal or Vulkan always left it empty."""
    return row.get("backends") is not None or bool(set(backends(row)) & _OLD_NAMED_GPUS)


def several_gpus(row: dict) -> str | None:
    """A sentence where more than one GPU is listed: which were used is told by flags, not by the list."""
    names = gpus(row)
    if len(names) < 2:
        return None
    flags = ", ".join(f"{k} {row[k]}" for k in ("devices", "split_mode", "main_gpu", "tensor_split") if k in row)
    text = f"{len(names)} GPUs are listed, which does not prove that both or all were used ({flags})"
    return text + "; with split mode layer they work in turn, so a bandwidth ceiling is that of one"


def _only_cpu(names: list[str]) -> bool:
    return {name.strip().upper() for name in names} <= CPU_BACKENDS


def _on(value: object) -> bool:
    return str(value).strip().lower() in ("1", "true", "on", "yes")


def _int(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None
