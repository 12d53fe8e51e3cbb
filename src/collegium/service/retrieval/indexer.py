"""The durable worker that brings contributions from the ledger into the library.

It follows the ledger by position. A contribution whose score reaches the memory's threshold, of an
admitted split, is cut into chunks, embedded and added; then the progress moves. It may be killed at
any moment: another one, or the same one later, goes on from the progress. Of several on one machine
one works, elected by a lock on the library, which ends with its process.
"""

import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import structlog
from filelock import FileLock, Timeout

from collegium.core import Chunk, CollegiumError, Trajectory
from collegium.embedding import Embedder
from collegium.experience import MemoryConfig, chunk_trajectory
from collegium.service.retrieval.library import Library, Progress
from collegium.service.trajectories import CONTRIBUTED, STREAMS
from collegium.store.ledger import Event, Ledger

PAGE = 32
"""Contributions indexed between two moves of the progress."""
_IDLE_S = 0.25
_FAILED_S = 5.0


class Indexer:
    """Indexes what is new; one at a time for a library."""

    def __init__(
        self,
        ledger: Ledger,
        library: Library,
        embedder: Embedder,
        memory: MemoryConfig,
        parts: Embedder | None = None,
    ) -> None:
        """Bring the contributions of `ledger` into `library`.

        Args:
            ledger: Where they are.
            library: Where they go.
            embedder: Embeds the chunks' keys.
            memory: Which of them become chunks, and how.
            parts: Keeps the vectors of the keys' parts, which rankers will ask for; None where
                there are no rankers.
        """
        self._ledger = ledger
        self._library = library
        self._embedder = embedder
        self._memory = memory
        self._parts = parts

    def begin(self) -> None:
        """Take over the library; one of another history than the ledger's is made anew."""
        progress = self._library.refresh()
        if progress.newest_id is None:
            return
        event = next(iter(self._ledger.read(progress.newest - 1, 1)), None)
        if event is None or event.id != progress.newest_id:
            structlog.get_logger().warning("the ledger was restored; the index is made anew")
            self._library.clear()

    def step(self) -> bool:
        """Index one page of contributions; return whether there may be more."""
        progress = self._library.progress
        # Asked first: what is appended from now on may or may not be in the page.
        head = self._ledger.position()
        if head <= progress.position:
            return False
        events = self._ledger.read(progress.position, PAGE, STREAMS)
        self._add([event for event in events if event.type == CONTRIBUTED])
        full = len(events) == PAGE
        reached = events[-1].position if full else max(head, *(e.position for e in events), 0)
        self._library.reach(_moved(progress, reached, events))
        return full

    def _add(self, events: Sequence[Event]) -> None:
        chunks: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
        for event in events:
            trajectory = Trajectory.model_validate(event.payload["trajectory"])
            if self._admits(trajectory):
                place = (event.stream.removeprefix(STREAMS), trajectory.versions.grammar)
                chunks[place] += chunk_trajectory(
                    trajectory, self._memory.window, partition=event.position
                )
        for place, found in chunks.items():
            if self._parts:
                self._parts.embed([part for c in found for part in (c.goal, c.state, c.context)])
            vectors = self._embedder.embed([chunk.key_text for chunk in found])
            self._library.opened(*place).add(found, vectors)

    def _admits(self, trajectory: Trajectory) -> bool:
        memory = self._memory
        return trajectory.score >= memory.threshold and trajectory.task.split in memory.splits


def _moved(progress: Progress, reached: int, events: Sequence[Event]) -> Progress:
    if not events:
        return progress.model_copy(update={"position": reached})
    return Progress(position=reached, newest=events[-1].position, newest_id=events[-1].id)


class IndexerThread(threading.Thread):
    """Runs an indexer for as long as the process lives, or until it is stopped."""

    def __init__(self, indexer: Indexer, lock: Path) -> None:
        """Work while holding `lock`."""
        super().__init__(name="indexer", daemon=True)
        self._indexer = indexer
        self._lock = FileLock(lock, thread_local=False)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End the work after the page under way."""
        self._stopping.set()
        self.join()

    def run(self) -> None:
        """Wait for the lock, then index; what fails is logged and tried again."""
        while not self._stopping.is_set():
            try:
                self._work()
            except Timeout:
                self._stopping.wait(_IDLE_S)
            except CollegiumError as error:
                structlog.get_logger().warning("indexing waits", reason=str(error))
                self._stopping.wait(_FAILED_S)
            except Exception:
                structlog.get_logger().exception("indexing failed")
                self._stopping.wait(_FAILED_S)

    def _work(self) -> None:
        with self._lock.acquire(blocking=False):
            self._indexer.begin()
            while not self._stopping.is_set():
                if not self._indexer.step():
                    self._stopping.wait(_IDLE_S)
