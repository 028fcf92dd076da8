"""The distribution `bridle` on PyPI is another project's, and its files are in the folder that ours are in.

Bridle's own modules are not imported here: the other one may have replaced them.
"""

from __future__ import annotations

DISTRIBUTION = "bridle-cli"
"""What `pip` installs."""


def find_other() -> tuple[str, str] | None:
    """Return what to say, and the remedy, if the other distribution is installed beside ours."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours, other = version(DISTRIBUTION), version("bridle")
    except PackageNotFoundError:
        return None
    message = (
        f"the distribution bridle {other}, another project's, is installed beside {DISTRIBUTION} {ours}, "
        "and both write to the folder `bridle`"
    )
    return message, f"Run `pip uninstall bridle {DISTRIBUTION}`, then `pip install {DISTRIBUTION}`."
