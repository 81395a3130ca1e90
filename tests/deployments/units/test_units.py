"""What is written for a service manager, read back by the managers' own tools where they are."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deployments.units import managers
from deployments.units.managers import Kind, Part, Units
from deployments.units.sealed import is_ours, remove, write
from deployments.units.start import Start, start_of
from deployments.units.systemd import quoted
from tasks.compose import Setting
from tasks.errors import NotOurs, UsageError
from tasks.settings import Places, Settings

ODD = 'a "quoted" $HOME %h \\ back'


def _start(base: Path, **environ: str) -> Start:
    settings = Settings.load(
        home=base / ODD, timezone="Europe/Berlin", routes=environ.get("EVEREST_ROUTES")
    )
    where = Setting(settings, Places(settings.home), (), None)
    return start_of(where, environ)


def _units(base: Path, kind: Kind, part: Part = Part.UP, **environ: str) -> Units:
    return managers.units(
        _start(base, **environ), kind, part, environ={}, user_home=base / "person"
    )


def _lines(units: Units, suffix: str) -> list[str]:
    (file,) = (one for one in units.files if one.path.name.endswith(suffix))
    return file.data.decode().splitlines()


def test_settings_are_carried_and_credentials_are_not(tmp_path: Path) -> None:
    start = _start(
        tmp_path,
        EVEREST_HOLDOUT="0",
        CLAUDE_CONFIG_DIR="/c",
        EVEREST_LLM_KEY="sk-secret",
        EVEREST_ROUTES="*=http://h;api=openai;key=MY_KEY",
        EVEREST_CHILD="1",
        EVEREST_EMBED="",
        PREFECT_API_URL="http://elsewhere",
    )
    assert dict(start.environment) == {
        "CLAUDE_CONFIG_DIR": "/c",
        "EVEREST_HOLDOUT": "0",
        "EVEREST_HOME": str(tmp_path / ODD),
        "EVEREST_ROUTES": "*=http://h;api=openai;key=MY_KEY",
    }
    assert start.withheld == ("EVEREST_LLM_KEY", "MY_KEY")
    for kind in Kind:
        for file in _units(tmp_path, kind, EVEREST_LLM_KEY="sk-secret").files:
            assert b"sk-secret" not in file.data
            assert b"PREFECT" not in file.data


def test_a_default_home_has_the_plain_name_and_another_its_own(tmp_path: Path) -> None:
    where = Setting(Settings.load(), Places(Path("~/.everest")), (), None)
    assert start_of(where, {}).name == "everest"
    assert _start(tmp_path).name != _start(tmp_path / "b").name


def test_systemd_reads_the_units_as_they_are_meant(tmp_path: Path) -> None:
    units = _units(tmp_path, Kind.SYSTEMD)
    write(units.files)
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not there")
    names = [file.path for file in units.files]
    assert _verified(names, tmp_path) == (0, "")
    names[0].write_text(names[0].read_text().replace("KillMode=mixed", "KillMode=perhaps"))
    assert "perhaps" in _verified(names, tmp_path)[1], "the check would tell"


def _verified(names: list[Path], runtime: Path) -> tuple[int, str]:
    runtime.chmod(0o700)
    env = {"PATH": os.environ["PATH"], "HOME": str(runtime), "XDG_RUNTIME_DIR": str(runtime)}
    command = ["systemd-analyze", "verify", "--user", *map(str, names)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    return done.returncode, done.stderr


def test_the_service_starts_this_interpreter_and_is_ended_whole(tmp_path: Path) -> None:
    units = _units(tmp_path, Kind.SYSTEMD)
    service = _lines(units, "night.service")
    assert f'ExecStart="{sys.executable}" "-P" "-m" "serving.cli" "night" "--if-due"' in service
    up = next(f for f in units.files if "night" not in f.path.name).data.decode().splitlines()
    assert f'ExecStart="{sys.executable}" "-P" "-m" "serving.cli" "up"' in up
    assert f"Environment={quoted('EVEREST_HOME=' + str(tmp_path / ODD))}" in up
    assert {"KillMode=mixed", "NoNewPrivileges=yes", "Restart=on-failure"} <= set(up)
    timer = _lines(units, ".timer")
    assert "Persistent=true" in timer
    assert "OnCalendar=*-*-* 03:30:00 Europe/Berlin" in timer


def test_odd_words_are_quoted_as_systemd_reads_them() -> None:
    assert quoted(ODD) == '"a \\"quoted\\" $HOME %%h \\\\ back"'
    assert quoted("two\nlines") == '"two\\nlines"'


@pytest.mark.parametrize("part", Part)
def test_launchds_property_lists_are_read_back(tmp_path: Path, part: Part) -> None:
    (file,) = _units(tmp_path, Kind.LAUNCHD, part).files
    found: dict[str, Any] = plistlib.loads(file.data)
    assert file.path.parent == tmp_path / "person" / "Library" / "LaunchAgents"
    assert file.path.name == f"{found['Label']}.plist"
    assert found["ProgramArguments"][:4] == [sys.executable, "-P", "-m", "serving.cli"]
    assert found["EnvironmentVariables"]["EVEREST_HOME"] == str(tmp_path / ODD)
    assert found["RunAtLoad"] is True
    if part is Part.UP:
        assert found["KeepAlive"] == {"SuccessfulExit": False}
    else:
        assert found["StartCalendarInterval"] == {"Hour": 3, "Minute": 30}
        assert found["ProgramArguments"][4:] == ["night", "--if-due"]


@pytest.mark.parametrize("kind", Kind)
def test_a_file_is_ours_only_as_it_was_written(tmp_path: Path, kind: Kind) -> None:
    for file in _units(tmp_path, kind).files:
        assert is_ours(file.data)
        assert not is_ours(file.data + b"\n")
        assert not is_ours(file.data.replace(b"=", b"==", 1))
        assert not is_ours(b"[Unit]\n")


@pytest.mark.parametrize("kind", Kind)
def test_nothing_of_somebody_elses_is_overwritten_or_removed(tmp_path: Path, kind: Kind) -> None:
    units = _units(tmp_path, kind)
    last = units.files[-1].path
    last.parent.mkdir(parents=True)
    last.write_text("mine")
    with pytest.raises(NotOurs, match="move it away"):
        write(units.files)
    assert [path.name for path in last.parent.iterdir()] == [last.name], "nothing was written"
    removed, left = remove(units.files)
    assert (removed, left) == ([], [last])
    assert last.read_text() == "mine"


def test_an_unknown_platform_is_told() -> None:
    assert managers.kind_of("linux") is Kind.SYSTEMD
    assert managers.kind_of("darwin") is Kind.LAUNCHD
    with pytest.raises(UsageError, match="run `everest up` yourself"):
        managers.kind_of("sunos5")


def test_commands_hold_together_as_words(tmp_path: Path) -> None:
    for kind in Kind:
        units = _units(tmp_path, kind)
        for command in (*units.reload, *units.on, *units.anew, *units.stop, *units.off):
            assert tuple(shlex.split(shlex.join(command))) == command
