"""How far apart the answers of `points` to few rows are, over seeds: 20 inputs of 60 to 300 rows.

    python benchmarks/small_points.py [--seeds 10] [--against COMMIT]

For each input: the lowest value of all seeds (and versions), the mean and the highest value divided by it, and the mean
CPU seconds of a call; at the end the geometric means. With --against the same for another version, in turn, each in one
warm process on one thread; a referee judges both (benchmarks/referee.py).
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

from referee import Mmd
from versions import ROOT, Version, tree_of


def made(kind: str, n: int, d: int, seed: int) -> Any:
    """Rows of a kind, (n, d)."""
    rng = np.random.default_rng(seed)
    if kind == "clusters":
        return rng.normal(scale=3.0, size=(6, d))[rng.integers(6, size=n)] + rng.normal(size=(n, d))
    return np.exp(rng.normal(size=(n, d))) if kind == "skewed" else rng.normal(size=(n, d))


def inputs() -> Iterator[tuple[str, Any, int]]:
    """(name, rows, k)."""
    shapes = [(60, 2, 5), (100, 2, 10), (100, 4, 10), (150, 3, 15), (200, 2, 10), (200, 8, 20)]
    for seed, kind in enumerate(("normal", "clusters", "skewed")):
        for n, d, k in shapes[: 6 if kind != "skewed" else 4]:
            yield f"{kind}, {n} x {d}", made(kind, n, d, seed), k
    for name, X, k in (("iris", load_iris().data, 12), ("wine", load_wine().data, 13)):
        yield f"{name}, {X.shape[0]} x {X.shape[1]}", (X - X.mean(axis=0)) / X.std(axis=0), k
    yield "digits, 150 x 64", load_digits().data[:150] / 16.0, 10
    yield "normal, 300 x 4", made("normal", 300, 4, 9), 10


def measured(
    versions: list[Version], path: Path, X: Any, k: int, seeds: int
) -> dict[str, tuple[Any, float]]:
    """For each version the values of all seeds, and the mean CPU seconds."""
    judge = Mmd(X)
    np.savez(path, **{"0": X})
    found: dict[str, tuple[list[float], list[float]]] = {
        version.name: ([], []) for version in versions
    }
    for version in versions:
        version.ask(job="points", input=str(path), k=k, options={}, seed=0)  # compile
    for seed in range(seeds):
        for version in versions:
            answer = version.ask(job="points", input=str(path), k=k, options={}, seed=seed)
            if "error" in answer:
                raise SystemExit(f"{version.name}: {answer['error']}")
            units, weights = np.array(answer["indices"]), np.array(answer["weights"])
            found[version.name][0].append(judge.judge(units, weights))
            found[version.name][1].append(answer["seconds"])
    return {
        name: (np.array(values), float(np.mean(seconds)))
        for name, (values, seconds) in found.items()
    }


def main() -> None:
    """One line for each input and version."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--against", metavar="COMMIT")
    args = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        versions = [Version("here", ROOT)]
        if args.against:
            tree = stack.enter_context(tree_of(args.against, folder))
            versions.append(Version(args.against, tree, folder / "cache"))
        for version in versions:
            stack.callback(version.end)
        kept: dict[str, list[tuple[float, float, float]]] = {
            version.name: [] for version in versions
        }
        print("| input | k | version | lowest | mean / lowest | highest / lowest | seconds |")
        print("|---" * 7 + "|")
        for number, (name, X, k) in enumerate(inputs()):
            found = measured(versions, folder / f"{number}.npz", X, k, args.seeds)
            lowest = min(values.min() for values, _ in found.values())
            for version, (values, seconds) in found.items():
                row = float(values.mean() / lowest), float(values.max() / lowest), seconds
                kept[version].append(row)
                print(
                    f"| {name} | {k} | {version} | {lowest:.4g} | {row[0]:.3f} | {row[1]:.3f} | {row[2]:.3f} |",
                    flush=True,
                )
        for version, rows in kept.items():
            means = np.exp(np.log(np.array(rows)).mean(axis=0))
            print(
                f"| geometric mean | | {version} | | {means[0]:.3f} | {means[1]:.3f} | {means[2]:.3f} |"
            )


if __name__ == "__main__":
    main()
