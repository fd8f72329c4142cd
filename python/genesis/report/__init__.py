"""Reports of training runs: one HTML file with curves, figures, graph and environment.

`fit` and `Trainer` write one by themselves; a `Report` does the same for a loop of your own.
`chart` and `picture` draw SVG figures.
"""

from genesis.report import chart, picture
from genesis.report._history import History
from genesis.report._page import Figure, Report

__all__ = ["Figure", "History", "Report", "chart", "picture"]
