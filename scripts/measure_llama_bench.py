"""Measure one llama-bench case of a plan: run the tool, keep what it said."""

from tokentrail.measuring import bench, job

if __name__ == "__main__":
    job.main("llama-bench", bench.llama_bench, __doc__)
