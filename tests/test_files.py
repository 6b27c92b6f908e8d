import pytest

from fan_dense.files import refuse_existing, write_atomically


def test_a_file_is_written_whole_into_new_folders(tmp_path):
    path = tmp_path / 'a' / 'b.json'
    write_atomically(path, 'first')
    write_atomically(path, 'zweites: ü')
    assert path.read_bytes() == b'zweites: \xc3\xbc'
    write_atomically(path, b'\x00\r\n')
    assert path.read_bytes() == b'\x00\r\n'
    assert [one.name for one in path.parent.iterdir()] == ['b.json']


def test_what_fails_leaves_nothing_behind(tmp_path):
    path = tmp_path / 'b.json'
    write_atomically(path, 'old')
    with pytest.raises(TypeError):
        write_atomically(path, 1)
    assert path.read_text() == 'old'
    assert [one.name for one in tmp_path.iterdir()] == ['b.json']


def test_existing_files_are_kept(tmp_path):
    path = tmp_path / 'b.json'
    refuse_existing(path, overwrite=False)
    path.touch()
    refuse_existing(path, overwrite=True)
    with pytest.raises(FileExistsError, match=r'b.json exists already: --overwrite replaces it'):
        refuse_existing(path, overwrite=False)
