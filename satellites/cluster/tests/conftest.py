"""Hosts for tests: `make cluster-test` runs those that are in `*_tests.py`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from assay_cluster.testing_cluster import Cluster, SilentServer, running_cluster, server_for_hosts

if TYPE_CHECKING:
    from assay.store.testing import TestServer


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Return two hosts that ssh reaches."""
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def slurm(cluster: Cluster) -> Cluster:
    """Return the same hosts, when they are nodes of Slurm that can run jobs."""
    if not cluster.has_slurm:
        cluster.start_slurm()
    cluster.await_nodes()
    return cluster


@pytest.fixture(scope="session")
def server(cluster: Cluster) -> Iterator["TestServer"]:
    """Return a PostgreSQL server that hosts reach."""
    with server_for_hosts() as server:
        yield server


@pytest.fixture
def silent(request: pytest.FixtureRequest) -> Iterator[SilentServer]:
    """Return a server that lets workers wait; the parameter is its address."""
    silent = SilentServer(getattr(request, "param", "127.0.0.1"))
    yield silent
    silent.close()
