"""Keys: hashes only, rates, rotation, ends, and revocation that reaches all within a minute."""

import asyncio
import time
from datetime import UTC, datetime

import pytest
from service_fixtures import local_service

from collegium.cli import main
from collegium.core import FixedClock, UnauthenticatedError
from collegium.service.keys import CallLimiter, KeyRing
from collegium.store.keys import KeyStore

PATH = "/v1/namespaces/demo/trajectories"


@pytest.fixture
def clock():
    return FixedClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def timed(database, clock):
    with local_service(database, clock=clock) as service:
        yield service


def works(service, key):
    return service.call("GET", PATH, key).status_code == 200


def test_only_hashes_are_stored(timed, database):
    key = timed.mint("read")
    with database.transaction() as connection:
        rows = connection.exec_driver_sql("select k::text from collegium.keys k").scalars().all()
    assert len(rows) == 1
    assert key.split("_")[1] in rows[0]
    assert key.split("_")[2] not in rows[0]


def test_revoked_within_a_minute_everywhere(timed, database, clock):
    key = timed.mint("read")
    with local_service(database, clock=clock) as replica:
        assert works(timed, key)
        assert works(replica, key)
        timed.revoke(key)
        clock.advance(31)
        assert not works(timed, key)
        assert not works(replica, key)


def test_rotation_keeps_the_old_secret_for_its_grace(timed, clock):
    admin, old = timed.mint("admin"), timed.mint("read")
    key_id = old.split("_")[1]
    answer = timed.call("POST", f"/v1/keys/{key_id}/rotate", admin, json={"grace_s": 100})
    new = answer.json()["key"]
    assert new.split("_")[1] == key_id
    clock.advance(50)
    assert works(timed, old)
    assert works(timed, new)
    clock.advance(51)
    assert not works(timed, old)
    assert works(timed, new)


def test_rotation_is_at_once_without_grace_and_never_revives(timed, clock):
    admin, old = timed.mint("admin"), timed.mint("read")
    path = f"/v1/keys/{old.split('_')[1]}"
    new = timed.call("POST", f"{path}/rotate", admin).json()["key"]
    assert not works(timed, old)
    assert works(timed, new)
    assert timed.call("POST", f"{path}/revoke", admin).json()["revoked_at"]
    answer = timed.call("POST", f"{path}/rotate", admin)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


def test_keys_end_when_they_said(timed, clock):
    key = timed.mint("read", expires_in_days=0.01)
    assert works(timed, key)
    clock.advance(0.01 * 86400 + 1)
    assert not works(timed, key)


def test_wrong_secrets_of_known_keys_are_refused(timed):
    key = timed.mint("read")
    wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
    assert not works(timed, wrong)
    assert not works(timed, key.upper())
    assert works(timed, key)


def test_rates(timed, clock):
    key, other = timed.mint("read", calls_per_minute=3), timed.mint("read")
    assert [works(timed, key) for _ in range(3)] == [True] * 3
    answer = timed.call("GET", PATH, key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert answer.headers["retry-after"] == "20"
    assert works(timed, other)
    clock.advance(20)
    assert works(timed, key)
    assert not works(timed, key)


def test_replicas_share_a_rate(clock):
    limiter = CallLimiter(clock, replicas=4)
    assert [limiter.take("a", 8) for _ in range(2)] == [0, 0]
    assert limiter.take("a", 8) == 30
    assert CallLimiter(clock, replicas=4).take("b", 1) == 0


def test_replicas_keep_to_a_rate_below_one_call_each(clock):
    limiters = [CallLimiter(clock, replicas=4) for _ in range(4)]
    assert [limiter.take("a", 2) for limiter in limiters] == [0] * 4
    clock.advance(60)
    assert [limiter.take("a", 2) for limiter in limiters] == [60] * 4
    clock.advance(60)
    assert [limiter.take("a", 2) for limiter in limiters] == [0] * 4


@pytest.mark.parametrize("label", ["\x1b[2J", "a\nb", "\u202eevil", "\x07"])
def test_labels_cannot_command_terminals(timed, label):
    body = {"scopes": ["read"], "namespaces": None, "label": label}
    answer = timed.call("POST", "/v1/keys", timed.mint("admin"), json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_input")


def test_floods_of_unknown_keys_leave_connections_to_others(database, clock):
    class Slow(KeyStore):
        under_way, most = 0, 0

        def find(self, key_id):
            Slow.under_way += 1
            Slow.most = max(Slow.most, Slow.under_way)
            time.sleep(0.02)
            Slow.under_way -= 1

    async def flood():
        ring = KeyRing(Slow(database), clock)
        tokens = [f"clg_{number:012x}_{'0' * 64}" for number in range(30)]
        calls = [ring.identify(token) for token in tokens]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(answer) for answer in answers} == {UnauthenticatedError}

    asyncio.run(flood())
    assert 1 <= Slow.most <= 3


def test_admins_of_a_namespace_stay_within_it(timed):
    admin = timed.mint("admin", namespaces=["demo"])
    free, ours = timed.mint("read"), timed.mint("read", namespaces=["demo"])
    mint = {"scopes": ["read"], "namespaces": ["demo", "other"]}
    for body in (mint, {**mint, "namespaces": None}):
        assert timed.call("POST", "/v1/keys", admin, json=body).status_code == 403
    body = {**mint, "namespaces": ["demo"]}
    assert timed.call("POST", "/v1/keys", admin, json=body).status_code == 200
    for key, status in ((free, 403), (ours, 200)):
        path = f"/v1/keys/{key.split('_')[1]}/revoke"
        assert timed.call("POST", path, admin).status_code == status
    page = timed.call("GET", "/v1/keys", admin).json()
    assert page["total"] == 3
    assert free.split("_")[1] not in str(page)


def test_keys_are_listed_whole(timed):
    admin = timed.mint("admin")
    minted = {admin, *(timed.mint("read") for _ in range(6))}
    seen, after = [], ""
    while after is not None:
        page = timed.call("GET", f"/v1/keys?limit=3{after and f'&after={after}'}", admin).json()
        seen += [item["key_id"] for item in page["items"]]
        assert page["total"] == 7
        after = page["next"]
    assert seen == sorted(key.split("_")[1] for key in minted)


def test_command_line(database_settings, monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_URL", database_settings.url.get_secret_value())
    mint = ["key", "mint", "--scope", "admin"]
    assert main(mint) == 2
    assert "--all-namespaces" in capsys.readouterr().err
    assert main([*mint, "--scope", "wrong", "--all-namespaces"]) == 2
    capsys.readouterr()
    assert main([*mint, "--all-namespaces", "--label", "[first]"]) == 0
    key = capsys.readouterr().out.strip()
    key_id = key.split("_")[1]
    assert main(["key", "list"]) == 0
    listed = capsys.readouterr().out
    assert key_id in listed
    assert "[first]" in listed
    assert "1 of 1 keys" in listed
    assert main(["key", "rotate", key_id, "--json"]) == 0
    assert f'"clg_{key_id}_' in capsys.readouterr().out
    assert main(["key", "revoke", key_id]) == 0
    assert main(["key", "rotate", key_id]) == 2
    assert main(["key", "revoke", "0" * 12]) == 3
    assert main(["key", "revoke", "nonsense"]) == 2
