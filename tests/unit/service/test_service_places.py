"""No key takes all places: requests that trickle hold only its own."""

import asyncio

import httpx
import pytest

from collegium.core import RateLimitedError
from collegium.service.application import ServiceApplication
from collegium.service.http.limits import Limits
from collegium.service.keys import Places

PATH = "/v1/namespaces/demo/trajectories"


def test_places_come_back():
    places = Places(2)
    with (
        places.hold("a"),
        places.hold("a"),
        places.hold("b"),
        pytest.raises(RateLimitedError, match="2 requests"),
        places.hold("a"),
    ):
        pass
    with places.hold("a"), places.hold("a"):
        pass
    with pytest.raises(ZeroDivisionError), places.hold("a"):
        raise ZeroDivisionError
    with places.hold("a"), places.hold("a"):
        pass


@pytest.mark.parametrize("slow", [PATH, "/mcp"])
def test_a_slow_key_leaves_places_to_others(service, database, slow):
    async def trickle():
        yield b" "
        await asyncio.sleep(1)

    async def run():
        app = ServiceApplication(database, places_of_a_key=1).http_app(Limits())
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://s") as client,
        ):

            def post(path, key):
                headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
                return client.post(path, content=trickle(), headers=headers)

            first = asyncio.create_task(post(slow, hog))
            await asyncio.sleep(0.5)
            more, other = await asyncio.gather(post(PATH, hog), post(PATH, fair))
            assert more.status_code == 429
            assert int(more.headers["retry-after"]) >= 1
            assert other.status_code == 422
            assert (await first).status_code in (400, 406, 422)

    hog, fair = service.mint("write", "read"), service.mint("write", "read")
    asyncio.run(run())
