"""Migrations go one way: what was accepted is never thrown away by one."""

import runpy
from pathlib import Path

import pytest

import collegium.store.migrations.revisions as revisions
from collegium.core import InvalidInputError

VERSIONS = sorted((Path(revisions.__file__).parent / "versions").glob("[0-9]*.py"))


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.stem)
def test_no_migration_is_taken_back(file):
    with pytest.raises(InvalidInputError, match="restore a backup"):
        runpy.run_path(str(file))["downgrade"]()


def test_each_follows_the_one_before():
    scripts = [runpy.run_path(str(file)) for file in VERSIONS]
    names = [script["revision"] for script in scripts]
    assert [script["down_revision"] for script in scripts] == [None, *names[:-1]]
    assert names[-1] == revisions.latest_revision()
