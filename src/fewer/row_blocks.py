"""Rows cut into blocks of canonical sizes, and what is merged of them, in a tree that depends on their number alone."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ._validation import InvalidInput

FAN_IN = 8
"""Summaries that are merged into one."""
BLOCK_CELLS, MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 2**22, 2**17, 2**10
"""Cells of a canonical block, and its rows at most and at least."""

S = TypeVar("S")
Merge = Callable[[list[S]], S]


def canonical_rows(columns: int) -> int:
    """The rows of a canonical block with so many columns: a power of two.

    >>> canonical_rows(1), canonical_rows(784)
    (131072, 4096)
    """
    most = max(BLOCK_CELLS // max(columns, 1), 1)
    return int(min(max(1 << (most.bit_length() - 1), MIN_BLOCK_ROWS), MAX_BLOCK_ROWS))


class Tree(Generic[S]):
    """Summaries that come in order, merged FAN_IN at a time: `levels` are those that wait for others.

    >>> tree = Tree(lambda parts: "(" + "".join(parts) + ")")
    >>> for name in "abcdefghij":
    ...     tree.add(name)
    >>> tree.levels, tree.root()
    ([['i', 'j'], ['(abcdefgh)']], '((abcdefgh)(ij))')
    """

    def __init__(self, merge: Merge[S], levels: list[list[S]] | None = None) -> None:
        self.merge = merge
        self.levels: list[list[S]] = [] if levels is None else levels

    def add(self, summary: S) -> None:
        """One more at the right end."""
        for at in range(len(self.levels) + 1):
            if at == len(self.levels):
                self.levels.append([])
            self.levels[at].append(summary)
            if len(self.levels[at]) < FAN_IN:
                return
            summary = self.merge(self.levels[at])
            self.levels[at] = []

    def root(self) -> S:
        """All of them merged."""
        later: list[S] = []
        for level in self.levels:
            here = [*level, *later]
            later = [self.merge(here)] if len(here) > 1 else here
        if not later:
            raise InvalidInput("there are no rows: all blocks are empty")
        return later[0]


def merged_in_tree(summaries: Sequence[S], merge: Merge[S]) -> S:
    """Merge a list of summaries in the fixed tree."""
    tree = Tree(merge)
    for summary in summaries:
        tree.add(summary)
    return tree.root()
