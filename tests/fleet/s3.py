# SPDX-License-Identifier: MIT
"""A real S3 for tests: Ceph's monitor, one OSD in memory, and radosgw, on the loopback address, in a folder.

radosgw's backends that need no OSD are no way round this: dbstore answers ranged reads wrongly, posix crashes.
"""

import contextlib
import datetime
import hashlib
import hmac
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import uuid


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Ceph:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("mon", "osd0", "run"):
            (self.folder / name).mkdir(parents=True)
        self.key, self.secret = secrets.token_hex(10), secrets.token_hex(20)
        monitor2, monitor1, self.port = free_ports(3)
        self.monitor = f"[v2:127.0.0.1:{monitor2},v1:127.0.0.1:{monitor1}]"
        self.fsid = str(uuid.uuid4())
        (self.folder / "ceph.conf").write_text(f"""[global]
fsid={self.fsid}
mon_host={self.monitor}
keyring={self.folder}/keyring
osd_pool_default_size=1
osd_pool_default_min_size=1
mon_allow_pool_size_one=true
osd_crush_chooseleaf_type=0
osd_pool_default_pg_num=8
osd_pool_default_pgp_num=8
osd_pool_default_pg_autoscale_mode=off
mon_max_pg_per_osd=1000
mon_data_avail_warn=1
run_dir={self.folder}/run
admin_socket={self.folder}/run/$name.asok
log_file={self.folder}/$name.ceph
pid_file={self.folder}/$name.pid
ms_bind_ipv6=false
public_addr=127.0.0.1
cluster_addr=127.0.0.1
[mon.a]
mon_data={self.folder}/mon
[osd.0]
osd_data={self.folder}/osd0
osd_class_dir=/usr/lib/x86_64-linux-gnu/rados-classes
osd_objectstore=memstore
memstore_device_bytes=500000000
[client.rgw.x]
rgw_frontends=beast endpoint=127.0.0.1:{self.port}
rgw_data={self.folder}/run
""")

    def run(self, *command, timeout=60):
        return subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=timeout)

    def start(self):
        config, keyring = self.folder / "ceph.conf", self.folder / "keyring"
        tool = "ceph-authtool"
        self.run(tool, "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run(tool, keyring, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *", "--cap", "osd", "allow *")
        self.run(tool, keyring, "--gen-key", "-n", "osd.0", "--cap", "mon", "allow profile osd", "--cap", "osd", "allow *")
        self.run(tool, keyring, "--gen-key", "-n", "client.rgw.x", "--cap", "mon", "allow rw", "--cap", "osd", "allow rwx")
        self.run("monmaptool", "--create", "--fsid", self.fsid, "--addv", "a", self.monitor, self.folder / "monmap")
        self.run("ceph-mon", "-i", "a", "--mkfs", "--monmap", self.folder / "monmap", "--keyring", keyring, "-c", config)
        self.run("ceph-mon", "-i", "a", "-c", config)
        self.run("ceph", "-c", config, "auth", "import", "-i", keyring, timeout=120)
        osd = str(uuid.uuid4())
        self.run("ceph", "-c", config, "osd", "new", osd, timeout=120)
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd, "-c", config, timeout=120)
        self.run("ceph-osd", "-i", "0", "-c", config, timeout=120)
        self.gateway()
        self.run("radosgw-admin", "-n", "client.rgw.x", "-c", config, "user", "create", "--uid=rochound", "--display-name=rochound",
                 f"--access-key={self.key}", f"--secret={self.secret}", timeout=120)

    def gateway(self):
        self.run("radosgw", "-n", "client.rgw.x", "-c", self.folder / "ceph.conf", timeout=120)
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def kill(self, name):
        path = self.folder / f"{name}.pid"
        if path.exists():
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                pass

    def end(self):
        for name in ("client.rgw.x", "osd.0", "mon.a"):
            self.kill(name)

    def variables(self):
        return {"AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret, "AWS_REGION": "us-east-1",
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def request(self, method, path):
        """What the gateway answers, asked as Amazon's version 4 wants it signed."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day, host = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d"), f"127.0.0.1:{self.port}"
        empty = hashlib.sha256(b"").hexdigest()
        headers = f"host:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{stamp}\n"
        signed = "host;x-amz-content-sha256;x-amz-date"
        request = f"{method}\n/{path}\n\n{headers}\n{signed}\n{empty}"
        scope = f"{day}/us-east-1/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = f"AWS4{self.secret}".encode()
        for part in (day, "us-east-1", "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        with urllib.request.urlopen(urllib.request.Request(
                f"http://{host}/{path}", method=method,
                headers={"x-amz-date": stamp, "x-amz-content-sha256": empty,
                         "Authorization": f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={signed}, Signature={signature}"}),
                timeout=60) as answer:
            return answer.read()

    def make_bucket(self, name):
        self.request("PUT", name)

    def read(self, place):
        """What is at s3://BUCKET/KEY."""
        return self.request("GET", place.removeprefix("s3://"))


@contextlib.contextmanager
def storage(fleet, bucket):
    """A Ceph with this bucket, which everything that the fleet starts from now on knows."""
    ceph = Ceph(fleet.folder / "ceph")
    try:
        ceph.start()
        ceph.make_bucket(bucket)
        fleet.environment |= ceph.variables()
        yield ceph
    finally:
        ceph.end()
