"""AIX360: its ProtoDash is measured as an algorithm (protodash.py).

The package itself is not installed.
"""

from peers import Found, Peer


def absent(problem: object, k: int, seed: int, seconds: float) -> Found:
    raise NotImplementedError


PEER = Peer(
    "AIX360",
    ("aix360",),
    {"digits": {"ProtoDash": absent}},
    skip=(
        "pins an old SciPy that Python 3.11 and NumPy 2 cannot have; see ProtoDash for its"
        " algorithm"
    ),
)
