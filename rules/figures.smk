"""
Figures: drawn from numbers and records, computing nothing.

REQUIRED INPUTS:
    results/{run}/numbers.json, results/{run}/records.json
OUTPUTS:
    reports/{run}/figures/{figure}.json                     what it shows, or why it is not drawn; beside .svg and .png
"""


rule plot_figures:
    """Draw one figure of a run as SVG and PNG."""
    input:
        numbers="results/{run}/numbers.json",
        code=code_of_figure,
    output:
        "reports/{run}/figures/{figure}.json",
    log:
        "logs/{run}/plot_figures/{figure}.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/plot_figures.py \
            --run-dir "$(dirname {input.numbers:q})" \
            --out "$(dirname {output:q})" \
            --figure {wildcards.figure:q} \
            --log {log:q}
        """
