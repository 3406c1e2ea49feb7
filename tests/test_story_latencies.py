"""Latencies: from a csv to a distribution in JSON and back, in the library and in the terminal, with equal answers."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import fewer
from commands import run

pytest.importorskip("matplotlib").use("Agg")
EXAMPLE = Path(__file__).parents[1] / "examples" / "latencies.py"


@pytest.fixture(scope="module")
def story():
    spec = importlib.util.spec_from_file_location("latencies", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_story_in_the_library_and_in_the_terminal(story, tmp_path, capsys):
    source, folder = tmp_path / "requests.csv", tmp_path / "kept"
    story.made_up(source, n=8000)
    facts = story.main(str(source), str(folder))
    assert "Optimal (proven)." in capsys.readouterr().out
    for name, tolerance in (("mean", 0.005), ("p50", 0.01), ("p95", 0.02), ("p99", 0.02)):
        before, after = facts[name]
        assert after == pytest.approx(before, rel=tolerance), name
    assert (folder / "latencies.json").stat().st_size < source.stat().st_size / 4
    assert (folder / "latencies.png").exists()
    kept = fewer.Distribution.load(folder / "latencies.json")
    ms = np.loadtxt(source, skiprows=1)
    assert kept.to_dict() == fewer.bins(ms, 50).distribution.to_dict()
    assert set(kept.sample(1000, rng=0)) <= set(ms)
    run("bins", source, "-k", "50", "-o", tmp_path / "out.json", "--quiet")
    answer = json.loads((tmp_path / "out.json").read_text())["answers"][0]
    assert fewer.Distribution.from_dict(answer["distribution"]).to_dict() == kept.to_dict()
    run("bins", source, "-k", "50", "-o", tmp_path / "out.npz", "--quiet")
    assert fewer.Distribution.load(tmp_path / "out.npz").to_dict() == kept.to_dict()
