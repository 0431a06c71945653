from collections.abc import Callable

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun

from flows.support import dispatch

RUN = FlowRun.model_construct(name="there")
REQUEST = httpx.Request("GET", "http://127.0.0.1/api")


def refuse(status: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError(str(status), request=REQUEST, response=httpx.Response(status))


def answer_after(*errors: httpx.HTTPError) -> Callable[[], FlowRun]:
    waiting = list(errors)

    def ask() -> FlowRun:
        if waiting:
            raise waiting.pop(0)
        return RUN

    return ask


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0)


def test_a_server_that_is_away_is_asked_again() -> None:
    errors = [httpx.ConnectError("gone"), httpx.ReadTimeout("silent"), refuse(500), refuse(503)]
    assert dispatch.persist(answer_after(*errors)) is RUN


def test_a_server_that_refuses_is_not() -> None:
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        dispatch.persist(answer_after(refuse(404)))


def test_a_server_that_stays_away_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "SERVER_PATIENCE_S", 0)
    with pytest.raises(httpx.ConnectError):
        dispatch.persist(answer_after(httpx.ConnectError("gone")))
