"""A process whose session was deleted goes on in a new one: the old handle opens nothing again."""

import shutil

import pytest
from replies import reply_of
from wire import server


def session_in(data):
    (place,) = (place for place in (data / "bursar").iterdir() if not place.name.startswith("."))
    return place


@pytest.mark.parametrize("is_named", [False, True])
def test_a_process_whose_session_was_deleted_makes_a_new_one_and_tells_it(options, folder, tmp_path, is_named):
    (folder / "note.txt").write_text("the note\n")
    more = []
    if is_named:
        with server(*options) as earlier:
            more = ["--session", reply_of(earlier.call("read_artifact")[0])["session"]]
    with server(*options, *more) as client:
        old = reply_of(client.call("read_file", path="note.txt")[0])["artifact"]
        shutil.rmtree(session_in(tmp_path / "data"))
        assert client.call("read_artifact", artifact="a1")[0].startswith("unknown_artifact:")
        reply = reply_of(client.call("read_file", path="note.txt")[0])
        assert reply["artifact"].partition("/")[0] != old.partition("/")[0]
        assert "same_as" not in reply
        assert reply_of(client.call("read_artifact", artifact="a1")[0])["preview"] == "the note\n"
        assert client.call("read_artifact", artifact=old)[0].startswith("unknown_artifact:")
        assert client.call("read_artifact", session=old)[0].startswith("unknown_session:")
        assert session_in(tmp_path / "data").is_dir()


def test_a_process_that_is_to_go_on_with_a_session_that_is_not_there_does_not_begin_another(options, tmp_path):
    with server(*options, "--session", "ses_" + "A" * 22) as client:
        assert client.call("directory_tree")[0].startswith("unknown_session:")
        assert client.call("directory_tree")[0].startswith("unknown_session:")
    assert list((tmp_path / "data").rglob("a1*")) == []
