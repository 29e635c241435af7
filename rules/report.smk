"""
Report: the page of a run, the page over all runs, and the word whether all that was planned was measured.

REQUIRED INPUTS:
    results/{run}/numbers.json, claims.json, records.json   and the raw lines that the trails show
    reports/{run}/figures.json
    reports/templates/
OUTPUTS:
    reports/{run}/index.html                                beside report.md and numbers.csv
    reports/index.html                                      beside index.md: all runs
    logs/{run}/check_coverage.done
"""


rule render_report:
    """Write a run's page, its Markdown twin and its table of numbers."""
    input:
        numbers="results/{run}/numbers.json",
        claims="results/{run}/claims.json",
        published=f"results/{PUBLISHED}/numbers.json",
        figures="reports/{run}/figures.json",
        templates=templates(),
        code=code("render_report.py"),
    output:
        html=report(
            "reports/{run}/index.html",
            caption="../reports/captions/index.rst",
            category="Page",
            labels={"run": "{run}"},
        ),
        markdown="reports/{run}/report.md",
        table=report(
            "reports/{run}/numbers.csv",
            caption="../reports/captions/numbers.rst",
            category="Numbers",
            labels={"run": "{run}"},
        ),
    log:
        "logs/{run}/render_report.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/render_report.py \
            --run-dir "$(dirname {input.numbers:q})" \
            --published "$(dirname {input.published:q})" \
            --out "$(dirname {output.html:q})" \
            --log {log:q}
        """


rule render_index:
    """Write the page that compares all runs."""
    input:
        numbers=of_compared_runs("results/{run}/numbers.json"),
        claims=of_compared_runs("results/{run}/claims.json"),
        plans=of_compared_runs("results/{run}/plan.json"),
        templates=templates(),
        code=code("render_index.py"),
    output:
        html=report(
            "reports/index.html",
            caption="../reports/captions/runs.rst",
            category="All runs",
            labels={"run": "all"},
        ),
        markdown="reports/index.md",
    log:
        "logs/render_index.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/render_index.py --out "$(dirname {output.html:q})" --log {log:q} {input.numbers:q}
        """


rule check_coverage:
    """Fail, with one line a case, if a planned case was not measured or is not valid; after the report is written."""
    input:
        records="results/{run}/records.json",
        report="reports/{run}/index.html",
        code=code("check_coverage.py"),
    output:
        touch("logs/{run}/check_coverage.done"),
    log:
        "logs/{run}/check_coverage.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/check_coverage.py --records {input.records:q} --log {log:q}
        """
