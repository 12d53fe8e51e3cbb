"""Ids of calls that bring none of their own."""

import uuid


def new_request_id() -> str:
    """Return 32 hex digits that no other request has."""
    return uuid.uuid4().hex
