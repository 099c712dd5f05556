#!/bin/sh
# Unpacks Debian sid's CPython 3.14, and the libc it needs, into a folder of its own; nothing is installed, no root needed.
# usage: fetch_cpython_3_14.sh FOLDER      then run FOLDER/python3.14
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
packages="python3.14-minimal libpython3.14-minimal libpython3.14-stdlib libc6 libexpat1 zlib1g libssl3t64 libffi8"

apt="$folder/apt"
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/empty" "$folder/debs" "$folder/root"
: > "$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" > "$apt/sources.list"
set -- -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts="$apt/empty" -o Dir::Etc::Parts="$apt/empty" \
  -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
  -o Acquire::Check-Valid-Until=false -o Acquire::Languages=none -o APT::Sandbox::User=
apt-get "$@" update >&2
(cd "$folder/debs" && apt-get "$@" download $packages >&2)
for deb in "$folder"/debs/*.deb; do dpkg-deb --extract "$deb" "$folder/root"; done
rm -rf "$apt" "$folder/debs"

loader=$(find "$folder/root" -name 'ld-linux-x86-64.so.2' | head -n 1)
libraries=$(dirname "$(find "$folder/root" -name 'libc.so.6' | head -n 1)")
cat > "$folder/python3.14" <<END
#!/bin/sh
PYTHONHOME="$folder/root/usr" exec "$loader" --library-path "$libraries:$folder/root/usr/lib/x86_64-linux-gnu" \\
  "$folder/root/usr/bin/python3.14" "\$@"
END
chmod +x "$folder/python3.14"
