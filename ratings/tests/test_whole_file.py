"""A file that appears only when it is complete."""

import pytest

from ratings.management.whole_file import whole_file


def test_a_missing_folder_is_told_by_the_name_that_was_asked_for(tmp_path):
    path = tmp_path / "none" / "backup.zip"
    with pytest.raises(FileNotFoundError) as caught, whole_file(path):
        pass
    assert caught.value.filename == str(path)


def test_what_breaks_off_leaves_the_file_before_it_and_no_part(tmp_path):
    path = tmp_path / "backup.zip"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["backup.zip"]
    assert path.read_bytes() == b"before"
