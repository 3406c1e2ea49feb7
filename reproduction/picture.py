"""How the pictures look: means with bands of one standard deviation, and one colour for each method."""

from typing import Any

import numpy as np

from .experiment import Table

COLOURS = {
    "IHT": "#0072b2",
    "IHT after Greedy": "#009e73",
    "Greedy": "#d55e00",
    "exchange": "#cc79a7",
    "auto": "#222222",
    "Lasso": "#e69f00",
    "Random": "#999999",
    "Local Greedy": "#d55e00",
    "Global Greedy": "#e69f00",
    "PS": "#b5179e",
    "FewerPointsClassifier": "#222222",
    "points, local": "#cc79a7",
}
"""Colours that people who see few colours can tell apart (Okabe and Ito)."""
OTHERS = ("#56b4e9", "#7f3c8d", "#8c564b", "#b5b500", "#17becf", "#e15759", "#4c72b0", "#2f9e44")
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))
"""Line styles for the first, second and third round of colours."""
LOOKS: dict[str, dict[str, Any]] = {
    "Greedy": {"linestyle": "--"},
    "exchange": {"linewidth": 4.0, "alpha": 0.55},
    "auto": {"linestyle": (0, (1, 2))},
}
STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.framealpha": 0.85,
    "legend.fontsize": 8,
    "savefig.dpi": 110,
    "svg.fonttype": "none",
    "svg.hashsalt": "fewer",
}


def colour(label: str, position: int = 0) -> str:
    """The colour of a method, or the next free one."""
    return COLOURS.get(label, OTHERS[position % len(OTHERS)])


def band(axis: Any, table: Table, method: str, column: str = "train", **style: Any) -> None:
    """Mean along x with a band of one standard deviation, which ends at the lowest value there is."""
    xs = table.xs(method)
    values = [table.column(method, column, x) for x in xs]
    mean = np.array([v.mean() for v in values])
    std = np.array([v.std() for v in values])
    line = axis.plot(xs, mean, **style)[0]
    low = np.maximum(mean - std, [v.min() for v in values])
    axis.fill_between(xs, low, mean + std, color=line.get_color(), alpha=0.13, linewidth=0)


def panels(
    axis: Any, table: Table, names: dict[str, str], x: str, column: str = "train", **style: Any
) -> None:
    """One line with its band for each method that has rows."""
    free = 0
    for method, label in names.items():
        if table.of(method):
            dashes = DASHES[free // len(OTHERS) if label not in COLOURS else 0]
            look = {
                "color": colour(label, free),
                "linestyle": dashes,
                **LOOKS.get(label, {}),
                **style,
            }
            band(axis, table, method, column, label=label, **look)
            free += label not in COLOURS
    axis.set_xlabel(x)
