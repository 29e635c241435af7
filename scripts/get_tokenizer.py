"""Write Qwen's vocabulary and chat template, out of the pinned llama.cpp source, into RESOURCES/tokenizer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tokentrail import engines, jsonio
from tokentrail.problems import Problem, reported


def main() -> None:
    """Command line of rule get_tokenizer; the note tokenizer.json (files and their hashes) is written last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=json.loads, required=True, help="section engine of config.yaml, as JSON")
    parser.add_argument(
        "--resources", type=Path, help="folder of big files (default: TOKENTRAIL_RESOURCES, ./resources)"
    )
    parser.add_argument("--outcome", type=Path, help="the note; with it, a failure is written there and exits with 0")
    parser.add_argument("--log", type=Path, help="log file, appended to")
    arguments = parser.parse_args()
    with reported(arguments.log, "get_tokenizer"):
        resources = engines.resources_folder(arguments.resources)
        try:
            engines.tokenizer(arguments.settings, resources / "tokenizer", resources)
        except Problem as problem:
            if not arguments.outcome:
                raise
            # cases of other weights must go on: those of stand-ins fail with this sentence
            print(f"get_tokenizer: {problem}", flush=True)
            jsonio.write_json(arguments.outcome, {"problem": str(problem)})


if __name__ == "__main__":
    main()
