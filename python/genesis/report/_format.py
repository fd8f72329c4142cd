"""Measures, durations and counts as text."""

from __future__ import annotations


def show(name: str, value: float) -> str:
    """A measure with its name: shares in percent, other numbers in four digits.

    >>> show("test_accuracy", 0.98333), show("loss", 0.0123456)
    ('test accuracy 98.33 %', 'loss 0.01235')
    """
    return f"{label(name)} {show_value(name, value)}"


def label(name: str) -> str:
    """The name of a measure for people.

    >>> label("test_loss"), label("samples_per_second")
    ('test loss', 'samples/s')
    """
    return name.replace("_per_second", "/s").replace("_", " ")


def is_share(name: str) -> bool:
    """Whether a measure is shown in percent.

    >>> is_share("val_accuracy"), is_share("loss")
    (True, False)
    """
    return name.endswith("accuracy")


def show_value(name: str, value: float) -> str:
    """The value of a measure.

    >>> show_value("samples_per_second", 12345.6), show_value("accuracy", 0.5)
    ('12,346', '50.00 %')
    """
    if is_share(name):
        return f"{100 * value:.2f} %"
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.3e}"
    return f"{value:#.4g}".rstrip(".")


def duration(seconds: float) -> str:
    """A time as text.

    >>> duration(0.0214), duration(24.68), duration(90)
    ('0.02 s', '24.7 s', '1 min 30 s')
    """
    if seconds >= 60:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def plural(count: int, noun: str) -> str:
    """A number and what it counts.

    >>> plural(1, "epoch"), plural(1200, "step")
    ('1 epoch', '1,200 steps')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
