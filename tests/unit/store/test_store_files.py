"""Files appear whole or not at all, and what is torn all the same is named."""

from io import BytesIO

import pyarrow.parquet as pq
import pytest

from collegium.config import Config
from collegium.core import ConfigError, CorruptDataError, InvalidInputError, NotFoundError
from collegium.store import RunDirectory
from collegium.store.files import write_whole


class Numbered(Config):
    """A configuration that can differ."""

    number: int = 0


@pytest.fixture(params=["local", "memory"])
def run(request, tmp_path):
    """A run directory on a disk, and one on an object store."""
    path = str(tmp_path / "run") if request.param == "local" else f"memory://{tmp_path.name}"
    return RunDirectory(path).open(Numbered())


def test_files_are_created_and_replaced(run):
    for data in (b"first \xff", b"second"):
        run.write_bytes("deep/er/file", data)
    run.write_text("deep/note", "ü\n")
    assert run.read_text("deep/er/file") == "second"
    assert run.read_text("deep/note") == "ü\n"
    assert run.exists("deep/note")
    with pytest.raises(NotFoundError, match="has no deep/none"):
        run.read_text("deep/none")


def test_rows_come_back_once_and_in_order(run):
    run.append("t", [{"key": "b", "n": 1}, {"key": "a", "text": "\u2028ü"}])
    run.append("t", [{"key": "b", "n": 2}])
    assert list(run.rows("t")) == [{"key": "b", "n": 1}, {"key": "a", "text": "\u2028ü"}]
    assert run.keys("t") == {"a", "b"}


def test_a_write_cut_off_leaves_the_old_file_and_no_row(tmp_path):
    run = RunDirectory(str(tmp_path)).open(Numbered())
    run.append("t", [{"key": "a"}])
    [file] = (tmp_path / "rows" / "t").iterdir()

    def killed(out):
        out.write(b'{"key"')
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(file, killed)
    file.with_name(f".{file.name}.killed").write_text('{"key"')
    assert [row["key"] for row in run.rows("t")] == ["a"]
    assert run.active_seconds() >= 0


def test_a_row_is_written_on_the_file_system_it_stays_on(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    run = RunDirectory(str(tmp_path / "run")).open(Numbered())
    run.append("t", [{"key": "a"}])
    assert run.keys("t") == {"a"}


@pytest.mark.parametrize(
    "line", ['{"key": "b"', '{"n": 1}', "[]", "\udcc3", '{"key": 1}', "[" * 9999]
)
def test_a_bad_row_is_named_with_its_file_and_line(tmp_path, line):
    run = RunDirectory(str(tmp_path)).open(Numbered())
    run.append("t", [{"key": "a"}])
    [file] = (tmp_path / "rows" / "t").iterdir()
    file.write_bytes(file.read_bytes() + line.encode(errors="surrogateescape"))
    with pytest.raises(CorruptDataError, match=rf"{file.name}, line 2: no row"):
        run.keys("t")


def test_another_configuration_is_refused(run):
    assert RunDirectory(run.path).open(Numbered()).starts() == run.starts()
    with pytest.raises(ConfigError, match=r"was made with configuration .* or another directory"):
        RunDirectory(run.path).open(Numbered(number=1))


@pytest.mark.parametrize("value", [float("nan"), "\ud800", {1, 2}])
def test_a_row_that_no_file_can_hold_is_named(run, value):
    with pytest.raises(InvalidInputError, match="row 'a' cannot be stored"):
        run.append("t", [{"key": "a", "value": value}])


def test_parquet_has_every_key_and_every_type(run):
    run.append("t", [{"key": "a", "n": 1, "big": 1, "nested": [1]}])
    run.append("t", [{"key": "b", "late": 2.5, "n": "one", "big": 2**70, "nested": None}])
    run.finish()
    table = pq.read_table(BytesIO(run.read_bytes("tables/t.parquet"))).to_pydict()
    assert table == {
        "key": ["a", "b"],
        "n": ["1", '"one"'],
        "big": ["1", str(2**70)],
        "nested": ["[1]", None],
        "late": [None, 2.5],
    }


def test_what_lies_beside_the_rows_is_no_row(run):
    run.append("t", [{"key": "a"}])
    run.write_text("rows/readme.txt", "by hand")
    run.write_text("rows/t/notes.txt", "by hand")
    assert run.keys("t") == {"a"}
    assert run.active_seconds() >= 0
    run.finish()
    assert run.manifest().rows == {"t": 1}
    run.write_text("rows/t/copy.jsonl", '{"key": "a"}')
    with pytest.raises(
        CorruptDataError, match=r"copy.jsonl: rows are in files named by their time"
    ):
        run.active_seconds()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x", "no manifest of this version"),
        (b"\xff", "no text"),
        (b'{"rows": {"../../x": 1}, "files": {}}', "no manifest of this version"),
    ],
)
def test_a_manifest_that_was_edited_is_told_on_one_line(run, content, message):
    run.finish()
    run.write_bytes("manifest.json", content)
    with pytest.raises(CorruptDataError, match=message) as caught:
        run.manifest()
    assert "\n" not in str(caught.value)


def test_a_run_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made"):
        RunDirectory(str(tmp_path / "file" / "run")).open(Numbered())
