"""One error tree. Each error says what is wrong, where, and what to do about it.

Every error also subclasses the standard type it specialises, so callers may catch either,
and every error pickles (Ray sends them between processes), because none overrides `__init__`.
"""


class CollegiumError(Exception):
    """Root of the tree; `code` is the stable name shown in the error envelope."""

    code = "error"
    exit_code = 1


class ConfigError(CollegiumError, ValueError):
    """A configuration file or override is wrong."""

    code = "config"
    exit_code = 2


class InvalidInputError(CollegiumError, ValueError):
    """A caller passed something the contract does not allow."""

    code = "invalid_input"
    exit_code = 2


class NotFoundError(CollegiumError, LookupError):
    """A named thing (game data, adapter, run, model) is not there."""

    code = "not_found"
    exit_code = 3


class MissingDependencyError(CollegiumError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""

    code = "missing_dependency"
    exit_code = 3


class CorruptDataError(CollegiumError, ValueError):
    """A file is truncated, altered or of an unknown version; the message names file and place."""

    code = "corrupt_data"
    exit_code = 4


class EngineError(CollegiumError, RuntimeError):
    """A language-model engine failed, hung or died."""

    code = "engine_error"
    exit_code = 5


class EnvironmentFailedError(CollegiumError, RuntimeError):
    """An environment failed by itself, through no fault of the agent."""

    code = "environment_error"
    exit_code = 5


class BudgetExceededError(CollegiumError, RuntimeError):
    """A token or cost budget is spent; the run can be resumed with a larger one."""

    code = "budget"
    exit_code = 6


class ConflictError(CollegiumError, ValueError):
    """The caller's view is out of date, or a key was used before for something else."""

    code = "conflict"
    exit_code = 2


class UnauthenticatedError(CollegiumError, PermissionError):
    """No key, or one that is unknown, revoked or expired; which of them is not told."""

    code = "unauthenticated"
    exit_code = 2


class ForbiddenError(CollegiumError, PermissionError):
    """The key is good, but not for this operation or this namespace."""

    code = "forbidden"
    exit_code = 2


class RateLimitedError(CollegiumError, RuntimeError):
    """The key's calls a minute are used up; `retry_after_s` says when the next is welcome."""

    code = "rate_limited"
    exit_code = 5
    retry_after_s: float = 1.0


class UnavailableError(CollegiumError, RuntimeError):
    """Something needed (the database) cannot be reached now; the same call may be made again."""

    code = "unavailable"
    exit_code = 5
    retry_after_s: float = 1.0
