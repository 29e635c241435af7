"""
Measure: one job a case, alone on the machine.

REQUIRED INPUTS:
    results/{run}/plan.json                                 written when Snakemake starts
    {resources}/engines/{engine}/manifest.json
    {resources}/models/{weights}/{model}.outcome.json
OUTPUTS:
    results/{run}/raw/{case}/{key}/measurement.json         stdout, streams and telemetry lie beside it

These rules can make only what is not measured yet: a case whose raw is there is a plain file to Snakemake. So no edit of
a script, a parser or this file measures anything again; a changed case or engine has another path. A case that fails
still writes its file, with status "failed", so that the others go on; check_coverage turns it into an exit status.
"""


rule measure_llama_bench:
    """Time prefill and decode apart with llama-bench."""
    input:
        plan=f"results/{SESSION.run}/plan.json",
        engine=f"{RESOURCES}/engines/{SESSION.engine['name']}/manifest.json",
        model=outcome_of_model,
    output:
        f"results/{SESSION.run}/raw/{{case}}/{{key}}/measurement.json",
    log:
        f"logs/{SESSION.run}/measure_llama_bench/{{case}}-{{key}}.log",
    wildcard_constraints:
        case=pending_cases("llama-bench"),
    conda:
        "../envs/tokentrail.yaml"
    threads: workflow.cores  # alone on the machine while timing
    resources:
        gpu=1,
    params:
        failed=f"results/{SESSION.run}/failed",
    shell:
        r"""
        python3 scripts/measure_llama_bench.py \
            --plan {input.plan:q} \
            --case {wildcards.case:q} \
            --engine-dir "$(dirname {input.engine:q})" \
            --failed-dir {params.failed:q} \
            --out {output:q} \
            --log {log:q}
        """


rule measure_batched_bench:
    """Time many users at once with llama-batched-bench."""
    input:
        plan=f"results/{SESSION.run}/plan.json",
        engine=f"{RESOURCES}/engines/{SESSION.engine['name']}/manifest.json",
        model=outcome_of_model,
    output:
        f"results/{SESSION.run}/raw/{{case}}/{{key}}/measurement.json",
    log:
        f"logs/{SESSION.run}/measure_batched_bench/{{case}}-{{key}}.log",
    wildcard_constraints:
        case=pending_cases("llama-batched-bench"),
    conda:
        "../envs/tokentrail.yaml"
    threads: workflow.cores  # alone on the machine while timing
    resources:
        gpu=1,
    params:
        failed=f"results/{SESSION.run}/failed",
    shell:
        r"""
        python3 scripts/measure_batched_bench.py \
            --plan {input.plan:q} \
            --case {wildcards.case:q} \
            --engine-dir "$(dirname {input.engine:q})" \
            --failed-dir {params.failed:q} \
            --out {output:q} \
            --log {log:q}
        """


rule measure_requests:
    """Start a llama-server, time streamed requests, stop it."""
    input:
        plan=f"results/{SESSION.run}/plan.json",
        engine=f"{RESOURCES}/engines/{SESSION.engine['name']}/manifest.json",
        model=outcome_of_model,
    output:
        f"results/{SESSION.run}/raw/{{case}}/{{key}}/measurement.json",
    log:
        f"logs/{SESSION.run}/measure_requests/{{case}}-{{key}}.log",
    wildcard_constraints:
        case=pending_cases("llama-server"),
    conda:
        "../envs/tokentrail.yaml"
    threads: workflow.cores  # alone on the machine while timing
    resources:
        gpu=1,
    params:
        failed=f"results/{SESSION.run}/failed",
    shell:
        r"""
        python3 scripts/measure_requests.py \
            --plan {input.plan:q} \
            --case {wildcards.case:q} \
            --engine-dir "$(dirname {input.engine:q})" \
            --failed-dir {params.failed:q} \
            --out {output:q} \
            --log {log:q}
        """


rule measure_read_ceiling:
    """Read memory as fast as this device can: the ceiling of decode."""
    input:
        plan=f"results/{SESSION.run}/plan.json",
        engine=f"{RESOURCES}/engines/{SESSION.engine['name']}/manifest.json",
    output:
        f"results/{SESSION.run}/raw/{{case}}/{{key}}/measurement.json",
    log:
        f"logs/{SESSION.run}/measure_read_ceiling/{{case}}-{{key}}.log",
    wildcard_constraints:
        case=pending_cases("read-ceiling"),
    conda:
        "../envs/tokentrail.yaml"
    threads: workflow.cores  # alone on the machine while timing
    resources:
        gpu=1,
    params:
        failed=f"results/{SESSION.run}/failed",
    shell:
        r"""
        python3 scripts/measure_read_ceiling.py \
            --plan {input.plan:q} \
            --case {wildcards.case:q} \
            --engine-dir "$(dirname {input.engine:q})" \
            --failed-dir {params.failed:q} \
            --out {output:q} \
            --log {log:q}
        """
