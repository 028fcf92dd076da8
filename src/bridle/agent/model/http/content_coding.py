"""Decodes compressed bodies. Requests ask for none, but gateways compress streams and error pages all the same."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from bridle.errors import NetworkError

# A zlib window with a header of gzip or zlib, and a bare one, which some servers send as `deflate`.
_ANY_HEADER = 47
_NO_HEADER = -15


class Decoder(Protocol):
    """Decodes a body part by part."""

    def decompress(self, data: bytes, /) -> bytes:
        """Return what these bytes decode to so far."""


def decoder_for(coding: str) -> Decoder | None:
    """Return the decoder of a content coding; None for a body that is not compressed."""
    name = coding.strip().lower()
    if name in ("", "identity"):
        return None
    make = _DECODERS.get(name)
    if make is None:
        raise NetworkError(f"the response has the unknown content encoding {name[:40]!r}", kind="garbled")
    return make()


def decode(decoder: Decoder, data: bytes) -> bytes:
    """Decode a part of a body. Raises NetworkError if it is damaged."""
    try:
        return decoder.decompress(data)
    except Exception as error:  # each library has an error of its own
        raise NetworkError(f"the compressed response is damaged: {error}", kind="cut") from error


class _Deflate:
    """`deflate`: with the header of zlib, or without."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(_ANY_HEADER)
        self._has_begun = False

    def decompress(self, data: bytes, /) -> bytes:
        if self._has_begun:
            return self._decoder.decompress(data)
        self._has_begun = bool(data)
        try:
            return self._decoder.decompress(data)
        except zlib.error:
            self._decoder = zlib.decompressobj(_NO_HEADER)
            return self._decoder.decompress(data)


def _brotli() -> Decoder:
    decoder = _library("br", "brotli").Decompressor()

    class Brotli:
        """The library's decoder under the name that all others have."""

        def decompress(self, data: bytes, /) -> bytes:
            return bytes(decoder.process(data))

    return Brotli()


def _zstd() -> Decoder:
    decoder: Decoder = _library("zstd", "zstandard").ZstdDecompressor().decompressobj()
    return decoder


def _library(coding: str, name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        remedy = f"Install {name}, or turn off the compression of the gateway."
        raise NetworkError(f"the response is compressed with {coding}. {remedy}", kind="garbled") from error


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: zlib.decompressobj(_ANY_HEADER),
    "x-gzip": lambda: zlib.decompressobj(_ANY_HEADER),
    "deflate": _Deflate,
    "br": _brotli,
    "zstd": _zstd,
}
