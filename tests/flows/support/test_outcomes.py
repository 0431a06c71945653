import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from prefect import Flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.support.outcomes import call_flow
from pretexeval.primitives.errors import InputError


def end_in(state: State[Any]) -> Flow[..., Any]:
    """Return a flow that ends in this state, as Prefect's client receives it."""
    return cast("Flow[..., Any]", lambda **_: state)


def test_outcome_of_a_flow_with_and_without_a_running_event_loop() -> None:
    async def call_in_a_notebook(state: State[Any]) -> str:
        return call_flow(end_in(state))

    calls: tuple[Callable[[State[Any]], str], ...] = (
        lambda state: call_flow(end_in(state)),
        lambda state: asyncio.run(call_in_a_notebook(state)),
    )
    for call in calls:
        assert call(Completed(message="64 prompts asked")) == "64 prompts asked"
        with pytest.raises(InputError, match="no such model"):
            call(Failed(data=InputError("no such model")))
