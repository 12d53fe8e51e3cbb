"""A ledger that was signed in part, and a way to tamper with it."""

from functools import partial

import pytest
from signed_ledgers import signed_ledger, tampered


@pytest.fixture
def ledger(database):
    """See `signed_ledger`."""
    return signed_ledger(database)


@pytest.fixture
def tamper(database):
    """Runs statements, and returns what verification says then."""
    return partial(tampered, database)
