"""What is raised where somebody ends a bench: how much of it is on disk."""

from __future__ import annotations


class BenchInterrupted(KeyboardInterrupt):
    """Ctrl-C while a bench was measured.

    n_done, n   blocks that are on disk, and all of them
    """

    def __init__(self, n_done: int, n: int) -> None:
        super().__init__(n_done, n)
        self.n_done, self.n = n_done, n
