"""Instances are made as they are needed, and lent to one at a time."""

import threading

import pytest

from steelyard.base.instances import Instances


def test_threads_that_take_turns_share_one() -> None:
    instances, seen = Instances(object), list[object]()

    def work() -> None:
        with instances.borrowed() as instance:
            seen.append(instance)

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(seen) == 3
    assert len(set(map(id, seen))) == 1


def test_threads_at_once_have_one_each() -> None:
    instances, together, seen = Instances(object), threading.Barrier(3), list[object]()

    def work() -> None:
        with instances.borrowed() as instance:
            together.wait(timeout=10)
            seen.append(instance)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, seen))) == 3


def test_what_fails_while_it_is_lent_comes_back() -> None:
    instances = Instances(object)
    with pytest.raises(ValueError, match="odd"), instances.borrowed() as first:
        raise ValueError("odd")
    with instances.borrowed() as second:
        assert second is first
