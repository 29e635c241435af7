"""The computer measured: what it is, how many threads to use, its state around a measurement, its lock."""

from tokentrail.machine.probe import probe
from tokentrail.machine.threads import threads

__all__ = ["probe", "threads"]
