# ruff: noqa: E501
"""What a hostile command tries, as scripts: each prints whatever it could lay hands on, or does its harm.

In the environment of each: TARGET (the other session's artifact), THEIRS (its directory), STORE, PRIVATE (the other
session's directory for temporary files), KEYS (the server's own directory), TOKENS (its file of tokens), SERVER, HELPERS
and VICTIM (process ids: of the server, of its helpers, of the other session's command), WORK (the workspace), PORT (of
the server), SOCKET and ABSTRACT (of a service outside that tells a secret to everybody; beside the first, one for datagrams), SHARED (the number of memory
that a program outside shares), LEFT (a number that nobody uses), PROGRAM (one outside the workspace), CANARY (a path outside all
that may be written), BASE (the directory around store and workspace).
"""

BASH = {
    "cat": 'cat "$TARGET" "$THEIRS"/*',
    "find and cat": 'find "$STORE" /tmp /var/tmp /dev/shm /run -name "$(basename "$TARGET")" -exec cat {} +',
    "ls -R and grep -r": 'ls -R "$STORE"/*/*; grep -r . "$STORE"; grep -r . "$BASE" --include="a*-*"',
    "other ways to read": 'dd if="$TARGET"; tar c "$THEIRS" | cat; cp -r "$STORE" "$WORK/copy"; base64 -d <(base64 '
    '"$TARGET"); while read -r l; do echo "$l"; done < "$TARGET"; source "$TARGET"; diff "$TARGET" /dev/null; git '
    'hash-object -w "$TARGET"; install "$TARGET" "$WORK/i"; cat "$WORK"/copy/*/* "$WORK/i"',
    "/proc/*/root": 'cat /proc/*/root"$TARGET" /proc/self/root"$TARGET" /proc/1/root"$TARGET" '
    '/proc/*/task/*/root"$TARGET"',
    "/proc/*/cwd": 'cat /proc/*/cwd/"$(basename "$TARGET")" /proc/*/cwd/"${TARGET#/}"',
    "/proc of the server": 'for p in $SERVER $HELPERS $VICTIM; do timeout 2 grep -a "" /proc/$p/environ /proc/$p/mem; '
    "ls -l /proc/$p/cwd/ /proc/$p/exe; cat /proc/$p/maps /proc/$p/auxv /proc/$p/stack /proc/$p/syscall; timeout 2 cat "
    "/proc/$p/fd/*; done < /dev/null",
    "environments of all": "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ",
    "symbolic link": 'ln -s "$TARGET" l; cat l; ln -s "$THEIRS" d; cat d/*; ln -s "$STORE" s; cat s/*/*; cat l/../*/*',
    "hard link": 'ln "$TARGET" h; ln -L "$TARGET" h2; cp -l "$TARGET" h3; cp -al "$THEIRS" h4; cat h h2 h3 h4/*',
    "move": 'mv "$TARGET" m; mv "$THEIRS" t; mv "$STORE" s; mv "$BASE/data" "$WORK/d"; mv "$BASE" "$WORK/b"; cat m '
    "t/* s/*/*",
    "move the workspace": 'cd /; mv "$WORK" "$WORK.moved" && ln -s "$THEIRS" "$WORK"; cat "$WORK"/*',
    "bind mount": 'mount --bind "$STORE" .; mount -o bind,ro "$THEIRS" .; mount --rbind / .; cat ./*/* ./*',
    "mount": "mount -t tmpfs none .; mount -t proc none .; mount /dev/vda .; mount -t overlay -o lowerdir=$STORE:/etc "
    "none .; mount -o remount,rw /; cat ./*/*",
    "umount": 'umount "$STORE"; umount -l "$STORE"; umount -l "$THEIRS"; umount -a; umount /proc; cat "$TARGET"',
    "unshare": 'unshare -rm cat "$TARGET"; unshare -Ur mount --bind "$STORE" .; unshare -m umount -l "$STORE"; '
    "unshare -p -f true && unshare -n true; cat ./*/*",
    "nsenter": 'for p in 1 $SERVER $VICTIM; do nsenter -t $p -a cat "$TARGET"; nsenter -t $p -m cat "$TARGET"; nsenter '
    '-t $p -U -m cat "$TARGET"; done',
    "bubblewrap in bubblewrap": 'bwrap --bind / / cat "$TARGET"; bwrap --dev-bind / / --proc /proc cat "$TARGET"',
    "chroot": 'chroot / cat "$TARGET"; chroot /proc/1/root cat "$TARGET"; chroot "$STORE" ls',
    "another user": 'su -c "cat $TARGET" root; sudo -n cat "$TARGET"; setpriv --reuid 0 cat "$TARGET"; runuser -u root '
    'cat "$TARGET"; pkexec cat "$TARGET"; newgrp root; setpriv --inh-caps +all --ambient-caps +all cat "$TARGET"; '
    'capsh --caps=cap_dac_override+eip -- -c "cat $TARGET"',
    "gdb": "command -v gdb > /dev/null && for p in $SERVER $VICTIM; do timeout 5 gdb -p $p -batch -ex 'info proc' -ex "
    "'x/200s *(char **)environ' -ex 'call (int)kill(0, 9)' 2>&1 | tail -5; done",
    "strace": "command -v strace > /dev/null && timeout 2 strace -f -e trace=write -s 500 -p $SERVER",
    "a survivor of setsid": '(setsid bash -c \'sleep 1.5; cat "$TARGET" > "$WORK/late"; touch "$CANARY"; kill -9 '
    "$SERVER; touch alive' > /dev/null 2>&1 &); (setsid setsid nohup bash -c 'sleep 1.5; touch \"$WORK/alive\"' &) "
    "> /dev/null 2>&1; true",
    "stop everything": "kill -STOP $SERVER $HELPERS $VICTIM; pkill -STOP sleep; pkill -STOP python; true",
    "kill everything": "kill -9 $SERVER $HELPERS $VICTIM; kill -TERM $SERVER; pkill -9 -f bursar; killall -9 python3; "
    "(kill -9 -1); true",
    "change rights": 'chmod -R 777 "$STORE"; chmod 000 "$TARGET" "$THEIRS"; chown -R nobody "$THEIRS"; chgrp -R 1 '
    '"$THEIRS"; setfacl -m u:nobody:r "$TARGET"; chattr +i "$TARGET"; setfattr -n user.x -v y "$TARGET"; cat "$TARGET"',
    "change times": 'touch -d 2001-01-01 "$THEIRS"/* "$THEIRS" "$STORE"; touch -h -d 2001-01-01 "$TARGET"; true',
    "change contents": 'echo x > "$TARGET"; echo x >> "$TARGET"; truncate -s 0 "$TARGET"; sed -i s/./x/ "$TARGET"; '
    'cp /etc/hostname "$TARGET"; dd if=/dev/zero of="$TARGET" count=1; fallocate -p -l 4096 "$TARGET"; ln -sf '
    '/etc/hostname "$TARGET"; mkfifo "$THEIRS/fifo"; touch "$THEIRS/planted"',
    "delete": 'rm -rf "$TARGET" "$THEIRS" "$STORE" "$PRIVATE" "$KEYS" "$TOKENS"; find "$STORE" -delete; rmdir "$THEIRS"',
    "device files": "for d in /dev/mem /dev/kmem /dev/port /dev/kmsg /proc/kcore /proc/kpagemap /dev/vda /dev/sda "
    "/dev/nvme0n1 /dev/loop0 /dev/kvm /dev/fuse /dev/fd/9; do timeout 2 head -c 4096 $d | grep -a . | head -c 300; "
    "done; for m in '254 0' '8 0' '259 0' '7 0'; do rm -f n; mknod n b $m && head -c 65536 n; done; mknod c c 1 1 && "
    "head -c 10 c",
    "debugfs": 'command -v debugfs > /dev/null && debugfs -R "cat $TARGET" "$(findmnt -no SOURCE -T "$WORK" | sed '
    '\'s/\\[.*//\')"; ls /sys/kernel/debug/* /sys/kernel/tracing/trace; losetup -f --show "$TARGET"',
    "a core dump": "ulimit -c unlimited; ulimit -c; bash -c 'kill -SEGV $$'; kill -SEGV $VICTIM $SERVER; kill -ABRT "
    "$VICTIM; ls core* && strings core*; cat /var/lib/systemd/coredump/* /var/crash/*",
    "settings of the kernel": 'echo "|/bin/touch $CANARY" > /proc/sys/kernel/core_pattern; echo "$WORK/x" > '
    "/proc/sys/kernel/modprobe; echo h > /proc/sysrq-trigger; echo 1 > /proc/sys/kernel/sysrq; for g in "
    "/sys/fs/cgroup/cgroup.kill /sys/fs/cgroup/*/cgroup.freeze /sys/fs/cgroup/cgroup.procs; do echo 1 > $g; done; "
    "echo $$ > /sys/fs/cgroup/memory.max; cat /proc/sys/kernel/core_pattern",
    "private files of others": 'cat "$PRIVATE"/* "$STORE"/.tmp-*/*; ls -la "$PRIVATE"/; cat /tmp/kept /tmp/*; '
    'cat "$TMPDIR"/../.tmp-*/* "$TMPDIR"/../*/a1-*',
    "tokens and keys": 'cat "$KEYS"/* "$TOKENS"; grep -r . "$STORE"/.[a-z]*; cat "$TOKENS"* "$(dirname "$TOKENS")"/*; '
    'echo "eve:00" >> "$TOKENS"; mv "$TOKENS" t; cp "$TOKENS" t; cat t',
    "rights of tokens and keys": 'chmod 666 "$TOKENS"; chmod 644 "$KEYS"/*; chmod 777 "$KEYS" "$(dirname "$TOKENS")"; true',
    "rights of programs": 'cp /bin/true x; chmod 6755 x; chmod u+s x; chmod g+s x; chmod u+s "$PROGRAM"; chmod g+s "$PROGRAM"; install -m 4755 x '
    "y; mkdir -m 2755 z; (umask 0; mkdir -p z); cp -p x w; tar c --mode=6755 x | tar xp",
    "a second server with the same store": 'cd /; for d in "$BASE/data" "$STORE"; do timeout 20 "$PYTHON" -m bursar call --data-dir "$d" '
    '--root "$WORK" read_artifact "artifact=$HANDLE/a1"; done',
    "the server's own port": "for r in 'GET /metrics' 'GET /mcp' 'POST /mcp' 'DELETE /session' 'GET /healthz' 'GET "
    "/../../'; do exec 7<>/dev/tcp/127.0.0.1/$PORT && printf '%s HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nBursar-Session: "
    '%s\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n\' "$r" $PORT "$HANDLE" >&7 && timeout 3 cat <&7; done',
    "schedulers of other programs": 'echo "* * * * * touch $CANARY" | crontab -; echo "touch $CANARY" | at now; '
    'systemd-run touch "$CANARY"; systemd-run --user touch "$CANARY"; dbus-send --system --dest=org.freedesktop.systemd1'
    " / x.y; docker ps; for d in /etc/cron.d /etc/profile.d ~/.config/systemd/user ~/.config/autostart /run/udev; do "
    'echo "touch $CANARY" > $d/planted; done; echo "touch $CANARY" >> ~/.bashrc; echo "$WORK/x.so" >> /etc/ld.so.preload',
    "open descriptors": "ls -l /proc/self/fd/ /proc/$$/fd/; for f in /proc/self/fd/* /proc/$PPID/fd/*; do timeout 1 "
    "cat $f $f/../*/* $f/*; done < /dev/null",
}
"""By name, for bash."""

PYTHON = {
    "descriptors of directories": """
for name in pids():
    for place in glob.glob(f"/proc/{name}/fd/*") + [f"/proc/{name}/cwd", f"/proc/{name}/root"]:
        for way in (f"{place}/..", f"{place}/../..", place):
            for found in glob.glob(f"{way}/*/a*-*") + glob.glob(f"{way}/.server/*") + glob.glob(f"{way}/.tmp-*/*"):
                show(found)
""",
    "ptrace": """
for pid in others():
    for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
        if libc.ptrace(request, long(pid), None, None) == 0:
            print("traced", pid); harm("traced another process")
            libc.ptrace(17, long(pid), None, None)
""",
    "process_vm_readv": """
class Piece(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8192)
for pid in others():
    for at in (0x400000, 0x7ffffffde000, 0x555555554000):
        mine, theirs = Piece(ctypes.addressof(buffer), 8192), Piece(at, 8192)
        errno_of(libc.process_vm_readv(pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0))
        code = ctypes.get_errno()
        if code == 14:  # EFAULT: it was allowed, and only nothing lay there
            harm("may read the memory of another process")
print(buffer.raw)
""",
    "pidfd_getfd": """
for pid in others():
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        continue
    for number in range(40):
        fd = libc.syscall(long(438), handle, number, 0)
        if fd >= 0:
            harm("took a descriptor of another process"); print(os.read(fd, 1 << 16) if os.path.isfile(f"/proc/self/fd/{fd}") else "")
    for number in (signal.SIGSTOP, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(handle, number)
        except OSError as error:
            print(error)
""",
    "signals by other calls": """
for pid in others():
    libc.syscall(long(234), pid, pid, 19); libc.syscall(long(200), pid, 19)  # tgkill, tkill
    libc.syscall(long(129), pid, 19, ctypes.create_string_buffer(128))  # rt_sigqueueinfo
    try:
        r, w = os.pipe(); fcntl.fcntl(r, fcntl.F_SETOWN, pid); fcntl.fcntl(r, 10, 19)
        fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b"x")
    except OSError as error:
        print(error)
    try:
        os.killpg(os.getpgid(pid), 19)
    except OSError as error:
        print(error)
""",
    "limits of other processes": """
for pid in others():
    for what, most in ((resource.RLIMIT_CPU, 1), (resource.RLIMIT_NOFILE, 3), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_AS, 4096)):
        try:
            resource.prlimit(pid, what, (most, most))
        except OSError as error:
            print(error)
""",
    "priority of other processes": """
for pid in others():
    for way in (lambda: os.setpriority(os.PRIO_PROCESS, pid, 19), lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
                lambda: libc.syscall(long(251), 1, pid, 3 << 13)):
        try:
            way()
        except OSError as error:
            print(error)
try:
    os.setpriority(os.PRIO_USER, os.getuid(), 19); os.setpriority(os.PRIO_USER, 0, 19)
except OSError as error:
    print(error)
""",
    "hard link of an opened path": """
fd = os.open(E["TARGET"], os.O_PATH)
for way in (lambda: os.link(f"/proc/self/fd/{fd}", "h1", follow_symlinks=True), lambda: show(f"/proc/self/fd/{fd}"),
            lambda: print(libc.linkat(fd, b"", -100, b"h2", 0x1000)), lambda: print(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)),
            lambda: os.fchdir(os.open(E["THEIRS"], os.O_PATH)), lambda: [show(n) for n in os.listdir()]):
    try:
        way()
    except OSError as error:
        print(error)
show(E["WORK"] + "/h1"); show(E["WORK"] + "/h2"); show(os.path.basename(E["TARGET"]))
""",
    "open_by_handle_at": """
handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128)); mount = ctypes.c_int()
print(errno_of(libc.name_to_handle_at(-100, E["TARGET"].encode(), handle, ctypes.byref(mount), 0)))
place = os.open("/", os.O_RDONLY)
fd = libc.open_by_handle_at(place, handle, os.O_RDONLY)
print(os.read(fd, 1 << 16) if fd >= 0 else ctypes.get_errno())
""",
    "io_uring": """
fd = libc.syscall(long(425), 8, ctypes.create_string_buffer(120))
print(fd, ctypes.get_errno())
if fd >= 0: harm("io_uring could be set up")
""",
    "rights of new files": """
for way in (lambda: os.open("a", os.O_CREAT | os.O_WRONLY, 0o4755), lambda: os.mknod("b", 0o106755), lambda: os.mkdir("c", 0o6755),
            lambda: os.link(f"/proc/self/fd/{os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o6755)}", "d", follow_symlinks=True),
            lambda: os.chmod("note.md", 0o4644), lambda: os.fchmod(os.open("note.md", os.O_RDONLY), 0o2755)):
    try:
        way()
    except OSError as error:
        print(error)
how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
print(libc.syscall(long(437), -100, b"e", how, 24), libc.syscall(long(452), -100, b"note.md", 0o4755, 0), libc.syscall(long(85), b"f", 0o6755))
""",
    "memfd and fexecve": """
fd = os.memfd_create("x", 0); os.write(fd, b"#!/bin/sh\\ncat \\"$TARGET\\"; cat /proc/$SERVER/environ\\n")
import subprocess
subprocess.run([f"/proc/self/fd/{fd}"], pass_fds=[fd])
""",
    "local sockets": """
names = [E["SOCKET"], "\\0" + E["ABSTRACT"], "/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"]
try:
    names += [line.split()[-1].replace("@", "\\0") for line in open("/proc/net/unix").read().splitlines() if len(line.split()) > 7]
except OSError as error:
    print(error)
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    for name in dict.fromkeys(names):
        try:
            with socket.socket(socket.AF_UNIX, kind) as line:
                line.settimeout(1); line.connect(name); print(line.recv(1000))
        except OSError as error:
            print(error)
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM, socket.SOCK_RAW):
    for way in ("sendto", "connect", "sendmsg"):
        try:
            line, other = socket.socketpair(socket.AF_UNIX, kind)
            name = E["SOCKET"] + (".datagrams" if kind in (socket.SOCK_DGRAM, socket.SOCK_RAW) else "")
            if way == "sendmsg": line.sendmsg([b"x"], [], 0, name)
            else: getattr(line, way)(*([b"x"] if way == "sendto" else []), name)
        except OSError as error:
            print(kind, way, error); continue
        # A pair of sequenced packets takes an address and sends to its other end all the same.
        other.setblocking(False)
        try:
            print(other.recv(1))
        except OSError:
            harm(f"a pair of kind {kind} reaches a local socket by {way}")
""",
    "packets of others": """
for family, kind in ((17, 3), (17, 2), (2, 3), (10, 3), (40, 1), (38, 5), (31, 3), (29, 3), (16, 3)):
    try:
        line = socket.socket(family, kind, socket.ntohs(3) if family == 17 else 6 if kind == 3 else 0)
    except OSError as error:
        print(family, error); continue
    if family in (17, 2, 10) and kind in (2, 3): harm("packets of others can be read")
""",
    "the server's port taken over": """
for host, family in (("127.0.0.1", 2), ("0.0.0.0", 2), ("127.0.0.2", 2), ("::1", 10), ("::", 10)):
    with socket.socket(family) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind((host, int(E["PORT"]))); line.listen()
        except OSError as error:
            print(error)
        else:
            if host != "127.0.0.2": harm(f"listens at {host} and the server's port")
""",
    "TIOCSTI": """
def steal(place):
    fd = os.open(place, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(fd, 0x5412, b"x"); harm(f"typed into {place}")
for place in ["/dev/tty", "/dev/tty0", "/dev/tty1", "/dev/console"] + glob.glob("/dev/pts/*") + glob.glob("/proc/*/fd/[0-2]"):
    try:
        steal(place)
    except OSError as error:
        print(place, error)
""",
    "new mounts by descriptors": """
for number, first in ((428, -100), (430, b"tmpfs"), (433, -100), (442, -100), (429, -100), (155, b"."), (165, b"none")):
    result = libc.syscall(long(number), first, E["STORE"].encode() if number in (428, 433, 442) else 0, 1, 0, 0)
    print(number, result, ctypes.get_errno())
    if result >= 0: harm(f"call {number} was allowed")
""",
    "calls that are for root": """
for name, number in {"bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "init_module": 175, "kexec_load": 246,
                     "swapon": 167, "iopl": 172, "setns": 308, "syslog": 103}.items():
    result = libc.syscall(long(number), 0, 0, 0, 0, 0)
    if ctypes.get_errno() not in (1, 13, 38): harm(f"{name} is not refused: {ctypes.get_errno()}")
""",
    "calls of 32 bits": """
import mmap
code = bytes.fromhex("b814000000cd80c3")  # mov eax, getpid of i386; int 0x80; ret
place = mmap.mmap(-1, 4096, prot=7); place.write(code)
call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(place)))
pid = os.fork()
if pid == 0:
    os._exit(7 if call() == os.getpid() else 8)
if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7: harm("calls of 32 bits pass the filter")
print(libc.syscall(long(0x40000000 + 39)), ctypes.get_errno())
if libc.syscall(long(0x40000000 + 39)) > 0: harm("calls of x32 pass the filter")
""",
    "leases, locks and watches": """
for way in (lambda: os.open(E["TARGET"], os.O_RDWR), lambda: os.open(E["THEIRS"] + "/lock", os.O_RDWR | os.O_CREAT),
            lambda: fcntl.flock(os.open(E["THEIRS"] + "/lock", os.O_RDONLY), fcntl.LOCK_EX),
            lambda: fcntl.flock(os.open(E["THEIRS"] + "/lock", os.O_PATH), fcntl.LOCK_EX | fcntl.LOCK_NB)):
    try:
        way(); harm("took a lock of another session")
    except OSError as error:
        print(error)
""",
    "shared memory of others": """
for name in glob.glob("/dev/shm/*") + glob.glob("/dev/mqueue/*"): show(name)
libc.shmat.restype = ctypes.c_void_p
numbers = [libc.shmget(int(E["SHARED"]), 0, 0)]
with contextlib.suppress(OSError):
    numbers += [int(line.split()[1]) for line in open("/proc/sysvipc/shm").read().splitlines()[1:]]
for number in numbers:
    at = libc.shmat(number, None, 0)
    if at and at != ctypes.c_void_p(-1).value:
        print(ctypes.string_at(at, 4096)); ctypes.memmove(at + 32, b"changed", 7)
""",
    "memory left behind": """
left = int(E["LEFT"])
print(libc.shmget(left, 1 << 20, 0o3600), libc.msgget(left, 0o3600), libc.semget(left, 1, 0o3600))
""",
    "a swapped link": """
end = time.monotonic() + 0.5
os.mkdir("mine"); open("mine/" + os.path.basename(E["TARGET"]), "w").close()
pid = os.fork()
while time.monotonic() < end:
    if pid == 0:
        for place in (E["THEIRS"], "mine"):
            os.symlink(place, "next"); os.rename("next", "s")
    else:
        with contextlib.suppress(OSError):
            data = open("s/" + os.path.basename(E["TARGET"])).read()
            if data: print(data); break
if pid == 0: os._exit(0)
os.waitpid(pid, 0)
""",
}
"""By name, for Python; see `PRELUDE` for what each may use."""

PRELUDE = """
import contextlib, ctypes, fcntl, glob, os, resource, signal, socket, struct, sys, time
E = os.environ
libc = ctypes.CDLL(None, use_errno=True)
long = ctypes.c_long
def show(path):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        print(os.read(fd, 1 << 16)); os.close(fd)
    except OSError as error:
        print(path, error)
def pids(): return [name for name in os.listdir("/proc") if name.isdigit()]
def others(): return [int(pid) for pid in (E["SERVER"] + " " + E["HELPERS"] + " " + E["VICTIM"]).split()]
def errno_of(result): return 0 if result >= 0 else ctypes.get_errno()
def harm(what): print("HARM" + "DONE:", what)
"""

HARM = "HARM" + "DONE:"
"""Begins a line of a script that did what it should not be able to, though no secret shows it."""

PLANTED = r"""
program='#!/bin/sh
touch "'"$CANARY"'.$(basename "$0")" 2>/dev/null
case "$0" in *bwrap) exec /usr/bin/bwrap "$@";; esac
exit 1
'
for place in "$WORK" "$WORK/bin" "$WORK/node_modules/.bin" "$WORK/.venv/bin" "$TMPDIR" "$TMPDIR/bin" "$HOME/bin" "$HOME/.local/bin"; do
  mkdir -p "$place" 2>/dev/null
  for name in bash sh git rg bwrap python python3 cat fc-list fc-match ps env bursar; do
    printf %s "$program" > "$place/$name" && chmod 755 "$place/$name"
  done 2>/dev/null
done
printf 'open("%s.site", "w")\n' "$CANARY" | tee sitecustomize.py usercustomize.py os.py json.py mcp.py forkserver.py bursar.py > /dev/null
mkdir -p forkserver bursar; cp sitecustomize.py forkserver/__init__.py; cp sitecustomize.py bursar/__init__.py
echo "touch $CANARY.rc" | tee .bashrc .profile .bash_profile .bash_login .envrc .zshrc .shrc > /dev/null
printf '[core]\n\tfsmonitor = touch %s.git\n\tpager = touch %s.git\n[alias]\n\tstatus = !touch %s.git\n' "$CANARY" "$CANARY" "$CANARY" > .gitconfig
mkdir -p .git/hooks; cp .gitconfig .git/config; printf 'ref: refs/heads/main\n' > .git/HEAD
printf -- '--pre=%s/rg\n' "$WORK" > .ripgreprc; cp .ripgreprc ripgreprc
cat > x.c <<'END'
#include <fcntl.h>
__attribute__((constructor)) static void go(void) { open(AT, O_CREAT, 0600); }
END
cc -DAT="\"$CANARY.so\"" -shared -fPIC -o x.so x.c 2>/dev/null; echo "$WORK/x.so" > ld.so.preload
cp x.so libc.so.6 2>/dev/null; cp x.so liblxml2.so.2 2>/dev/null
true
"""
"""Plants programs, start-up files and libraries wherever it can; each would make a file where no command can."""
