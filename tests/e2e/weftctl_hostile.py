#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write to a daemon's socket for operators what no operator would, from a seed.

    weftctl_hostile.py SOCKET ROUNDS [SEED]
"""
import json
import random
import socket
import sys

path, rounds = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
rng = random.Random(seed)
ORDERS = ["version", "nodes", "counters", "qps", "qp", "events", "set", "drain", "capture", "order", ""]
VALUES = ["weft0", "worker", "", "x" * 300, "\u0000", "\ud7ff", -1, 0, 2**24, 2**63 - 1, 1.5, None, True, [], {}]


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(path)
    return s


def request():
    r = {"order": rng.choice(ORDERS + ["resume", "x"])}
    for _ in range(rng.randrange(3)):
        r[rng.choice(["nic", "node", "qpn", "follow", "target", "seconds", "snaplen", "key", "value", "order", "y" * 300])] = rng.choice(VALUES)
    return json.dumps(r, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def mutate(line):
    line = bytearray(line)
    for _ in range(rng.randrange(4)):
        kind, at = rng.randrange(3), rng.randrange(len(line) + 1)
        if kind == 0:
            line[at:at] = bytes([rng.randrange(256)])
        elif kind == 1:
            del line[at:at + rng.randrange(4)]
        elif at < len(line):
            line[at] = rng.randrange(256)
    return bytes(line).replace(b"\n", b" ")


def answer(f):
    while True:
        line = f.readline()
        if not line:
            return None
        said = json.loads(line)
        if not said.get("more") or "qps" not in said:
            return said


# Each line gets an answer that is JSON, whatever it was.
s = connect()
f = s.makefile("rb")
for i in range(rounds):
    s.sendall(mutate(request()) + b"\n")
    said = answer(f)
    if said is None:
        sys.exit(f"seed {seed}, round {i}: no answer")
    if said.get("more"):  # it goes on until we go
        s.close()
        s = connect()
        f = s.makefile("rb")
s.close()

# What is too long or too deep is refused, and no memory goes with it.
for line in (b"x" * 100000, b"[" * 4000 + b"\n", b'{"order":"' + b"a" * 4080, b"\n" * 4096):
    s = connect()
    try:
        s.sendall(line)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except (BrokenPipeError, ConnectionResetError):
        pass
    s.close()

# Those who ask and never read, and those who say half a word, hold no more than their places.
idle = [connect() for _ in range(40)]
for s in idle:
    try:
        s.sendall(b'{"order":"counters"}\n' * rng.randrange(400) + b'{"or')
    except (BrokenPipeError, ConnectionResetError, TimeoutError):
        pass
for s in idle:
    s.close()
print(f"{rounds} lines, seed {seed}")
