"""One envelope for every failure, limits before reading, hostile input, ids and the document."""

import asyncio
import json

import httpx
import pytest
from service_fixtures import example_trajectory, local_service

from collegium.cli.exit_codes import MEANINGS
from collegium.core import CollegiumError
from collegium.service.application import ServiceApplication
from collegium.service.errors import STATUS, ErrorEnvelope
from collegium.service.http.limits import Limits

PATH = "/v1/namespaces/demo/trajectories"
JSON = {"content-type": "application/json"}


@pytest.fixture
def writer(service):
    return service.mint("write", "read", namespaces=["demo"])


def send(service, key, body, **headers):
    return service.call("POST", PATH, key, content=body, headers={**JSON, **headers})


def refused(answer, status, code):
    assert answer.status_code == status, answer.text
    error = ErrorEnvelope.model_validate_json(answer.content).error
    assert error.code == code
    assert error.message
    assert error.request_id == answer.headers["x-request-id"]
    return error


def test_unknown_route_and_method(service):
    refused(service.call("GET", "/nope"), 404, "not_found")
    refused(service.call("GET", f"{PATH}/"), 404, "not_found")
    answer = service.call("DELETE", PATH)
    refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, POST"


def test_unknown_keys_are_told_how_to_bring_one(service):
    answer = service.call("GET", PATH)
    refused(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_content_types_and_bodies_that_are_no_objects(service, writer):
    refused(service.call("POST", PATH, writer, content="{}"), 415, "media_type")
    text = {"content-type": "text/plain"}
    refused(service.call("POST", PATH, writer, content="{}", headers=text), 415, "media_type")
    refused(send(service, writer, "[1]"), 422, "invalid_input")
    refused(send(service, writer, ""), 422, "invalid_input")
    refused(service.call("POST", f"{PATH}?a=1", writer, json={}), 422, "invalid_input")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b'{"trajectory": NaN}', "not JSON"),
        (b'{"trajectory": "\\ud800"}', "not JSON"),
        (b'{"trajectory": 1e999}', "not a finite number"),
        (b'{"trajectory": "a\\u0000b"}', "NUL"),
        (b'{"a\\u0000b": 1}', "NUL"),
        (b'{"trajectory": %s}' % (b"9" * 30), "beyond 64 bits"),
        (b'{"trajectory": %s}' % (b"9" * 9000), "not JSON"),
        (b'{"trajectory": ' + b"[" * 100 + b"]" * 100 + b"}", "nested deeper"),
        (b"[" * 100_000, "not JSON"),
        (b'{"trajectory": {}, "namespace": "other"}', "in the path"),
        (b'{"trajectory": {}, "surprise": 1}', "surprise"),
    ],
)
def test_hostile_bodies(service, writer, body, says):
    error = refused(send(service, writer, body), 422, "invalid_input")
    assert says in error.message
    assert len(error.message) < 3000


def test_values_are_not_repeated(service, writer):
    body = {"trajectory": {**example_trajectory(), "score": "my-secret"}}
    answer = service.call("POST", PATH, writer, json=body)
    error = refused(answer, 422, "invalid_input")
    assert "trajectory.score" in error.message
    assert "my-secret" not in answer.text


def test_scores_and_steps_are_checked(service, writer):
    for change in ({"score": 2.0}, {"steps": []}):
        body = {"trajectory": {**example_trajectory(), **change}}
        refused(service.call("POST", PATH, writer, json=body), 422, "invalid_input")


@pytest.mark.parametrize("namespace", ["UPPER", "a" * 65, "a%2Fb", "..", "%00"])
def test_namespaces_have_a_form(service, namespace):
    admin = service.mint("admin")
    answer = service.call("GET", f"/v1/namespaces/{namespace}/trajectories", admin)
    assert answer.status_code in (404, 422)
    ErrorEnvelope.model_validate_json(answer.content)


def test_queries_are_checked(service, writer):
    for query in ("limit=0", "limit=101", "limit=x", "after=-1", "wrong=1", "limit=1&limit=2"):
        refused(service.call("GET", f"{PATH}?{query}", writer), 422, "invalid_input")
    refused(service.call("GET", f"{PATH}?as_of=99", writer), 422, "invalid_input")


def test_bodies_are_limited_before_they_are_read(database):
    def chunks():
        for _ in range(100):
            yield b" " * 1000

    with local_service(database, Limits(body_bytes=5000)) as service:
        key = service.mint("write", "read")
        refused(send(service, key, b" " * 5001), 413, "too_large")
        refused(send(service, key, chunks()), 413, "too_large")
        refused(send(service, key, b" " * 4000), 422, "invalid_input")
        for body in (b" " * 5001, chunks()):
            refused(service.call("POST", "/mcp", key, content=body), 413, "too_large")


def test_bodies_that_trickle_give_their_place_back(service, database):
    async def trickle():
        yield b" "
        await asyncio.sleep(5)
        yield b" "

    async def run():
        app = ServiceApplication(database).http_app(Limits(body_seconds=0.2))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://s") as client,
        ):
            headers = {**JSON, "authorization": f"Bearer {key}"}
            for path in (PATH, "/mcp"):
                answer = await client.post(path, content=trickle(), headers=headers)
                assert "0.2 s" in refused(answer, 408, "timeout").message
            refused(await client.post(PATH, content=b" ", headers=headers), 422, "invalid_input")

    key = service.mint("write", "read")
    asyncio.run(run())


def test_floods_of_headers(service, writer):
    many = {f"x-{number}": "a" for number in range(80)}
    refused(service.call("GET", PATH, writer, headers=many), 431, "headers_too_large")
    large = {"x-large": "a" * 20_000}
    refused(service.call("GET", PATH, writer, headers=large), 431, "headers_too_large")


def test_request_ids(service):
    for good in ("a", "A.b_c-9", "x" * 64):
        answer = service.call("GET", "/nope", headers={"x-request-id": good})
        assert answer.headers["x-request-id"] == good
        assert answer.json()["error"]["request_id"] == good
    made = set()
    for bad in ("", "x" * 65, "a b", 'a"b', "{}", "a\tb"):
        answer = service.call("GET", "/nope", headers={"x-request-id": bad})
        assert answer.headers["x-request-id"] != bad
        made.add(answer.headers["x-request-id"])
    assert len(made) == 6


def test_health(service, database):
    assert service.call("GET", "/healthz").json() == {"status": "ok"}
    assert service.call("GET", "/readyz").json() == {"status": "ready"}
    assert service.call("GET", "/version").json()["name"] == "collegium"
    with database.transaction() as connection:
        connection.exec_driver_sql("update collegium.alembic_version set version_num = '0001'")
    answer = service.call("GET", "/readyz")
    assert "collegium db upgrade" in refused(answer, 503, "unavailable").message
    assert int(answer.headers["retry-after"]) >= 1
    assert service.call("GET", "/healthz").status_code == 200


def test_faults_of_ours_tell_nothing(service, monkeypatch, capsys):
    key = service.mint("admin")

    def broken(*_):
        raise RuntimeError("internal detail")

    monkeypatch.setattr(type(service.application.keys), "page", broken)
    operation = service.application.registry["list_keys"]
    monkeypatch.setitem(vars(operation), "handler", broken)
    answer = service.call("GET", "/v1/keys", key)
    refused(answer, 500, "unexpected")
    assert "internal detail" not in answer.text
    assert "internal detail" in capsys.readouterr().out


def subclasses(kind):
    return {kind, *(each for child in kind.__subclasses__() for each in subclasses(child))}


def test_every_status_belongs_to_an_error_with_an_exit_code():
    codes = {error.code: error for error in subclasses(CollegiumError)}
    assert set(STATUS) <= set(codes)
    assert all(codes[code].exit_code in {c.value for c in MEANINGS} for code in STATUS)


def test_document(service):
    answer = service.call("GET", "/openapi.json").json()
    schemas = answer["components"]["schemas"]
    for operation in service.application.registry:
        entry = answer["paths"][operation.path][operation.method.lower()]
        assert entry["x-scope"] == operation.scope.value
        assert entry["security"] == [{"key": []}]
        assert {"200", "401", "403", "422", "429", "503"} <= set(entry["responses"])
        for status, response in entry["responses"].items():
            if status != "200":
                example = response["content"]["application/json"]["example"]
                ErrorEnvelope.model_validate(example)
        documented = {p["name"] for p in entry["parameters"] if p["in"] != "header"}
        body = entry.get("requestBody", {}).get("content", {}).get("application/json", {})
        documented |= set(body.get("example", {}))
        assert documented == set(operation.input.model_fields)
    text = json.dumps(answer)
    references = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert references <= set(schemas)
    assert "{model}" not in text


def test_examples_of_the_document_work(service):
    admin = service.mint("admin")
    answer = service.call("GET", "/openapi.json").json()
    entry = answer["paths"]["/v1/namespaces/{namespace}/trajectories"]["post"]
    example = entry["requestBody"]["content"]["application/json"]["example"]
    assert service.call("POST", PATH, admin, json=example).status_code == 200
