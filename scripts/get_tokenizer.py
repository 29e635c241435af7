"""Write Qwen's vocabulary and chat template, out of the pinned llama.cpp source, into RESOURCES/tokenizer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tokentrail import engines
from tokentrail.problems import reported


def main() -> None:
    """Command line of rule get_tokenizer; the note tokenizer.json (files and their hashes) is written last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", type=json.loads, required=True, help="section engine of config.yaml, as JSON")
    parser.add_argument(
        "--resources", type=Path, help="folder of big files (default: TOKENTRAIL_RESOURCES, ./resources)"
    )
    parser.add_argument("--log", type=Path, help="log file, appended to")
    arguments = parser.parse_args()
    with reported(arguments.log, "get_tokenizer"):
        resources = engines.resources_folder(arguments.resources)
        engines.tokenizer(arguments.settings, resources / "tokenizer", resources)


if __name__ == "__main__":
    main()
