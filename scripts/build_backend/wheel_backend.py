# SPDX-License-Identifier: Apache-2.0
"""What pip builds a wheel with (pyproject.toml): meson-python, and three things around it.

- A Debian package that is missing is one line, before anything is built.
- Binaries in the wheel are stripped; TENSORSCOPE_DEBUG_FILES names a folder that gets what was stripped (.build-id/...).
- The wheel is tagged py3-none: nothing in it belongs to one version of Python, but meson-python takes any file beside a
  package's Python files for an extension module.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

import mesonpy

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _needed():
    """What has to be there to build: commands and pkg-config names, and the Debian package of each."""
    commands = {"c++": "g++", "pkg-config": "pkg-config", "flatc": "flatbuffers-compiler", "strip": "binutils", "ninja": "ninja-build"}
    modules = {"flatbuffers": "libflatbuffers-dev", "libxxhash": "libxxhash-dev", "spdlog": "libspdlog-dev", "fmt": "libfmt-dev",
               "CLI11": "libcli11-dev", "tomlplusplus": "libtomlplusplus-dev", "libdw": "libdw-dev", "libelf": "libelf-dev",
               "zlib": "zlib1g-dev", "sqlite3": "libsqlite3-dev"}
    return commands, modules


def check_packages(config_settings):
    """Ends the build with one line where something is missing. A build with a compiler of its own (scripts/wheel) brings its own."""
    if any("native-file" in argument or "cross-file" in argument for argument in _list((config_settings or {}).get("setup-args"))):
        return
    commands, modules = _needed()
    missing = [package for command, package in commands.items() if not shutil.which(command)]
    if "pkg-config" not in missing:
        missing += [package for module, package in modules.items()
                    if subprocess.run(["pkg-config", "--exists", module], stderr=subprocess.DEVNULL).returncode]
    if missing:
        raise SystemExit("tensorscope cannot be built: packages are missing (Debian: apt install " + " ".join(missing) +
                         "); all that are needed are at the top of scripts/setup")


def _list(value):
    return [value] if isinstance(value, str) else list(value or [])


def _is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def strip(path, debug_files=None):
    """Strips an ELF file; what goes is kept below `debug_files`, where gdb and `tensorscope --debug-dir` look for it."""
    objcopy = os.environ.get("OBJCOPY", "objcopy")
    if debug_files:
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
        identity = re.search(r"Build ID: (\w+)", notes)
        if identity:
            debug = pathlib.Path(debug_files, ".build-id", identity[1][:2], identity[1][2:] + ".debug")
            debug.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run([objcopy, "--only-keep-debug", "--compress-debug-sections", path, debug], check=True)
    subprocess.run([objcopy, "--strip-unneeded", path], check=True)


def finish(wheel):
    """Strips and tags the wheel at this path; returns the path it has then."""
    name, version, *_, platform = wheel.stem.split("-")
    finished = wheel.with_name(f"{name}-{version}-py3-none-{platform}.whl")
    info = f"{name}-{version}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            modes = {entry.filename: entry.external_attr for entry in archive.infolist() if not entry.is_dir()}
            archive.extractall(folder)
        for entry in modes:
            if _is_elf(os.path.join(folder, entry)):
                strip(os.path.join(folder, entry), os.environ.get("TENSORSCOPE_DEBUG_FILES"))
        tags = pathlib.Path(folder, info, "WHEEL")
        tags.write_text(re.sub(r"(?m)^Tag: .*$", f"Tag: py3-none-{platform}", tags.read_text()))
        wheel.unlink()
        _pack(folder, modes, finished, f"{info}/RECORD")
    return finished


def _pack(folder, modes, wheel, record):
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry, mode in modes.items():
            if entry == record:
                continue
            data = pathlib.Path(folder, entry).read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{entry},sha256={digest},{len(data)}\n")
            _add(archive, entry, mode, data)
        _add(archive, record, modes[record], "".join([*lines, f"{record},,\n"]).encode())


def _add(archive, entry, mode, data):
    row = zipfile.ZipInfo(entry)  # of 1980: the same sources make the same file
    row.external_attr = mode
    row.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(row, data)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_packages(config_settings)
    wheel = mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    return finish(pathlib.Path(wheel_directory, wheel)).name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    check_packages(config_settings)
    return mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_wheel(config_settings=None):
    check_packages(config_settings)
    return mesonpy.get_requires_for_build_wheel(config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel
build_sdist = mesonpy.build_sdist
get_requires_for_build_sdist = mesonpy.get_requires_for_build_sdist
