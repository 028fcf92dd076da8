"""What a number of tokens costs, from price lists that come with the program; nothing is fetched.

A short list of our own, made from a library's, answers for the models of every day at once. The library answers for
all others; it takes a quarter of a second and tens of megabytes to import.
"""

from __future__ import annotations

# A ten-billionth of a dollar, the unit of the short list.
_UNITS_PER_DOLLAR = 10_000_000_000

_OWN_PROVIDER = "anthropic"
_DATE_DIGITS = 8


def cost_usd(
    model: str,
    *,
    input_tokens: int,
    output_tokens: int,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    cache_write_1h_tokens: int = 0,
    input_includes_cached: bool,
    provider: str | None = None,
) -> float | None:
    """Return the cost in US dollars, or None when no price list knows the model.

    `cache_write_tokens` are those kept for five minutes, `cache_write_1h_tokens` those kept for an hour.
    `input_includes_cached` says how the agent counts: whether its input tokens already hold the cached ones.
    Ask once for each request to the model: some models charge more for every token of a large request, so the
    tokens of many requests added up would look like one that is too large.
    """
    cached = cache_read_tokens + cache_write_tokens + cache_write_1h_tokens
    # An agent that counts cached tokens in may round them apart; the list refuses parts above the whole.
    whole = max(input_tokens, cached) if input_includes_cached else input_tokens + cached
    name = _bare(model)
    if provider in (None, _OWN_PROVIDER):
        steps = _own_steps(name)
        if steps is not None:
            plain = whole - cached
            counts = (plain, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens)
            return _added_up(steps, whole, counts)
    return _from_library(
        name,
        input_tokens=whole,
        cache_read_tokens=cache_read_tokens,
        cache_write_tokens=cache_write_tokens + cache_write_1h_tokens,
        cache_write_1h_tokens=cache_write_1h_tokens,
        output_tokens=output_tokens,
        provider=provider,
    )


def _bare(model: str) -> str:
    """Leave out what names the size of the window and not the model: `claude-opus-4-7[1m]`."""
    return model.split("[", 1)[0].strip()


def _own_steps(name: str) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    """The prices of the short list, for the model itself or for one of its dates."""
    from bridle.ground.price_list import PRICES

    start, date = name[: -_DATE_DIGITS - 1], name[-_DATE_DIGITS:]
    is_dated = date.isdigit() and name[-_DATE_DIGITS - 1 : -_DATE_DIGITS] in ("-", "@")
    return PRICES.get(start if is_dated else name)


def _added_up(steps: tuple[tuple[int, tuple[int, ...]], ...], whole: int, counts: tuple[int, ...]) -> float:
    """Whole numbers until the last moment: the same figure as the library's, which counts in decimals."""
    reached = [prices for start, prices in steps if start == 0 or whole > start]
    return sum(count * price for count, price in zip(counts, reached[-1], strict=True)) / _UNITS_PER_DOLLAR


def _from_library(name: str, *, provider: str | None, **tokens: int) -> float | None:
    from genai_prices import Usage, calc_price

    try:
        return float(calc_price(Usage(**tokens), model_ref=name, provider_id=provider).total_price)
    except LookupError:
        return None
