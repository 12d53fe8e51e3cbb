"""The entry point: runs a command, and turns whatever it raises into a message and an exit code.

With `--json` an error is one JSON object on standard output, `{"error": {"code", "message"}}`;
otherwise it is one line on standard error. Code 1 is a verdict (a red check, a missed target), no
error.
"""

import json
import sys
import traceback
from collections.abc import Sequence

import typer

from collegium.cli.app import app
from collegium.cli.exit_codes import ExitCode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given, prog_name="collegium", standalone_mode=False)
    except typer.TyperException as error:
        return _report(given, "usage", error.format_message(), ExitCode.USAGE)
    except Exception as error:
        return _explain(given, error)
    return code if isinstance(code, int) else ExitCode.OK


def _explain(arguments: Sequence[str], error: Exception) -> int:
    from collegium.core import CollegiumError

    if isinstance(error, CollegiumError):
        return _report(arguments, error.code, str(error), error.exit_code)
    if {"-v", "-vv", "--verbose"} & set(arguments):
        traceback.print_exception(error)
    message = f"{type(error).__name__}: {error} (a bug; `collegium -v ...` shows where)"
    return _report(arguments, "unexpected", message, ExitCode.UNEXPECTED)


def _report(arguments: Sequence[str], code: str, message: str, exit_code: int) -> int:
    if "--json" in arguments:
        print(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False))
    else:
        print(f"error: {message}", file=sys.stderr)
    return int(exit_code)
