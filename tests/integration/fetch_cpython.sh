#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Unpacks a CPython of another Debian, and the libraries it needs, into a folder of its own; nothing is installed, no root needed.
# usage: fetch_cpython.sh 3.9|3.13|3.14|3.15 FOLDER [MORE PACKAGES]     then run FOLDER/python
set -eu
usage() { echo "usage: $0 3.9|3.13|3.14|3.15 FOLDER [MORE PACKAGES]" >&2; exit 2; }
[ $# -ge 2 ] || usage
series=$1
# A Debian that is newer than this one brings its libc; an older one's interpreter runs with ours.
case $series in
  3.9) suite=bullseye libraries="libexpat1 zlib1g libssl1.1 libffi7 libmpdec3" ;;
  3.13) suite=trixie libraries="libc6 libexpat1 zlib1g libssl3t64 libffi8" ;;
  3.14|3.15) suite=sid libraries="libc6 libexpat1 zlib1g libssl3t64 libffi8" ;;
  *) usage ;;
esac
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages="python$series-minimal libpython$series-minimal libpython$series-stdlib $libraries $*"

apt="$folder/apt"
rm -rf "$apt" "$folder/debs" "$folder/root"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/empty" "$folder/debs" "$folder/root"
: > "$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" > "$apt/sources.list"
set -- -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/empty" -o Dir::Etc::Parts="$apt/empty" \
  -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
  -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o APT::Sandbox::User=
apt-get "$@" update >&2
# shellcheck disable=SC2086  # names of packages, one a word
(cd "$folder/debs" && apt-get "$@" download $packages >&2)
for deb in "$folder"/debs/*.deb; do dpkg-deb --extract "$deb" "$folder/root"; done
rm -rf "$apt" "$folder/debs"

program=$folder/root/usr/bin/python$series
libraries=$folder/root/lib/x86_64-linux-gnu:$folder/root/usr/lib/x86_64-linux-gnu
loader=$(find "$folder/root" -name 'ld-linux-x86-64.so.2' | head -n 1)
{
  echo '#!/bin/sh'
  if [ -n "$loader" ]; then
    echo "PYTHONHOME=\"$folder/root/usr\" exec \"$loader\" --library-path \"$libraries\" \"$program\" \"\$@\""
  else
    echo "PYTHONHOME=\"$folder/root/usr\" LD_LIBRARY_PATH=\"$libraries\" exec \"$program\" \"\$@\""
  fi
} > "$folder/python.new"
chmod +x "$folder/python.new"
"$folder/python.new" -c 'import ctypes, json, ssl' && mv "$folder/python.new" "$folder/python"
