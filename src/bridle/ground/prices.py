"""The cost of tokens, from price lists in the package; nothing is downloaded.

A list that is generated from a library's has the common models of Anthropic, Google and OpenAI. All others come from
the library itself, where it is installed (`bridle-cli[prices]`).
"""

from __future__ import annotations

# A ten-billionth of a dollar, the unit of the short list.
_UNITS_PER_DOLLAR = 10_000_000_000

# A date at the end of a name: `-20250929`, `@20250929` or `-2025-09-29`.
_DATE_LENGTHS = (9, 11)


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
    steps = _listed_prices(name, provider)
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


def _listed_prices(name: str, provider: str | None) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    """Return the prices of the list for a model, with or without a date in its name."""
    from bridle.ground.price_list import PRICES

    names = (name, *(name[:-length] for length in _DATE_LENGTHS if _is_date(name[-length:])))
    lists = PRICES.values() if provider is None else [PRICES.get(provider, {})]
    return next((prices[one] for one in names for prices in lists if one in prices), None)


def _is_date(text: str) -> bool:
    digits = text[1:].replace("-", "")
    return text[:1] in ("-", "@") and len(digits) == 8 and digits.isascii() and digits.isdigit()


def _from_library(name: str, *, provider: str | None, **tokens: int) -> float | None:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None  # the extra is not installed
    try:
        return float(calc_price(Usage(**tokens), model_ref=name, provider_id=provider).total_price)
    except LookupError:
        return None
