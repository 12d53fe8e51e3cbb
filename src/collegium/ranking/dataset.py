"""All that rankers are trained from: labels, the features of their candidates, the schema.

Labels and memory come from one run, so that the vectorisers are fitted on the index whose chunks
were labelled, and every producer in it has a column.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from collegium.core import Agent, Chunk, InvalidInputError
from collegium.embedding import Embedder
from collegium.experience.labels import UtilityLabel
from collegium.ranking.extras import require_ranking
from collegium.ranking.features import FeatureExtractor
from collegium.ranking.groups import (
    GroupCounts,
    Target,
    TrainingSet,
    collect_groups,
    training_set,
)
from collegium.ranking.personal import clone_group
from collegium.ranking.producers import benchmark_table
from collegium.ranking.resources import FeatureResources, fit_resources
from collegium.ranking.schema import FeatureSchema
from collegium.ranking.training import labels_digest


class RankingData:
    """Labels with everything that their features need."""

    def __init__(
        self,
        labels: Iterable[UtilityLabel],
        chunks: Iterable[Chunk],
        agents: Sequence[Agent],
        embedder: Embedder,
        benchmarks: Path | None = None,
    ) -> None:
        """Fit the resources on an index.

        Args:
            labels: What futures led to.
            chunks: The index that their candidates came from.
            agents: The consumers; producers too as far as they are in the index.
            embedder: The one of the index.
            benchmarks: TSV table of producers that are no agents here; see `benchmark_table`.

        Raises:
            MissingDependencyError: The extra `ranking` is not installed.
            InvalidInputError: There are no labels, they have several embedders or grammars, or
                they were made with another embedder.
        """
        require_ranking()
        self.labels = list(labels)
        known = list(chunks)
        grammar = self._check_one_origin(embedder)
        self.resources: FeatureResources = fit_resources(known, benchmark_table(agents, benchmarks))
        self.clones = {agent.id: clone_group(agent) for agent in agents}
        ids = set(self.clones)
        self.schema = FeatureSchema(
            producers=tuple(sorted({chunk.producer for chunk in known} | ids)),
            consumers=tuple(sorted(ids)),
            embedder=embedder.name,
            grammar=grammar,
            resources=self.resources.digest,
        )
        self.extractor = FeatureExtractor(self.schema, self.resources, embedder)

    @cached_property
    def digest(self) -> str:
        """Content id of the labels."""
        return labels_digest(self.labels)

    def training_set(self, target: Target, *, null: bool) -> tuple[TrainingSet, GroupCounts]:
        """Return all groups with features, and what the labels consist of.

        Raises:
            InvalidInputError: As `collect_groups` and `ranking.groups.training_set` do.
        """
        groups, counts = collect_groups(self.labels, target, null=null)
        return training_set(groups, self.extractor, self.clones, null=null), counts

    def _check_one_origin(self, embedder: Embedder) -> str:
        """Return the one grammar of the labels."""
        if not self.labels:
            raise InvalidInputError("there are no labels: run pipelines/label_utility.py first")
        origins = {(label.embedder, label.grammar) for label in self.labels}
        if len(origins) > 1:
            raise InvalidInputError(
                f"labels of several embedders or grammars cannot be mixed: {sorted(origins)}"
            )
        [(name, grammar)] = origins
        if name != embedder.name:
            raise InvalidInputError(
                f"the labels' distances are those of {name!r}, the memory's embedder is "
                f"{embedder.name!r}: take labels and memory from one run"
            )
        return grammar
