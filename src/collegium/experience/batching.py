"""Many askers, one model: what arrives while a batch is running makes the next batch.

Nothing waits for a timer: one asker alone is served at once, and n askers make batches of up to n.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class MicroBatcher(Generic[Item, Result]):
    """Gathers concurrent calls of one event loop and processes them in a worker thread."""

    def __init__(self, process: Callable[[Sequence[Item]], Sequence[Result]]) -> None:
        """Batch calls of `process`, which gives one result for each item, in order.

        It runs in a thread, one call at a time. What it raises reaches every asker of its batch.
        """
        self._process = process
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """Return the result for `item`."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            items = [item for item, _ in batch]
            try:
                results = await asyncio.to_thread(self._process, items)
            except Exception as error:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)
            else:
                for (_, answer), result in zip(batch, results, strict=True):
                    if not answer.done():
                        answer.set_result(result)
