"""Numbers of money and energy: what a run costs, what a million tokens cost, joules per token."""

from __future__ import annotations

from tokentrail.numbers.registry import PUBLISHED, Definition, constant, each, number

_ONE = (PUBLISHED,)


def _pod(name: str, label: str, minutes: str, price: str) -> Definition:
    return Definition(
        name, label, "USD", "cost", "planned minutes at the price of an hour", "minutes / 60 * price",
        {"minutes": constant(minutes), "price": constant(price)}, "run", _ONE, group="cost",
    )  # fmt: skip


DEFINITIONS = [
    _pod("pod-cost-low", "Cost of the shorter planned time", "planned_minutes_low", "price"),
    _pod("pod-cost-high", "Cost of the longer planned time", "planned_minutes_high", "price"),
    _pod("pod-cost-community-low", "Cost of the shorter planned time, cheaper offer", "planned_minutes_low",
         "price_community"),
    _pod("pod-cost-community-high", "Cost of the longer planned time, cheaper offer", "planned_minutes_high",
         "price_community"),
    Definition(
        "usd-per-million-tokens-{pl}{suffix}", "Price of a million answer tokens, {pl} at once, {whose}", "USD", "cost",
        "price of an hour over the tokens decoded in it, times a million", "price / 3600 / together * 1e6",
        {"price": constant("price"), "together": number("batched-rate-{pl}{suffix}")}, "batch", group="cost",
    ),
    Definition(
        "usd-per-million-prompt-tokens-{pl}{suffix}", "Price of a million prompt tokens, {pl} at once, {whose}",
        "USD", "cost",
        "price of an hour over the prompt tokens read in it, times a million", "price / 3600 / together * 1e6",
        {"price": constant("price"), "together": number("batched-prefill-rate-{pl}{suffix}")}, "batch", group="cost",
    ),
    Definition(
        "device-time", "Time the device was held for measuring", "min", "cost",
        "sum over the {n} measuring jobs of the time each held the device", "sum(held) / 60", {"held": each("held")},
        "device-time", _ONE, group="cost",
    ),
    Definition(
        "device-cost", "Cost of the time the device was held", "USD", "cost", "device time at the price of an hour",
        "time / 60 * price", {"time": number("device-time"), "price": constant("price")}, "device-time", _ONE,
        group="cost",
    ),
]  # fmt: skip
