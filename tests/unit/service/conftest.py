"""A service over a database of the test's own."""

import pytest
import structlog
from service_fixtures import local_service


@pytest.fixture
def service(database):
    with local_service(database) as local:
        yield local
    structlog.reset_defaults()
