"""The bench of serving runs, on a few calls: real processes, and figures for each kind of call."""

import pytest

from collegium.evaluation.benchmarks import serve

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


def test_the_bench_measures_what_it_says(monkeypatch):
    for name, few in (("ROUNDS", 1), ("ALONE", 3), ("TOGETHER", 40)):
        monkeypatch.setattr(serve, name, few)
    result = serve.run()
    assert result.bench == "serve"
    for kind in ("noop", "read", "contribute"):
        for figure in ("p50_ms", "alone_per_s", "per_s"):
            name = f"{kind}_{figure}"
            assert result.figures[name] > 0
            assert (f"{name}_ratio" in result.figures) == (kind != "noop")
    assert set(result.targets) <= set(result.figures)
