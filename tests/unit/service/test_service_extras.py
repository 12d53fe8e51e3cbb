"""Without the extras, the commands say which one is missing, in one line."""

import subprocess
import sys

import pytest

BASE_INSTALL = """
import importlib.util as util
import sys

MISSING = ("sqlalchemy", "psycopg", "alembic", "ray", "mcp", "fastapi", "starlette")
find = util.find_spec
util.find_spec = lambda name, *more: None if name in MISSING else find(name, *more)


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
from collegium.cli import main

sys.exit(main())
"""


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("key list", "store"),
        ("key mint --scope read --all-namespaces", "store"),
        ("key revoke 0a1b2c3d4e5f", "store"),
        ("serve", "serve"),
        ("serve --stdio", "serve"),
    ],
)
def test_extras_are_named(command, extra):
    done = subprocess.run(
        [sys.executable, "-c", BASE_INSTALL, *command.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert f"pip install 'collegium[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
