"""A user's own objective or constraint that returns other things than it must."""

import numpy as np
import pytest

from fewer import (
    Atoms,
    InvalidInput,
    Moments,
    SparseSimplex,
    exchange,
    frank_wolfe,
    greedy,
    iht,
    minimize,
)

A = np.random.default_rng(0).normal(size=(6, 5))
SPACE = Atoms(5)


class Cut:
    """At most two entries, by another's hand."""

    def __init__(self, **returned):
        self.inner, self.returned = SparseSimplex(SPACE, 2), returned
        self.space, self.n_units, self.k, self.whole_faces = SPACE, 5, 2, True

    def project(self, v, near=None):
        return self.returned.get("project", self.inner.project(v))

    def contains(self, p, tol=1e-9):
        return self.returned.get("contains", self.inner.contains(p, tol))

    def support(self, p):
        return self.returned.get("support", self.inner.support(p))

    def face(self, units):
        return units


class Loss:
    """Squares, by another's hand."""

    def __init__(self, **returned):
        self.inner, self.returned = Moments(SPACE, A, A[:, :2].mean(axis=1)), returned
        self.space, self.smoothness = SPACE, self.inner.smoothness

    def value(self, p):
        return self.returned.get("value", self.inner.value(p))

    def gradient(self, p):
        return self.returned.get("gradient", self.inner.gradient(p))


@pytest.mark.parametrize("solve", [minimize, greedy, iht, exchange, frank_wolfe])
@pytest.mark.parametrize(
    ("member", "returned", "told"),
    [
        ("support", None, r"Cut\.support\(p\) must return a vector of whole numbers, .* got None"),
        ("support", [0, 1], r"support\(p\) must return a vector of whole numbers, .* got \[0, 1\]"),
        ("support", np.zeros(2), r"support\(p\) .* got an array of shape \(2,\) and type float64"),
        (
            "contains",
            np.ones(5, bool),
            r"contains\(p\) must return True or False, got an array of shape \(5,\)",
        ),
        ("contains", None, r"contains\(p\) must return True or False, got None"),
        (
            "project",
            np.ones(4),
            r"project\(v\) must return a vector of 5 numbers, got an array of shape \(4,\)",
        ),
        (
            "project",
            np.ones((5, 1)),
            r"project\(v\) must return a vector of 5 numbers, got an array of shape \(5, 1\)",
        ),
        ("project", "near", r"project\(v\) must return a vector of 5 numbers, got 'near'"),
    ],
)
def test_what_a_constraint_returns_is_looked_at(solve, member, returned, told):
    with pytest.raises(InvalidInput, match=told):
        solve(Moments(SPACE, A, A[:, 0]), Cut(**{member: returned}))


@pytest.mark.parametrize(
    ("member", "returned", "told"),
    [
        ("value", None, r"Loss\.value\(p\) must return a number, got None"),
        ("value", np.ones(2), r"value\(p\) must return a number, got an array of shape \(2,\)"),
        ("gradient", 1.0, r"gradient\(p\) must return a vector of 5 numbers, got 1\.0"),
        (
            "gradient",
            np.ones(5, complex),
            r"gradient\(p\) must return a vector of 5 numbers, got .* complex128",
        ),
    ],
)
def test_what_an_objective_returns_is_looked_at(member, returned, told):
    with pytest.raises(InvalidInput, match=told):
        minimize(Loss(**{member: returned}), SparseSimplex(SPACE, 2))


def test_parts_that_return_what_they_must_are_taken():
    found = minimize(Loss(), Cut(), rng=0)
    assert found.value == pytest.approx(0.0, abs=1e-9)
    assert found.indices.tolist() == [0, 1]


def test_an_error_of_the_callers_own_code_goes_through():
    class Failing(Cut):
        def support(self, p):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        greedy(Moments(SPACE, A, A[:, 0]), Failing())


class Squares(Loss):
    """Squares with the members of a quadratic."""

    def __init__(self, **factors):
        super().__init__()
        self.factors = factors
        self.constant, self.diagonal = self.inner.constant, self.inner.diagonal
        self.linear, self.cross = self.inner.linear, self.inner.cross

    def value_at(self, units, weights):
        return self.factors.get("value_at", 1.0) * self.inner.value_at(units, weights)

    def slopes(self, units, weights):
        return self.factors.get("slopes", 1.0) * self.inner.slopes(units, weights)


@pytest.mark.parametrize("member", ["value_at", "slopes"])
def test_the_members_of_a_quadratic_agree_with_its_value_and_gradient(member):
    assert greedy(Squares(), SparseSimplex(SPACE, 2)).value >= 0.0
    with pytest.raises(InvalidInput, match=rf"Squares\.{member}\(units, weights\) must be"):
        greedy(Squares(**{member: 2.0}), SparseSimplex(SPACE, 2))
