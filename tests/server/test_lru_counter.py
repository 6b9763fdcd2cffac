import pickle

from bursar.server.lru_counter import LruCounter


def test_a_key_is_counted_by_all_that_it_is_made_of():
    counter = LruCounter()
    assert [counter.add("a", 1), counter.add("a", 1), counter.add("a", "1")] == [1, 2, 1]


def test_of_what_a_key_holds_nothing_is_kept():
    counter = LruCounter()
    counter.add("x" * 100_000)
    assert len(pickle.dumps(counter)) < 1_000
    assert counter.add("x" * 100_000) == 2


def test_the_key_that_was_not_added_for_longest_is_forgotten_first():
    counter = LruCounter(kept=2)
    for key in ("old", "kept", "old", "new"):
        counter.add(key)
    assert ["kept" in counter, "old" in counter, "new" in counter] == [False, True, True]
