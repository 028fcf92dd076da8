"""The cost of tokens, from price lists in the package; nothing is downloaded.

A short list, generated from a library's, has the common models. All others come from the library, which takes a quarter
of a second and tens of megabytes to import.
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
    """Return the cost in US dollars; None where no list has the model.

    `cache_write_tokens` are cached for five minutes, `cache_write_1h_tokens` for an hour. `input_includes_cached`:
    whether the agent counts cached tokens as input tokens. Call it once for each request: some models charge more for
    large requests, so the sum of many would look like a large one.
    """
    cached = cache_read_tokens + cache_write_tokens + cache_write_1h_tokens
    # With cached tokens included, rounding may make the parts larger than the whole, which the library rejects.
    whole = max(input_tokens, cached) if input_includes_cached else input_tokens + cached
    name = _bare(model)
    if provider in (None, _OWN_PROVIDER):
        steps = _listed_prices(name)
        if steps is not None:
            plain = whole - cached
            counts = (plain, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens)
            # Add up in integers: the result equals that of the library, which uses decimals.
            reached = [prices for start, prices in steps if start == 0 or whole > start]
            return sum(count * price for count, price in zip(counts, reached[-1], strict=True)) / _UNITS_PER_DOLLAR
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
    """Remove the context window from a model name: `claude-opus-4-7[1m]`."""
    return model.split("[", 1)[0].strip()


def _listed_prices(name: str) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    """Return the prices of the short list for a model, with or without a date in its name."""
    from bridle.ground.price_list import PRICES

    start, date = name[: -_DATE_DIGITS - 1], name[-_DATE_DIGITS:]
    is_dated = date.isdigit() and name[-_DATE_DIGITS - 1 : -_DATE_DIGITS] in ("-", "@")
    return PRICES.get(start if is_dated else name)


def _from_library(name: str, *, provider: str | None, **tokens: int) -> float | None:
    from genai_prices import Usage, calc_price

    try:
        return float(calc_price(Usage(**tokens), model_ref=name, provider_id=provider).total_price)
    except LookupError:
        return None
