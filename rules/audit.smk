"""
Audit: walk every number back to the bytes it came from. Run by `snakemake --cores 1 audit`.

REQUIRED INPUTS:
    results/{run}/                                          all stored runs: raw, records, numbers, claims
OUTPUTS:
    none; exit status 0 only if every trail and every claim holds
"""


rule audit:
    """Derive all numbers again from raw and compare; check hashes, claims, and numbers in the texts."""
    input:
        numbers=of_finished_runs("results/{run}/numbers.json"),
        claims=of_finished_runs("results/{run}/claims.json"),
    log:
        "logs/audit.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/audit.py --all 2>&1 | tee {log:q}
        """
