"""The database: reached, at this release's schema, and its key closed to others."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from collegium.core import CollegiumError
from collegium.service.doctor.check import Check, failed, passed, warned

if TYPE_CHECKING:
    from collegium.store.status import DatabaseStatus

_NAME = "database"


def check_database(look: "Callable[[], DatabaseStatus]") -> Check:
    """Check what `look` tells; an embedded server that is not running starts at its first need."""
    try:
        status = look()
    except CollegiumError as error:
        return failed(_NAME, error, "what the message says; then collegium db status")
    if not status.running:
        return passed(_NAME, f"{status.server}: starts when it is needed")
    found = f"{status.server}: PostgreSQL {status.version}"
    if status.schema_revision is None:
        return passed(_NAME, f"{found}, without tables yet")
    found = f"{found}, schema {status.schema_revision}"
    if status.schema_revision < status.latest_revision:
        return failed(_NAME, f"{found}, needed {status.latest_revision}", "collegium db upgrade")
    if status.schema_revision > status.latest_revision:
        remedy = "install the release of collegium that made it, or a newer one"
        return failed(_NAME, f"{found}, this release knows {status.latest_revision}", remedy)
    found = f"{found}, {status.position} events"
    if status.unsigned_events:
        text = f"{found}, {status.unsigned_events} of them covered by no checkpoint"
        return warned(_NAME, text, "collegium db checkpoint")
    return passed(_NAME, found)
