# SPDX-License-Identifier: MIT
"""A NATS client for tests that want to send what our own programs never would: text over a socket, no library."""

import json
import socket


class Client:
    def __init__(self, port, user="", password="", host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=10)
        self.buffer, self.errors = b"", []
        self.line()  # INFO
        options = {"verbose": False, "pedantic": False, "headers": True, "lang": "python", "version": "0"}
        if user:
            options |= {"user": user, "pass": password}
        self.inbox = 0
        self.send(f"CONNECT {json.dumps(options)}\r\nPING\r\n".encode())
        self.wait(b"PONG")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        """The next line; a socket that timed out may be read again."""
        while b"\r\n" not in self.buffer:
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("; ".join(self.errors) or "closed")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def wait(self, word):
        """The line that begins with this; errors on the way are kept."""
        while True:
            line = self.line()
            if line.startswith(b"-ERR"):
                self.errors.append(line.decode().strip())
            elif line.startswith(b"PING"):
                self.send(b"PONG\r\n")
            elif line.startswith(word):
                return line

    def publish(self, subject, text, message_id=""):
        data = text.encode()
        if message_id:
            head = f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n".encode()
            self.send(f"HPUB {subject} {len(head)} {len(head) + len(data)}\r\n".encode() + head + data + b"\r\n")
        else:
            self.send(f"PUB {subject} {len(data)}\r\n".encode() + data + b"\r\n")
        self.send(b"PING\r\n")
        self.wait(b"PONG")

    def request(self, subject, text="", seconds=3):
        """The first answer; nothing: none came."""
        self.inbox += 1
        reply = f"_INBOX.test{id(self)}.{self.inbox}"
        data = text.encode()
        self.send(f"SUB {reply} {self.inbox}\r\nPUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")
        self.socket.settimeout(seconds)
        try:
            line = self.wait(b"MSG").split()
        except TimeoutError:
            return None
        finally:
            self.socket.settimeout(10)
        while len(self.buffer) < int(line[-1]) + 2:
            self.buffer += self.socket.recv(65536)
        answer, self.buffer = self.buffer[:int(line[-1])], self.buffer[int(line[-1]) + 2:]
        return answer.decode(errors="replace")

    def close(self):
        self.socket.close()
