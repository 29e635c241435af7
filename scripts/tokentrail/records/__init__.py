"""Records: what one case measured, interpreted from its raw files; one validated JSON document per planned case.

Deterministic: the same raw gives the same bytes, on any machine, at any time.
"""

from tokentrail.records.making import changed_files, extra_files, make, without_measurement
from tokentrail.records.whole_run import index

__all__ = ["changed_files", "extra_files", "index", "make", "without_measurement"]
