"""
Records: what the raw means.

REQUIRED INPUTS:
    results/{run}/plan.json
    results/{run}/raw/{case}/{key}/measurement.json         of every planned case; of a stored run those that are there
OUTPUTS:
    results/{run}/records.json                              index with hashes; the records lie in results/{run}/records/

One job for all cases of a run: a record takes milliseconds, a process half a second.
"""


rule make_records:
    """Parse, check against the plan, and judge every case of a run."""
    input:
        plan="results/{run}/plan.json",
        measurements=measurements_of_run,
        machines="config/machines.yaml",
        code=code("make_records.py"),
        schemas=schemas("measurement", "plan", "record"),
    output:
        "results/{run}/records.json",
    log:
        "logs/{run}/make_records.log",
    conda:
        "../envs/tokentrail.yaml"
    params:
        strict="--strict" if config["strict"] else "",
    shell:
        r"""
        python3 scripts/make_records.py \
            --run-dir "$(dirname {input.plan:q})" \
            --index {output:q} \
            {params.strict} \
            --log {log:q}
        """
