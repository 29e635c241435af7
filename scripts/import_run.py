"""Make a run of outputs that were printed elsewhere: pasted tables, a requests file, host facts; marked transcribed."""

from __future__ import annotations

import argparse
from pathlib import Path

from tokentrail.importing import import_run
from tokentrail.problems import reported


def main() -> None:
    """Parse the command line and import."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="llama-bench or batched-bench output, …")
    parser.add_argument("--machine", required=True, help="an id, of config/machines.yaml for data-sheet figures")
    parser.add_argument("--engine", required=True, help="the build, such as b12110-cuda")
    parser.add_argument("--campaign", required=True, help="a campaign whose steps these are, or a name of your own")
    parser.add_argument("--host", type=Path, help="host.yaml: date, gpu, vcpus, price, models, source")
    parser.add_argument("--commands", type=Path, help="YAML: case or file name -> command line, where the source says")
    parser.add_argument("--repetitions", type=int, help="of each llama-bench test, where the source says")
    parser.add_argument("--title", help="one line about the run")
    parser.add_argument("--results", type=Path, default=Path("results"), help="where runs lie")
    given = parser.parse_args()
    run = {key: getattr(given, key) for key in ("machine", "engine", "campaign")}
    with reported(None, "import_run"):
        target = import_run(run, given.files, given.results, given.host, given.commands, given.title, given.repetitions)
        page = "/".join(("reports", *run.values(), "index.html"))
        print(f"{target}: its records, numbers and page are made by: snakemake --cores 1 {page}")


if __name__ == "__main__":
    main()
