"""One description of each call for both clients: a synchronous method of `Client`, an asynchronous one of `AsyncClient`.

`Endpoint` turns a pure function of `calls` into such a method. `OnHandle` does the same for functions whose first argument
is the id of a run or campaign, and updates the handle's state from the response.
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
    """Sends calls synchronously."""

    is_async: bool

    def send(self, call: Call[T]) -> T:
        """The server's response."""
        ...


class Async(Protocol):
    """Sends calls asynchronously."""

    is_async: bool

    async def send(self, call: Call[T]) -> T:
        """The server's response."""
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
    """A call that creates a run or campaign: returns a handle for `Client` or `AsyncClient`."""

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
    """The same, but waits for the end and returns the result. An error on the way stops the run or campaign."""

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
    """A run or campaign of a `Client`."""

    is_async: bool

    @property
    def id(self) -> str:
        """Its id on the server."""
        ...

    def update(self, call: Call[I]) -> I:
        """Sends a call and updates the state."""
        ...


class AsyncHandle(Protocol[I]):
    """A run or campaign of an `AsyncClient`."""

    is_async: bool

    @property
    def id(self) -> str:
        """Its id on the server."""
        ...

    async def update(self, call: Call[I]) -> I:
        """Sends a call and updates the state."""
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
    """The calls of a run."""

    refresh = OnHandle(calls.run_info)
    stop = OnHandle(calls.stop_run)
    clear = OnHandle(calls.clear_counters)
    rate = OnHandle(calls.set_rate)
    scale = OnHandle(calls.set_scale)
    add_streams = OnHandle(calls.add_streams)
    remove_streams = OnHandle(calls.remove_streams)
    pause = OnHandle(calls.pause)
    resume = OnHandle(calls.resume)


class CampaignCalls:
    """The calls of a campaign."""

    refresh = OnHandle(calls.campaign_info)
    stop = OnHandle(calls.stop_campaign)
