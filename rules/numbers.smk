"""
Numbers: every derived value, its interval, its formula and its inputs.

REQUIRED INPUTS:
    results/{run}/records.json
    config/machines.yaml                                    data-sheet figures and prices
    config/constants.yaml                                   definitions and planned times
    config/claims.yaml                                      what the published page states
OUTPUTS:
    results/{run}/numbers.json
    results/{run}/measurements.csv                          one row a sample
    results/{run}/claims.json                               published, recomputed, here
    results/measurements.csv                                the samples of all runs
"""


rule derive_numbers:
    """Derive all numbers of a run from its records."""
    input:
        records="results/{run}/records.json",
        machines="config/machines.yaml",
        constants="config/constants.yaml",
        claims="config/claims.yaml",
        code=code("derive_numbers.py"),
        schemas=schemas("numbers", "record"),
    output:
        numbers="results/{run}/numbers.json",
        measurements="results/{run}/measurements.csv",
    log:
        "logs/{run}/derive_numbers.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/derive_numbers.py \
            --run-dir "$(dirname {input.records:q})" \
            --log {log:q}
        """


rule check_claims:
    """Hold the published claims against the published evidence and against this run."""
    input:
        numbers="results/{run}/numbers.json",
        published=f"results/{PUBLISHED}/numbers.json",
        claims="config/claims.yaml",
        code=code("check_claims.py"),
    output:
        "results/{run}/claims.json",
    log:
        "logs/{run}/check_claims.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/check_claims.py \
            --run-dir "$(dirname {input.numbers:q})" \
            --published "$(dirname {input.published:q})" \
            --quiet \
            --log {log:q}
        """


rule join_measurements:
    """Put the samples of all runs into one table."""
    input:
        tables=of_compared_runs("results/{run}/measurements.csv"),
        code=code("join_measurements.py"),
    output:
        "results/measurements.csv",
    log:
        "logs/join_measurements.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/join_measurements.py --out {output:q} --log {log:q} {input.tables:q}
        """
