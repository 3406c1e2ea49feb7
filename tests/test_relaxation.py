"""Bounds for branches of supports: against enumeration, with every bound checked at every look."""

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_proof as naive
from fewer import Atoms, Conditions, InvalidInput, SparseSimplex
from fewer._compiled import certificate, dnn_admm
from fewer.active_set import simplex_weights
from fewer.rules import Rules as Limits
from fewer.search.engine import Branch
from fewer.search.relaxation import Relaxations, shrunk, spectral_start
from soak.convex import least

DATA = Path(__file__).parents[2] / "shared" / "data" / "index_tracking.npz"


@dataclass(frozen=True)
class Rules:
    """Bounds before they are checked."""

    min_weight: float = 0.0
    max_weight: float = 1.0
    include: tuple = ()
    exclude: tuple = ()
    groups: tuple | None = None
    group_cap: int = 1

    def constraint(self, n, k):
        cap = None if self.groups is None else self.group_cap
        bounds = (
            self.min_weight,
            self.max_weight,
            list(self.include),
            list(self.exclude),
            self.groups,
            cap,
        )
        return SparseSimplex(Atoms(n), k, *bounds)


PLAIN = Rules()


def begin(n, k, beta, low=0.0):
    """The relaxation of all supports before its first round."""
    root = Relaxations(np.eye(n), Limits(n, k, min_weight=low)).root()
    return replace(root, beta=beta, limits=np.outer([low, 1.0], np.ones(n)))


def data(seed, rows, n, scale=1.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, n)) + rng.normal(size=(rows, 1))
    b = A @ rng.dirichlet(np.ones(n)) + 0.3 * rng.normal(size=rows)
    return scale * A, scale * b


def gram(A, b):
    return A.T @ A, A.T @ b, float(b @ b)


def relaxations(A, b, k, rules=PLAIN, spectral=False):
    B = A - b[:, None]
    return Relaxations(B.T @ B, rules.constraint(A.shape[1], k).rules, spectral)


def looks(proof):
    """Branch and bound, the lowest bound first; the lowest bound after each look."""
    branches, serial = [(-math.inf, 0, Branch())], itertools.count(1)
    while branches and branches[0][0] < proof.value:
        _, _, branch = heapq.heappop(branches)
        for rest in proof.look(branch):
            heapq.heappush(branches, (rest.bound, next(serial), rest))
        yield min(branches[0][0] if branches else math.inf, proof.proven)


def finish(proof, optimum=math.inf, limit=4000):
    """Look to the end; bounds never fall, never pass the optimum. Returns the last."""
    last, tiny = -math.inf, 1e-12 * proof._scale
    for count, bound in enumerate(looks(proof)):
        assert count < limit, "no end in sight"
        assert bound >= min(last, proof.value * (1 - 1e-9)) - tiny
        assert bound <= proof.value
        assert bound <= optimum * (1 + 1e-10) + tiny
        last = bound
    return last


def check(A, b, k, rules=PLAIN):
    H, c, const = gram(A, b)
    optimum, _ = naive.enumerate_supports(H, c, const, k, rules)
    if np.isinf(optimum):
        with pytest.raises(InvalidInput):
            rules.constraint(len(c), k)
        return None
    proof = relaxations(A, b, k, rules)
    bound = finish(proof, optimum)
    tiny = 1e-12 * np.square(A - b[:, None]).sum(0).mean()
    assert proof.value == pytest.approx(optimum, rel=1e-9, abs=tiny)
    assert proof.value - bound <= 1e-9 * proof.value + tiny
    obeys(proof, A, b, k, rules)
    return proof


def obeys(proof, A, b, k, rules):
    S, q = proof.support, proof.weights
    assert len(S) <= k
    assert len(set(S.tolist())) == len(S)
    assert set(rules.include) <= set(S.tolist())
    assert not set(rules.exclude) & set(S.tolist())
    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    assert (q >= rules.min_weight - 1e-12).all()
    assert (q <= rules.max_weight + 1e-12).all()
    if rules.groups is not None:
        assert np.bincount(np.asarray(rules.groups)[S]).max() <= rules.group_cap
    residual = A[:, S] @ q - b
    assert proof.value == pytest.approx(residual @ residual, rel=1e-7, abs=1e-12 * (b @ b))


RULES = {
    "plain": PLAIN,
    "least": Rules(min_weight=0.2),
    "most": Rules(max_weight=0.4),
    "both": Rules(min_weight=0.15, max_weight=0.5),
    "include": Rules(include=(0, 5)),
    "exclude": Rules(exclude=(1, 2)),
    "groups": Rules(groups=(0, 0, 0, 1, 1, 2, 2)),
    "all": Rules(0.1, 0.6, (3,), (6,), (0, 0, 1, 1, 2, 2, 3), 1),
    "tight": Rules(min_weight=0.25, max_weight=0.25),
}


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name in RULES for k in (1, 2, 4) if len(RULES[name].include) <= k]
)
def test_equals_enumeration(name, k):
    for seed in range(3):
        check(*data(seed, 9, 7), k, RULES[name])


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0.35, 0.6, 1.0]),
)
def test_equals_enumeration_anywhere(seed, rows, n, k, least, most):
    check(*data(seed, rows, n), min(k, n), Rules(least, most))


@pytest.mark.parametrize("seed", range(4))
def test_equals_enumeration_of_many_supports(seed):
    """All 4845 supports of 4 in 20, each solved exactly."""
    A, b = data(seed, [8, 15, 30, 60][seed], 20)
    B = A - b[:, None]
    H, zero, optimum = B.T @ B, np.zeros(4), np.inf
    for S in itertools.combinations(range(20), 4):
        G = H[np.ix_(S, S)]
        q = simplex_weights(G, zero)
        optimum = min(optimum, float(q @ G @ q))
    proof = relaxations(A, b, 4)
    finish(proof, optimum)
    assert proof.value == pytest.approx(optimum, rel=1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_duplicate_columns(k):
    A, b = data(3, 8, 4)
    check(np.hstack([A, A[:, :3]]), b, k)


def test_target_is_a_mixture_of_columns():
    A, _ = data(1, 6, 8)
    proof = check(A, 0.5 * A[:, 2] + 0.3 * A[:, 4] + 0.2 * A[:, 6], 3)
    assert proof.support.tolist() == [2, 4, 6]


def test_all_columns_are_the_target():
    b = np.array([1.0, 2.0])
    proof = relaxations(np.tile(b[:, None], 3), b, 2)
    assert finish(proof) == proof.value == 0.0


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e8])
def test_scale(scale):
    A, b = data(2, 9, 8)
    plain, scaled = relaxations(A, b, 3), relaxations(scale * A, scale * b, 3)
    finish(plain)
    finish(scaled)
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.value == pytest.approx(plain.value * scale**2, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (6, 6)])
def test_edges(n, k):
    check(*data(4, 5, n), k)


def test_a_proof_cut_short_has_a_bound():
    proof = relaxations(*data(8, 60, 80), 12)
    bounds = list(itertools.islice(looks(proof), 12))
    assert all(0.0 <= bound <= proof.value for bound in bounds[1:])
    assert bounds == sorted(bounds)
    assert bounds[-1] > 0.5 * proof.value


def conditioned(seed):
    """A small problem with rows of conditions, its Gram matrix about the target, and its optimum by Clarabel."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    A, b = data(seed, 6, n)
    inner = np.zeros(n)
    inner[rng.permutation(n)[:k]] = rng.dirichlet(np.ones(k))
    G = rng.standard_normal((int(rng.integers(1, 3)), n))
    h = G @ inner + rng.choice([0.0, 0.1, 1.0], len(G))
    ridge, most = float(rng.choice([0.0, 0.5])), float(rng.choice([1.0, 0.6]))
    bent, target = np.vstack([A, np.sqrt(ridge) * np.eye(n)]), np.append(b, np.zeros(n))
    best = np.inf
    for count in range(1, k + 1):
        for S in map(list, itertools.combinations(range(n), count)):
            if count * most >= 1.0:
                conditions = {"G": G[:, S], "h": h + 1e-10}
                ones = np.ones(len(target))
                found = least("squared", bent[:, S], target, ones, 0.0, most + 1e-10, conditions)
                best = min(best, found)
    B = A - b[:, None]
    rules = SparseSimplex(Atoms(n), k, max_weight=most, conditions=Conditions(G, h)).rules
    return B.T @ B + ridge * np.eye(n), rules, best


@pytest.mark.parametrize("seed", range(40))
def test_conditions_are_priced_into_the_relaxation(seed):
    H, rules, best = conditioned(seed)
    proof = Relaxations(H, rules)
    for bound in looks(proof):
        assert bound <= best * (1 + 1e-6) + 1e-9
    assert proof.value == pytest.approx(best, rel=1e-6, abs=1e-8)
    assert rules.conditions.holds(np.bincount(proof.support, proof.weights, rules.n))


def test_prices_leave_the_splitting_as_it_is_and_a_condition_that_never_binds_costs_no_look():
    A, b = data(0, 12, 9)
    H = (A - b[:, None]).T @ (A - b[:, None])
    r, rng = begin(9, 3, 5.0), np.random.default_rng(0)
    group, left = np.zeros(9, np.int64), np.array([9])
    places = dnn_admm.Places(r.inside, 3, group, left)
    dnn_admm.rounds(H, r.limits, places, r.beta, iterate(r), 7)
    priced, border = r.reprice(rng.standard_normal(9), 0.3), float(r.Y[0, 0])
    d, w, mu = certificate.splitting(H, border, r.Z)
    after = certificate.splitting(priced.priced(H), border, priced.Z)
    assert after[0] == pytest.approx(d, abs=1e-9)
    assert after[1] == pytest.approx(w - priced.price, abs=1e-9)
    assert after[2] == pytest.approx(mu - 0.3, abs=1e-9)
    free, never = (
        Relaxations(H, SparseSimplex(Atoms(9), 3, conditions=conditions).rules)
        for conditions in (None, Conditions(np.ones((1, 9)), [1.5]))
    )
    assert [*looks(free)] == [*looks(never)]


# certificates


def iterate(r):
    """Where the ADMM of a relaxation stands."""
    return dnn_admm.Iterate(r.Y, r.Z, r.z, r.y)


def multipliers(seed, n, size, H, limits, k, group, left):
    """Any border and symmetric Z, or those of some rounds of the ADMM."""
    Z = size * np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    if seed % 2 == 0:
        return 0.3, Z + Z.T
    r = begin(n, k, 10.0, limits[0, 0])
    places = dnn_admm.Places(r.inside, k, group, left)
    *_, S = dnn_admm.rounds(H, limits, places, 10.0, iterate(r), seed % 40)
    return float(r.Y[0, 0]), S if seed % 4 == 1 else r.Z


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 3), st.floats(0.0, 10.0))
def test_certificates_hold_for_any_multipliers(seed, n, k, size):
    """However wrong the multipliers are, bound, prices and limits are valid."""
    rng = np.random.default_rng(seed)
    A, b = data(seed, n + 1, n)
    B = A - b[:, None]
    H, least, cap = B.T @ B, 0.1 * (seed % 3), int(rng.integers(1, 3))
    limits = np.repeat([[least], [1.0]], n, axis=1)
    group, left = rng.integers(0, 2, n), np.array([cap, cap])
    border, Z = multipliers(seed, n, size, H, limits, k, group, left)
    cutoff = float(rng.uniform(0.5, 2.0) * np.diag(H).mean())
    args = limits, dnn_admm.Places(np.zeros(n, bool), k, group, left), cutoff
    low, price_in, price_out, narrow = certificate.certify(H, border, Z, *args)
    for i in range(n):
        for price, held, barred in ((price_in[i], (i,), ()), (price_out[i], (), (i,))):
            rules = Rules(least, 1.0, held, barred, tuple(group.tolist()), cap)
            best, _ = naive.enumerate_supports(H, np.zeros(n), 0.0, k, rules)
            assert low + price <= best + 1e-9 * np.abs(H).max()
    for S in naive.allowed(n, k, Rules(least, 1.0, (), (), tuple(group.tolist()), cap)):
        for q in least + (1.0 - least * len(S)) * rng.dirichlet(np.ones(len(S)), 5):
            if q @ H[np.ix_(S, S)] @ q < cutoff:
                assert (q >= narrow[0, S] - 1e-12).all()
                assert (q <= narrow[1, S] + 1e-12).all()


@given(st.lists(st.floats(-1.0, 100.0), min_size=1, max_size=9), st.floats(0.0, 1.0))
def test_eigenvalues_lose_as_much_as_is_asked(values, share):
    e = np.sort(np.maximum(values, 0.0))
    kept = shrunk(np.sort(values), share * e.sum())
    assert kept.sum() == pytest.approx((1.0 - share) * e.sum(), rel=1e-9, abs=1e-9)
    assert (kept >= 0.0).all()
    assert (kept <= e).all()
    assert (np.diff(kept) >= -1e-12 * e[-1]).all()
    assert (shrunk(np.sort(values), 1.01 * e.sum() + 1e-9) <= 1e-12 * e[-1]).all()


def kernel_gram(seed, n, width):
    """Rows against their mean in the feature space of a normal kernel, (n, n)."""
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    K = np.exp(-((rows[:, None] - rows) ** 2).sum(2) / width)
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean()


@pytest.mark.parametrize(
    ("seed", "k", "least"), [(0, 2, 0.0), (1, 3, 0.0), (2, 3, 0.2), (3, 4, 0.0)]
)
def test_bounds_from_the_best_value_equal_enumeration(seed, k, least):
    """`finish` checks the bound at every look, from the first on.

    a value that is not the best starts it as well.
    """
    H, rules = kernel_gram(seed, 11, 8.0), Rules(least, 1.0, (seed,))
    best, _ = naive.enumerate_supports(H, np.zeros(11), 0.0, k, rules)
    proof = Relaxations(H, rules.constraint(11, k).rules, True)
    units = np.unique([seed, *range(k)])[-k:] if seed < k else np.append(np.arange(k - 1), seed)
    assert proof.offer(units, np.full(k, 1.0 / k))
    assert finish(proof, best) == pytest.approx(best, rel=1e-7)
    assert proof.value == pytest.approx(best, rel=1e-7)


def swapped(H, k):
    """The value that the best swaps end at."""

    def value(units):
        w = simplex_weights(H[np.ix_(units, units)], np.zeros(k))
        return w @ H[np.ix_(units, units)] @ w

    units, best = list(range(k)), value(range(k))
    for at in [*range(k)] * 3:
        options = [[*units[:at], i, *units[at + 1 :]] for i in range(len(H)) if i not in units]
        found = min(options, key=value)
        units, best = (found, value(found)) if value(found) < best else (units, best)
    return best


@pytest.mark.parametrize("precise", [True, False])
def test_the_start_from_the_best_value_saves_most_of_the_rounds(monkeypatch, precise):
    """Ten rounds from there give more than twenty-five from no multipliers, in single precision too."""
    H, k, n = kernel_gram(0, 80, 8.0), 6, 80
    scaled, far = H / np.diag(H).mean(), begin(n, k, 1.0)
    value = swapped(scaled, k)
    if not precise:
        monkeypatch.setattr(dnn_admm, "WIDE", 0)
    places = dnn_admm.Places(far.inside, k, np.zeros(n, np.int64), np.array([n]))
    low = []
    for start, rounds in ((spectral_start(scaled, k, value, float(far.Y[0, 0])), 10), (None, 25)):
        Y, Z, y, beta = start or (far.Y, far.Z, far.y, 0.5 * np.linalg.norm(scaled) ** 1.5)
        at = dnn_admm.Iterate(Y, Z, far.z.copy(), y)
        _, _, S = dnn_admm.rounds(scaled, far.limits, places, beta, at, rounds)
        low.append(certificate.certify(scaled, float(Y[0, 0]), S, far.limits, places, value)[0])
    assert max(low[1], 0.3 * value) < low[0] < value
