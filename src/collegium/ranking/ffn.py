"""FFN: a small network that predicts the label of each candidate by itself.

Trained with torch; the layers are then plain arrays, so that scoring twenty candidates needs
neither torch nor its threads. Features are standardised; the target of a label l is (l + 1) / 2.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collegium.core import CorruptDataError, InvalidInputError, NotFoundError
from collegium.ranking.configs import FFNConfig
from collegium.ranking.groups import TrainingSet
from collegium.ranking.protocol import Matrix, Vector
from collegium.ranking.scaling import Standardiser
from collegium.store.files import write_whole

if TYPE_CHECKING:
    import torch

_FILE = "ffn.safetensors"


class Layer(NamedTuple):
    """One linear map."""

    weights: NDArray[np.float64]
    """(inputs, outputs)."""
    bias: Vector


class FFN:
    """A `Ranker` that is a network with ReLU between its layers."""

    kind = "ffn"

    def __init__(self, standardise: Standardiser, layers: Sequence[Layer]) -> None:
        self.standardise = standardise
        # One layout, as the order of a sum, and so its last digit, follows the layout.
        self.layers = tuple(Layer(np.ascontiguousarray(w), bias) for w, bias in layers)

    def score(self, features: Matrix) -> Vector:
        """Return the logits; see `Ranker.score`."""
        signal = self.standardise(features)
        for layer in self.layers[:-1]:
            signal = np.maximum(_apply(layer, signal), 0.0)
        return _apply(self.layers[-1], signal)[:, 0]

    def save(self, folder: Path) -> None:
        """See `Ranker.save`."""
        from safetensors.numpy import save

        tensors = {"mean": self.standardise.mean, "scale": self.standardise.scale}
        for number, layer in enumerate(self.layers):
            tensors[f"weights.{number}"] = layer.weights
            tensors[f"bias.{number}"] = layer.bias
        write_whole(folder / _FILE, lambda out: out.write(save(tensors)))


def _apply(layer: Layer, signal: Matrix) -> Matrix:
    # Not a matrix product: there, a row's last digits depend on how many others there are.
    return np.asarray(np.einsum("ni,io->no", signal, layer.weights) + layer.bias)


def fit_ffn(config: FFNConfig, data: TrainingSet, seed: int) -> FFN:
    """Train on `data`.

    Raises:
        InvalidInputError: This machine has no such device.
    """
    import torch

    standardise = Standardiser.fit(data.features)
    device = _device(config.device)
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(seed % 2**63)
        network = _network(data.features.shape[1], config).to(device)
        _train(network, standardise(data.features), data, config, device)
    return FFN(standardise, [_layer(module) for module in network if hasattr(module, "weight")])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep a network this small on one thread: faster, and the same result on any machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _device(name: str) -> "torch.device":
    import torch

    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInputError(f"ffn: no device {name!r} on this machine; `cpu` is always there")
    return device


def _network(inputs: int, config: FFNConfig) -> "torch.nn.Sequential":
    from torch import nn

    modules: list[nn.Module] = []
    for outputs in config.layers:
        modules += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(config.dropout)]
        inputs = outputs
    return nn.Sequential(*modules, nn.Linear(inputs, 1))


def _train(
    network: "torch.nn.Sequential",
    features: Matrix,
    data: TrainingSet,
    config: FFNConfig,
    device: "torch.device",
) -> None:
    import torch

    inputs = torch.tensor(features, dtype=torch.float32, device=device)
    targets = torch.tensor((data.labels + 1.0) / 2.0, dtype=torch.float32, device=device)
    weights = torch.tensor(data.weights, dtype=torch.float32, device=device)
    optimiser = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    network.train()
    for _ in range(config.epochs):
        for batch in torch.randperm(len(inputs)).to(device).split(config.batch_size):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(inputs[batch])[:, 0], targets[batch], weights[batch]
            )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def _layer(module: "torch.nn.Module") -> Layer:
    weights = module.weight.detach().cpu().numpy().astype(np.float64)
    return Layer(weights.T, module.bias.detach().cpu().numpy().astype(np.float64))


def load_ffn(folder: Path) -> FFN:
    """Return what `FFN.save` wrote; raises NotFoundError or CorruptDataError."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    file = folder / _FILE
    try:
        tensors = load(file.read_bytes())
        count = sum(name.startswith("weights.") for name in tensors)
        layers = [Layer(tensors[f"weights.{i}"], tensors[f"bias.{i}"]) for i in range(count)]
        standardise = Standardiser(tensors["mean"], tensors["scale"])
    except FileNotFoundError:
        raise NotFoundError(f"{file} is not there: train the ranker again") from None
    except (ValueError, KeyError, SafetensorError) as error:
        raise CorruptDataError(f"{file} cannot be read: {error!r}") from None
    return FFN(standardise, layers)
