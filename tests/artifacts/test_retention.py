import os
import time

import pytest
from bursar.artifacts import Limits, Store, retention
from bursar.artifacts import session as session_module
from bursar.artifacts.folder import Folder
from bursar.artifacts.retention import sweep
from bursar.errors import BursarError

DAY = 86400


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def make(root, age):
    """Makes a session of a size that was last used days ago, and lets go of it."""

    def made(days=0, size=1000, limits=Limits(), owner="me"):  # noqa: B008 - it is frozen
        session = Store(root, limits).create(owner)
        if size:
            with session.writer(tool="t", did="d") as writer:
                writer.write(b"x" * size)
        session.close()
        age(session, days * DAY, limits)
        return session

    return made


def left(root):
    return {entry.name for entry in root.iterdir()}


def test_sessions_idle_for_too_long_go(root, make):
    old, new = make(8), make(6)
    swept = Store(root, Limits()).sweep()
    assert swept.sessions == 1
    assert swept.bytes >= 1000
    assert left(root) == {new.directory.name}
    with pytest.raises(BursarError, match="unknown_session"):
        Store(root, Limits()).attach(old.handle, "me")
    assert Store(root, Limits()).attach(new.handle, "me").open("a1").size == 1000


def test_sessions_without_artifacts_go_after_an_hour(root, make):
    gone, young, full = make(0.05, size=0), make(0.03, size=0), make(0.05)
    assert Store(root, Limits()).sweep().sessions == 1
    assert gone.directory.name not in left(root)
    assert left(root) == {young.directory.name, full.directory.name}


def test_above_the_total_the_longest_unused_go_first(root, make):
    limits = Limits(total_bytes=250_000)
    kept = [make(days, 100_000, limits) for days in (1, 2)]
    for days in (3, 4, 5):
        make(days, 100_000, limits)
    assert Store(root, limits).sweep().sessions == 3
    assert left(root) == {session.directory.name for session in kept}


GREEDY = Limits(idle_s=0, total_bytes=0, settle_s=0)


def test_a_session_in_use_is_never_swept(root, make, age):
    session = make(100, 100_000, GREEDY)
    user = Store(root, GREEDY).attach(session.handle, "me")
    age(session, 100 * DAY, GREEDY)
    assert Store(root, GREEDY).sweep().sessions == 0
    assert user.open("a1").read(0, 3) == b"xxx"
    user.close()
    assert Store(root, GREEDY).sweep().sessions == 1


@pytest.mark.parametrize("then", [1, 4e9])
def test_the_times_of_files_say_nothing_about_when_a_session_was_used(root, make, then):
    old, new = make(8), make(6)
    for session in (old, new):
        for path in (*session.directory.iterdir(), session.directory):
            os.utime(path, (then, then))
    Store(root, Limits()).sweep()
    assert left(root) == {new.directory.name}


@pytest.mark.parametrize(
    "noted", ["", "1e400 0 0\n", "nan 0 0\n", "-1 0 0\n", "0 0\n", "0 nan 0\n", "\udcff", "x" * 100]
)
def test_a_session_of_which_it_is_not_known_when_it_was_used_is_kept_as_if_it_were_now(root, make, noted):
    session = make(100)
    (session.directory / "lock").write_bytes(noted.encode(errors="surrogateescape"))
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(), time.time()).sessions == 0
    assert sweep(folder, Limits(), time.time() + 6 * DAY).sessions == 0
    assert sweep(folder, Limits(), time.time() + 8 * DAY).sessions == 1
    folder.close()


def test_a_time_in_the_future_keeps_no_session_for_ever(root, make):
    make(-36_500)
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(), time.time()).sessions == 0
    assert sweep(folder, Limits(), time.time() + 8 * DAY).sessions == 1
    folder.close()


def test_whoever_sweeps_keeps_what_another_server_promised_to_keep(root, make):
    long, short = make(10, limits=Limits(idle_s=365 * DAY)), make(10)
    assert Store(root, Limits(idle_s=DAY)).sweep().sessions == 1
    assert left(root) == {long.directory.name}
    assert short.directory.name not in left(root)


def test_whoever_sweeps_keeps_what_has_room_under_the_limit_of_another_server(root, make):
    for _ in range(3):
        make(1, 100_000, Limits(total_bytes=10**9))
    other = make(2, 100_000, Limits(total_bytes=1000))
    assert Store(root, Limits(total_bytes=1000)).sweep().sessions == 1
    assert other.directory.name not in left(root)
    assert len(left(root)) == 3


def test_what_one_owner_stores_costs_another_nothing(root, make):
    limits = Limits(total_bytes=300_000)
    hers = make(6, 90_000, limits, "ann")
    for _ in range(5):
        make(0.01, 100_000, limits, "bob")
    kept = make(0.005, 100_000, limits, "bob")
    assert Store(root, limits).sweep().sessions == 4
    assert {hers.directory.name, kept.directory.name} <= left(root)


def test_of_two_who_hold_much_neither_is_swept_below_an_equal_share(root, make):
    limits = Limits(total_bytes=450_000)
    old = [make(5 - n / 10, 100_000, limits, "ann") for n in range(4)]
    new = [make(1 - n / 10, 100_000, limits, "bob") for n in range(4)]
    assert Store(root, limits).sweep().sessions == 4
    assert left(root) == {session.directory.name for session in (*old[2:], *new[2:])}


def test_sessions_that_fit_are_not_looked_at_one_by_one():
    small = retention._Found("name", "me", 10, is_empty=False, used=None)
    assert retention._make_room(None, [small], Limits(), time.time()) == set()


def test_who_is_over_the_share_but_in_use_costs_the_others_nothing_of_theirs(root, make):
    limits = Limits(total_bytes=300_000)
    hers = make(6, 90_000, limits, "ann")
    his = make(1, 500_000, limits, "bob")
    user = Store(root, limits).attach(his.handle, "bob")
    assert Store(root, limits).sweep().sessions == 0
    assert left(root) == {hers.directory.name, his.directory.name}
    user.close()


def test_using_a_session_keeps_it(root, make):
    session = make(8)
    Store(root, Limits()).attach(session.handle, "me").close()
    assert Store(root, Limits()).sweep().sessions == 0


def test_a_clock_set_back_removes_nothing(root, make):
    make(0, 100_000)
    folder = Folder.root(root, lambda folder: True)
    for past in (time.time() - 400 * DAY, 0.0):
        assert sweep(folder, Limits(), past).sessions == 0
        assert sweep(folder, Limits(idle_s=0), past).sessions == 0
    folder.close()


def test_a_clock_set_forward_removes_only_what_nobody_uses(root, make):
    make(0)
    used = Store(root, Limits()).create("me")
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(), time.time() + 400 * DAY).sessions == 1
    folder.close()
    assert left(root) == {used.directory.name}


def test_a_session_that_was_just_made_is_not_swept_for_size(root, make):
    make(0, 100_000)
    assert Store(root, Limits(total_bytes=0)).sweep().sessions == 0


def test_a_sweep_that_is_not_due_is_not_made_whatever_time_its_marker_has(root, make):
    store = Store(root, Limits())
    make(8)
    assert store.sweep(every_s=3600).sessions == 1
    marker = root / ".swept"
    for then, due in ((time.time() - 60, False), (time.time() - 7200, True), (time.time() + 7200, True), (None, True)):
        make(8)
        os.utime(marker, (time.time() + 100, time.time() + 100))
        if then is None:
            marker.write_text("")
        else:
            marker.write_text(f"{then:014.3f} 0 0\n")
        assert store.sweep(every_s=3600).sessions == (1 if due else 0)
        store.sweep()


def test_an_interrupted_sweep_is_finished_by_the_next(root, make):
    session = make(1)
    session.directory.rename(root / ".gone-0011")
    Store(root, Limits()).sweep()
    assert left(root) == set()


def test_what_a_crash_left_of_no_artifact_is_tidied_away(root, make):
    session = make(1)
    directory = session.directory
    for name in ("a2-stray.log", ".new-00", "a3-torn"):
        (directory / name).write_text("x")
    (directory / "a3.json").write_text('{"id":"a3"')
    Store(root, Limits()).sweep()
    assert {"a1-output", "a1.json", "a3.json", "lock", "owner.json"} == {entry.name for entry in directory.iterdir()}


def test_nothing_else_in_the_directory_is_touched(root, make):
    make(8, limits=GREEDY)
    (root / "notes.txt").write_text("mine")
    (root / "abcdefghijkl").write_text("mine")
    (root / "folder").mkdir()
    Store(root, GREEDY).sweep()
    assert left(root) == {"notes.txt", "abcdefghijkl", "folder"}


def test_sweeping_nothing_is_fine(root):
    assert Store(root, Limits()).sweep().sessions == 0


def test_a_promise_made_while_a_sweep_is_on_its_way_is_kept(root, make):
    session = make(3, limits=Limits(idle_s=DAY))
    began = time.time()
    Store(root, Limits(idle_s=365 * DAY)).attach(session.handle, "me").close()
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(idle_s=DAY), began - 1).sessions == 0
    assert sweep(folder, Limits(idle_s=DAY), began + 100 * DAY).sessions == 0
    assert sweep(folder, Limits(idle_s=DAY), began + 366 * DAY).sessions == 1
    folder.close()


def test_a_time_in_the_future_is_put_right_and_the_promise_kept(root, make):
    make(-36_500, limits=Limits(idle_s=365 * DAY))
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(idle_s=DAY), time.time()).sessions == 0
    assert sweep(folder, Limits(idle_s=DAY), time.time() + 364 * DAY).sessions == 0
    assert sweep(folder, Limits(idle_s=DAY), time.time() + 366 * DAY).sessions == 1
    folder.close()


def test_a_time_without_a_promise_is_kept_as_long_as_whoever_sweeps_keeps_it(root, make):
    for days in (8, 6):
        (make().directory / "lock").write_text(f"{time.time() - days * DAY:.3f}\n")
    assert Store(root, Limits()).sweep().sessions == 1
    assert Store(root, Limits(idle_s=5 * DAY)).sweep().sessions == 1


def test_a_promise_is_not_lowered_by_a_use_under_lower_limits(root, make):
    session = make(limits=Limits(idle_s=365 * DAY, total_bytes=10**12))
    Store(root, Limits()).attach(session.handle, "me").close()
    assert (session.directory / "lock").read_text().split()[1:] == [f"{365 * DAY:014.0f}", f"{10**12:019d}"]


def test_a_directory_that_is_no_session_of_ours_ends_no_sweep(root, make):
    old, foreign = make(8), make(8)
    foreign.directory.chmod(0o1777)  # as little ours as another user's
    assert Store(root, Limits()).sweep().sessions == 1
    assert left(root) == {foreign.directory.name}
    assert old.directory.name not in left(root)


def test_a_session_of_which_nothing_is_to_be_removed_is_not_locked_for_that(root, make, monkeypatch):
    make(1)
    torn = make(1)
    (torn.directory / "a2-stray.log").write_text("x")
    (torn.directory / "a3.json").write_text('{"id":"a3"')
    claimed = list[str]()

    def watched(folder):
        claimed.append(folder.path.name)
        return claim(folder)

    claim = retention._claim
    monkeypatch.setattr(retention, "_claim", watched)
    Store(root, Limits()).sweep()
    assert claimed == [torn.directory.name]
    assert not (torn.directory / "a2-stray.log").exists()


def test_a_session_whose_lock_was_deleted_is_locked_again_by_its_next_use(root, monkeypatch):
    monkeypatch.setattr(session_module, "_TOUCH_EVERY_S", 0)
    session = Store(root, GREEDY).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"x")
    (session.directory / "lock").unlink()
    assert session.open("a1").read(0, 1) == b"x"
    (session.directory / "lock").write_text(f"{time.time() - 100 * DAY:014.3f} 0 0\n")
    assert Store(root, GREEDY).sweep().sessions == 0
    session.close()
    (session.directory / "lock").write_text(f"{time.time() - 100 * DAY:014.3f} 0 0\n")
    assert Store(root, GREEDY).sweep().sessions == 1


def test_an_empty_session_that_was_promised_more_than_is_usual_stays(root, make):
    kept = make(0.05, size=0, limits=Limits(idle_s=1e13))
    assert Store(root, Limits()).sweep().sessions == 0
    assert left(root) == {kept.directory.name}
