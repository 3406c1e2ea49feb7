"""Whether any support and weights meet all conditions, by HiGHS, and which conditions conflict where none do."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Vector

Matrix = npt.NDArray[np.float64]

SECONDS = 10.0
"""What one question may take; one that stays open is no conflict."""
COUNTS = ("k", "max_weight", "min_weight", "include", "exclude", "max_per_group", "min_per_group")
"""Conditions of a support that may be part of a conflict, by the names of their options."""
SHOWN = 6
"""Conditions that a message lists."""


class Feasibility:
    """A mixed-integer programme: q (n), which entries are held (n), and what lies below `previous` (n)."""

    def __init__(self, limits: Any, conditions: Any) -> None:
        self.limits, self.conditions = limits, conditions
        self.n = limits.space.size

    def asked(self) -> list[str]:
        """Every condition by its name, the ones that are most often at fault last."""
        C, L = self.conditions, self.limits
        found = [name for name in COUNTS if self._says(name)]
        if C.G is not None:
            found += list(C.names)
        return [*found, *(["max_turnover"] if C.previous is not None else [])] if L is not None else found

    def _says(self, name: str) -> bool:
        """Whether an option forbids anything."""
        L = self.limits
        if name in ("include", "exclude"):
            return bool(getattr(L, name).size)
        if name in ("max_per_group", "min_per_group"):
            return getattr(L, name) is not None
        return bool({"k": L.k < self.n, "max_weight": L.max_weight < 1.0, "min_weight": L.min_weight > 0.0}[name])

    def best(self, v: Vector, without: frozenset[str] = frozenset()) -> Vector | None:
        """The member with the largest v'q, some conditions left out; None where none was found, NaN if left open."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # here: it is slow to import

        n, L, C = self.n, self.limits, self.conditions
        low = 0.0 if "min_weight" in without else L.min_weight
        high = 1.0 if "max_weight" in without else min(L.max_weight, 1.0)
        eye, zero = sp.eye_array(n), sp.csr_array((n, n))
        parts: list[tuple[Any, Any, Any]] = [
            (sp.csr_array(np.repeat([1.0, 0.0, 0.0], n)[None]), 1.0, 1.0),
            (sp.hstack([eye, -high * eye, zero]), -np.inf, 0.0),
            (sp.hstack([-eye, low * eye, zero]), -np.inf, 0.0),
        ]
        if "k" not in without:
            parts.append((sp.csr_array(np.repeat([0.0, 1.0, 0.0], n)[None]), 0.0, float(L.k)))
        if L.groups is not None:
            parts.extend(self._counted(without))
        if C.G is not None:
            stays = [i for i, name in enumerate(C.names) if name not in without]
            if stays:
                parts.append(
                    (sp.hstack([sp.csr_array(C.G[stays]), sp.csr_array((len(stays), 2 * n))]), -np.inf, C.h[stays])
                )
        if C.previous is not None and "max_turnover" not in without:
            parts.append((sp.hstack([-eye, zero, -eye]), -np.inf, -C.previous))
            room = C.max_turnover - 1.0 + float(C.previous.sum())
            parts.append((sp.csr_array(np.repeat([0.0, 0.0, 2.0], n)[None]), -np.inf, room))
        lower, upper = np.zeros(3 * n), np.repeat([1.0, 1.0, np.inf], n)
        if "include" not in without:
            lower[n + L.include] = 1.0
        if "exclude" not in without:
            upper[n + L.exclude] = 0.0
        found = milp(
            np.concatenate([-v, np.zeros(2 * n)]),
            integrality=np.repeat([0, 1, 0], n),
            bounds=Bounds(lower, upper),
            constraints=[LinearConstraint(A, a, b) for A, a, b in parts],
            options={"time_limit": SECONDS},
        )
        if found.x is not None:
            return np.where(found.x[n : 2 * n] > 0.5, np.maximum(found.x[:n], 1e-12), 0.0)
        return None if found.status == 2 else np.full(n, np.nan)

    def _counted(self, without: frozenset[str]) -> list[tuple[Any, Any, Any]]:
        """Rows for the numbers of entries of each group."""
        L = self.limits
        size = int(L.groups.max()) + 1
        inside = sp.csr_array((np.ones(self.n), (L.groups, np.arange(self.n))), (size, self.n))
        fewest = np.zeros(size) if "min_per_group" in without or L.min_per_group is None else L.min_per_group
        most = np.full(size, self.n) if "max_per_group" in without or L.max_per_group is None else L.max_per_group
        empty = sp.csr_array((size, self.n))
        return [(sp.hstack([empty, inside, empty]), np.broadcast_to(fewest, size), np.broadcast_to(most, size))]

    def conflict(self) -> str | None:
        """A sentence that names conditions which cannot hold together; None where all can, or that is not known.

        A deletion filter: each condition without which the rest stays impossible is left out.
        """
        flat = np.zeros(self.n)
        if self.best(flat) is not None:
            return None
        left: set[str] = set()
        for name in self.asked():
            if self.best(flat, frozenset(left | {name})) is None:
                left.add(name)
        return self._sentence([name for name in self.asked() if name not in left])

    def _sentence(self, names: list[str]) -> str:
        """The conditions, with their numbers."""
        told = [f"{name} = {getattr(self.limits, name):g}" if name in COUNTS[:3] else name for name in names]
        told = [f"max_turnover = {self.conditions.max_turnover:g}" if name == "max_turnover" else name for name in told]
        if len(told) == 1:
            return f"no distribution meets {told[0]}"
        more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        listed = told[:SHOWN]
        joined = ", ".join(listed) if more else f"{', '.join(listed[:-1])} and {listed[-1]}"
        return f"these conditions cannot hold together: {joined}{more}"
