"""One streamed request as a line in time: the wait (with the prefill inside it), then the answer."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from tokentrail.figures import NotDrawn
from tokentrail.figures.data import Number, RunData
from tokentrail.figures.palette import COLOURS
from tokentrail.figures.style import PAPER, Drawing, above, canvas, label, view_note

NAMES = {
    "short": "short question",
    "long": "long question",
    "long-warm-128": "long, warm server\nanswer ≤ 128",
    "long-warm-32": "long, warm server\nanswer ≤ 32",
}
SECONDS = {"s": 1.0, "ms": 0.001}


@dataclass(frozen=True)
class Request:
    """A request's numbers; prefill is the part of the wait that the server spent on the prompt, where it is known."""

    name: str
    wait: Number
    rest: Number
    prefill: Number | None
    tokens: Number | None
    answer: Number | None


def requests(run: RunData) -> list[Request]:
    """The requests of the run for which wait and rest are known."""
    found = []
    for name in NAMES:
        wait, rest = run.best(f"ttft-{name}"), run.best(f"rest-{name}")
        if wait and rest:
            others = [run.best(f"{part}-{name}") for part in ("prefill-time", "prompt-tokens", "answer-tokens")]
            found.append(Request(name, wait, rest, *others))
    return found


def seconds(number: Number) -> float:
    """Seconds, whatever the number's unit of time."""
    return number["value"] * SECONDS[number["unit"]]


def draw(run: RunData) -> Drawing:
    """A bar a request: prefill and other waiting before the first token, decode after it."""
    found = requests(run)
    if not found:
        raise NotDrawn("no streamed request was timed")
    title = title_of(run, found)
    numbers = [n for r in found for n in (r.wait, r.rest)]
    notes = [view_note(numbers), "The first token arrives where the bar turns to decode. Intervals: on the page."]
    figure, (ax,) = canvas(run, title, [0.72 * len(found) + 0.3], notes, left=1.5, right=0.45)
    longest = max(seconds(r.wait) + seconds(r.rest) for r in found)
    for y, request in enumerate(found):
        draw_bar(ax, y, request, longest)
    ax.set(xlim=(0, longest * 1.02), ylim=(len(found) - 0.4, -0.85), yticks=range(len(found)))
    ax.set_yticklabels([NAMES[r.name] + tokens_line(r) for r in found])
    ax.set_xlabel("seconds since the request was sent")
    ax.tick_params(axis="y", length=0)
    legend(ax, found)
    return Drawing(figure, title, describe(found))


def title_of(run: RunData, found: list[Request]) -> str:
    """The finding, from the run's own numbers."""
    growth, longer = run.best("ttft-growth"), run.best("prompt-length-ratio")
    if growth and longer:
        only = "only " if above(growth) < longer["value"] else ""
        return f"A prompt {longer['shown']} as long made the wait {only}{growth['shown']} as long"
    first = found[0]
    return f"First token after {first.wait['shown']}, the rest took {first.rest['shown']}"


def tokens_line(request: Request) -> str:
    """Prompt length below the request's name."""
    return f"\n{request.tokens['shown']} in" if request.tokens and "warm" not in request.name else ""


def draw_bar(ax: Axes, y: float, request: Request, longest: float) -> None:
    """Segments of one request, each labelled with its time where it has room."""
    wait, rest = seconds(request.wait), seconds(request.rest)
    inside = min(seconds(request.prefill), wait) if request.prefill else 0.0
    segments = ((0.0, wait - inside, "other"), (wait - inside, inside, "prefill"), (wait, rest, "decode"))
    for start, width, colour in segments:
        ax.barh(y, width, left=start, height=0.42, color=COLOURS[colour], edgecolor=PAPER, linewidth=1)
    label(ax, 0, y, f"wait {request.wait['shown']}", COLOURS["ink"], dx=1, dy=17, ha="left", size=9)
    text, end = f"then {request.rest['shown']}", wait + rest
    if end > 0.5 * longest:
        label(ax, end, y, text, COLOURS["decode"], dx=-1, dy=17, ha="right", size=9)
    else:
        label(ax, end, y, text, COLOURS["decode"], dx=6, ha="left", size=9)


def legend(ax: Axes, found: list[Request]) -> None:
    """The three colours named once, above the bars."""
    x = 0.0
    wait = "other waiting" if all(request.prefill for request in found) else "waiting"
    names = ((wait, "other", "soft"), ("prefill", "prefill", "prefill"), ("decode", "decode", "decode"))
    for name, square, colour in names:
        if name != "prefill" or any(request.prefill for request in found):
            look = {"size": 9, "weight": "bold", "va": "bottom", "xycoords": "axes fraction"}
            ax.annotate("■", (x, 1.0), color=COLOURS[square], **look)
            ax.annotate(name, (x + 0.035, 1.0), color=COLOURS[colour], **look)
            x += {"other waiting": 0.34, "waiting": 0.24}.get(name, 0.22)


def describe(found: list[Request]) -> str:
    """The same in words."""
    parts = []
    for r in found:
        inside = f", of which prefill {r.prefill['shown']}" if r.prefill else ""
        name = NAMES[r.name].replace("\n", ", ")
        parts.append(f"{name}: first token after {r.wait['shown']}{inside}; rest of the answer {r.rest['shown']}")
    return ". ".join(parts) + "."
