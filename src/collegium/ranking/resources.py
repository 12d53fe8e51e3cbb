"""What features are computed from besides query and candidate: benchmark table and TF-IDF weights.

They belong to a model and are stored beside it, as JSON and safetensors; their digest is part of
the feature schema.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from collegium.core import Chunk, CorruptDataError, NotFoundError
from collegium.core.ids import Json, canonical_json
from collegium.ranking.producers import BenchmarkTable
from collegium.ranking.schema import PARTS
from collegium.ranking.texts import Vectoriser, fit_vectoriser
from collegium.store.files import write_text, write_whole

_TABLE = "resources.json"
_WEIGHTS = "idf.safetensors"


@dataclass(frozen=True)
class FeatureResources:
    """Benchmark scores of the producers, and one vectoriser a part."""

    benchmarks: BenchmarkTable
    vectorisers: Mapping[str, Vectoriser]
    """By the names of `PARTS`."""

    @cached_property
    def digest(self) -> str:
        """Content id of both."""
        digest = hashlib.sha256(canonical_json(self.plain()).encode())
        for part in PARTS:
            digest.update(self.vectorisers[part].idf.astype("<f8").tobytes())
        return digest.hexdigest()[:32]

    def plain(self) -> dict[str, Json]:
        """Return what is stored as JSON: everything but the IDF weights."""
        return {
            "benchmarks": self.benchmarks.model_dump(mode="json"),
            "vocabularies": {part: list(self.vectorisers[part].vocabulary) for part in PARTS},
        }


def fit_resources(chunks: Iterable[Chunk], benchmarks: BenchmarkTable) -> FeatureResources:
    """Fit the vectorisers on the keys of an index."""
    keys = [(chunk.key_text, chunk.goal, chunk.state, chunk.context) for chunk in chunks]
    fitted = {part: fit_vectoriser([key[i] for key in keys]) for i, part in enumerate(PARTS)}
    return FeatureResources(benchmarks, fitted)


def save_resources(resources: FeatureResources, folder: Path) -> None:
    """Write `resources` into `folder`."""
    from safetensors.numpy import save

    idf = {part: resources.vectorisers[part].idf for part in PARTS}
    write_whole(folder / _WEIGHTS, lambda out: out.write(save(idf)))
    text = json.dumps(resources.plain(), ensure_ascii=False, indent=1)
    write_text(folder / _TABLE, text + "\n")


def load_resources(folder: Path) -> FeatureResources:
    """Return what `save_resources` wrote.

    Raises:
        NotFoundError: A file is missing.
        CorruptDataError: A file cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        plain = json.loads((folder / _TABLE).read_text(encoding="utf-8"))
        idf = load((folder / _WEIGHTS).read_bytes())
        vectorisers = {
            part: Vectoriser(tuple(plain["vocabularies"][part]), np.asarray(idf[part], np.float64))
            for part in PARTS
        }
        benchmarks = BenchmarkTable.model_validate(plain["benchmarks"])
    except FileNotFoundError as error:
        raise NotFoundError(f"{error.filename} is not there: train the ranker again") from None
    except (ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CorruptDataError(f"{folder}: resources cannot be read ({error!r})") from None
    return FeatureResources(benchmarks, vectorisers)
