# Table of contents: what there is, in the order in which it runs. Helpers: rules/common.smk.
from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/engine.smk"
include: "rules/models.smk"
include: "rules/measure.smk"
include: "rules/record.smk"
include: "rules/numbers.smk"
include: "rules/figures.smk"
include: "rules/report.smk"
include: "rules/audit.smk"


localrules:
    all,
    everything,


rule all:
    """Measure the chosen campaign here; end with its report and the page that compares all runs."""
    default_target: True
    input:
        f"reports/{SESSION.run}/index.html",
        "reports/index.html",
        "results/measurements.csv",
        f"logs/{SESSION.run}/check_coverage.done",


rule everything:
    """Derive every stored run anew (records, numbers, figures, pages); measures only what `all` would."""
    input:
        rules.all.input,
        expand("reports/{run}/index.html", run=SESSION.runs),
