"""Every notebook runs from top to bottom on synthetic run directories."""

from pathlib import Path

import pytest
from synthetic_runs import synthetic_run
from synthetic_studies import study_runs

from collegium.evaluation.analyses.study import STUDY, study

nbformat = pytest.importorskip("nbformat", reason="needs collegium[notebook]")
nbclient = pytest.importorskip("nbclient", reason="needs collegium[notebook]")

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

pytestmark = pytest.mark.integration


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Run a notebook and return what it displayed."""

    def run(name, **environment):
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
        client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
        client.execute(cwd=str(tmp_path))
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        return [output["data"] for output in outputs if output["output_type"] == "display_data"]

    return run


def drawn(shown):
    return sum("<svg" in data.get("text/html", "") for data in shown)


def test_one_run_is_redrawn(shown, tmp_path):
    found = shown("matm.ipynb", COLLEGIUM_RUN=synthetic_run(tmp_path / "run").path)
    assert any("**Results**" in data.get("text/markdown", "") for data in found)
    assert drawn(found) == 6


def test_the_analyses_are_redrawn(shown, tmp_path):
    runs = study_runs(tmp_path)
    runs.main[0].write_text(STUDY, study(runs).model_dump_json())
    found = shown("matm_analyses.ipynb", COLLEGIUM_STUDY=runs.main[0].path)
    assert any("**Findings of the paper**" in data.get("text/markdown", "") for data in found)
    assert drawn(found) >= 9


def test_every_notebook_is_run_here():
    assert {path.name for path in NOTEBOOKS.glob("*.ipynb")} == {
        "matm.ipynb",
        "matm_analyses.ipynb",
    }
