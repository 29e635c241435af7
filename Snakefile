# Table of contents: what there is, in the order in which it runs. Helpers: rules/common.smk.
from snakemake.utils import min_version

min_version("9.27")


# started from another folder, it works here, where results/ and reports/ lie
workdir: workflow.basedir


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
        # named here too: Snakemake makes a missing file within the chain only for a job that runs anyhow
        measurements_to_make(),
        products(SESSION.run),
        pages_to_make(),
        "reports/index.html",
        "results/measurements.csv",
        f"logs/{SESSION.run}/check_coverage.done",


rule everything:
    """Derive every stored run anew (records, numbers, figures, pages); measures nothing."""
    input:
        [products(run) for run in finished_runs()],
        # over all runs, this session's too: only once that is measured
        [] if SESSION.pending else rules.all.input,
