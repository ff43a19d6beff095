from pathlib import Path

import pytest

from assay.errors import AssayError
from assay_cluster.hosts_file import read, units
from assay_cluster.slurm import SlurmUnit
from assay_cluster.units import Unit


def units_of(folder: Path, text: str) -> list[Unit]:
    file = folder / "hosts.toml"
    file.write_text(text)
    return [*units(read(file), folder)]


def test_a_file_says_what_is_started(tmp_path: Path) -> None:
    (tmp_path / "lab.key").touch()
    by_ssh = units_of(tmp_path, '[ssh]\nhosts = ["lab1", "me@lab2:2222", "[::1]:22"]\nkey = "lab.key"\n')
    assert [(unit.name, unit.hosts) for unit in by_ssh] == [("lab1", 1), ("me@lab2:2222", 1), ("[::1]:22", 1)]
    (by_slurm,) = units_of(tmp_path, '[slurm]\nhosts = 3\ntime = "1:00:00"\n')
    assert (by_slurm.name, by_slurm.hosts) == ("slurm", 3)
    (by_dask,) = units_of(tmp_path, '[dask]\nscheduler = "tcp://lab1:8786"\nhosts = 2\n')
    assert (by_dask.name, by_dask.hosts) == ("tcp://lab1:8786", 2)
    assert [unit.hosts for unit in units_of(tmp_path, "[local]\n")] == [1]


def test_the_allocation_has_what_the_file_says(tmp_path: Path) -> None:
    more = 'partition = "lab-t"\ndirectives = ["--constraint=epyc&avx512"]\n'
    (unit,) = units_of(tmp_path, f'[slurm]\nhosts = 3\ntime = "1:00:00"\n{more}')
    assert isinstance(unit, SlurmUnit)
    assert {"--nodes=3", "--exclusive", "--partition=lab-t", "--time=1:00:00"} < {*unit.directives()}
    assert unit.directives()[-1] == "--constraint=epyc&avx512"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", ":1: starts nothing; add one of [local], [ssh], [slurm] or [dask]"),
        ("[local]\n[dask]\nscheduler = 'tcp://a:1'\nhosts = 1\n", ":2: dask: holds [local] and [dask]; keep"),
        ("[shh]\n", ":1: shh: unknown key; did you mean ssh?"),
        ("[ssh]\nhosts = []\n", ":2: ssh.hosts: [] has too few values; write at least 1"),
        ("[ssh]\nhosts = ['a',\n'a']\n", ':2: ssh.hosts: "a" is there 2 times; a host runs one trial at'),
        ("[ssh]\nhosts = ['a',\n'b:0']\n", ':3: ssh.hosts: "b:0" is not an address; write "HOST", "USER@'),
        ("[ssh]\nhosts = ['a -oProxyCommand=x']\n", "is not an address"),
        ("[ssh]\nhosts = ['a']\nkeys = 'x'\n", ":3: ssh.keys: unknown key in [ssh]; did you mean key?"),
        ("[ssh]\nhosts = ['a']\nkey = 'none'\n", ":3: ssh.key: there is no file /"),
        ("[slurm]\nhosts = 0\n", ":2: slurm.hosts: 0 is too small; use 1 or more"),
        ("[slurm]\nhosts = 1\ndirectives = ['-N 3']\n", ':3: slurm.directives: "-N 3" is not an option of'),
        ("[dask]\nscheduler = 'lab1'\nhosts = 1\n", ':2: dask.scheduler: "lab1" is not the address of a'),
        ("store = 'postgresql://me:secret@db/a'\n[local]\n", ":1: store: has a password, which others could"),
        ("store = 'assay.sqlite'\n[local]\n", ":1: store: is not the URL of a store on a server; write"),
        ("store = \n", ":1: not TOML: Invalid value: store ="),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, mistake: str) -> None:
    with pytest.raises(AssayError) as error:
        units_of(tmp_path, text)
    assert mistake in str(error.value)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
