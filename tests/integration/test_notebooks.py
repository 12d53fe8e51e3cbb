"""Every notebook runs from top to bottom on a synthetic run directory."""

from pathlib import Path

import pytest
from synthetic_runs import synthetic_run

nbformat = pytest.importorskip("nbformat", reason="needs collegium[notebook]")
nbclient = pytest.importorskip("nbclient", reason="needs collegium[notebook]")

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    run = synthetic_run(tmp_path / "run")
    monkeypatch.setenv("COLLEGIUM_RUN", run.path)
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output["data"] for output in outputs if output["output_type"] == "display_data"]
    assert any("**Results**" in data.get("text/markdown", "") for data in shown)
    assert sum("<svg" in data.get("text/html", "") for data in shown) == 6
