"""Measure one llama-batched-bench case of a plan: run the tool, keep what it said."""

from tokentrail.measuring import bench, job

if __name__ == "__main__":
    job.main("llama-batched-bench", bench.batched_bench, __doc__)
