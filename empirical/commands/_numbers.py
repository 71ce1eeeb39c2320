"""Numbers as they are typed on a command line."""

import argparse


def count(text: str) -> int:
    """An integer of at least 1, also in the form 1e6.

    >>> count("1e6"), count("16_384")
    (1000000, 16384)
    """
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; write 16384 or 1e6") from None
    if not value.is_integer() or value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1; write 16384 or 1e6")
    return int(value)
