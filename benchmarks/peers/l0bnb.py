"""l0bnb, by the authors of L0Learn (an R package without a Python one): listed with the reason why it does not run."""

from peers import Found, Peer


def absent(problem: object, k: int, seed: int, seconds: float) -> Found:
    raise NotImplementedError


PEER = Peer(
    "l0bnb",
    ("l0bnb",),
    {"terms": {"branch and bound": absent}},
    skip=(
        "its compiled code uses np.Inf, which NumPy 2 has not; L0Learn itself has no Python"
        " package; see abess"
    ),
)
