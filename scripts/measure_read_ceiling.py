"""Measure one read-ceiling case of a plan: how fast the device can read memory at all."""

from tokentrail.measuring import bench, job

if __name__ == "__main__":
    job.main("read-ceiling", bench.ceiling, __doc__)
