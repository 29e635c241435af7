"""What a sweep measured, for figures and pages alike: batch sizes, and flash attention on against off."""

from __future__ import annotations

from tokentrail.figures.data import Number, RunData

FEWEST = 5  # fewer batch sizes are the lesson's own figure
MOST = 8  # more than a label each has room for there are the sweep's alone
# the setting stands before or after the depth, as a case's tag or as what a test varies
PATTERN = r"(prefill|decode)-rate-([a-z0-9.]+)-(?:gpu|cpu|hybrid)((?:-[dp]\d+)*)-fa-?(on|off|auto|[01])((?:-[dp]\d+)*)"
ON, OFF = {"1", "on"}, {"0", "off"}
Row = tuple[str, str, Number, Number]  # half, name, on, off


def flash_attention(run: RunData) -> list[Row]:
    """Every test measured with flash attention and without."""
    found: dict[tuple[str, str, str], dict[str, Number]] = {}
    for match, number in run.matching(PATTERN):
        side = "on" if match[4] in ON else "off" if match[4] in OFF else "auto"
        found.setdefault((match[1], match[2], match[3] + match[5]), {})[side] = number
    both = [(key, sides) for key, sides in found.items() if {"on", "off"} <= set(sides)]
    return [(h, f"{h}, {m.upper()}{words(rest)}", s["on"], s["off"]) for (h, m, rest), s in both]


def apart(one: Number, two: Number) -> bool:
    """Whether the intervals of two numbers do not touch; True where neither is known."""
    a, b = one.get("interval"), two.get("interval")
    return not a or not b or a["low"] > b["high"] or b["low"] > a["high"]


def words(rest: str) -> str:
    """`-d4096` as `depth 4,096` on a line of its own."""
    names = {"d": "depth", "p": "prompt"}
    parts = [f"{names[part[0]]} {int(part[1:]):,}" for part in rest.split("-") if part]
    return "\n" + ", ".join(parts) if parts else ""


def series(run: RunData, prefix: str) -> list[tuple[int, Number]]:
    """(users, number) of the lesson's own batch sizes, in rising order: the line that carries no suffix."""
    return lines(run, prefix).get("", [])


def lines(run: RunData, prefix: str) -> dict[str, list[tuple[int, Number]]]:
    """{suffix: [(users, number), …]} in rising order."""
    found: dict[str, list[tuple[int, Number]]] = {}
    for match, number in run.matching(rf"{prefix}-(\d+)((?:-.+)?)"):
        found.setdefault(match[2], []).append((int(match[1]), number))
    return {suffix: sorted(points, key=lambda point: point[0]) for suffix, points in found.items()}


def name_of(run: RunData, suffix: str) -> str:
    """The model's whole name, for sentences and tables."""
    return run.model_name(label_of(run, suffix).lower())


def label_of(run: RunData, suffix: str) -> str:
    """What a line is called: its model or tag; the lesson's own small model where the id says neither."""
    return (suffix.lstrip("-") or run.model_label("batched-small") or "").upper()


def knees(run: RunData) -> dict[str, int]:
    """{suffix: the most users of whom none is more than twice as slow as one alone}; picked, not derived."""
    slow: dict[str, dict[int, float]] = {}
    for match, number in run.matching(r"slowdown-per-user-(\d+)((?:-.+)?)"):
        slow.setdefault(match[2], {})[int(match[1])] = number["value"]
    return {
        suffix: max((n for n, times in by_size.items() if times <= 2), default=1) for suffix, by_size in slow.items()
    }
