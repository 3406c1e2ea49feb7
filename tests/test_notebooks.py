"""The notebooks run, and show tables, bars and pictures."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_job_and_none_holds_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["bins", "dims", "points", "terms"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


def test_they_run_and_show_what_they_should():
    """All in one kernel, which forgets everything between two of them: starting four takes longer than running them."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    whole, parts = nbformat.v4.new_notebook(), {}
    for path in NOTEBOOKS:
        parts[path.stem] = [
            cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
        ]
        whole.cells += [nbformat.v4.new_code_cell("%reset -f"), *parts[path.stem]]
    nbclient.NotebookClient(whole, timeout=120, kernel_name="python3").execute()
    for name, cells in parts.items():
        outputs = [output for cell in cells for output in cell.outputs]
        data = [output["data"] for output in outputs if "data" in output]
        assert any("<caption" in shown.get("text/html", "") for shown in data), name
        widgets = [shown for shown in data if "application/vnd.jupyter.widget-view+json" in shown]
        lines = [output.text for output in outputs if output.output_type == "stream"]
        assert widgets or any("value" in line for line in lines), f"{name} shows no bar"
        assert any("image/png" in shown for shown in data), name
        assert not [output for output in outputs if output.get("name") == "stderr"], name
