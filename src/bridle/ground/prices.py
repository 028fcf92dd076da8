"""What a number of tokens costs, from a price list that comes with a library; nothing is fetched."""

from __future__ import annotations


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
    """Return the cost in US dollars, or None when the price list does not know the model.

    `cache_write_tokens` are those kept for five minutes, `cache_write_1h_tokens` those kept for an hour.
    `input_includes_cached` says how the agent counts: whether its input tokens already hold the cached ones.
    Ask once for each request to the model: some models charge more for every token of a large request, so the
    tokens of many requests added up would look like one that is too large.
    """
    # The price list takes a quarter of a second and tens of megabytes to import.
    from genai_prices import Usage, calc_price

    writes = cache_write_tokens + cache_write_1h_tokens
    cached = cache_read_tokens + writes
    usage = Usage(
        # An agent that counts cached tokens in may round them apart; the list refuses parts above the whole.
        input_tokens=max(input_tokens, cached) if input_includes_cached else input_tokens + cached,
        cache_read_tokens=cache_read_tokens,
        cache_write_tokens=writes,
        cache_write_1h_tokens=cache_write_1h_tokens,
        output_tokens=output_tokens,
    )
    try:
        return float(calc_price(usage, model_ref=_bare(model), provider_id=provider).total_price)
    except LookupError:
        return None


def _bare(model: str) -> str:
    """Leave out what names the size of the window and not the model: `claude-opus-4-7[1m]`."""
    return model.split("[", 1)[0].strip()
