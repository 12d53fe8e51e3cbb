"""The features bench runs whole, at a small size, and judges by its targets."""

from collegium.evaluation.benchmarks import features


def test_the_bench_gives_all_figures():
    result = features.run(games=12, requests=8)
    assert set(result.targets) == {"features_p50_ms", "rank_p50_ms"}
    kinds = {f"{kind}_p50_ms" for kind in ("lambdamart", "svmrank", "ffn")}
    assert kinds < set(result.figures)
    assert all(figure is not None and figure >= 0 for figure in result.figures.values())
    assert result.figures["rank_p50_ms"] == max(result.figures[kind] for kind in kinds)
