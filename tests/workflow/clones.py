"""Copies of the repository in which real Snakemake runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = "rtx4090/b12110-cuda/lesson"
RESOURCES = os.environ.get("TOKENTRAIL_RESOURCES") or str(ROOT / "resources")


@dataclass
class Clone:
    """A checkout in a folder of its own; models and builds are shared."""

    path: Path
    resources: str = RESOURCES

    def snakemake(
        self, *arguments: str, campaign: str = "smoke", check: bool = True, cwd: Path | None = None
    ) -> subprocess.CompletedProcess:
        """Run the real Snakemake; the campaign is always given, so that a GPU changes nothing."""
        done = subprocess.run(
            self.command(*arguments, campaign=campaign),
            cwd=cwd or self.path,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=1500,
        )
        if check:
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return done

    def command(self, *arguments: str, campaign: str = "smoke") -> list[str]:
        """The command line of `snakemake`."""
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
        if not any(argument.startswith("campaign=") for argument in arguments):
            command += ["--config", f"campaign={campaign}"]
        return command

    def environment(self) -> dict[str, str]:
        """The user's environment; models and builds are shared."""
        return {**os.environ, "TOKENTRAIL_RESOURCES": self.resources}

    def script(self, *command: str) -> subprocess.CompletedProcess:
        """Run one of the scripts."""
        return subprocess.run([sys.executable, *command], cwd=self.path, capture_output=True, text=True, timeout=600)

    def planned(self, *arguments: str, campaign: str = "smoke") -> dict[str, int]:
        """Jobs by rule that Snakemake would run now."""
        return jobs(self.snakemake("-n", *arguments, campaign=campaign).stdout)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text that must be there."""
        path = self.path / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def append(self, file: str, text: str) -> None:
        """Add a line at a file's end."""
        with (self.path / file).open("a", encoding="utf-8") as stream:
            stream.write(text)

    def run_dir(self, campaign: str = "smoke") -> Path:
        """The run that was measured here."""
        (found,) = (self.path / "results").glob(f"*/*/{campaign}")
        return found

    def report_dir(self, campaign: str = "smoke") -> Path:
        """Where the pages of that run lie."""
        return self.path / "reports" / self.run_dir(campaign).relative_to(self.path / "results")

    def runs(self) -> int:
        """How many runs are stored here."""
        return len(list((self.path / "results").glob("*/*/*/plan.json")))


def jobs(text: str) -> dict[str, int]:
    """The job table of a dry run: rule -> number, without the total."""
    rows = re.findall(r"^([a-z_]+) +(\d+)$", text.split("Job stats:")[-1].split("\n\n")[0], flags=re.M)
    return {rule: int(number) for rule, number in rows if rule not in ("total", "all")} if "Job stats:" in text else {}


def copy_repository(target: Path, all_runs: bool = False) -> Clone:
    """Copy what git tracks or would track, as it is in the working tree; of the runs only the published one."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        of_a_run = re.match(r"(?:results|reports)/([^/]+/[^/]+/[^/]+)/", name)
        wanted = all_runs or not of_a_run or of_a_run[1] == PUBLISHED or name.startswith("reports/templates/")
        if wanted and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return Clone(target)


def write_campaign(clone: Clone, name: str, cases: list[dict]) -> None:
    """Add a campaign of one's own."""
    body = {"campaign": name, "title": name, "weights": "stand-in", "cases": cases}
    (clone.path / "config" / "campaigns" / f"{name}.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
