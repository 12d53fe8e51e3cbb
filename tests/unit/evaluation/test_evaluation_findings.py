"""The findings' verdicts follow the intervals, and a study reads run directories."""

import pytest
from synthetic_studies import study_runs, write_evaluation

from collegium.core import CorruptDataError, InvalidInputError
from collegium.evaluation.analyses.checking import POINTS, Claim, directed
from collegium.evaluation.analyses.figures import study_figures
from collegium.evaluation.analyses.page import study_markdown, study_page
from collegium.evaluation.analyses.study import STUDY, StudyRuns, read_study, study
from collegium.evaluation.analyses.tables import study_tables
from collegium.evaluation.records import Estimate
from collegium.evaluation.report.run_info import read_run_info

CLAIM = Claim("§0", "it rises", "+1")


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((0.1, 0.02, 0.2), "confirmed"),
        ((0.1, 0.0, 0.2), "not confirmed"),
        ((0.1, -0.02, 0.2), "not confirmed"),
        ((-0.1, -0.2, -0.02), "not confirmed"),
        ((0.1, None, 0.2), "not confirmed"),
        ((None, None, None), "not testable"),
    ],
)
def test_a_direction_is_confirmed_by_its_whole_interval(ends, verdict):
    value, low, high = ends
    found = directed(CLAIM, Estimate(value=value, low=low, high=high), POINTS)
    assert found.verdict == verdict
    falling = POINTS._replace(better=-1)
    if value == -0.1:
        assert directed(CLAIM, found.estimate, falling).verdict == "confirmed"


@pytest.fixture
def runs(tmp_path):
    return study_runs(tmp_path)


def test_a_study_says_what_is_confirmed(runs):
    found = study(runs)
    verdicts = {each.claim: each.verdict for each in found.findings}
    assert verdicts["Retrieval solves more than no retrieval"] == "confirmed"
    assert verdicts["Retrieval takes fewer steps"] == "confirmed"
    assert verdicts["svmrank solves more than similarity"] == "confirmed"
    assert verdicts["ffn solves more than similarity"] == "not testable"
    assert verdicts["All chunks solve more than those of the own task type"] == "not confirmed"
    assert verdicts["The own task type solves more than the others"] == "confirmed"
    assert verdicts["Other task types alone solve more than no retrieval"] == "not confirmed"
    assert verdicts["The oracle solves more than retrieval"] == "confirmed"
    assert verdicts["The larger the memory, the more is solved"] == "confirmed"
    assert verdicts["Late contributors are retrieved beyond their share"] == "confirmed"
    assert verdicts["Every producer is retrieved at least once"] == "not confirmed"
    assert verdicts["Rankers go by producer metadata beside similarity"] == "not testable"
    assert [one.verdict.status for one in found.judged] == ["pass"]
    assert {row.arm for row in found.modes} == {"retrieval", "svmrank", "oracle"}
    assert {row.silent for row in found.modes} == {0.0}
    gains = {(g.arm, g.minimum): g for g in found.advantages}
    gaps = {(p.producer, p.consumer): p.gap for p in gains["retrieval", 1].pairs}
    assert gaps["a", "b"] == pytest.approx(-40)
    assert gaps["explorer", "a"] is None


def test_a_study_without_the_rest_leaves_it_out(runs):
    found = study(StudyRuns(main=runs.main))
    assert found.scopes is None
    assert found.memory is None
    titles = [table.title for table in study_tables(found)]
    assert titles[0] == "Findings of the paper"
    assert not {"Retrieval scopes", "Memory size", "What rankers go by"} & set(titles)


def test_a_ranker_that_training_refused_is_told_with_the_reason(runs):
    refused = {"key": "ffn", "mode": "ffn", "scope": "full", "fraction": 1.0, "refused": "constant"}
    runs.main[0].append("arms", [refused])
    here = {each.claim: each.here for each in study(runs).findings}
    assert here["ffn solves more than similarity"] == "not played: constant"


def test_every_table_and_figure_is_drawn(runs):
    pytest.importorskip("matplotlib")
    found = study(runs)
    names = [figure.name for figure in study_figures(found)]
    assert {"modes", "advantage", "effective-producers", "scopes", "memory-sizes"} <= set(names)
    assert len(set(names)) == len(names)
    page = study_page(found, read_run_info(runs.main[0]), study_figures(found))
    assert page.count("<table>") == len(study_tables(found))
    assert "<script" not in page
    markdown = study_markdown(found)
    assert "**Retrieval scopes**" in markdown
    assert markdown.index("**Findings of the paper**") < markdown.index("**Main table**")


def test_runs_that_differ_about_an_arm_do_not_go_together(runs, tmp_path):
    other = write_evaluation(
        tmp_path / "other", {"retrieval": 3}, [{"name": "retrieval", "scope": "same_task"}]
    )
    with pytest.raises(InvalidInputError, match="do not go together"):
        study(runs._replace(modes=[other]))


def test_a_stored_study_reads_back(runs):
    run, found = runs.main[0], study(runs)
    run.write_text(STUDY, found.model_dump_json())
    assert read_study(run) == found == study(runs)
    run.write_text(STUDY, "{}")
    with pytest.raises(CorruptDataError, match="analyse the runs again"):
        read_study(run)
