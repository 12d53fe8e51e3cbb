"""Exit codes of every command; errors of the tree in `collegium.core` bring their own."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a code means."""

    OK = 0
    VERDICT = 1
    USAGE = 2
    NOT_FOUND = 3
    CORRUPT = 4
    MACHINERY = 5
    BUDGET = 6
    UNEXPECTED = 70
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.VERDICT: "done, and the verdict is no: a check is red or a target was missed",
    ExitCode.USAGE: "wrong command, option, configuration or input",
    ExitCode.NOT_FOUND: "game data, adapter, model, run or package is not there",
    ExitCode.CORRUPT: "a file is damaged, altered or of an unknown version",
    ExitCode.MACHINERY: "an engine or environment failed",
    ExitCode.BUDGET: "the budget is spent; the run can be resumed with a larger one",
    ExitCode.UNEXPECTED: "an error nobody foresaw: a bug",
    ExitCode.INTERRUPTED: "stopped by the user; the run can be resumed",
}


def epilog() -> str:
    """Return the table for the help text."""
    rows = (f"{code.value:>5}  {text}" for code, text in MEANINGS.items())
    return "\n".join(["\b", "Exit codes:", *rows])
