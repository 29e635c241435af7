"""Flash attention on against off, for each half and depth that was measured both ways."""

from __future__ import annotations

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import PAPER, Drawing, canvas, error_bar, error_note, label, plain_log_ticks, view_note

PATTERN = r"(prefill|decode)-rate-([a-z0-9.]+)-(?:gpu|cpu|hybrid)((?:-d\d+)?(?:-p\d+)?)-fa([a-z0-9]+)"
ON, OFF = {"1", "on", "true"}, {"0", "off", "false"}
Row = tuple[str, str, Number, Number]  # half, name, on, off


def rows(run: RunData) -> list[Row]:
    """Every test measured with flash attention and without."""
    found: dict[tuple[str, str, str], dict[str, Number]] = {}
    for match, number in run.matching(PATTERN):
        side = "on" if match[4] in ON else "off" if match[4] in OFF else "auto"
        found.setdefault((match[1], match[2], match[3]), {})[side] = number
    both = [(key, sides) for key, sides in found.items() if {"on", "off"} <= set(sides)]
    return [(h, f"{h}, {m}{words(rest)}", s["on"], s["off"]) for (h, m, rest), s in both]


def words(rest: str) -> str:
    """`-d4096` as `depth 4096` on a line of its own."""
    return "\n" + rest.replace("-d", "depth ").replace("-p", "prompt ") if rest else ""


def draw(run: RunData) -> Drawing:
    """A row a test: hollow point without, filled point with."""
    pairs = rows(run)
    if not pairs:
        raise NotDrawn("nothing was measured with flash attention both on and off")
    widest = max(pairs, key=lambda row: row[2]["value"] / row[3]["value"])
    title = (
        f"Flash attention moves {widest[1].replace(chr(10), ' ')} from {widest[3]['shown']} to {widest[2]['shown']}, "
        "the most of all tests"
    )
    numbers = [n for _, _, on, off in pairs for n in (on, off)]
    notes = ["Hollow: off. Filled: on.", view_note(numbers), error_note(numbers)]
    figure, (ax,) = canvas(run, title, [0.55 * len(pairs) + 0.2], notes, left=1.35, right=0.5)
    for y, (half, _, on, off) in enumerate(pairs):
        ax.plot([off["value"], on["value"]], [y, y], color=COLOURS["other"], linewidth=3, zorder=1)
        for number, fill in ((off, PAPER), (on, "")):
            ax.plot([number["value"]], [y], "o", color=COLOURS[half], markerfacecolor=fill or COLOURS[half],
                    markersize=8, zorder=4)  # fmt: skip
            error_bar(ax, number, y, COLOURS[half])
        left, right = sorted((off, on), key=lambda n: n["value"])
        label(ax, left["value"], y, left["shown"], COLOURS[half], dx=-9, ha="right", size=8.5)
        label(ax, right["value"], y, right["shown"], COLOURS[half], dx=9, ha="left", size=8.5)
    low, high = min(n["value"] for n in numbers), max(n["value"] for n in numbers)
    ax.set(xscale="log", xlim=(low / 6, high * 6), ylim=(len(pairs) - 0.5, -0.6), yticks=range(len(pairs)))
    ax.set_yticklabels([name for _, name, *_ in pairs])
    ax.set_xlabel("tokens per second (logarithmic scale)")
    ax.tick_params(axis="y", length=0)
    plain_log_ticks(ax)
    text = [f"{name}: off {off['shown']}, on {on['shown']}" for _, name, on, off in pairs]
    return Drawing(figure, title, "; ".join(text).replace("\n", " ") + ".")
