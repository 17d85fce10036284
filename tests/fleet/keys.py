# SPDX-License-Identifier: MIT
"""Keys for a NATS server that asks for TLS certificates and JSON Web Tokens: an operator, tenants with quotas, users.

Debian has no nsc, and a token is small enough to be made by hand.
"""

import base64
import hashlib
import json
import pathlib
import subprocess
import time

from nacl.signing import SigningKey

KINDS = {"operator": 14 << 3, "account": 0, "user": 20 << 3}
ANY = {"subs": -1, "data": -1, "payload": -1}


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021) & 0xFFFF if crc & 0x8000 else (crc << 1) & 0xFFFF
    return crc


def base32(data):
    return base64.b32encode(data).decode().rstrip("=")


def checked(data):
    return base32(data + crc16(data).to_bytes(2, "little"))


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    def __init__(self, kind):
        self.key = SigningKey.generate()
        prefix = KINDS[kind]
        self.public = checked(bytes([prefix]) + bytes(self.key.verify_key))
        self.seed = checked(bytes([(18 << 3) | (prefix >> 5), (prefix & 31) << 3]) + bytes(self.key))

    def sign(self, subject, name, nats, **more):
        claims = {"iat": int(time.time()), "iss": self.public, "name": name, "sub": subject, "nats": nats, **more}
        claims["jti"] = base32(hashlib.new("sha512_256", json.dumps(claims).encode()).digest())
        text = base64url(b'{"typ":"JWT","alg":"ed25519-nkey"}') + "." + base64url(json.dumps(claims).encode())
        return text + "." + base64url(self.key.sign(text.encode()).signature)


class Keys:
    """operator, and one account per tenant."""

    def __init__(self, folder, tenants):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.operator, self.system = Key("operator"), Key("account")
        self.tenants = {name: Key("account") for name in tenants}

    def account(self, key, name, streams):
        limits = {**ANY, "imports": -1, "exports": -1, "wildcards": True, "conn": -1, "leaf": -1,
                  "mem_storage": (16 << 20) * streams, "disk_storage": (64 << 20) * streams, "streams": 5 * streams,
                  "consumer": 20 * streams}
        return self.operator.sign(key.public, name, {"limits": limits, "default_permissions": {"pub": {}, "sub": {}},
                                                     "type": "account", "version": 2})

    def user(self, tenant, name, publish, subscribe, seconds=None):
        """The path of a .creds file; seconds: how long it is good."""
        key = Key("user")
        more = {} if seconds is None else {"exp": int(time.time() + seconds)}
        token = self.tenants[tenant].sign(key.public, name, {**ANY, "pub": {"allow": publish}, "sub": {"allow": subscribe},
                                                             "type": "user", "version": 2}, **more)
        path = self.folder / f"{name}.creds"
        path.write_text(f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
                        f"-----BEGIN USER NKEY SEED-----\n{key.seed}\n------END USER NKEY SEED------\n")
        return path

    def authority(self, name):
        """An authority that signs certificates: NAME.pem."""
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                     "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def certificate(self, name, authority):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                     "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-copy_extensions", "copy", "-days", "2", "-out", f"{name}.pem")

    def openssl(self, *command):
        subprocess.run(["openssl", *command], check=True, capture_output=True, cwd=self.folder)

    def server(self, port, store):
        token = self.operator.sign(self.operator.public, "rochound", {"type": "operator", "version": 2,
                                                                      "system_account": self.system.public})
        accounts = "\n ".join(f"{key.public}: {self.account(key, name, 1)}" for name, key in self.tenants.items())
        return f"""listen: 127.0.0.1:{port}
max_payload: 8MB
jetstream {{ store_dir: "{store}", max_file_store: 1GB, max_mem_store: 128MB }}
operator: {token}
system_account: {self.system.public}
resolver: MEMORY
resolver_preload: {{ {self.system.public}: {self.account(self.system, "SYS", 0)}
 {accounts} }}
tls {{ cert_file: "{self.folder}/server.pem", key_file: "{self.folder}/server.key", ca_file: "{self.folder}/ca.pem", verify: true }}
"""
