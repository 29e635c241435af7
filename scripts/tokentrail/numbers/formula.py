"""Formulas: an expression in text, computed by us, and the interval of its result from those of its inputs.

The text stored beside a number is what was computed, so the audit can put the inputs in and compute it again.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from tokentrail.problems import Problem
from tokentrail.statistics import Interval, Quantity, exact

_CARRIED = "carried from "


def _centred(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float, float]:
    if len(x) != len(y) or len(x) < 2:
        raise Problem("a straight line needs at least two points with an x and a y each")
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    sxx = sum((a - mean_x) ** 2 for a in x)
    if sxx == 0:
        raise Problem("a straight line needs at least two different x")
    return mean_x, mean_y, sxx, sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope of the ordinary least-squares line of y over x."""
    _, _, sxx, sxy = _centred(x, y)
    return sxy / sxx


def intercept(x: Sequence[float], y: Sequence[float]) -> float:
    """Value at x = 0 of the ordinary least-squares line of y over x."""
    mean_x, mean_y, sxx, sxy = _centred(x, y)
    return mean_y - sxy / sxx * mean_x


def inverse(x: Sequence[float]) -> list[float]:
    """1 / x of each."""
    return [1 / a for a in x]


def _total(x: float | Sequence[float]) -> float:
    return math.fsum(x) if isinstance(x, list) else x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt, "min": min, "max": max, "sum": _total, "slope": slope, "intercept": intercept,
    "inverse": inverse,
}  # fmt: skip
_ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.Constant, ast.Call, ast.Add, ast.Sub,
            ast.Mult, ast.Div, ast.Pow, ast.USub)  # fmt: skip


@functools.cache
def _compiled(code: str) -> CodeType:
    tree = ast.parse(code, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED) or (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)):
            raise Problem(f"formula {code!r} holds {type(node).__name__}, which formulas do not know")
    return compile(tree, "<formula>", "eval")


@functools.cache
def names(code: str) -> tuple[str, ...]:
    """The input names of a formula, sorted."""
    found = {n.id for n in ast.walk(ast.parse(code, mode="eval")) if isinstance(n, ast.Name)}
    return tuple(sorted(found - set(FUNCTIONS)))


def compute(code: str, values: Mapping[str, Any]) -> float:
    """The formula's value; `values` holds a number, or a list of numbers, for each name."""
    missing = [n for n in names(code) if n not in values]
    if missing:
        raise Problem(f"formula {code!r} lacks {', '.join(missing)}")
    try:
        result = eval(_compiled(code), {"__builtins__": {}}, {**FUNCTIONS, **values})  # whitelisted above
    except ZeroDivisionError:
        raise Problem(f"formula {code!r} divides by zero with these inputs") from None
    except (ValueError, OverflowError) as error:
        raise Problem(f"formula {code!r} has no value with these inputs: {error}") from None
    if isinstance(result, complex) or not math.isfinite(result):
        raise Problem(f"formula {code!r} has no finite value with these inputs")
    return result


def evaluate(code: str, inputs: Sequence[tuple[str, Quantity]]) -> Quantity:
    """Value and interval of a formula. A name given several times is a list.

    Each input is moved to its low and its high end alone; the distances of the result are combined as in
    tokentrail.statistics.propagation (MOVER): certain limits (rounding) add up, since the true value can lie at
    any corner; confidence limits add in quadrature. On logarithms where all results are positive, so that
    products and ratios come out as there. Inputs are taken as independent.
    """
    centre = compute(code, _values(inputs, None, 0.0))
    uncertain = [(index, q) for index, (_, q) in enumerate(inputs) if not q.exact]
    if not uncertain:
        return exact(centre)
    unknown = [q for _, q in uncertain if q.interval is None]
    if unknown:
        return Quantity(centre, reason=unknown[0].reason or "an input has no interval")
    ends = [
        (q, [compute(code, _values(inputs, i, end)) for end in (q.interval.low, q.interval.high)]) for i, q in uncertain
    ]
    positive = centre > 0 and all(end > 0 for _, pair in ends for end in pair)
    there, back = (math.log, math.exp) if positive else (float, float)
    middle = there(centre)
    sides = [(q, [there(end) - middle for end in pair]) for q, pair in ends]
    down, up = (
        math.hypot(*(reach(s) for q, s in sides if not q.interval.certain))
        + math.fsum(reach(s) for q, s in sides if q.interval.certain)
        for reach in (lambda s: -min(*s, 0.0), lambda s: max(*s, 0.0))
    )
    level, method, n = _origin([q.interval for _, q in uncertain])
    low, high = sorted((back(middle - down), back(middle + up)))
    return Quantity(centre, Interval(min(low, centre), max(high, centre), level, method, n))


def _origin(intervals: Sequence[Interval]) -> tuple[float | None, str, int | None]:
    methods = list(dict.fromkeys(part for i in intervals for part in i.method.removeprefix(_CARRIED).split("; ")))
    if len(intervals) == 1:
        return intervals[0].level, intervals[0].method, intervals[0].n
    levels = [i.level for i in intervals if i.level is not None]
    counts = [i.n for i in intervals if i.n is not None]
    return min(levels, default=None), _CARRIED + "; ".join(methods), min(counts, default=None)


def _values(inputs: Sequence[tuple[str, Quantity]], moved: int | None, to: Any) -> dict[str, Any]:
    counts: dict[str, list[float]] = {}
    for index, (name, quantity) in enumerate(inputs):
        counts.setdefault(name, []).append(to if index == moved else quantity.value)
    return {name: values if len(values) > 1 else values[0] for name, values in counts.items()}


def with_values(code: str, inputs: Sequence[tuple[str, float]]) -> str:
    """The formula with the values put in, for a reader: `163.99 * 4.6718 / 1008`."""
    values = _values([(n, exact(v)) for n, v in inputs], None, 0.0)

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            if node.id not in values:
                return node
            text = values[node.id]
            shown = "[" + ", ".join(f"{v:.7g}" for v in text) + "]" if isinstance(text, list) else f"{text:.7g}"
            return ast.Name(id=shown, ctx=ast.Load())

        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            return ast.Name(id=f"{node.value:.7g}", ctx=ast.Load())

    return ast.unparse(Put().visit(ast.parse(code, mode="eval")))
