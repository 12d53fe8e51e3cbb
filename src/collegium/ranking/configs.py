"""Settings of the rankers, with the defaults of formulas §2.3; imports nothing heavy."""

from typing import Annotated, Literal

from pydantic import Field

from collegium.config import Config


class LambdaMARTConfig(Config):
    """Boosted trees with LightGBM's objective `lambdarank`."""

    kind: Literal["lambdamart"] = "lambdamart"
    trees: int = Field(default=100, ge=1)
    """Boosting rounds."""
    leaves: int = Field(default=31, ge=2)
    """Most leaves of a tree."""
    depth: int = Field(default=6, ge=1)
    """Most splits from root to leaf."""
    learning_rate: float = Field(default=0.1, gt=0)
    """What each tree counts."""
    min_leaf: int = Field(default=5, ge=1)
    """Least candidates in a leaf."""


class SVMRankConfig(Config):
    """A linear SVM on differences within a group."""

    kind: Literal["svmrank"] = "svmrank"
    c: float = Field(default=1.0, gt=0)
    """Shared by all groups: a pair's slack costs c / groups."""


class FFNConfig(Config):
    """A small network that predicts the label of each candidate by itself."""

    kind: Literal["ffn"] = "ffn"
    layers: tuple[int, ...] = (128, 64, 32, 16)
    """Widths of the hidden layers."""
    dropout: float = Field(default=0.2, ge=0, lt=1)
    """Share of the units left out at each training step."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Of Adam."""
    epochs: int = Field(default=50, ge=1)
    """Passes over the labels."""
    batch_size: int = Field(default=32, ge=1)
    """Candidates a training step."""
    device: str = "cpu"
    """Torch device of the training, e.g. `cuda`; results are repeatable on one kind of device."""


BaseConfig = Annotated[LambdaMARTConfig | SVMRankConfig | FFNConfig, Field(discriminator="kind")]


class PersonalConfig(Config):
    """Rankers of consumer, group and population, mixed by how many labels each has."""

    kind: Literal["personal"] = "personal"
    base: BaseConfig = SVMRankConfig()
    """How each of them is trained."""
    patience: float = Field(default=20.0, gt=0)
    """Groups of labels after which a level counts half of what the levels above leave."""
    least: int = Field(default=5, ge=1)
    """A level with fewer groups that tell an order has no ranker."""


RankerConfig = Annotated[
    LambdaMARTConfig | SVMRankConfig | FFNConfig | PersonalConfig, Field(discriminator="kind")
]
AnyRankerConfig = LambdaMARTConfig | SVMRankConfig | FFNConfig | PersonalConfig
