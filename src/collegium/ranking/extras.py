"""What rankers need beside the core packages."""

from importlib.util import find_spec

from collegium.core import MissingDependencyError

_PACKAGES = ("lightgbm", "safetensors", "shap", "sklearn", "torch")


def require_ranking() -> None:
    """Raise MissingDependencyError, naming what is missing and how to get it."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise MissingDependencyError(
            f"rankers need {', '.join(missing)}: pip install 'collegium[ranking]'"
        )
