from collections.abc import Callable

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun

from flows.support import dispatch

RUN = FlowRun.model_construct(name="run")
REQUEST = httpx.Request("GET", "http://127.0.0.1/api")


def refuse(status: int) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError(str(status), request=REQUEST, response=httpx.Response(status))


def answer_after(*errors: httpx.HTTPError) -> Callable[[], FlowRun]:
    waiting = list(errors)

    def request() -> FlowRun:
        if waiting:
            raise waiting.pop(0)
        return RUN

    return request


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0)


def test_request_is_retried_while_the_server_is_unavailable() -> None:
    errors = [httpx.ConnectError("gone"), httpx.ReadTimeout("silent"), refuse(500), refuse(503)]
    assert dispatch.retry_while_unavailable(answer_after(*errors)) is RUN


def test_refused_request_is_not_retried() -> None:
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        dispatch.retry_while_unavailable(answer_after(refuse(404)))


def test_lasting_outage_of_the_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "MAX_SERVER_OUTAGE_S", 0)
    with pytest.raises(httpx.ConnectError):
        dispatch.retry_while_unavailable(answer_after(httpx.ConnectError("gone")))
