"""Debian's other releases and source packages: for tests/drivers, tests/ports and scripts/build-wheels.

A release is a root folder in build/roots. debootstrap makes it, which needs root.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build/roots"
SOURCES = ROOT / "build/sources"

# Runs a program in a root folder, where this source tree has the path that it has here. What is mounted there is gone
# when the program has ended. The certificates are a copy: the scripts of packages write into that folder.
CERTIFICATES = "/etc/ssl/certs"
IN_ROOT = f"""
mkdir -p "$0{ROOT}" "$0{CERTIFICATES}" &&
mount -t proc proc "$0/proc" && mount -t sysfs sys "$0/sys" && mount -t tmpfs shm "$0/dev/shm" &&
mount -t tmpfs certificates "$0{CERTIFICATES}" && cp {CERTIFICATES}/ca-certificates.crt "$0{CERTIFICATES}" &&
mount --bind "{ROOT}" "$0{ROOT}" && exec chroot "$0" "$@"
"""

# What the Python package and its tests need, besides a driver.
FOR_PYTHON = ["python3-venv", "python3-dev", "g++", "opencl-c-headers"]


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace", **options)  # fmt: skip


def prefix(root):
    """The command before a command that is run in a root folder; none if there is no root folder."""
    return ["unshare", "--mount", "sh", "-c", IN_ROOT, str(root)] if root else []


def inside(root, *command, **options):
    """Runs a command in a root folder."""
    return run([*prefix(root), *command], **options)


def install_packages(root, packages):
    if inside(root, "dpkg", "-s", *packages).returncode == 0:
        return
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # The index of a mirror may be older than its date allows.
    get = "DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Check-Valid-Until=false"
    script = f"{get} update && {get} install -y --no-install-recommends {' '.join(packages)}"
    done = inside(root, "sh", "-c", script, timeout=3600)
    if done.returncode:
        raise FileNotFoundError(f"{root}: {' '.join(packages)} cannot be installed:\n{done.stdout[-2000:]}")


def install_release(release, packages):
    """Returns the root folder of a release, with the packages."""
    root = WORK / release
    if not (root / "etc/debian_version").exists():
        WORK.mkdir(parents=True, exist_ok=True)
        done = run(["debootstrap", "--variant=minbase", release, root], timeout=3600)
        if done.returncode:
            raise FileNotFoundError(f"Debian's {release} cannot be installed; are you root, with debootstrap?\n"
                                    f"{done.stdout[-2000:]}")  # fmt: skip
    install_packages(root, packages)
    return root


def install_python(root, *requirements):
    """Makes an environment with the package and what the files of requirements name. Returns its Python."""
    pip = "/bi/venv/bin/python -m pip --disable-pip-version-check install -q"
    files = " ".join(f"-r {file}" for file in requirements)
    strict = "--config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON"
    steps = ["mkdir -p /bi", "test -x /bi/venv/bin/python || python3 -m venv /bi/venv", f"{pip} {files}",
             f"{pip} --no-deps --force-reinstall {strict} {ROOT}/python"]  # fmt: skip
    done = inside(root, "sh", "-c", " && ".join(steps), env={**os.environ, "HOME": "/root"})
    if done.returncode:
        raise FileNotFoundError(f"{root}: the package cannot be installed:\n{done.stdout[-3000:]}")
    return "/bi/venv/bin/python"


def source_lists(folder):
    """Writes lists of apt that name the sources of the packages of this system. Returns the options for them."""
    lists, parts = folder / "lists", folder / "sources.list.d"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    parts.mkdir(exist_ok=True)
    for path in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]:
        text = path.read_text() if path.is_file() else ""
        if "/debian" in text:
            text = re.sub(r"^deb ", "deb-src ", text.replace("Types: deb\n", "Types: deb-src\n"), flags=re.MULTILINE)
            (parts / path.name).write_text(text)
    return ["-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}", "-o",
            f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]  # fmt: skip


def source_of(package):
    """Returns the folder with the source package, which is unpacked without Debian's changes."""
    folder = SOURCES / package
    if folder.exists():
        return folder
    options = source_lists(SOURCES / "apt")
    run(["apt-get", *options, "update"])
    done = run(["apt-get", *options, "source", "--download-only", "--tar-only", package], cwd=SOURCES)
    archive = next((path for path in SOURCES.glob(f"{package}_*.orig.tar.*") if path.suffix != ".asc"), None)
    if done.returncode or not archive:
        sys.exit(f"The source package {package} cannot be had:\n{done.stdout[-2000:]}")
    unpacked = SOURCES / f"{package}.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as content:
        content.extractall(unpacked)
    next(unpacked.iterdir()).rename(folder)
    return folder
