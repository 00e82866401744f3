"""Code of others is confined: ways out of a Lua script, by command line and over HTTP, and of the Python of a TRex profile. What each
tries is harmless where it works: signal 0, a file's own mode, an interface that nobody uses."""

import os
import platform
import signal
import time
from pathlib import Path

import pytest
from lab import wait_until
from server import Server
from test_serve_security import SECRET, token_file

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="attempts name system calls of x86-64 by number")

# Each attempt by the name of what it would do: a system call, and what it returns when it is refused.
ATTEMPTS = r"""
local ffi = require "ffi"
ffi.cdef [[
    long syscall(long, ...);
    int pipe(int *); int open(const char *, int, ...); int close(int); int getppid(void); int getpid(void);
    int pthread_create(unsigned long *, const void *, void *(*)(void *), void *); unsigned sleep(unsigned);
    extern char **environ; void *dlsym(void *, const char *);
    int getifaddrs(void *);
]]
local C = ffi.C
local function n(x) return ffi.cast("long", x) end
-- True if it worked.
local function call(...)
    local list = {...}
    for i, x in ipairs(list) do if type(x) == "number" then list[i] = n(x) end end
    return tonumber(C.syscall(unpack(list))) >= 0
end
local function bytes(size) return ffi.new("unsigned char[?]", size) end

local AT = -100
local worked = {}
local tried = 0
local function try(name, ...)
    tried = tried + 1
    if call(...) then worked[#worked + 1] = name end
end

local function signals(victim, who)
    local info = bytes(128)
    ffi.cast("int *", info)[2] = -1
    try("kill " .. who, 62, victim, 0)
    try("tkill " .. who, 200, victim, 0)
    try("tgkill " .. who, 234, victim, victim, 0)
    try("sigqueue " .. who, 129, victim, 0, info)
    try("tgsigqueue " .. who, 297, victim, victim, 0, info)
    try("pidfd_open " .. who, 434, victim, 0)
    try("priority of " .. who, 141, 0, victim, 0)
    try("cores of " .. who, 203, victim, 128, bytes(128))
    try("scheduling of " .. who, 144, victim, 0, bytes(64))
    try("limits of " .. who, 302, victim, 7, 0, bytes(16))
    try("ptrace " .. who, 101, 0x4206, victim, 0, 0)
    try("memory of " .. who, 310, victim, bytes(16), 0, bytes(16), 0, 0)
    try("kcmp " .. who, 312, C.getpid(), victim, 0, 0, 0)
    local fds = ffi.new("int[2]")
    C.pipe(fds)
    for _, fd in ipairs{fds[0], 0, 1, 2} do
        try("F_SETOWN " .. who, 72, fd, 8, victim)
        try("F_SETOWN_EX " .. who, 72, fd, 15, ffi.new("int[2]", {1, victim}))
        try("F_SETSIG", 72, fd, 10, 23)
        try("O_ASYNC", 72, fd, 4, 0x2000)
        try("FIOSETOWN " .. who, 16, fd, 0x8901, ffi.new("int[1]", victim))
        try("FIOASYNC", 16, fd, 0x5452, ffi.new("int[1]", 1))
        try("F_SETPIPE_SZ", 72, fd, 1031, 1048576)
        try("F_NOTIFY", 72, fd, 1026, 1)
        try("TIOCSTI", 16, fd, 0x5412, "x")
    end
end

local function files(outside)
    local file = outside .. "/file"
    local times = bytes(64)
    local own = io.open("own.txt", "w")
    own:write("x")
    own:close()
    for _, path in ipairs{file, "own.txt"} do
        try("chmod", 90, path, 420)
        try("fchmodat", 268, AT, path, 420, 0)
        try("fchmodat2", 452, AT, path, 420, 0)
        try("chown", 92, path, -1, -1)
        try("lchown", 94, path, -1, -1)
        try("fchownat", 260, AT, path, -1, -1, 0)
        try("utime", 132, path, 0)
        try("utimes", 235, path, 0)
        try("utimensat", 280, AT, path, times, 0)
        try("setxattr", 188, path, "user.x", "x", 1, 0)
        try("lsetxattr", 189, path, "user.x", "x", 1, 0)
        try("removexattr", 197, path, "user.x")
        try("link", 86, path, "linked")
        try("linkat", 265, AT, path, AT, "linked", 0)
        try("inotify", 254, 0, path, 2)
        try("name_to_handle", 303, AT, path, bytes(128), bytes(8), 0)
        try("setuid file", 2, "suid-" .. tried, 0x41, 2541)
        try("setuid file at", 257, AT, "suid-" .. tried, 0x41, 2541)
        try("creat", 85, "suid-" .. tried, 2541)
        try("openat2", 437, AT, path, bytes(24), 24)
    end
    local fd = C.open("own.txt", 2)
    try("fchmod", 91, fd, 420)
    try("fchown", 93, fd, -1, -1)
    try("fsetxattr", 190, fd, "user.x", "x", 1, 0)
    try("fallocate", 285, fd, 0, 0, 1)
    for name, flags in pairs{read = 0, write = 1, create = 0x41} do
        try("open to " .. name, 2, name == "create" and outside .. "/new" or file, flags, 384)
        try("openat to " .. name, 257, AT, name == "create" and outside .. "/new" or file, flags, 384)
    end
    try("truncate", 76, file, 0)
    try("unlink", 87, file)
    try("unlinkat", 263, AT, file, 0)
    try("rename out", 82, "own.txt", outside .. "/own.txt")
    try("rename in", 82, file, "stolen")
    try("mkdir", 83, outside .. "/new", 493)
    try("rmdir", 84, outside)
    try("symlink", 88, file, "link")
    try("symlinkat", 266, file, AT, "link")
    try("mknod", 133, "node", 8630, 259)
    try("mknodat", 259, AT, "fifo", 4534, 0)
    try("open_by_handle", 304, AT, bytes(128), 0)
    for _, path in ipairs{"/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/self/environ", "/proc/self/mem", "/dev/mem",
            "/proc/" .. C.getppid() .. "/environ", "/proc/" .. C.getppid() .. "/mem", "/proc/sys/kernel/core_pattern",
            "/proc/self/task/" .. C.getpid() .. "/root/etc/passwd", "/proc/self/task/" .. C.getpid() .. "/cwd/../" .. "script.lua/..",
            "/sys/class/net", "/dev/null", "/dev/tty", "/dev/kmsg"} do
        try("open " .. path, 2, path, 0)
    end
    try("chdir", 80, "/")
    try("chroot", 161, "/")
end

local function sockets(other)
    for name, family in pairs{unix = 1, inet = 2, inet6 = 10, netlink = 16, packet = 17, vsock = 40} do
        for _, kind in ipairs{1, 2, 3} do try("socket " .. name, 41, family, kind, 0) end
    end
    try("socketpair", 53, 1, 1, 0, ffi.new("int[2]"))
    -- sockaddr_ll: AF_PACKET, interface
    local address = bytes(20)
    ffi.cast("unsigned short *", address)[0] = 17
    ffi.cast("int *", address)[1] = other
    address[11] = 6
    local frame = bytes(60)
    ffi.fill(frame, 12, 0xff)
    frame[12], frame[13] = 0x88, 0xb5
    local vector = ffi.new("struct { void *base; size_t len; } [1]")
    vector[0].base, vector[0].len = frame, 60
    local header = ffi.new("struct { void *name; unsigned namelen, pad; void *iov; size_t iovlen; void *control; size_t controllen; int flags, len; } [1]")
    header[0].name, header[0].namelen, header[0].iov, header[0].iovlen = address, 20, vector, 1
    local member = ffi.new("int[4]", {other, 1})
    for fd = 0, 63 do
        try("sendto another interface", 44, fd, frame, 60, 64, address, 20)
        try("sendmsg to another interface", 46, fd, header, 64)
        try("sendmmsg to another interface", 307, fd, header, 1, 64)
        try("bind to another interface", 49, fd, address, 20)
        try("connect", 42, fd, address, 20)
        try("listen", 50, fd, 1)
        try("promiscuous elsewhere", 54, fd, 263, 1, member, 16)
        try("SO_BINDTODEVICE", 54, fd, 1, 25, "lo", 3)
        try("SO_PRIORITY", 54, fd, 1, 12, ffi.new("int[1]", 1), 4)
        try("interface down", 16, fd, 0x8914, bytes(40))
        try("splice", 275, fd, 0, fd, 0, 1, 0)
        try("sendfile", 40, fd, fd, 0, 1)
    end
end

local function machine()
    try("clone3", 435, bytes(88), 88)
    try("fork", 57)
    try("vfork by x32", 0x4000003a)
    try("fork by x32", 0x40000039)
    try("clone a process", 56, 17, 0, 0, 0, 0)
    try("clone a user", 56, 0x10000011, 0, 0, 0, 0)
    try("execve", 59, "/bin/true", 0, 0)
    try("execveat", 322, AT, "/bin/true", 0, 0, 0)
    try("unshare", 272, 0x10000000)
    try("setns", 308, 0, 0)
    try("memfd", 319, "x", 0)
    try("shmget", 29, 0, 4096, 950)
    try("mq_open", 240, "x", 0x42, 384, 0)
    try("io_uring", 425, 4, bytes(120))
    try("bpf", 321, 0, bytes(120), 120)
    try("perf", 298, bytes(120), 0, -1, -1, 0)
    try("userfaultfd", 323, 1)
    try("keyctl", 250, 0, -3, 1)
    try("add_key", 248, "user", "x", "x", 1, -3)
    try("mlockall", 151, 1)
    try("seccomp", 317, 1, 0, 0)
    try("landlock", 444, 0, 0, 1)
    try("prctl PDEATHSIG", 157, 1, 0)
    try("prctl DUMPABLE", 157, 4, 1)
    try("prctl CHILD_SUBREAPER", 157, 36, 1)
    try("prctl PTRACER", 157, 0x59616d61, -1)
    try("own limits", 160, 7, ffi.new("long[2]", {64, 64}))
    try("own limits by prlimit", 302, 0, 7, ffi.new("long[2]", {64, 64}), 0)
    try("setsid", 112)
    try("setpgid", 109, 0, 0)
    try("setuid", 105, 0)
    try("setresuid", 117, 0, 0, 0)
    try("setgroups", 116, 0, 0)
    try("capset", 126, ffi.new("int[2]", {0x20080522, 0}), bytes(24))
    try("timer_create", 222, 1, 0, bytes(8))
    try("setitimer", 38, 0, bytes(32), 0)
    try("alarm", 37, 0)
    try("settimeofday", 164, 0, 0)
    try("clock_settime", 227, 0, bytes(16))
    try("adjtimex", 159, bytes(208))
    try("sethostname", 170, "x", 1)
    try("syslog", 103, 10, 0, 0)
    try("iopl", 172, 0)
    try("mount", 165, "none", ".", "tmpfs", 0, 0)
    try("personality", 135, 0xffffffff)
    try("modify_ldt", 154, 0, bytes(16), 16)
    try("acct", 163, 0)
    try("quotactl", 179, 0, 0, 0, 0)
    try("fanotify", 300, 0, 0)
    try("kexec", 246, 0, 0, 0, 0)
    try("pause", 34 + 1000)
end

-- How many threads the kernel lets it have; they end with the process.
local function threads()
    local id, made = ffi.new("unsigned long[1]"), 0
    local body = ffi.cast("void *(*)(void *)", C.dlsym(nil, "pause"))
    for _ = 1, 3000 do
        if C.pthread_create(id, nil, body, nil) ~= 0 then break end
        made = made + 1
    end
    return made
end

local function secrets()
    local found, i = {}, 0
    while C.environ[i] ~= nil do
        local text = ffi.string(C.environ[i])
        if text:find("SECRET") then found[#found + 1] = text end
        i = i + 1
    end
    return #found
end

function master(victim, outside, other)
    victim, other = tonumber(victim), tonumber(other)
    signals(victim, "a process")
    signals(C.getppid(), "the supervisor")
    signals(1, "init")
    files(outside)
    sockets(other)
    machine()
    eagre.result{tried = tried, worked = worked, secrets = secrets(), threads = threads(), user = tonumber(C.syscall(102ll))}
end
"""


@pytest.fixture
def place(lab):
    """A namespace with a port pair and another interface, a process to hit, and a file with its facts."""

    class Place:
        ns = lab.netns("confined")
        folder, outside = lab.folder(), lab.folder()

        def __init__(self):
            lab.veth(self.ns, "v0", self.ns, "v1")
            lab.veth(self.ns, "o0", self.ns, "o1")
            self.file = self.outside / "file"
            self.file.write_text("as it was")
            self.file.chmod(0o640)
            self.outside.chmod(0o777)
            self.victim = lab.start("sleep", "60", ns=self.ns)
            self.number = int((self.ns.run("cat", "/sys/class/net/o0/ifindex")))
            self.before = self.facts()

        def arguments(self):
            return [str(self.victim.pid), str(self.outside), str(self.number)]

        def facts(self):
            stat = self.file.stat()
            return (self.file.read_text(), stat.st_mode, stat.st_mtime_ns, stat.st_uid, sorted(self.outside.iterdir()))

        def check(self, result):
            """Nothing got out."""
            assert result["tried"] >= 200 and not result["worked"], sorted(set(result["worked"]))
            assert result["secrets"] == 0 and 8 <= result["threads"] < 600, result
            assert self.facts() == self.before and self.victim.poll() is None
            sent = self.ns.run("cat", "/sys/class/net/o0/statistics/tx_packets")
            # The kernel itself sends a few packets there: none of 60 bytes with this protocol, none at all without IPv6.
            assert int(sent) < 20, sent

    return Place()


def test_no_way_out_of_a_script(place, lab):
    """By command line: none of the attempts works, the script has no secret, and its files are its caller's."""
    (place.folder / "script.lua").write_text(ATTEMPTS)
    done = lab.eagre(
        "script", "script.lua", "--ports", "v0", "--for", "30s", "--json", "-", "--", *place.arguments(),
        ns=place.ns, cwd=place.folder, env={"EAGRE_SECRET": "SECRET"},
    )  # fmt: skip
    assert done.exit == 0, str(done)
    document = done.json
    assert document["confined"] == {"files": True, "calls": True, "user": True}
    place.check(document["result"])
    assert document["result"]["user"] not in (0, 65534)
    left = {path.name: path.stat() for path in place.folder.iterdir()}
    assert left["own.txt"].st_uid == place.folder.stat().st_uid
    assert not [name for name in left if name.startswith("suid")]


def test_no_way_out_of_a_script_over_http(place, lab):
    """Over HTTP: the same, and the server answers after it."""
    folder = lab.folder()
    server = Server(lab, "--allow-scripts", "--tokens", token_file(lab), ns=place.ns, folder=folder, token=SECRET["root"])
    new = {"text": ATTEMPTS, "ports": ["v0"], "deadline_s": 30, "arguments": place.arguments()}
    answer = server.ask("POST", "/api/v1/scripts", new)
    assert answer.status == 201, answer
    path = f"/api/v1/scripts/{answer.json()['id']}"
    script = wait_until(lambda: (now := server.get(path))["ended"] and now, "the end of the script", 40, 0.05)
    assert script["state"] == "done", script
    place.check(server.get(f"{path}/result")["result"])
    assert server.process.poll() is None and server.ask("GET", "/healthz").status == 200


STUBBORN = """
local ffi = require "ffi"
ffi.cdef "int getppid(void); long syscall(long, ...);"
function master()
    local parent = ffi.C.getppid()
    ffi.C.syscall(62ll, ffi.cast("long", parent), 19ll)
    ffi.C.syscall(234ll, ffi.cast("long", parent), ffi.cast("long", parent), 19ll)
    print("ready")
    while true do end
end
"""


def test_a_server_has_a_deadline_of_its_own(place, lab):
    """A script's supervisor that stands still, by whatever hand: the server ends both, and the port is free."""
    server = Server(lab, "--allow-scripts", "--tokens", token_file(lab), token=SECRET["root"])
    new = {"text": STUBBORN, "ports": ["ring:stubborn.a"], "deadline_s": 1}
    script = server.ask("POST", "/api/v1/scripts", new).json()
    path = f"/api/v1/scripts/{script['id']}"
    wait_until(lambda: "ready" in server.get(path)["output"], "the script runs", 20)
    children = (f"/proc/{server.process.pid}/task/{task}/children" for task in tasks(server.process.pid))
    supervisor = next(int(pid) for file in children for pid in open(file).read().split())
    os.kill(supervisor, signal.SIGSTOP)
    begin = time.monotonic()
    script = wait_until(lambda: (now := server.get(path))["ended"] and now, "the end of the script", 20, 0.1)
    assert script["state"] == "failed" and "did not stop by its deadline" in script["reason"], script
    assert time.monotonic() - begin < 12 and server.get("/api/v1/leases") == []


def tasks(process):
    """Threads of a process."""
    return [entry.name for entry in Path(f"/proc/{process}/task").iterdir()]
