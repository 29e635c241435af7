"""A run that was measured elsewhere and printed: its pasted tables become a run like any other, marked transcribed."""

from tokentrail.importing.run import import_run

__all__ = ["import_run"]
