"""Calls are counted where Prometheus finds them: at Ray's own exporter."""

import time

import httpx
import pytest
import ray
from scratch_databases import scratch_folder
from service_fixtures import OPERATOR_CALL
from test_serve_process import free_port

from collegium.runtime.serve.configs import ServeConfig, ServiceArgs
from collegium.runtime.serve.local import serving
from collegium.service.keys.use_cases import MintInput, operator_keys
from collegium.store.settings import DatabaseSettings

pytestmark = pytest.mark.cluster

EXPORTED_WITHIN_S = 60


def exported(name):
    """Return the lines of a metric once there are some, or nothing after a while."""
    node = ray.nodes()[0]
    address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}"
    for _ in range(EXPORTED_WITHIN_S):
        lines = httpx.get(address).text.splitlines()
        if found := [line for line in lines if line.startswith(name)]:
            return found
        time.sleep(1)
    return []


@pytest.mark.timeout(300)
def test_calls_are_exported():
    with scratch_folder() as folder:
        settings = DatabaseSettings(data_dir=folder / "data")
        config = ServeConfig(port=free_port(), service=ServiceArgs(database=settings))
        with serving(config) as address, operator_keys(settings) as keys:
            key = keys.mint(
                OPERATOR_CALL, MintInput.parse({"scopes": ["read"], "namespaces": None})
            ).key
            path = f"{address}/v1/namespaces/demo/trajectories"
            assert httpx.get(path, headers={"authorization": f"Bearer {key}"}).status_code == 200
            (line,) = exported("ray_collegium_calls_total{")
            assert 'code="ok"' in line
            assert 'operation="list_trajectories"' in line
            assert exported("ray_collegium_call_ms_count{")
