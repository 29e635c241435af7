"""Student's t: how many standard errors a two-sided interval reaches."""

from __future__ import annotations


def reach(level: float, freedom: float) -> float:
    """Standard errors either side of the middle, for a confidence `level` (0 to 1) and degrees of freedom."""
    # Here, and not scipy.stats: a measuring job, which needs none of it, would wait 0.2 or 0.6 s for the import.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
