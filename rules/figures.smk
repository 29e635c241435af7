"""
Figures: drawn from numbers and records, computing nothing.

REQUIRED INPUTS:
    results/{run}/numbers.json, results/{run}/records.json
OUTPUTS:
    reports/{run}/figures.json                              index with hashes: drawn, or not and why; the figures lie
                                                            in reports/{run}/figures/ as .svg and .png

One job a run, since importing the plotting libraries takes longer than drawing. It draws only what changed: a figure
whose numbers and module are the same stays as it is.
"""


rule plot_figures:
    """Draw the figures of a run as SVG and PNG."""
    input:
        numbers="results/{run}/numbers.json",
        code=code("plot_figures.py", *FIGURE_MODULES),
    output:
        "reports/{run}/figures.json",
    log:
        "logs/{run}/plot_figures.log",
    conda:
        "../envs/tokentrail.yaml"
    params:
        memory=lambda wildcards: f"logs/{wildcards.run}/plot_figures.memory.json",
    shell:
        r"""
        python3 scripts/plot_figures.py \
            --run-dir "$(dirname {input.numbers:q})" \
            --out "$(dirname {output:q})/figures" \
            --index {output:q} \
            --memory {params.memory:q} \
            --log {log:q}
        """
