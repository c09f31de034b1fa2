"""The class archive with real JVMs: made, mapped, and ignored when it is damaged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mappings are read in /proc")
ROOT = Path(__file__).parents[2]

# Starts a session and prints which archives its JVM has mapped, and what it was told.
SESSION = """
from pathlib import Path
from meshwright.runtime.session import spark_session
spark = spark_session("local[1]", n_rows=1)
assert spark.range(3).count() == 3
jvm = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}")
mapped = {line.split()[-1] for line in (jvm / "maps").read_text().splitlines() if ".jsa" in line}
print(sorted(Path(name).name for name in mapped), flush=True)
print((jvm / "cmdline").read_text().replace(chr(0), " "))
"""


def run(cache: Path, *words: str) -> str:
    """Run Python with a cache directory; return its stdout."""
    variables = {"XDG_CACHE_HOME": str(cache), "MESHWRIGHT_CLASS_ARCHIVE": "on", "CI": "true"}
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A cache directory with the archive that `spark prepare` makes.

    `scripts/test` has run that command and names its cache: a copy saves a minute.
    """
    place = tmp_path_factory.mktemp("cache with a space")
    made = Path(os.environ.get("XDG_CACHE_HOME", "")) / "meshwright"
    verb = "prepare"
    if made.is_absolute() and list(made.glob("*.jsa")):
        shutil.copytree(made, place / "meshwright")
        verb = "status"
    found = json.loads(run(place, "-m", "meshwright", "spark", verb, "--json"))["archive"]
    assert found["bytes"] == Path(found["path"]).stat().st_size > 2**20
    assert [path.name for path in Path(found["path"]).parent.glob(".*")] == []
    return place


@pytest.fixture
def archive(cache):
    """The archive; it is put back as it was when the test ends."""
    (path,) = cache.rglob("*.jsa")
    before, stamp = path.read_bytes(), path.stat()
    yield path
    path.unlink(missing_ok=True)
    path.write_bytes(before)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_a_jvm_maps_the_archive(cache, archive):
    mapped, told = run(cache, "-c", SESSION).splitlines()[:2]
    assert archive.name in mapped
    assert f"-XX:SharedArchiveFile={archive}" in told
    assert "-XX:TieredStopAtLevel=1" in told


def test_an_archive_with_changed_bytes_is_ignored_by_the_jvm(cache, archive):
    stamp = archive.stat()
    content = bytearray(archive.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4096] = bytes(255 - byte for byte in content[middle : middle + 4096])
    archive.unlink()
    archive.write_bytes(content)
    os.utime(archive, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the note does not tell
    mapped, told = run(cache, "-c", SESSION).splitlines()[:2]
    assert f"-XX:SharedArchiveFile={archive}" in told
    assert archive.name not in mapped


def test_an_archive_that_was_cut_off_is_not_given_to_the_jvm(cache, archive):
    content = archive.read_bytes()
    archive.unlink()
    archive.write_bytes(content[: len(content) // 2])
    mapped, told = run(cache, "-c", SESSION).splitlines()[:2]
    assert archive.name not in mapped
    assert "SharedArchiveFile" not in told
