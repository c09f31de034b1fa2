import os
import stat
import sys
import textwrap
from pathlib import Path

import pytest

from meshwright.errors import InputError, SparkError
from meshwright.runtime import java, machine, session


def fake_java(directory: Path, version: str) -> Path:
    """Make a `java` that only knows its version."""
    (directory / "bin").mkdir(parents=True)
    program = directory / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.parametrize("asked", ["2g", "1500m"])
def test_the_memory_asked_for_is_taken(monkeypatch, asked):
    monkeypatch.setenv("MESHWRIGHT_MEMORY", asked)
    assert session.driver_memory() == asked


@pytest.mark.parametrize("asked", ["2", "2 g", "2GB", "lots", "0g", "-1g"])
def test_a_memory_that_spark_would_not_read_is_refused(monkeypatch, asked):
    monkeypatch.setenv("MESHWRIGHT_MEMORY", asked)
    with pytest.raises(InputError, match=rf"MESHWRIGHT_MEMORY is '{asked}'; write it like 2g"):
        session.driver_memory()


@pytest.mark.parametrize(
    ("machine", "driver"), [(1, "1024m"), (16, "4096m"), (23, "5888m"), (1024, "16384m")]
)
def test_the_driver_gets_a_quarter_of_the_machine_within_limits(monkeypatch, machine, driver):
    monkeypatch.delenv("MESHWRIGHT_MEMORY", raising=False)
    monkeypatch.setattr(session, "machine_memory", lambda: machine * 2**30)
    assert session.driver_memory() == driver


def test_the_machine_has_some_memory():
    assert session.machine_memory() > 2**28


def test_without_java_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkError, match=r"needs Java 17 or later and none was found\. Install"):
        java.require_java()


def test_a_java_home_without_java_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(SparkError, match=r"JAVA_HOME is '.*gone', but .*java cannot be run\. Spa"):
        java.require_java()


@pytest.mark.parametrize(("version", "shown"), [("11.0.2", "11"), ("1.8.0_292", "1")])
def test_a_java_that_is_too_old_is_named(monkeypatch, tmp_path, version, shown):
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=rf"java is Java {shown}\. Spark needs Java 17"):
        java.require_java()


def test_a_java_that_says_nothing_of_its_version_is_refused(monkeypatch, tmp_path):
    fake_java(tmp_path, "").write_text("#!/bin/sh\ntrue\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkError, match=r"java is Java unknown\. Spark needs Java 17"):
        java.require_java()


@pytest.mark.parametrize("version", ["17.0.9", "21", "25-ea"])
def test_a_java_new_enough_is_taken_from_the_path(monkeypatch, tmp_path, version):
    fake_java(tmp_path, version)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    java.require_java()


def test_the_version_is_read_from_the_file_beside_java(monkeypatch, tmp_path):
    program = fake_java(tmp_path, "11.0.2")
    (tmp_path / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.require_java() == program


def options_for(monkeypatch, **variables: str) -> list[str]:
    for name in session.JVM_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return session.jvm_options([], small=True).split()


def test_few_rows_get_the_quick_compiler_and_one_collector_thread(monkeypatch, tmp_path):
    options = options_for(monkeypatch)
    assert {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"} <= set(options)
    assert "-XX:TieredStopAtLevel=1" not in session.jvm_options([], small=False)
    few = session.session_settings(tmp_path, local=True, small=True)
    assert few["spark.sql.codegen.wholeStage"] == "false"
    assert few["spark.sql.shuffle.partitions"] == "1"
    assert "spark.sql.adaptive.enabled" not in session.session_settings(tmp_path, local=True)


@pytest.mark.parametrize("variable", session.JVM_VARIABLES)
def test_a_collector_of_the_user_is_left_alone(monkeypatch, variable):
    options = options_for(monkeypatch, **{variable: "-XX:+UseParallelGC"})
    assert "-XX:+UseSerialGC" not in options
    assert "-XX:TieredStopAtLevel=1" in options


def test_local_settings_keep_to_this_machine_and_its_scratch_space(monkeypatch, tmp_path):
    monkeypatch.setenv("MESHWRIGHT_MEMORY", "3g")
    settings = session.session_settings(tmp_path, local=True)
    assert settings["spark.driver.memory"] == "3g"
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.local.dir"] == str(tmp_path)
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.ui.enabled"] == "false"


def test_a_cluster_keeps_its_own_partitions_and_addresses(tmp_path):
    settings = session.session_settings(tmp_path, local=False)
    assert "spark.sql.shuffle.partitions" not in settings
    assert "spark.driver.host" not in settings
    assert "spark.local.dir" not in settings


def test_scratch_space_of_dead_processes_is_removed_and_of_living_ones_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(session.tempfile, "gettempdir", lambda: str(tmp_path))
    ours = f"meshwright-spark-{machine.process_name()}-x"
    elsewhere = f"meshwright-spark-elsewhere-{2**22 + 1}-0-x"
    ended = f"meshwright-spark-{machine.process_name(2**22 + 1)[:-1]}-x"
    for name in (ours, elsewhere, ended, "somebody-else"):
        (tmp_path / name).mkdir()
    session.sweep_dead_scratch()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted([ours, elsewhere, "somebody-else"])


def test_the_package_travels_whole_and_without_its_data(tmp_path):
    import zipfile

    archive = session._package_archive(tmp_path, session.PACKAGE)
    names = zipfile.ZipFile(archive).namelist()
    assert "meshwright/__init__.py" in names
    assert "meshwright/workload/tables.py" in names
    assert all(name.endswith(".py") for name in names)


def test_a_spark_that_does_not_start_is_told_in_one_line_with_its_log(tmp_path):
    import subprocess

    code = textwrap.dedent(
        """
        from meshwright.errors import SparkError
        from meshwright.runtime.session import spark_session
        try:
            spark_session("nonsense")
        except SparkError as error:
            print(error)
            print(open(error.log).read())
        """
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "SPARK_MASTER")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**environment, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert "Spark did not start on master 'nonsense': " in done.stdout
    assert done.stderr == ""
    assert [p.name for p in tmp_path.glob("meshwright-spark-*")] == []


def test_an_unreachable_spark_connect_is_named(monkeypatch):
    from pyspark.sql import SparkSession

    class Refusing:
        def remote(self, url):
            raise RuntimeError(f"no answer from {url}\nand a long trace")

    monkeypatch.setattr(SparkSession, "builder", Refusing())
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    with pytest.raises(SparkError, match=r"cannot reach Spark Connect at 'sc://127.0.0.1:1': no a"):
        session.spark_session()


def test_processors_are_counted_where_the_system_has_no_affinity(monkeypatch):
    assert machine.cpu_count() >= 1
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert machine.cpu_count() == 7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux numbers processes by namespace")
def test_the_name_of_a_process_tells_containers_of_one_host_name_apart():
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    assert machine.process_name().startswith(f"{machine.host_name()}-{os.getpid()}-")
    assert machine.host_name().endswith(f".{namespace}")


def test_a_process_is_known_by_its_host_id_and_start_time():
    name = machine.process_name()
    assert not machine.has_ended(name)
    assert machine.has_ended(f"{name[:-1]}x")
    assert not machine.has_ended(f"elsewhere-{os.getpid()}-0")
    for stray in ("", "a-b-c-d", f"{machine.host_name()}-²-0", f"{machine.host_name()}-٣-0"):
        assert not machine.has_ended(stray)
