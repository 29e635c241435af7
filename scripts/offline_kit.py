"""Pack all that a machine without network needs to build llama.cpp, measure and report, into one archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail import config, engines, offline
from tokentrail.engines import places
from tokentrail.problems import Problem, reported

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Command line; prints the size and the one line to type on the target."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="On the target: tar xf kit.tar.xz && sh tokentrail-kit/run.sh [arguments of snakemake]",
    )
    parser.add_argument("--out", type=Path, required=True, help="archive to write, e.g. kit.tar.xz")
    parser.add_argument("--python", default="3.12", help="the target's Python (default: 3.12)")
    parser.add_argument("--machine", default="x86_64", help="the target's processor: x86_64, aarch64")
    parser.add_argument("--glibc", default="2.28", help="the target's C library or an older one (default: 2.28)")
    parser.add_argument("--backend", default="cuda", help="llama.cpp backends besides the CPU's, comma-separated")
    parser.add_argument(
        "--have", default="", help="packages the target has, comma-separated: numpy,scipy==1.17.1,cmake"
    )
    parser.add_argument("--have-file", type=Path, help="the target's `python3 -m pip list --format=freeze`, in a file")
    parser.add_argument(
        "--resources", type=Path, help="folder of big files (default: TOKENTRAIL_RESOURCES, ./resources)"
    )
    arguments = parser.parse_args()
    with reported(None, "offline_kit"):
        have = [item.strip() for item in arguments.have.split(",") if item.strip()]
        if arguments.have_file:
            have += [line.strip() for line in arguments.have_file.read_text().splitlines() if "==" in line]
        try:
            major, minor = map(int, arguments.glibc.split("."))
        except ValueError:
            raise Problem(f"--glibc {arguments.glibc!r} is no version such as 2.28") from None
        pypi = config.read_yaml(ROOT / "config" / "config.yaml", "config")["engine"]["pypi"]
        target = offline.Target(arguments.python, arguments.machine, (major, minor))
        backends = [name for name in arguments.backend.split(",") if name and name != "cpu"]
        downloads = places.downloads(engines.resources_folder(arguments.resources))
        content = offline.make(ROOT, arguments.out, pypi, target, have, backends, downloads)
        print(f"{arguments.out}: {content['bytes'] / 2**20:.1f} MiB, {len(content['wheels'])} wheels, for Python "
              f"{target.python} on {target.machine}\non the target: tar xf {arguments.out.name} && "
              f"sh {offline.FOLDER}/run.sh")  # fmt: skip


if __name__ == "__main__":
    main()
