"""Provide one model: RESOURCES/models/{weights}/{model}.gguf and, last, {model}.facts.json beside it."""

from __future__ import annotations

import argparse
import errno
from pathlib import Path

from tokentrail import config, jsonio, models
from tokentrail.engines.places import resources_folder
from tokentrail.problems import Problem, reported


def get_model(model_id: str, weights: str, resources: Path, out: Path, log: Path | None = None) -> None:
    """Fetch or make the model `model_id` of config/models.yaml at `out`, then write its facts."""
    known = config.read_models()
    if model_id not in known:
        raise Problem(f"model {model_id!r} is not in config/models.yaml (there are: {', '.join(sorted(known))})")

    def tell(text: str) -> None:
        print(text, flush=True)
        if log:
            with log.open("a", encoding="utf-8") as stream:
                stream.write(text + "\n")

    try:
        models.provide(
            model_id,
            known[model_id],
            weights,
            out,
            out.with_suffix(".facts.json"),
            resources / "tokenizer",
            downloads=resources / "downloads",
            log=tell,
        )
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise Problem(
            f"{error.filename or out}: {error.strerror or error}; free space there, or set TOKENTRAIL_RESOURCES to a "
            "folder with room that you may write in"
        ) from error


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a model of config/models.yaml")
    parser.add_argument("--weights", required=True, choices=list(models.SOURCES))
    parser.add_argument(
        "--resources", type=Path, default=resources_folder(), help="folder of models, downloads, tokenizer"
    )
    parser.add_argument("--out", type=Path, help="the GGUF file (default: RESOURCES/models/WEIGHTS/MODEL.gguf)")
    parser.add_argument("--outcome", type=Path, help="file that says how it ended; with it, a failure exits with 0")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    out = given.out or given.resources / "models" / given.weights / f"{given.model}.gguf"
    with reported(given.log, f"get_model {given.model}"):
        try:
            get_model(given.model, given.weights, given.resources, out, given.log)
        except Problem as problem:
            if not given.outcome:
                raise
            # the cases of other models must go on: those of this one fail with this sentence
            print(f"get_model {given.model}: {problem}", flush=True)
            jsonio.write_json(given.outcome, {"status": "failed", "problem": str(problem)})
            return
        if given.outcome:
            known = models.identity(config.read_models()[given.model], given.weights)
            jsonio.write_json(given.outcome, {"status": "ready", "identity": known})


if __name__ == "__main__":
    main()
