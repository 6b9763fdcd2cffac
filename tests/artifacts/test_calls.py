import os
import stat

from bursar.artifacts import Exchange, Limits, Store


def exchange(**given):
    return Exchange(**{"at": 1e9, "took_s": 0.5, "tool": "t", "did": "d", "client": "c", "ended": "ok"} | given)


def test_replies_come_back_exactly_as_they_were_sent_and_in_order(session):
    replies = ["", "plain", "two\nlines\n", 'ü \u202e \x1b[31m \x00 {"a":1}\r\n', "x" * 100_000]
    for reply in replies:
        session.note(exchange(did=reply[:5], artifacts=("a1", "a20"), reply=reply))
    kept = list(session.exchanges())
    assert [one.reply for one in kept] == replies
    assert kept[1].did == "plain"
    assert kept[1].artifacts == ("a1", "a20")


def test_the_handle_stands_nowhere_on_the_disk(session):
    session.note(exchange(did=f"read {session.handle}/a1", reply=f'{{"session":"{session.handle}"}}'))
    assert not any(session.handle.encode() in file.read_bytes() for file in session.directory.iterdir())
    (kept,) = session.exchanges()
    assert kept.reply == '{"session":"ses_' + "*" * 22 + '"}'


def test_what_is_kept_of_calls_is_private(session):
    session.note(exchange(reply="reply"))
    assert stat.S_IMODE(os.stat(session.directory / "calls.jsonl").st_mode) == 0o600


def test_calls_count_against_what_a_session_may_hold_and_stop_there(tmp_path):
    store = Store(tmp_path / "bursar", Limits(session_bytes=20_000))
    session = store.create("local:me")
    before = session.room.left()
    session.note(exchange(reply="x" * 1000))
    assert session.room.left() < before - 1000
    for _ in range(100):
        session.note(exchange(reply="x" * 1000))
    assert 5 < len(list(session.exchanges())) < 20
    session.close()
    store.close()


def test_a_session_with_calls_and_no_artifact_is_empty(session):
    session.note(exchange(reply="reply"))
    assert session.is_empty


def test_damaged_lines_are_left_out_and_the_others_read(session):
    session.note(exchange(did="first", reply="one"))
    with (session.directory / "calls.jsonl").open("ab") as file:
        file.write(b'\xff\n{}\n[]\nnull\n{"at":NaN}\n{"at":1e999}\n' + b"[" * 100_000 + b"\n")
    session.note(exchange(did="last", reply="two"))
    assert [one.did for one in session.exchanges()] == ["first", "last"]


def test_numbers_that_cannot_be_are_left_out(session):
    session.note(exchange(reply="one"))
    line = (session.directory / "calls.jsonl").read_bytes()
    for wrong in (b'"at":NaN', b'"at":-1', b'"at":1e300', b'"at":"x"'):
        (session.directory / "calls.jsonl").write_bytes(line.replace(b'"at":1000000000.0', wrong))
        assert list(session.exchanges()) == []


def test_a_link_in_the_place_of_the_calls_is_not_followed(session, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (session.directory / "calls.jsonl").symlink_to(secret)
    session.note(exchange(reply="one"))
    assert secret.read_text() == "secret"
    assert list(session.exchanges()) == []


def test_half_of_a_character_costs_itself_only(session):
    session.note(exchange(reply="a\ud800b"))
    assert [one.reply for one in session.exchanges()] == ["a\ufffdb"]


def test_nothing_is_noted_in_a_session_that_is_gone(store):
    session = store.create("local:me")
    store.remove(session.handle, session.owner)
    session.note(exchange(reply="reply"))
    assert list(session.exchanges()) == []
