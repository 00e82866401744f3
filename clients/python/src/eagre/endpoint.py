"""One description of each call for both clients: a method of `Client` that returns, of `AsyncClient` that is awaited.

`Endpoint` makes a pure function of `calls` into such a method; `OnHandle` does the same for functions whose first argument
is the id of a run or campaign, and keeps what the server says in the handle.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from eagre import calls
from eagre.calls import Call

P = ParamSpec("P")
T = TypeVar("T")
I = TypeVar("I")  # noqa: E741


class Sync(Protocol):
    """Sends calls and waits for the answer."""

    is_async: bool

    def send(self, call: Call[T]) -> T:
        """What the server answers."""
        ...


class Async(Protocol):
    """Sends calls; the answer is awaited."""

    is_async: bool

    async def send(self, call: Call[T]) -> T:
        """What the server answers."""
        ...


class Endpoint(Generic[P, T]):
    """A call as a method of a client."""

    def __init__(self, call: Callable[P, Call[T]]) -> None:
        self.call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """The method."""
        if client is None:
            return self

        @functools.wraps(self.call)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.call(*args, **kwargs))

        return method


H = TypeVar("H")
A = TypeVar("A")


class Opening(Generic[P, I, H, A]):
    """A call after which there is a run or campaign to hold: `Client` returns one handle, `AsyncClient` another."""

    def __init__(self, call: Callable[P, Call[I]], handle: Callable[[Any, I], H], handle_async: Callable[[Any, I], A]):
        self.call, self.handle, self.handle_async = call, handle, handle_async
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sync, owner: type) -> Callable[P, H]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Awaitable[A]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """The method."""
        if client is None:
            return self

        @functools.wraps(self.call)
        def method(*args: P.args, **kwargs: P.kwargs) -> H:
            return self.handle(client, client.send(self.call(*args, **kwargs)))

        @functools.wraps(self.call)
        async def method_async(*args: P.args, **kwargs: P.kwargs) -> A:
            return self.handle_async(client, await client.send(self.call(*args, **kwargs)))

        return method_async if client.is_async else method


class Whole(Generic[P, I, T]):
    """The same, waited for until its end: gives the result. What goes wrong on the way stops it."""

    def __init__(self, opening: Opening[P, I, Any, Any], result: Callable[[str], Call[T]]) -> None:
        self.opening = opening
        self.__doc__ = f"{opening.call.__doc__} Waits for its end; returns the result."

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sync, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """The method."""
        if client is None:
            return self
        start: Any = self.opening.__get__(client, owner)

        @functools.wraps(self.opening.call)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            with start(*args, **kwargs) as handle:
                return handle.result()

        @functools.wraps(self.opening.call)
        async def method_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            async with await start(*args, **kwargs) as handle:
                return await handle.result()

        return method_async if client.is_async else method


class SyncHandle(Protocol[I]):
    """A run or campaign, as a `Client` has it."""

    is_async: bool

    @property
    def id(self) -> str:
        """Its name on the server."""
        ...

    def update(self, call: Call[I]) -> I:
        """Sends a call and keeps what the server says."""
        ...


class AsyncHandle(Protocol[I]):
    """A run or campaign, as an `AsyncClient` has it."""

    is_async: bool

    @property
    def id(self) -> str:
        """Its name on the server."""
        ...

    async def update(self, call: Call[I]) -> I:
        """Sends a call and keeps what the server says."""
        ...


class OnHandle(Generic[P, I]):
    """A call about a run or campaign as a method of its handle."""

    def __init__(self, call: Callable[Concatenate[str, P], Call[I]]) -> None:
        self.call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, handle: None, owner: type) -> Self: ...
    @overload
    def __get__(self, handle: SyncHandle[I], owner: type) -> Callable[P, I]: ...
    @overload
    def __get__(self, handle: AsyncHandle[I], owner: type) -> Callable[P, Awaitable[I]]: ...
    def __get__(self, handle: Any, owner: type) -> Any:
        """The method."""
        if handle is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return handle.update(self.call(handle.id, *args, **kwargs))

        method.__name__, method.__doc__ = self.call.__name__, self.call.__doc__
        return method


class RunCalls:
    """What can be done with a run."""

    refresh = OnHandle(calls.run_info)
    stop = OnHandle(calls.stop_run)
    rate = OnHandle(calls.set_rate)
    scale = OnHandle(calls.set_scale)
    pause = OnHandle(calls.pause)
    resume = OnHandle(calls.resume)


class CampaignCalls:
    """What can be done with a campaign."""

    refresh = OnHandle(calls.campaign_info)
    stop = OnHandle(calls.stop_campaign)
