"""A whole service in this process, over a real database, and keys to call it with."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from starlette.testclient import TestClient

from collegium.service.application import ServiceApplication
from collegium.service.http.limits import Limits
from collegium.service.keys.use_cases import OPERATOR, MintInput, RevokeInput
from collegium.service.operations import Call

OPERATOR_CALL = Call(OPERATOR, "test")


class LocalService:
    """The application with a client for it."""

    def __init__(self, application: ServiceApplication, client: TestClient) -> None:
        self.application = application
        self.client = client

    def mint(self, *scopes: str, namespaces: list[str] | None = None, **more: object) -> str:
        given = {"scopes": list(scopes), "namespaces": namespaces, **more}
        return self.application.keys.mint(OPERATOR_CALL, MintInput.parse(given)).key

    def revoke(self, key: str) -> None:
        given = RevokeInput(key_id=key.split("_")[1])
        self.application.keys.revoke(OPERATOR_CALL, given)

    def call(
        self, method: str, path: str, key: str | None = None, **more: object
    ) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        return self.client.request(method, path, headers=headers, **more)


@contextmanager
def local_service(
    database, limits: Limits | None = None, **parts: object
) -> Iterator[LocalService]:
    application = ServiceApplication(database, **parts)
    app = application.http_app(limits or Limits())
    with TestClient(app, raise_server_exceptions=False) as client:
        yield LocalService(application, client)


def example_trajectory(number: int = 1) -> dict:
    """Return a trajectory as JSON; another number, another content."""
    return {
        "task": {
            "environment": "household",
            "task_id": f"task/{number}",
            "task_type": "pick_and_place_simple",
            "split": "train",
            "goal": "put some mug on desk.",
        },
        "producer": "agent-a",
        "initial_observation": "You see a desk 1 and a shelf 1.",
        "steps": [
            {"action": "go to shelf 1", "observation": "You see a mug 1."},
            {"action": "take mug 1", "observation": "You pick it up.", "score": 1.0},
        ],
        "success": True,
        "score": 1.0,
        "versions": {"game_data": "g", "grammar": "alfworld-0.4", "engine": "e"},
    }
