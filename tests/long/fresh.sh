#!/usr/bin/env bash
# The test command on a Debian that has Python and uv and nothing else, from a clone of this checkout's last commit.
#
#     tests/long/fresh.sh [root|user] [PYTEST ARGUMENTS]
#
# Needs root, debootstrap and the network. The system is made once, in $FRESH (/var/tmp/bursar-fresh).
set -euo pipefail
who=${1:-root}
shift || true
checkout=$(cd "$(dirname "$0")/../.." && pwd)
system=${FRESH:-/var/tmp/bursar-fresh}

if [[ ! -e $system/usr/bin/python3 ]]; then
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$system"
    chroot "$system" useradd --create-home tester
fi
# As this machine reaches the network, so does the one inside.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf ${SSL_CERT_FILE:+"$SSL_CERT_FILE"}; do
    [[ ! -e $file ]] || install -D -m 644 "$file" "$system$file"
done
home=/root
run=()
if [[ $who == user ]]; then
    home=/home/tester
    run=(setpriv --reuid=tester --regid=tester --init-groups)
fi
rm -rf "$system$home/bursar"
git clone --quiet --no-local "$checkout" "$system$home/bursar"
chroot "$system" chown -R "$([[ $who == user ]] && echo tester || echo root):" "$home/bursar"

inside='
set -euo pipefail
cd ~
[[ -x uv/bin/uv ]] || { python3 -m venv uv && uv/bin/pip install --quiet uv; }
export PATH=$HOME/uv/bin:$PATH
cd bursar
exec uv run tests/run.py "$@"
'
variables=("HOME=$home" "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" LANG=C.UTF-8)
while IFS= read -r name; do
    variables+=("$name=${!name}")
done < <(compgen -e | grep -iE '^(https?_proxy|no_proxy|SSL_CERT_FILE|PIP_CERT|PIP_INDEX_URL|UV_INDEX_URL|UV_DEFAULT_INDEX)$')

# Its own processes and mounts: they end with it. Not by chroot, in which the kernel allows no namespaces.
exec unshare --mount --pid --fork --kill-child bash -euc '
    system=$1; shift
    mount --make-rprivate /
    mount --bind "$system" "$system"
    mount -t proc proc "$system/proc"
    mount --rbind /dev "$system/dev"
    mount --rbind /sys "$system/sys"
    mount -t tmpfs -o mode=1777 tmpfs "$system/tmp"
    cd "$system"
    pivot_root . .
    umount -l .
    cd /
    exec "$@"
' _ "$system" "${run[@]}" env -i "${variables[@]}" bash -c "$inside" fresh "$@"
