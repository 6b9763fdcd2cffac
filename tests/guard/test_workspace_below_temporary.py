import subprocess

from wire import module


def test_a_workspace_below_the_temporary_directory_outlives_the_commands_that_saw_it(tmp_path):
    (tmp_path / "root" / "folder" / "empty").mkdir(parents=True)
    (tmp_path / "root" / "kept.txt").write_text("kept")
    (tmp_path / "root" / "folder" / "kept.txt").write_text("kept")
    options = ("--root", str(tmp_path / "root"), "--data-dir", str(tmp_path / "data"))
    command = module("call", "terminal", "command=echo private > /tmp/private; ls", *options)
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    found = sorted(str(path.relative_to(tmp_path / "root")) for path in (tmp_path / "root").rglob("*"))
    assert found == ["folder", "folder/empty", "folder/kept.txt", "kept.txt"]
