"""The proof for k weighted places: against enumeration, with every bound checked at every step."""

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from fewer._compiled.active_set import simplex_quadratic
from fewer._compiled.box_gap import box_gap, fill
from fewer.solvers._sparse_proof import SparseProof, begin
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_proof as naive
from fewer import Atoms, InvalidInput, SparseSimplex
from fewer._compiled import certificate, doubly
from fewer._compiled.box_quadratic import box_quadratic

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
        bounds = self.min_weight, self.max_weight, list(self.include), list(self.exclude), self.groups, cap
        return SparseSimplex(Atoms(n), k, *bounds)


def proof_of(H, c, const, k, rules=None, support=None, weights=None):
    return SparseProof(H, c, const, (rules or Rules()).constraint(len(c), k), support, weights)


def data(seed, rows, n, scale=1.0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, n)) + rng.normal(size=(rows, 1))
    b = A @ rng.dirichlet(np.ones(n)) + 0.3 * rng.normal(size=rows)
    return scale * A, scale * b


def gram(A, b):
    return A.T @ A, A.T @ b, float(b @ b)


def finish(proof, optimum=None, limit=4000):
    """Step to the end; bounds never fall, never pass the optimum."""
    last, tiny = -np.inf, 1e-12 * proof._scale
    while not proof.done:
        proof.step()
        limit -= 1
        assert limit, "no end in sight"
        assert proof.bound >= min(last, proof.value * (1 - 1e-9)) - tiny
        last = proof.bound
        assert proof.bound <= proof.value
        if optimum is not None:
            assert proof.bound <= optimum * (1 + 1e-10) + tiny
    return proof


def check(A, b, k, rules):
    H, c, const = gram(A, b)
    optimum, _ = naive.enumerate_supports(H, c, const, k, rules)
    if np.isinf(optimum):
        with pytest.raises(InvalidInput):
            rules.constraint(len(c), k)
        return None
    proof = finish(proof_of(H, c, const, k, rules), optimum)
    tiny = 1e-12 * np.square(A - b[:, None]).sum(0).mean()
    assert proof.value == pytest.approx(optimum, rel=1e-9, abs=tiny)
    assert proof.value - proof.bound <= 1e-9 * proof.value + tiny
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
    "plain": Rules(),
    "least": Rules(min_weight=0.2),
    "most": Rules(max_weight=0.4),
    "both": Rules(min_weight=0.15, max_weight=0.5),
    "include": Rules(include=(0, 5)),
    "exclude": Rules(exclude=(1, 2)),
    "groups": Rules(groups=(0, 0, 0, 1, 1, 2, 2)),
    "all": Rules(0.1, 0.6, (3,), (6,), (0, 0, 1, 1, 2, 2, 3), 1),
    "tight": Rules(min_weight=0.25, max_weight=0.25),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_equals_enumeration(name, k):
    rules = RULES[name]
    if len(rules.include) > k:
        pytest.skip("more included than places")
    for seed in range(3):
        check(*data(seed, 9, 7), k, rules)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1, 0.3]),
    st.sampled_from([0.35, 0.6, 1.0]),
)
def test_equals_enumeration_anywhere(seed, rows, n, k, least, most):
    if least <= most:
        check(*data(seed, rows, n), min(k, n), Rules(least, most))


@pytest.mark.parametrize("seed", range(4))
def test_equals_enumeration_of_many_supports(seed):
    """All 4845 supports of 4 in 20, each solved exactly."""
    A, b = data(seed, [8, 15, 30, 60][seed], 20)
    B = A - b[:, None]
    H, zero = B.T @ B, np.zeros(4)
    optimum = np.inf
    for S in itertools.combinations(range(20), 4):
        G = np.ascontiguousarray(H[np.ix_(S, S)])
        q, _ = simplex_quadratic(G, zero, zero)
        optimum = min(optimum, float(q @ G @ q))
    proof = finish(proof_of(*gram(A, b), 4), optimum)
    assert proof.value == pytest.approx(optimum, rel=1e-9)


def test_binding_caps_keep_the_bound_tight():
    """Weight limits and group caps are part of the relaxation, not only of its rounding."""
    A, b = data(11, 60, 24)
    rules = Rules(max_weight=0.2, groups=[i % 4 for i in range(24)], group_cap=2)
    proof = finish(proof_of(*gram(A, b), 9, rules), limit=20_000)
    obeys(proof, A, b, 9, rules)


@pytest.mark.parametrize("k", [1, 3])
def test_duplicate_columns(k):
    A, b = data(3, 8, 4)
    check(np.hstack([A, A[:, :3]]), b, k, Rules())


def test_every_column_thrice():
    A, b = data(6, 12, 6)
    once = finish(proof_of(*gram(A, b), 3))
    thrice = finish(proof_of(*gram(np.hstack([A, A, A]), b), 3))
    assert thrice.value == pytest.approx(once.value, rel=1e-9)


def test_columns_of_very_different_size():
    A, b = data(9, 9, 8)
    check(A * 10.0 ** np.arange(-2, 6), b, 3, Rules())


@pytest.mark.parametrize("k", [1, 2, 4])
def test_more_columns_than_rows(k):
    check(*data(5, 3, 8), k, Rules())


def test_target_is_a_mixture_of_columns():
    A, _ = data(1, 6, 8)
    b = 0.5 * A[:, 2] + 0.3 * A[:, 4] + 0.2 * A[:, 6]
    proof = check(A, b, 3, Rules())
    assert proof.support.tolist() == [2, 4, 6]


def test_all_columns_are_the_target():
    b = np.array([1.0, 2.0])
    proof = finish(proof_of(*gram(np.tile(b[:, None], 3), b), 2))
    assert proof.value == 0.0 == proof.bound


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e4, 1e8])
def test_scale(scale):
    A, b = data(2, 9, 8)
    plain = finish(proof_of(*gram(A, b), 3))
    scaled = finish(proof_of(*gram(scale * A, scale * b), 3))
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.value == pytest.approx(plain.value * scale**2, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (6, 6)])
def test_edges(n, k):
    check(*data(4, 5, n), k, Rules())


def test_incumbent_is_kept_and_beaten():
    A, b = data(7, 12, 9)
    H, c, const = gram(A, b)
    best = finish(proof_of(H, c, const, 3))
    proof = proof_of(H, c, const, 3, support=best.support, weights=best.weights)
    assert proof.value == best.value
    assert not proof.offer(np.array([0]), np.array([1.0]))
    assert finish(proof).support.tolist() == best.support.tolist()


def test_time_stop():
    A, b = data(8, 60, 80)
    proof = proof_of(*gram(A, b), 12)
    proof.step()  # compiles
    start = time.thread_time()
    while not proof.done and time.thread_time() - start < 0.5:
        proof.step()
        assert 0.0 <= proof.bound <= proof.value
    assert time.thread_time() - start < 2.0
    assert proof.bound > 0.0


@pytest.mark.parametrize(
    ("name", "k", "value"),
    [
        ("orlib1_hangseng31_prices", 5, 0.0118070577),
        ("orlib1_hangseng31_prices", 10, 0.0039582396),
        ("orlib3_ftse89_prices", 20, 0.0027329088),
    ],
)
def test_index_tracking(name, k, value):
    if not DATA.exists():
        pytest.skip("no index tracking data")
    P = np.load(DATA, allow_pickle=False)[name]
    R = P[1:] / P[:-1] - 1
    proof = finish(proof_of(*gram(R[:, 1:], R[:, 0]), k))
    assert proof.value == pytest.approx(value, rel=1e-7)


def test_arguments_are_untouched():
    H, c, const = gram(*data(0, 9, 8))
    before = H.copy(), c.copy()
    finish(proof_of(H, c, const, 3))
    assert (before[0] == H).all()
    assert (c == before[1]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 3), st.floats(0.0, 10.0))
def test_certify_holds_for_any_multipliers(seed, n, k, size):
    """However wrong the multipliers are, bound and prices are valid."""
    rng = np.random.default_rng(seed)
    A, b = data(seed, n + 1, n)
    B = A - b[:, None]
    H = B.T @ B
    Z, border = size * rng.normal(size=(n + 1, n + 1)), 0.3
    Z = Z + Z.T
    limits = np.repeat([[0.1 * (seed % 3)], [1.0]], n, axis=1)
    cap = int(rng.integers(1, 3))
    group, left = rng.integers(0, 2, n), np.array([cap, cap])
    if seed % 2:  # and when they come from the ADMM
        r = begin(np.arange(n), np.zeros(n, bool), (limits[0, 0], 1.0), k, 10.0)
        doubly.sweep(H, limits, r.inside, k, group, left, 10.0, r.Y, r.Z, r.z, r.y, seed % 40)
        Z, border = r.Z, r.Y[0, 0]
    cutoff = float(rng.uniform(0.5, 2.0) * np.diag(H).mean())
    low, price_in, price_out, narrow = certificate.certify(
        H, border, Z, limits, np.zeros(n, bool), k, group, left, cutoff
    )
    least = limits[0, 0]
    zero = np.zeros(n)
    for i in range(n):
        for price, rules in (
            (price_in[i], Rules(least, 1.0, (i,), (), group.tolist(), cap)),
            (price_out[i], Rules(least, 1.0, (), (i,), group.tolist(), cap)),
        ):
            best, _ = naive.enumerate_supports(H, zero, 0.0, k, rules)
            assert low + price <= best + 1e-9 * np.abs(H).max()
    for S in naive.allowed(n, k, Rules(least, 1.0, (), (), group.tolist(), cap)):
        for q in least + (1.0 - least * len(S)) * rng.dirichlet(np.ones(len(S)), 5 if least * len(S) < 1.0 else 0):
            if q @ H[np.ix_(S, S)] @ q < cutoff:
                assert (q >= narrow[0, S] - 1e-12).all()
                assert (q <= narrow[1, S] + 1e-12).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 5))
def test_box_quadratic_equals_faces(seed, size, rows):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(rows, size))
    c = A.T @ rng.normal(size=rows)
    lower = rng.choice([0.0, 0.1, 0.2], size)
    upper = np.maximum(lower, rng.choice([0.3, 0.5, 1.0], size))
    if lower.sum() > 1 or upper.sum() < 1:
        return
    H = A.T @ A
    w, _ = box_quadratic(H, c, lower, upper, fill(np.diag(H) - 2.0 * c, lower, upper))
    gap = box_gap(H, c, lower, upper, w)
    best, _ = naive.box_minimum(H, c, lower, upper)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (w >= lower).all()
    assert (w <= upper).all()
    assert w @ H @ w - 2 * c @ w == pytest.approx(best, abs=1e-10 * (1 + abs(H).max()))
    assert gap <= 1e-10 * (1 + np.abs(H).max() + np.abs(c).max())


def test_psd_on_face():
    rng = np.random.default_rng(0)
    for m in (1, 2, 5, 12):
        T = rng.normal(size=(m + 1, m + 1))
        T += T.T
        border = 0.3
        a = np.append(-1 / np.sqrt(border), np.ones(m))
        expected = naive.psd_on_face(T, a)
        assert doubly.psd_on_face(T.copy(), doubly.mirror(border, m)) == pytest.approx(expected, abs=1e-12)


def test_psd_pair():
    rng = np.random.default_rng(1)
    for x, q, z in rng.normal(size=(200, 3)):
        values, vectors = np.linalg.eigh([[x, max(q, 0)], [max(q, 0), z]])
        P = (vectors * np.maximum(values, 0)) @ vectors.T
        expected = (P[0, 0], P[0, 1], P[1, 1])
        assert doubly.psd_pair(x, q, z) == pytest.approx(expected, abs=1e-12)


def nearest(point, found, others):
    """Whether `found` is the projection of `point` onto a convex set that holds `others`."""
    assert ((point - found) @ (others - found).T <= 1e-9 * (1.0 + np.abs(point).max()) ** 2).all()


def test_hull_pair():
    rng = np.random.default_rng(4)
    norm = np.array([1.0, np.sqrt(2.0), 1.0])
    for point in rng.normal(size=(300, 3)):
        low, high = rng.choice([0.0, 0.3, 0.9]), rng.choice([0.9, 1.5])
        found = np.array(doubly.hull_pair(*point, low, high))
        t = rng.uniform(low, high, 50)
        rays = 3.0 * rng.random((50, 1)) * np.column_stack([t**2, t, np.ones(50)])
        nearest(point * norm, found * norm, np.vstack([rays, [low**2, low, 1.0], [high**2, high, 1.0]]) * norm)
        x, q, z = found
        assert min(found) >= 0.0
        assert x * z >= q * q - 1e-9
        assert x <= (low + high) * q - low * high * z + 1e-9


def test_capped():
    rng = np.random.default_rng(2)
    for _ in range(50):
        v, inside = rng.normal(size=8), rng.random(8) < 0.2
        group, left, room = rng.integers(0, 3, 8), rng.integers(0, 3, 3), int(rng.integers(0, 4))
        found = doubly.capped(v, inside, room, group, left, 0.7)
        assert (found[inside] == 0.7).all()
        free = ~inside
        supports = rng.random((4000, 8)) * (rng.random((4000, 8)) < 0.5) * 0.7 * free
        sums = np.array([np.bincount(group, row, 3) for row in np.vstack([supports, found * free])])
        fits = (sums <= left * 0.7 + 1e-11).all(1) & (sums.sum(1) <= room * 0.7 + 1e-11)
        assert fits[-1]
        nearest((v * free), found * free, supports[fits[:-1]])


def test_choose():
    rng = np.random.default_rng(3)
    for _ in range(100):
        gains, inside = rng.normal(size=7), rng.random(7) < 0.2
        group, left = rng.integers(0, 3, 7), rng.integers(0, 3, 3)
        room = int(rng.integers(0, 4))
        chosen = certificate.choose(gains, inside, room, group, left)
        expected = naive.largest_gain(gains, inside, room, group, left)
        assert gains[chosen].sum() == pytest.approx(expected, abs=1e-12)
